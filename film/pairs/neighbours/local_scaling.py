"""Similarity less what is usual around both texts of a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.pairs.neighbours.neighbourhoods import neighbourhood_features


def locally_scaled(
    similarity: ArrayLike,
    points: ArrayLike,
    pairs: ArrayLike,
    corpus: ArrayLike | None = None,
    *,
    k: int = 50,
    weight: float = 0.5,
) -> NDArray[np.float64]:
    """Take from the similarity of each pair a share of how dense the texts around it lie.

    With r(x) the mean cosine of x with the k corpus points nearest to it, x and its partner x′ left
    out, it is ``s(x, x′) − weight · (r(x) + r(x′)) / 2``. With cosines as similarity and weight 1
    this is half of CSLS (Equation 3 of Conneau, Lample, Ranzato, Denoyer and Jégou, *Word
    translation without parallel data*, 2018): among texts that are all alike, being alike says
    less.

    Parameters
    ----------
    similarity : array-like of float, shape (n_pairs,)
        s of each pair, of any kind.
    points : array-like of float, shape (n, d)
        As in `nearest_neighbours`.
    pairs : array-like of int, shape (n_pairs, 2)
        Row indices of x and x′.
    corpus : array-like of int, shape (m,), optional
        Row indices of the points that may be neighbours; all rows when None.
    k : int, default=50
        At least 1. Fewer where the corpus has fewer; without any, r is 0.
    weight : float, default=0.5
        At least 0, which leaves the similarity as it is.

    Returns
    -------
    scaled : ndarray of float64, shape (n_pairs,)
        The greater, the closer; the same for a turned pair. It does not depend on which other
        pairs are listed.

    Raises
    ------
    TypeError, ValueError
        If there are not as many similarities as pairs, ``weight`` is wrong, or as in
        `nearest_neighbours`.

    Notes
    -----
    Costs O(q m d) for q different texts of the pairs and m of the corpus.

    Examples
    --------
    >>> from film.pairs import locally_scaled
    >>> points = [[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [0.0, 1.0]]
    >>> locally_scaled([0.8, 0.6], points, [[0, 1], [1, 3]], k=1).round(2)
    array([0.45, 0.4 ])
    """
    given = np.asarray(similarity, dtype=np.float64)
    if not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight must be a number that is at least 0, got {weight!r}")
    densities = neighbourhood_features(points, pairs, corpus, k=k)[:, :2]
    if given.shape != (len(densities),):
        raise ValueError(
            f"similarity has shape {given.shape} for {len(densities)} pairs; give one for each"
        )
    return given - weight * densities.mean(axis=1)

"""Where a pair ranks among the pairs of its two texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["neighbour_features"]

_CLEARLY = 0.05
"""Difference of cosines from which on a neighbour is closer: near copies are equally close."""

_MOST_CLOSER = 5
_PLACE = 2
"""The place that the margin is measured from: 0 is the nearest other text."""


def neighbour_features(
    pairs: NDArray[np.intp],
    cosines: NDArray[np.float64],
    asked: NDArray[np.intp],
    asked_cosines: NDArray[np.float64],
    *,
    one_sided: bool = False,
) -> NDArray[np.float64]:
    """Compare a pair with the other pairs of its two texts.

    Parameters
    ----------
    pairs : ndarray of int, shape (n, 2)
        Distinct pairs of neighbours.
    cosines : ndarray of float, shape (n,)
        Their cosines, 0 to 1.
    asked : ndarray of int, shape (m, 2)
        Pairs to describe.
    asked_cosines : ndarray of float, shape (m,)
        Their cosines.
    one_sided : bool, default=False
        Whether only the neighbours of the first text of each pair are known.

    Returns
    -------
    features : ndarray of float64, shape (m, 2)
        The rank, log(1 + number of clearly closer neighbours, at most five) of the text that has
        more of them, where clearly closer is a cosine higher by more than 0.05; and the
        margin, the cosine minus that of the third nearest other neighbour of the text with the
        higher one (0 if there are fewer).

    Notes
    -----
    O((n + m) log n). This is FILM's rule of mutual neighbours as a number: unlike cosines, ranks
    mean the same in tables of short and of long texts.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import neighbour_features
    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> cosines = np.array([0.9, 0.5, 0.4])
    >>> neighbour_features(pairs, cosines, pairs, cosines).round(2).tolist()
    [[0.0, 0.9], [0.69, 0.5], [0.69, 0.4]]
    """
    n_sides = 1 if one_sided else 2
    ends = pairs.T[:n_sides].ravel()
    # Sorted by text, then from the nearest neighbour on.
    keys = np.sort(ends * 2 + (1 - np.tile(cosines, n_sides)))
    n_texts = int(max(pairs.max(initial=-1), asked.max(initial=-1))) + 1
    starts = np.searchsorted(keys, np.arange(n_texts + 1) * 2 - 0.5)
    ranks = np.zeros(len(asked))
    others = np.zeros(len(asked))
    for side in asked.T[:n_sides]:
        distance = side * 2 + (1 - asked_cosines)
        closer = np.searchsorted(keys, distance - _CLEARLY)
        ranks = np.maximum(ranks, closer - starts[side])
        place = np.searchsorted(keys, distance - 1e-6) - starts[side]
        # The pair itself is among the neighbours up to its place.
        at = starts[side] + np.where(place <= _PLACE, _PLACE + 1, _PLACE)
        there = at < starts[side + 1]
        value = np.zeros(len(asked))
        value[there] = 1 - (keys[at[there]] - 2 * side[there])
        others = np.maximum(others, value)
    return np.column_stack([np.log1p(np.minimum(ranks, _MOST_CLOSER)), asked_cosines - others])

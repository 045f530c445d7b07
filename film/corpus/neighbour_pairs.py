"""Pairs of similar texts in a corpus: each point with its nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs

__all__ = ["near_pairs"]

BLOCK_NUMBERS = 2**24
"""Cosines held at a time: 64 MB in float32."""


def near_pairs(
    points: Any, n_neighbors: int = 3, known: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair every point with its nearest neighbours by cosine, leaving out known pairs.

    Parameters
    ----------
    points : ndarray or sparse matrix of float, shape (n, d)
        Points of any scale. Zero points have no neighbours.
    n_neighbors : int, default=3
        Maximum number of neighbours per point; only cosines above 0 count.
    known : array-like of int, shape (m, 2), default=None
        Pairs to leave out; the next neighbours take their places.

    Returns
    -------
    pairs : ndarray of intp, shape (p, 2)
        Pairs of point numbers, smaller first, each once, in ascending order.
    cosines : ndarray of float64, shape (p,)
        The cosine of each pair.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape or ``known`` has numbers out of range.

    Notes
    -----
    Exact: O(n² d) time in blocks, and about 64 MB of memory on top of the points. Ties go to the
    lower point number.

    Examples
    --------
    >>> from film.corpus import near_pairs
    >>> pairs, cosines = near_pairs([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], n_neighbors=1)
    >>> pairs.tolist(), cosines.round(1).tolist()
    ([[0, 1], [1, 2]], [0.8, 0.6])
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be 1 or more")
    rows = unit_rows(points)
    n = rows.shape[0]
    left_out = _left_out(np.empty((0, 2), np.intp) if known is None else known, n)
    place = np.zeros((n, min(n_neighbors, n)), dtype=np.intp)
    near = np.zeros(place.shape, dtype=rows.dtype)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        part = slice(start, start + size)
        S: Any = rows[part] @ rows.T
        S = S.toarray() if sp.issparse(S) else S
        some = left_out[slice(*np.searchsorted(left_out[:, 0], [start, start + size]))]
        S[some[:, 0] - start, some[:, 1]] = 0
        place[part] = _nearest(S, n_neighbors)
        near[part] = np.take_along_axis(S, place[part], axis=1)
    kept = near > 0
    origin = np.broadcast_to(np.arange(n)[:, np.newaxis], place.shape)
    both = np.sort(np.stack([origin[kept], place[kept]], axis=1), axis=1)
    pairs, first = np.unique(both, axis=0, return_index=True)
    return pairs, near[kept].astype(np.float64)[first]


def unit_rows(points: Any) -> Any:
    """Scale dense or sparse rows to unit length; zero rows stay zero."""
    rows: Any = sp.csr_array(points) if sp.issparse(points) else np.asarray(points)
    if rows.ndim != 2 or rows.shape[0] < 1:
        raise ValueError(f"points has shape {rows.shape}; it must be (n, d) with n >= 1")
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    square = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
    norms = np.sqrt(np.asarray(square.sum(axis=1), dtype=rows.dtype)).ravel()
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    return sp.diags_array(scale) @ rows if sp.issparse(rows) else rows * scale[:, np.newaxis]


def _left_out(known: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return known pairs in both directions and each point with itself, by first point."""
    pairs, every = checked_pairs(known, n), np.arange(n)
    both = np.concatenate([pairs, pairs[:, ::-1], np.column_stack([every, every])])
    return both[np.argsort(both[:, 0], kind="stable")]


def _nearest(S: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Columns of the k largest entries of each row; ties go to the lower column."""
    k = min(k, S.shape[1])
    least = np.partition(S, S.shape[1] - k, axis=1)[:, S.shape[1] - k, np.newaxis]
    # Fill the remaining places with entries equal to the smallest, from the left.
    above, level = least < S, least == S
    room = k - above.sum(axis=1, keepdims=True)
    chosen = above | (level & (np.cumsum(level, axis=1) <= room))
    return np.nonzero(chosen)[1].reshape(len(S), k)

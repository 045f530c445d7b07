"""Pairs of near texts that a corpus offers of itself: each point with its nearest others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs

__all__ = ["near_pairs"]

BLOCK_NUMBERS = 2**24
"""Cosines held at once: 64 MB in float32."""


def near_pairs(
    points: Any, n_neighbors: int = 3, known: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair every point with its nearest others by cosine, but for pairs that are known.

    Parameters
    ----------
    points : ndarray or sparse matrix of float, shape (n, d)
        Points in any scale. A point of zeros is nobody's neighbour, and has none.
    n_neighbors : int, default=3
        Most neighbours of a point; only those with a cosine above 0 count.
    known : array-like of int, shape (m, 2), default=None
        Pairs to leave out; their places go to the next neighbours.

    Returns
    -------
    pairs : ndarray of intp, shape (p, 2)
        Numbers of points, the smaller first, each pair once, in ascending order.
    cosines : ndarray of float64, shape (p,)
        Of each pair.

    Raises
    ------
    TypeError, ValueError
        If the shape of an argument is wrong, or ``known`` holds numbers out of range.

    Notes
    -----
    Exact: O(n² d) time in blocks, and memory of some 64 MB beside the points. Of neighbours that
    are equally near, that with the lower number counts.

    Examples
    --------
    >>> from film.corpus import near_pairs
    >>> pairs, cosines = near_pairs([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], n_neighbors=1)
    >>> pairs.tolist(), cosines.round(1).tolist()
    ([[0, 1], [1, 2]], [0.8, 0.6])
    """
    rows = _unit_rows(points)
    n = rows.shape[0]
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be 1 or more")
    left_out = _both_ways(np.empty((0, 2), np.intp) if known is None else known, n)
    found, cosines = [], []
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        block = slice(start, min(start + size, n))
        S: Any = rows[block] @ rows.T
        S = S.toarray() if sp.issparse(S) else S
        own = np.arange(block.start, block.stop)
        S[own - start, own] = -np.inf
        first, last = np.searchsorted(left_out[:, 0], [block.start, block.stop])
        S[left_out[first:last, 0] - start, left_out[first:last, 1]] = -np.inf
        place = _nearest(S, n_neighbors)
        near = np.take_along_axis(S, place, axis=1)
        kept = near > 0
        pairs = np.stack([np.broadcast_to(own[:, np.newaxis], place.shape)[kept], place[kept]], 1)
        found.append(np.sort(pairs, axis=1))
        cosines.append(near[kept].astype(np.float64))
    pairs, first = np.unique(np.concatenate(found), axis=0, return_index=True)
    return pairs.astype(np.intp), np.concatenate(cosines)[first]


def _unit_rows(points: Any) -> Any:
    rows: Any = sp.csr_array(points) if sp.issparse(points) else np.asarray(points)
    if rows.ndim != 2 or rows.shape[0] < 1:
        raise ValueError(f"points has shape {rows.shape}; it must be (n, d) with n >= 1")
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    square = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
    norms = np.sqrt(np.asarray(square.sum(axis=1), dtype=rows.dtype)).ravel()
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    return sp.diags_array(scale) @ rows if sp.issparse(rows) else rows * scale[:, np.newaxis]


def _both_ways(known: ArrayLike, n: int) -> NDArray[np.intp]:
    pairs = checked_pairs(known, n)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return both[np.argsort(both[:, 0], kind="stable")]


def _nearest(S: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Columns of the k greatest of each row, the lower first of equals."""
    k = min(k, S.shape[1])
    least = np.partition(S, S.shape[1] - k, axis=1)[:, S.shape[1] - k, np.newaxis]
    # Equals of the least are taken from the left as far as there is room.
    above, level = least < S, least == S
    room = k - above.sum(axis=1, keepdims=True)
    chosen = above | (level & (np.cumsum(level, axis=1) <= room))
    return np.nonzero(chosen)[1].reshape(len(S), k)

"""Pairs of similar texts in a corpus: each point with its nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs
from film.corpus.row_blocks import RowBlocks

__all__ = ["near_pairs"]

BLOCK_NUMBERS = 2**24
"""Cosines held at a time: 64 MB in float32."""


def near_pairs(
    points: Any, n_neighbors: int = 3, known: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair every point with its nearest neighbours by cosine, leaving out known pairs.

    Parameters
    ----------
    points : ndarray or sparse matrix of float, shape (n, d), or RowBlocks
        Points of any scale. Zero points have no neighbours. For rows in blocks on disk, two blocks
        are in memory at a time and `joblib.parallel_config` distributes the work.
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
    blocks = points if isinstance(points, RowBlocks) else _InMemory(unit_rows(points))
    left_out = _left_out(np.empty((0, 2), np.intp) if known is None else known, blocks.edges[-1])
    work: Any = Parallel()(
        delayed(_block_pairs)(blocks, number, n_neighbors, left_out)
        for number in range(blocks.n_blocks)
    )
    found, cosines = (np.concatenate(parts) for parts in zip(*work, strict=True))
    pairs, first = np.unique(found, axis=0, return_index=True)
    return pairs.astype(np.intp), cosines[first]


class _InMemory:
    """All rows as a single block."""

    n_blocks = 1

    def __init__(self, rows: Any) -> None:
        self.rows, self.edges = rows, np.array([0, rows.shape[0]])

    def block(self, number: int) -> Any:
        return self.rows


def _block_pairs(
    blocks: RowBlocks | _InMemory, number: int, k: int, left_out: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair the points of one block with their nearest in all blocks."""
    rows = unit_rows(blocks.block(number))
    start, n = int(blocks.edges[number]), rows.shape[0]
    near = np.zeros((n, k), dtype=rows.dtype)
    place = np.zeros((n, k), dtype=np.intp)
    for other in range(blocks.n_blocks):
        others = rows if other == number else unit_rows(blocks.block(other))
        offset, stop = int(blocks.edges[other]), int(blocks.edges[other + 1])
        size = max(1, BLOCK_NUMBERS // others.shape[0])
        for low in range(0, n, size):
            high = min(low + size, n)
            S: Any = rows[low:high] @ others.T
            S = S.toarray() if sp.issparse(S) else S
            some = left_out[slice(*np.searchsorted(left_out[:, 0], [start + low, start + high]))]
            some = some[(some[:, 1] >= offset) & (some[:, 1] < stop)]
            S[some[:, 0] - start - low, some[:, 1] - offset] = 0
            nearest = _nearest(S, k)
            # Earlier blocks come first, so that ties go to the lower number.
            both = np.hstack([near[low:high], np.take_along_axis(S, nearest, axis=1)])
            points = np.hstack([place[low:high], nearest + offset])
            best = _nearest(both, k)
            near[low:high] = np.take_along_axis(both, best, axis=1)
            place[low:high] = np.take_along_axis(points, best, axis=1)
    kept = near > 0
    origin = np.broadcast_to(np.arange(start, start + n)[:, np.newaxis], place.shape)
    pairs = np.stack([origin[kept], place[kept]], axis=1)
    return np.sort(pairs, axis=1), near[kept].astype(np.float64)


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

"""Leader clustering: points that represent their near copies."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

__all__ = ["leaders"]

BLOCK_NUMBERS = 2**24
"""Cosines held at a time: 64 MB in float32."""


def leaders(points: ArrayLike, similarity: float) -> NDArray[np.intp]:
    """Choose representatives so that every other point is a copy of one, and no two are copies.

    The leader algorithm (Hartigan, *Clustering Algorithms*, 1975, chapter 3) by cosine: a point
    becomes a leader unless an earlier leader is closer than ``similarity``.

    Parameters
    ----------
    points : array-like of float, shape (n, d)
        Dense rows of any scale, n at least 1. A zero row is always a leader.
    similarity : float
        From 0 to 1. Points with a higher cosine are copies.

    Returns
    -------
    rows : ndarray of intp, shape (m,)
        The leaders' row numbers in ascending order; m is at least 1.

    Raises
    ------
    TypeError
        If points are sparse.
    ValueError
        If the shape is wrong, points hold NaN or infinity, or similarity is out of range.

    Notes
    -----
    O(n m d) time in blocks, and about 64 MB of memory on top of two copies of the points. Which
    points lead depends on their order; m hardly does. Cosines have the precision of the points,
    float32 or float64, so rounding can decide a cosine very close to ``similarity``.

    Examples
    --------
    >>> import numpy as np
    >>> from film.corpus import leaders
    >>> angles = np.deg2rad([0, 10, 20, 90])
    >>> leaders(np.column_stack([np.cos(angles), np.sin(angles)]), similarity=0.97)
    array([0, 2, 3])
    """
    if sp.issparse(points):
        raise TypeError("points must be dense: give vectors, such as those of FILM")
    if not 0 <= similarity <= 1:
        raise ValueError(f"similarity={similarity!r} must be a cosine, from 0 to 1")
    rows = _unit_rows(points)
    if not np.isfinite(rows).all():
        raise ValueError("points hold NaN or infinity: drop these rows or set them to zero")
    n, size = len(rows), max(1, BLOCK_NUMBERS // len(rows))
    leads, found = np.empty_like(rows), []
    n_found = 0
    for low in range(0, n, size):
        block = rows[low : low + size]
        copies = (block @ leads[:n_found].T > similarity).any(axis=1)
        free = np.flatnonzero(~copies)
        close = block[free] @ block[free].T > similarity
        led = np.zeros(len(free), dtype=bool)
        for i in range(len(free)):
            if not led[i]:
                led |= close[i]
                found.append(low + free[i])
                leads[n_found] = block[free[i]]
                n_found += 1
    return np.array(found, dtype=np.intp)


def _unit_rows(points: ArrayLike) -> NDArray[np.floating]:
    """Scale rows to unit length; zero rows stay zero."""
    rows = np.asarray(points)
    if rows.ndim != 2 or rows.shape[0] < 1:
        raise ValueError(f"points has shape {rows.shape}; it must be (n, d) with n >= 1")
    if rows.dtype != np.float32:
        rows = rows.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1)

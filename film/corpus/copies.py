"""Points that stand for those close to them: a corpus in which copies count once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from film.corpus.neighbour_pairs import BLOCK_NUMBERS, unit_rows

__all__ = ["leaders"]


def leaders(points: ArrayLike, similarity: float) -> NDArray[np.intp]:
    """Choose points so that each other point is a copy of one, and none of them of another.

    The leader algorithm (Hartigan, *Clustering Algorithms*, 1975, chapter 3), by cosine: a point
    leads unless a leader before it is closer than ``similarity``.

    Parameters
    ----------
    points : array-like of float, shape (n, d)
        Dense rows in any scale, n at least 1. A row of zeros is no point's copy: it leads.
    similarity : float
        From 0 to 1. A cosine above it makes two points copies of each other.

    Returns
    -------
    rows : ndarray of intp, shape (m,)
        The leaders' row numbers, ascending; m is at least 1.

    Raises
    ------
    TypeError
        If points are sparse.
    ValueError
        If their shape is wrong, they hold NaN or infinity, or similarity is out of range.

    Notes
    -----
    O(n m d) time in blocks, and memory of some 64 MB beside two copies of the points. Which points
    lead depends on their order; m hardly does. Cosines are of the points' own precision, float32
    or float64, so that one within rounding of ``similarity`` may fall on either side.

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
    rows = unit_rows(points)
    if not np.isfinite(rows).all():
        raise ValueError("points hold NaN or infinity: drop these rows, or set them to zeros")
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

"""Connected groups of points, for folds and clusters that share nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = ["connected_groups"]


def connected_groups(index_pairs: ArrayLike, n_points: int) -> NDArray[np.intp]:
    """Label the connected components of a graph given by its links.

    Two points share a label when a chain of links joins them; a point without any link is
    a group of its own. Labels say nothing about why two points are linked: for leak-free
    folds both duplicates and non-duplicates are links.

    Parameters
    ----------
    index_pairs : array-like of int, shape (m, 2)
        Links as point numbers in [0, n_points); order and repetition do not matter, and a
        point may be linked to itself. ``m`` may be 0.
    n_points : int
        Number of points, at least 1.

    Returns
    -------
    labels : ndarray of intp, shape (n_points,)
        Group of each point, 0, 1, 2, … in order of each group's lowest point.

    Raises
    ------
    TypeError
        If the links are not integers.
    ValueError
        If ``n_points`` < 1, the links are not (m, 2), or one is out of range.

    Notes
    -----
    O(n_points + m) time and memory.

    Examples
    --------
    >>> from film.corpus import connected_groups
    >>> connected_groups([[0, 2], [2, 4], [1, 3]], n_points=6)
    array([0, 1, 0, 1, 0, 2])
    """
    if n_points < 1:
        raise ValueError(f"n_points must be at least 1, got {n_points!r}: give the points' number.")
    links = np.asarray(index_pairs)
    if links.size == 0:
        links = np.empty((0, 2), dtype=np.intp)
    if links.ndim != 2 or links.shape[1] != 2:
        raise ValueError(
            f"index_pairs must have shape (m, 2), one link a row, got shape {links.shape}: "
            "stack the two ends as columns."
        )
    if links.dtype.kind not in "iu":
        raise TypeError(
            f"index_pairs must hold integer point numbers, got dtype {links.dtype}: "
            "convert with astype(int), or code texts as numbers first."
        )
    outside = (links < 0) | (links >= n_points)
    if outside.any():
        row = int(np.flatnonzero(outside.any(axis=1))[0])
        raise ValueError(
            f"index_pairs row {row} is {links[row].tolist()}, but points are numbered "
            f"0 to {n_points - 1}: correct the link or raise n_points."
        )
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n_points, n_points))
    labels = connected_components(graph, directed=False)[1]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty_like(first)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse].astype(np.intp, copy=False)

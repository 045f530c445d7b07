"""Connected groups of points, and the links that connect two points of a group."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from film.checks import checked_integers

__all__ = [
    "checked_pairs",
    "connected_groups",
    "continued_numbers",
    "groups_for_folds",
    "must_link_path",
]


def connected_groups(index_pairs: ArrayLike, n_points: int) -> NDArray[np.intp]:
    """Label the connected components of a graph given by its links.

    Two points share a label if a chain of links joins them; a point without links is its own group.
    The meaning of a link is up to the caller: for leak-free folds, duplicates and non-duplicates
    are both links.

    Parameters
    ----------
    index_pairs : array-like of int, shape (m, 2)
        Links as point numbers in [0, n_points). Order and repetition do not matter, and a point
        may be linked to itself. ``m`` may be 0.
    n_points : int
        Number of points; may be 0.

    Returns
    -------
    labels : ndarray of intp, shape (n_points,)
        Group of each point, numbered 0, 1, 2, … by each group's lowest point.

    Raises
    ------
    TypeError
        If the links are not integers.
    ValueError
        If ``n_points`` < 0, the links are not (m, 2), or one is out of range.

    Notes
    -----
    O(n_points + m) time and memory.

    Examples
    --------
    >>> from film.corpus import connected_groups
    >>> connected_groups([[0, 2], [2, 4], [1, 3]], n_points=6)
    array([0, 1, 0, 1, 0, 2])
    """
    if n_points < 0:
        raise ValueError(f"n_points must be at least 0, got {n_points!r}")
    links = checked_integers("index_pairs", index_pairs, width=2, below=n_points)
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n_points, n_points))
    return _by_appearance(connected_components(graph, directed=False)[1])


def _by_appearance(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Replace labels by 0, 1, 2, … in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty_like(first)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse].astype(np.intp, copy=False)


def groups_for_folds(
    pairs: NDArray[np.integer], labels: NDArray[np.integer], n_points: int
) -> NDArray[np.intp]:
    """Return the group of each pair whose pairs belong into one fold.

    Parameters
    ----------
    pairs : ndarray of int, shape (m, 2)
        Pairs of points.
    labels : ndarray of int, shape (m,)
        1 for duplicates.
    n_points : int
        Number of points.

    Returns
    -------
    groups : ndarray of intp, shape (m,)
        0, 1, 2, … in order of first appearance. Pairs of different groups have no point in common.
        If more than half of all pairs would be one group, only duplicates link points, and another
        pair is in the group of one of its points. A point can then be in several groups, but no
        duplicate.

    Examples
    --------
    >>> import numpy as np
    >>> from film.corpus import groups_for_folds
    >>> linked, labels = np.array([[0, 1], [1, 2], [2, 3], [4, 5]]), np.array([1, 0, 1, 1])
    >>> groups_for_folds(linked, labels, n_points=6).tolist()
    [0, 0, 1, 2]
    >>> groups_for_folds(linked[[0, 1, 3, 3]], labels, n_points=6).tolist()
    [0, 0, 1, 1]
    """
    groups = connected_groups(pairs, n_points)[pairs[:, 0]]
    if 2 * np.bincount(groups).max(initial=0) > len(pairs):
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        chosen = np.where(pairs.sum(axis=1) % 2, low, high)
        groups = connected_groups(pairs[labels == 1], n_points)[chosen]
    return _by_appearance(groups)


def continued_numbers(
    labels: NDArray[np.integer], before: NDArray[np.integer], n_used: int
) -> tuple[NDArray[np.intp], dict[int, int]]:
    """Return the number of each group: that of before, or a new one.

    Parameters
    ----------
    labels : ndarray of int, shape (n_points,)
        Group of each point, 0, 1, 2, …; −1 for none.
    before : ndarray of int, shape (n_points,)
        Earlier number of each point's group, −1 for none.
    n_used : int
        Numbers below it were given before; new ones start with it.

    Returns
    -------
    numbers : ndarray of intp, shape (n_groups,)
        Number of each group, all different. An earlier number goes to the group of the first point
        that had it; if a group has several, the lowest stays.
    gone : dict of int to int
        For each earlier number that did not stay, the number of the group that has it now.

    Notes
    -----
    O(n_points log n_points).

    Examples
    --------
    >>> import numpy as np
    >>> from film.corpus import continued_numbers
    >>> labels, before = np.array([0, 0, 1, 0, 1, 2, 2]), np.array([3, 3, -1, 4, -1, 0, 0])
    >>> continued_numbers(labels, before, n_used=5)
    (array([3, 5, 0]), {4: 3})
    """
    told = np.flatnonzero((before >= 0) & (labels >= 0))
    old, first = np.unique(before[told], return_index=True)
    group = labels[told[first]]
    numbers = np.full(labels.max(initial=-1) + 1, -1, dtype=np.intp)
    # Of several values for one place, NumPy keeps the last, here the lowest.
    numbers[group[::-1]] = old[::-1]
    is_new = numbers < 0
    numbers[is_new] = n_used + np.arange(is_new.sum())
    gone = numbers[group] != old
    return numbers, dict(zip(old[gone].tolist(), numbers[group[gone]].tolist(), strict=True))


def checked_pairs(pairs: ArrayLike, n_points: int) -> NDArray[np.intp]:
    """Check pairs of points and return them as an array of shape (m, 2)."""
    return checked_integers("pairs", pairs, width=2, below=n_points)


def must_link_path(must_link: ArrayLike, cannot_link: ArrayLike, n_points: int) -> list[int] | None:
    """Find a contradiction: a forbidden pair, and the required links that join it.

    Parameters
    ----------
    must_link, cannot_link : array-like of int, shape (m, 2)
        Pairs of points, as in `link_scores`.
    n_points : int
        Number of points.

    Returns
    -------
    path : list of int, or None
        The shortest path of ``must_link`` pairs between the two points of the first contradictory
        ``cannot_link`` pair, or None if there is no contradiction.

    Notes
    -----
    O(n_points + m).

    Examples
    --------
    >>> from film.corpus import must_link_path
    >>> must_link_path([[0, 1], [1, 2]], [[3, 0], [2, 0]], n_points=4)
    [2, 1, 0]
    """
    must, cannot = (checked_pairs(each, n_points) for each in (must_link, cannot_link))
    if not len(cannot):
        return None
    group = connected_groups(must, n_points)
    wrong = np.flatnonzero(group[cannot[:, 0]] == group[cannot[:, 1]])
    if not len(wrong):
        return None
    start, goal = cannot[wrong[0]].tolist()
    joined: dict[int, list[int]] = {}
    for a, b in must.tolist():
        joined.setdefault(a, []).append(b)
        joined.setdefault(b, []).append(a)
    before = {goal: goal}
    queue = deque([goal])
    while start not in before:
        point = queue.popleft()
        for other in joined[point]:
            if other not in before:
                before[other] = point
                queue.append(other)
    path = [start]
    while path[-1] != goal:
        path.append(before[path[-1]])
    return path

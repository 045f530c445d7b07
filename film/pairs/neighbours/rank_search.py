"""Counts of corpus rows that are closer than a threshold: in float32, and exact where it matters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from film.pairs.neighbours.cosines import (
    Floats,
    Integers,
    chunks,
    exact_cosines,
    exact_units,
    product_bound,
    tie_width,
    tree_sums,
)
from film.threads import threaded

_BLOCK_QUERIES = 256
"""Queries whose cosines are computed at once."""
_BLOCK_ROWS = 2048
"""Corpus rows whose cosines are computed at once, few enough to stay in cache."""


def closer_points(
    points: Floats,
    copies: Integers,
    origin: Integers,
    goal: Integers,
    k_max: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Count, per task, the corpus points closer to its origin than its goal is.

    Parameters
    ----------
    points : ndarray of float, shape (n, d)
        Rows; those used below are not zero. One row represents all rows of the same direction.
    copies : ndarray of int, shape (n,)
        Number of corpus points with the direction of a row; 0 at other rows.
    origin, goal : ndarray of int, shape (n_tasks,)
        Two rows of different direction per task, sorted by origin.
    k_max : int, optional
        Counts above it may be any number of at least ``k_max``.

    Returns
    -------
    closer : ndarray of int64, shape (n_tasks,)
        Counts, without copies of origin and goal.
    self_is_closer : ndarray of bool, shape (n_tasks,)
        Whether the origin is closer to itself than to its goal, beyond a tie.
    """
    d = points.shape[1]
    columns = np.flatnonzero(copies)
    rows = np.empty((len(columns), d), dtype=np.float32)
    for part in chunks(len(columns), d):
        rows[part] = exact_units(points, columns[part])
    threshold = exact_cosines(points, origin, goal) + tie_width(d)
    # Rounded outwards, so that the cast to float32 cannot narrow the doubtful band.
    bound, infinity = product_bound(d), np.float32(np.inf)
    surely_not = np.nextafter((threshold - bound).astype(np.float32), -infinity)
    surely = np.nextafter((threshold + bound).astype(np.float32), infinity)
    queries, first, query = np.unique(origin, return_index=True, return_inverse=True)
    edges = np.append(first, len(origin))

    def search(start: int) -> NDArray[np.int64]:
        stop = min(start + _BLOCK_QUERIES, len(queries))
        units = exact_units(points, queries[start:stop])
        tasks = np.arange(edges[start], edges[stop])
        closer = np.zeros(len(tasks), dtype=np.int64)
        for begin in range(0, len(columns), _BLOCK_ROWS):
            if k_max is not None:
                tasks = tasks[closer[tasks - edges[start]] < k_max]
            asked, place = np.unique(query[tasks], return_inverse=True)
            own = columns[begin : begin + _BLOCK_ROWS]
            cosines = rows[begin : begin + _BLOCK_ROWS] @ units[asked - start].astype(np.float32).T
            kept = cosines.max(axis=0)[place] > surely_not[tasks]
            for some in chunks(int(kept.sum()), len(own)):
                open_ = tasks[kept][some]
                near = cosines[:, place[kept][some]]
                for rowed in (origin[open_], goal[open_]):
                    # A tie by definition; left in, it would be counted in float64.
                    at = np.minimum(np.searchsorted(own, rowed), len(own) - 1)
                    inside = np.flatnonzero(own[at] == rowed)
                    near[at[inside], inside] = -2.0
                sure = near > surely[open_]
                many = copies[own] > 1
                found_surely = sure.sum(axis=0) + (copies[own][many] - 1) @ sure[many]
                closer[open_ - edges[start]] += found_surely
                row, column = np.nonzero((near > surely_not[open_]) & ~sure)
                for part in chunks(len(row), d):
                    task, found = open_[column[part]], own[row[part]]
                    terms = exact_units(points, found) * units[query[task] - start]
                    beats = tree_sums(terms) > threshold[task]
                    np.add.at(closer, task[beats] - edges[start], copies[found[beats]])
        return closer

    closer = np.concatenate(threaded(search, range(0, len(queries), _BLOCK_QUERIES)))
    return closer, exact_cosines(points, origin, origin) > threshold

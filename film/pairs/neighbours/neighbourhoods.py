"""Neighbourhoods of pairs: how dense they are, and which neighbours both texts share."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.checks import check_at_least_one, checked_corpus, checked_integers, checked_points
from film.pairs.neighbours.cells import threaded
from film.pairs.neighbours.cosines import (
    Floats,
    Integers,
    chunks,
    exact_cosines,
    exact_units,
    product_bound,
    tie_width,
)
from film.threads import usable_cores

NEIGHBOURHOOD_NAMES = (
    "density on the sparser side",
    "density on the denser side",
    "locally scaled cosine",
    "lead over the nearer rival",
    "lead over the farther rival",
    "share of common neighbours",
)
"""Columns of `neighbourhood_features`."""

_BLOCK_BYTES = max(32, 256 // usable_cores()) * 2**20
"""Products of queries with members in the memory of one thread."""
_NOBODY = -1
_STRIDE = 32
_BLOCK_PAIRS = 2**15
_BLOCK_ROWS = 2**15
"""Least number of candidates whose exact cosines are computed at once."""


def nearest_neighbours(
    points: ArrayLike, queries: ArrayLike, k: int, corpus: ArrayLike | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find, for each query, the k other corpus points with the largest cosines.

    Parameters
    ----------
    points : array-like of float, shape (n, d)
        Dense rows of any length, float32 or float64. Only their direction matters.
    queries : array-like of int, shape (q,)
        Row indices.
    k : int
        At least 1.
    corpus : array-like of int, shape (m,), optional
        Row indices of the possible neighbours, without repeats; all rows if None.

    Returns
    -------
    neighbours : ndarray of int64, shape (q, k)
        Row indices, nearest first, and lower row first among equals; -1 if there are fewer
        neighbours. A zero row has no direction: it has no neighbours and is never a neighbour.
    cosines : ndarray of float64, shape (q, k)
        Cosine of query and neighbour; 0 for the neighbour -1.

    Raises
    ------
    TypeError
        If points is sparse or not numeric, or queries or corpus do not hold integers.
    ValueError
        If a shape is wrong, points hold NaN or infinity, an index is out of range, k < 1, or
        corpus is empty or repeats an index.

    Notes
    -----
    Blocks of cosines are computed in float32. Points that may be among the nearest, within the
    error of float32, are computed again in float64, in a fixed order. So the result of a query does
    not depend on other queries or on blocks. The time is O(q m d). Blocks of queries run in
    threads; memory in addition to the input is O(m d) float32 and one block per core.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import nearest_neighbours
    >>> points = np.array([[1, 0], [1, 1], [0, 2], [0, 0]])
    >>> nearest_neighbours(points, [0, 3], k=2)[0]
    array([[ 1,  2],
           [-1, -1]])
    """
    array = checked_points(points)
    asked = checked_integers("queries", queries, below=len(array))
    members = np.sort(checked_corpus(corpus, len(array)))
    check_at_least_one("k", k)
    members = members[array[members].any(axis=1)]
    # The same text is asked about in several pairs, and searched for once.
    unique, position = np.unique(asked, return_inverse=True)
    neighbours = np.full((len(unique), k), _NOBODY, dtype=np.int64)
    cosines = np.zeros((len(unique), k))
    rows = np.empty((len(members), array.shape[1]), dtype=np.float32)
    for part in chunks(len(members), array.shape[1]):
        rows[part] = exact_units(array, members[part])
    size = max(1, min(len(unique), _BLOCK_BYTES // max(1, 4 * len(members))))
    has_direction: NDArray[np.bool_] = np.any(array[unique] != 0, axis=1)
    # One block of products a thread, written again and again.
    mine = threading.local()

    def search(start: int) -> None:
        block = unique[start : start + size]
        if not hasattr(mine, "products"):
            mine.products = np.empty((size, len(members)), dtype=np.float32)
        near = mine.products[: len(block)]
        np.matmul(exact_units(array, block).astype(np.float32), rows.T, out=near)
        asking: list[int] = []
        waiting: list[Integers] = []
        n_waiting = 0
        for row, query in enumerate(block):
            if has_direction[start + row]:
                asking.append(start + row)
                waiting.append(_candidates(int(query), near[row], members, k, array.shape[1]))
                n_waiting += len(waiting[-1])
            if waiting and (n_waiting >= _BLOCK_ROWS or row == len(block) - 1):
                who = np.repeat(asking, [*map(len, waiting)])
                found = np.concatenate(waiting)
                exact = exact_cosines(array, unique[who], found)
                # Stable: queries stay where they are, and of equally near rows the first is first.
                order = np.lexsort((-exact, who))
                place = np.arange(len(who)) - np.searchsorted(who, who)
                kept = place < k
                neighbours[who[kept], place[kept]] = found[order[kept]]
                cosines[who[kept], place[kept]] = exact[order[kept]]
                asking, waiting, n_waiting = [], [], 0

    threaded(search, range(0, len(unique), size))
    return neighbours[position], cosines[position]


def _candidates(query: int, near: Floats, members: Integers, k: int, width: int) -> Integers:
    """Return the ``members`` that may be among the k nearest, from all float32 cosines.

    ``width`` is the width of the points.
    """
    own = np.searchsorted(members, query)
    if own < len(members) and members[own] == query:
        near[own] = -2.0  # below any cosine
    # The k-th largest of a part is a lower bound for all, so few entries remain to be sorted.
    candidates = np.flatnonzero(near >= _least(near[::_STRIDE], k, width))
    some = near[candidates]
    candidates = candidates[some >= _least(some, k, width)]
    return members[candidates[near[candidates] > -2.0]]


def _least(some: Floats, k: int, width: int) -> np.float32:
    """Return a lower bound of the k largest exact cosines, from float32 cosines."""
    infinity = np.float32(np.inf)
    if k >= len(some):
        return -infinity
    # Each of the k greatest is off by at most the bound, and so is each of the others.
    least = float(np.partition(some, len(some) - k)[len(some) - k]) - 2 * product_bound(width)
    # Rounded downwards, so that the cast to float32 cannot lose a candidate.
    return np.nextafter(np.float32(least), -infinity)


def neighbourhood_features(
    points: ArrayLike, pairs: ArrayLike, corpus: ArrayLike | None = None, *, k: int = 10
) -> NDArray[np.float64]:
    """Describe the neighbourhoods of both texts of each pair, without labels.

    N(x) are the k corpus points nearest to x, without x and its partner x′, and r(x) is their mean
    cosine with x. The columns are

    - the smaller and the larger of r(x) and r(x′), the density of the neighbourhood;
    - 2 cos(x, x′) − r(x) − r(x′), the cosine with local scaling (CSLS, Equation 3 of Conneau,
      Lample, Ranzato, Denoyer and Jégou, *Word translation without parallel data*, 2018);
    - the smaller and the larger of cos(x, x′) − max cos(x, N(x)) and the same for x′: how much
      closer the partner is than the nearest other text;
    - |N(x) ∩ N(x′)| / |N(x) ∪ N(x′)|, the share of common neighbours.

    The features of a pair depend neither on the other pairs nor on the order of its texts.

    Parameters
    ----------
    points : array-like of float, shape (n, d)
        As in `nearest_neighbours`.
    pairs : array-like of int, shape (n_pairs, 2)
        Row indices of x and x′.
    corpus : array-like of int, shape (m,), optional
        Row indices of the possible neighbours; all rows if None. x and x′ need not be among them.
    k : int, default=10
        At least 1.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 6)
        Columns `NEIGHBOURHOOD_NAMES`. A text without neighbours has density 0 and nearest cosine 0;
        if neither text has a neighbour, the share is 0.

    Raises
    ------
    TypeError, ValueError
        As in `nearest_neighbours`.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import neighbourhood_features
    >>> angles = np.deg2rad([0, 10, 30, 35, 90])
    >>> points = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> neighbourhood_features(points, [[2, 3]], k=2).round(2)
    array([[0.86, 0.9 , 0.23, 0.06, 0.09, 1.  ]])
    """
    return ranks_and_neighbourhoods(points, pairs, corpus, k=k)[1]


def ranks_and_neighbourhoods(
    points: ArrayLike, pairs: ArrayLike, corpus: ArrayLike | None = None, *, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count ranks up to k and describe the neighbourhoods of pairs in one search.

    Parameters
    ----------
    points, pairs, corpus, k
        As in `neighbourhood_features`.

    Returns
    -------
    ranks : ndarray of int64, shape (n_pairs, 2)
        Ranks as in `neighbour_ranks`, at most k.
    features : ndarray of float64, shape (n_pairs, 6)
        As in `neighbourhood_features`.

    Raises
    ------
    TypeError, ValueError
        As in `nearest_neighbours`.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import ranks_and_neighbourhoods
    >>> angles = np.deg2rad([0, 10, 30, 35, 90])
    >>> points = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> ranks_and_neighbourhoods(points, [[0, 2], [0, 4]], k=2)[0]
    array([[1, 2],
           [2, 2]])
    """
    array = checked_points(points)
    listed = checked_integers("pairs", pairs, width=2, below=len(array))
    check_at_least_one("k", k)
    # One more than k, since the partner may be among them.
    texts, place = np.unique(listed, return_inverse=True)
    found, near = nearest_neighbours(array, texts, k + 1, corpus)
    has_direction = np.any(array[texts] != 0, axis=1)
    place = place.reshape(listed.shape)
    ranks = np.empty(listed.shape, dtype=np.int64)
    features = np.empty((len(listed), len(NEIGHBOURHOOD_NAMES)))
    for start in range(0, len(listed), _BLOCK_PAIRS):
        block = slice(start, start + _BLOCK_PAIRS)
        first, second = listed[block].T
        cosine = exact_cosines(array, first, second)
        # Differences within rounding error do not count as closer, as in `neighbour_ranks`.
        closer = cosine + tie_width(array.shape[1])
        x, z = (
            _Side.of(found[of], near[of], partner, closer, k)
            for of, partner in zip(place[block].T, (second, first), strict=True)
        )
        ranks[block] = np.column_stack([x.rank, z.rank])
        ranks[block][~has_direction[place[block]].all(axis=1) & (first != second)] = k
        common = _common(x.neighbours, z.neighbours)
        density = np.column_stack([x.density, z.density])
        lead = cosine[:, None] - np.column_stack([x.rival, z.rival])
        features[block] = np.column_stack(
            [
                density.min(axis=1),
                density.max(axis=1),
                2 * cosine - density.sum(axis=1),
                lead.min(axis=1),
                lead.max(axis=1),
                common / np.maximum(x.count + z.count - common, 1),
            ]
        )
    return ranks, features


@dataclass(frozen=True)
class _Side:
    """Neighbourhood of one text of each pair, without its partner: arrays of shape (n,)."""

    neighbours: Integers  # (n, k + 1), nobody where there are fewer
    count: Integers
    density: NDArray[np.float64]
    rival: NDArray[np.float64]
    rank: Integers

    @classmethod
    def of(cls, found: Integers, near: Floats, partner: Integers, closer: Floats, k: int) -> _Side:
        others = (found != partner[:, None]) & (found != _NOBODY)
        kept = others & (np.cumsum(others, axis=1) <= k)
        count = kept.sum(axis=1)
        rival = np.where(kept, near, -2.0).max(axis=1, initial=-2.0)
        return cls(
            np.where(kept, found, _NOBODY),
            count,
            np.where(kept, near, 0).sum(axis=1) / np.maximum(count, 1),
            np.where(count > 0, rival, 0.0),
            np.minimum((others & (near > closer[:, None])).sum(axis=1), k),
        )


def _common(first: Integers, second: Integers) -> Integers:
    """Count what two rows of different numbers have in common, row by row."""
    both = np.sort(np.concatenate([first, second], axis=1), axis=1)
    return ((both[:, 1:] == both[:, :-1]) & (both[:, 1:] != _NOBODY)).sum(axis=1)

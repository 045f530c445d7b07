"""The search under `film.pairs.ranks`: how many corpus rows beat a threshold, counted exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]

# A float32 block of cosines, in bytes; wider blocks no longer make the product faster.
_BLOCK_BYTES = 128 * 2**20
# Numbers in one float64 chunk of rows: 4 MiB, so that the few arrays at work stay in cache.
_CHUNK_NUMBERS = 2**19
_NONE: Integers = np.empty(0, dtype=np.intp)


class RankSearch:
    """Counts of closer points for tasks (origin, goal), two different directions each.

    ``points`` are rows, those named below not zero; ``copies`` counts the corpus points that share
    each row's direction, at the row that stands for it (else 0); ``origin`` and ``goal`` are rows
    that stand for their directions, sorted by origin.
    """

    def __init__(self, points: Floats, copies: Integers, origin: Integers, goal: Integers) -> None:
        n, d = points.shape
        self.points, self.origin, self.goal = points, origin, goal
        self.queries, first = np.unique(origin, return_index=True)
        self.task_edges = np.append(first, len(origin))
        # Repeated directions first: only that prefix of a row of cosines needs weights.
        columns = np.flatnonzero(copies)
        self.columns = columns[np.argsort(copies[columns] == 1, kind="stable")]
        self.copies = copies[self.columns]
        self.n_repeated = int(np.count_nonzero(self.copies > 1))
        self.column_of = np.full(n, -1)
        self.column_of[self.columns] = np.arange(len(self.columns))
        self.corpus_rows = np.empty((len(self.columns), d), dtype=np.float32)
        for part in chunks(len(self.columns), d):
            self.corpus_rows[part] = exact_units(points, self.columns[part])

        self.threshold = exact_cosines(points, origin, goal) + tie_width(d)
        bound = product_bound(d)
        # Rounded outwards, so that the cast to float32 cannot narrow the doubtful band.
        infinity = np.float32(np.inf)
        self.surely_not = np.nextafter((self.threshold - bound).astype(np.float32), -infinity)
        self.surely = np.nextafter((self.threshold + bound).astype(np.float32), infinity)

        block_size = max(1, _BLOCK_BYTES // max(1, 4 * len(self.columns)))
        self.block_size = min(block_size, len(self.queries))
        # Filled again for each block: a fresh one would cost its page faults.
        self.block = np.empty((self.block_size, len(self.columns)), dtype=np.float32)

    def closer_points(self) -> NDArray[np.int64]:
        """Count, per task, points closer to the origin than its goal, copies of both left out."""
        counts = map(self._count_block, range(0, len(self.queries), self.block_size))
        return np.concatenate(list(counts))

    def self_is_closer(self) -> NDArray[np.bool_]:
        """Whether each origin's own direction beats its goal's, short of a tie."""
        return exact_cosines(self.points, self.origin, self.origin) > self.threshold

    def _count_block(self, start: int) -> NDArray[np.int64]:
        queries = self.queries[start : start + self.block_size]
        units = exact_units(self.points, queries)
        cosines = self.block[: len(queries)]
        np.matmul(units.astype(np.float32), self.corpus_rows.T, out=cosines)
        own = self.column_of[queries]
        inside = own >= 0
        # Below any cosine: the origin's own direction is never counted here.
        cosines[np.flatnonzero(inside), own[inside]] = -2.0
        first, last = self.task_edges[start], self.task_edges[start + len(queries)]
        query = np.searchsorted(queries, self.origin[first:last])
        closer = np.zeros(last - first, dtype=np.int64)
        doubtful: list[tuple[int, Integers]] = []
        n_doubtful = 0
        for i in range(last - first):
            closer[i], columns = self._count_row(cosines[query[i]], first + i)
            doubtful.append((i, columns))
            n_doubtful += len(columns)
            # Collected, because few rows at a time cost more in calls than in work; not for
            # the whole block, because every column of every task may be doubtful.
            if n_doubtful * units.shape[1] > _CHUNK_NUMBERS or i + 1 == last - first:
                task = np.repeat([t for t, _ in doubtful], [len(c) for _, c in doubtful])
                columns = np.concatenate([c for _, c in doubtful])
                for part in chunks(len(columns), units.shape[1]):
                    terms = exact_units(self.points, self.columns[columns[part]])
                    terms *= units[query[task[part]]]
                    beats = _tree_sums(terms) > self.threshold[first + task[part]]
                    np.add.at(closer, task[part][beats], self.copies[columns[part][beats]])
                doubtful, n_doubtful = [], 0
        return closer

    def _count_row(self, cosines: Floats, task: int) -> tuple[int, Integers]:
        """Columns surely closer than the goal, counted, and those that float32 cannot tell."""
        possible = cosines > self.surely_not[task]
        goal = self.column_of[self.goal[task]]
        if goal >= 0:
            # A tie by definition; left in, it would send every task on to float64.
            possible[goal] = False
        n_possible = np.count_nonzero(possible)
        if n_possible == 0:
            return 0, _NONE
        sure = cosines > self.surely[task]
        n_sure = closer = int(np.count_nonzero(sure))
        if self.n_repeated:
            repeated = slice(0, self.n_repeated)
            closer += int(np.sum(self.copies[repeated] - 1, where=sure[repeated]))
        if n_sure == n_possible:
            return closer, _NONE
        np.not_equal(possible, sure, out=possible)
        return closer, np.flatnonzero(possible)


def product_bound(d: int) -> float:
    """Largest error of a float32 product of two unit rows of length d, summed in any order."""
    share = (d + 4) * float(np.finfo(np.float32).eps) / 2
    return share / (1 - share)


def tie_width(d: int) -> float:
    """Largest gap that float64 rounding can leave between two equal cosines of length d."""
    return 2 * (float(np.ceil(np.log2(d))) + 3) * float(np.finfo(np.float64).eps)


def _tree_sums(terms: Floats) -> Floats:
    """Sum each row by halves, in place; the order depends on the row's length alone."""
    width = terms.shape[1]
    while width > 1:
        half = width // 2
        terms[:, :half] += terms[:, width - half : width]
        width -= half
    return terms[:, 0]


def exact_units(points: Floats, rows: Integers) -> NDArray[np.float64]:
    """Rows as float64 unit vectors, each a function of its row alone; zero rows stay zero."""
    units = points[rows].astype(np.float64, copy=False)
    largest = np.maximum(units.max(axis=1), -units.min(axis=1))
    extreme = np.flatnonzero((largest > 2.0**400) | ((largest < 2.0**-400) & (largest > 0)))
    if len(extreme):
        # Squares would overflow or vanish; a power of two takes nothing from the other rows.
        units[extreme] = np.ldexp(units[extreme], -np.frexp(largest[extreme])[1][:, None])
    length = np.sqrt(_tree_sums(units * units))
    units /= np.where(length > 0, length, 1.0)[:, None]
    return units


def exact_cosines(points: Floats, left: Integers, right: Integers) -> NDArray[np.float64]:
    """Cosines of listed rows in float64; left may be one row for all."""
    cosines = np.empty(len(right))
    for part in chunks(len(right), points.shape[1]):
        terms = exact_units(points, right[part])
        terms *= exact_units(points, left if len(left) == 1 else left[part])
        cosines[part] = _tree_sums(terms)
    return cosines


def directions(points: Floats, rows: Integers) -> Integers:
    """Map rows to the first row with the same float64 direction; zero rows and others to -1.

    A collision of hashes only leaves two copies apart, which costs time and changes no count.
    """
    d = points.shape[1]
    odd = np.random.default_rng(0).integers(2**63, size=d, dtype=np.uint64) * 2 + 1
    hashes = np.empty(len(rows), dtype=np.uint64)
    zero = np.empty(len(rows), dtype=bool)
    for part in chunks(len(rows), d):
        units = exact_units(points, rows[part])
        units += 0.0  # makes −0 and 0 one
        zero[part] = ~units.any(axis=1)
        bits = units.view(np.uint64)
        # Few-bit floats such as 1.0 differ in high bits only, which a product would not spread.
        bits ^= bits >> np.uint64(32)
        bits *= odd
        hashes[part] = bits.sum(axis=1)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    model = rows[first[group]]
    later = np.flatnonzero(model != rows)
    for part in chunks(len(later), d):
        at = later[part]
        same = (exact_units(points, rows[at]) == exact_units(points, model[at])).all(axis=1)
        model[at[~same]] = rows[at[~same]]
    direction = np.full(len(points), -1)
    direction[rows] = np.where(zero, -1, model)
    return direction


def chunks(n: int, d: int) -> Iterator[slice]:
    """Part n rows of d numbers into slices of bounded size."""
    size = max(1, _CHUNK_NUMBERS // max(1, d))
    return (slice(start, start + size) for start in range(0, n, size))

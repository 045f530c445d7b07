"""The search of `film.pairs.ranks`: exact counts of corpus rows that beat a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from film.pairs.neighbours.bounds import LeadBounds, Leads, principal_axes, turned_units
from film.pairs.neighbours.cells import nearest, part, threaded
from film.pairs.neighbours.cosines import (
    Floats,
    Integers,
    chunk_rows,
    chunks,
    exact_cosines,
    exact_units,
    product_bound,
    tie_width,
    tree_sums,
)
from film.threads import usable_cores

# Bytes of one tile of cosines, few enough to stay in cache, and its greatest number of rows.
_TILE_BYTES = 2**21
_TILE_ROWS = 255
# Queries of one block: the more, the fewer and larger its tiles.
_BLOCK_QUERIES, _LEAST_QUERIES = 2**16, 2**8
# Cells that are scanned before bounds are used, including the query's own.
_NEAR_CELLS = 8
# Closer points that a near cell is scanned for where k_max is large: half of its rows.
_CLOSER_PER_CELL = 64
# Cells that are held against all queries of a block at once.
_GROUP_CELLS = 32


class RankSearch:
    """Counts of closer points for tasks (origin, goal) of two different directions.

    ``points`` are rows; the rows used below are not zero. One row represents all rows of the same
    direction; ``copies`` counts, at this row, the corpus points with its direction (0 at other
    rows). ``origin`` and ``goal`` are such rows, sorted by origin. Counts above ``k_max`` may be
    any number of at least ``k_max``.
    """

    def __init__(
        self,
        points: Floats,
        copies: Integers,
        origin: Integers,
        goal: Integers,
        k_max: int | None = None,
    ) -> None:
        n, d = points.shape
        self.points, self.origin, self.goal, self.k_max = points, origin, goal, k_max
        columns = np.flatnonzero(copies)
        self.axes = principal_axes(points, columns)
        rows = turned_units(points, columns, self.axes)
        queries, query_of_task = np.unique(origin, return_inverse=True)
        self.cells = part(rows, len(queries))
        # Repeated directions first: only they need weights.
        order = np.lexsort((copies[columns] == 1, self.cells.label))
        self.columns, self.corpus_rows = columns[order], rows[order]
        self.copies = copies[self.columns]
        n_cells = len(self.cells.centres)
        labels = self.cells.label[order]
        self.edges = np.searchsorted(labels, np.arange(n_cells + 1))
        self.leads = None if k_max is None else Leads(self.corpus_rows, labels, self.cells.centres)
        self.repeated = np.bincount(labels, self.copies > 1, n_cells).astype(int)
        self.place = np.full(n, -1)
        self.place[self.columns] = np.arange(len(columns))

        own = np.empty(len(queries), dtype=np.int64)
        place = self.place[queries]
        own[place >= 0] = labels[place[place >= 0]]
        outside = np.flatnonzero(place < 0)
        if len(outside):
            strangers = turned_units(points, queries[outside], self.axes)
            own[outside] = nearest(strangers, self.cells.centres)[0]
        # Queries of one cell side by side, since they scan the same cells.
        by_cell = np.argsort(own, kind="stable")
        self.queries, self.own_cell = queries[by_cell], own[by_cell]
        rank_of_query = np.argsort(by_cell)
        self.task_order = np.argsort(rank_of_query[query_of_task], kind="stable")
        self.task_query = rank_of_query[query_of_task][self.task_order]
        self.task_edges = np.searchsorted(self.task_query, np.arange(len(queries) + 1))
        self.own_place = self.place[origin][self.task_order]
        self.goal_place = self.place[goal][self.task_order]

        self.threshold = exact_cosines(points, origin, goal) + tie_width(d)
        threshold, bound = self.threshold[self.task_order], product_bound(d)
        self.task_threshold = threshold
        # Rounded outwards, so that the cast to float32 cannot narrow the doubtful band.
        infinity = np.float32(np.inf)
        self.surely_not = np.nextafter((threshold - bound).astype(np.float32), -infinity)
        self.surely = np.nextafter((threshold + bound).astype(np.float32), infinity)
        self.near = self._near_cells()
        self.owners = _owners(self.near)

    def _near_cells(self) -> NDArray[np.int64]:
        """Return the cells with the nearest centres to each centre, its own first."""
        centres = self.cells.centres
        # Enough rows that a query with k_max closer points has most likely met them there.
        size = 0 if self.k_max is None else max(_NEAR_CELLS, self.k_max // _CLOSER_PER_CELL)
        if len(centres) < 2 * size or size == 0:
            return np.empty((len(centres), 0), dtype=np.int64)
        cosines = centres @ centres.T
        np.fill_diagonal(cosines, np.inf)
        return np.argsort(-cosines, axis=1, kind="stable")[:, :size]

    def closer_points(self) -> NDArray[np.int64]:
        """Count, per task, points closer to the origin than its goal, without copies of both."""
        n = len(self.queries)
        size = min(_BLOCK_QUERIES, max(_LEAST_QUERIES, -(-n // (2 * usable_cores()))))
        starts = range(0, n, size)
        counts = threaded(lambda start: Block(self, start, min(start + size, n)).count(), starts)
        closer = np.empty(len(self.origin), dtype=np.int64)
        closer[self.task_order] = np.concatenate(counts)
        return closer

    def self_is_closer(self) -> NDArray[np.bool_]:
        """Return whether each origin is closer to itself than to its goal, beyond a tie."""
        return exact_cosines(self.points, self.origin, self.origin) > self.threshold


class Block:
    """The counts of the tasks of some neighbouring queries."""

    def __init__(self, search: RankSearch, first: int, last: int) -> None:
        self.search, self.first = search, first
        self.units = exact_units(search.points, search.queries[first:last])
        self.rows = (self.units @ search.axes).astype(np.float32)
        self.own_cell = search.own_cell[first:last]
        tasks = slice(search.task_edges[first], search.task_edges[last])
        self.query = search.task_query[tasks] - first
        self.threshold = search.task_threshold[tasks]
        self.surely_not, self.surely = search.surely_not[tasks], search.surely[tasks]
        self.own_place, self.goal_place = search.own_place[tasks], search.goal_place[tasks]
        self.closer = np.zeros(len(self.query), dtype=np.int64)
        self.doubts: list[tuple[Integers, Integers]] = []
        self.n_doubts = 0

    def count(self) -> NDArray[np.int64]:
        """Count in the near cells of each query, then in all cells that may have closer points."""
        for rank in range(self.search.near.shape[1]):
            self._scan_near(rank)
        self._settle()
        self._scan_rest()
        self._settle()
        return self.closer

    def _open(self) -> Integers:
        """Tasks with counts below k_max."""
        k_max = self.search.k_max
        return np.arange(len(self.closer)) if k_max is None else np.flatnonzero(self.closer < k_max)

    def _scan_near(self, rank: int) -> None:
        """Count, for each query, in the cell that has this rank among its cell's neighbours."""
        search = self.search
        tasks = self._open()
        if len(tasks) == 0:
            return
        cells, first = np.unique(self.own_cell[self.query[tasks]], return_index=True)
        for cell, start, stop in zip(cells, first, [*first[1:], len(tasks)], strict=True):
            near = int(search.near[cell, rank])
            for at in _slices(start, stop):
                asked = tasks[at]
                rows = self.rows[self.query[asked]]
                for places in _strips(search.edges[near], search.edges[near + 1]):
                    cosines = search.corpus_rows[places] @ rows.T
                    self._count_tile(cosines, places.start, near, asked)

    def _scan_rest(self) -> None:
        """Count in all cells that no bound excludes, for the open tasks."""
        search, tasks = self.search, self._open()
        if len(tasks) == 0:
            return
        asked = _Asked.of(self, tasks)
        own, start = np.unique(self.own_cell[asked.queries], return_index=True)
        stop = [*start[1:], len(asked.queries)]
        scanned = {
            cell: slice(*ends) for cell, *ends in zip(own.tolist(), start, stop, strict=True)
        }
        with_thresholds = search.cells.queries(asked.rows, asked.lowest)
        n_cells = len(search.edges) - 1
        for group in range(0, n_cells, _GROUP_CELLS):
            cells = slice(group, min(group + _GROUP_CELLS, n_cells))
            held = search.cells.may_hold(with_thresholds, cells)
            along = asked.bounds.along(cells) if asked.bounds else None
            for row, cell in enumerate(range(cells.start, cells.stop)):
                for owner in search.owners[cell]:
                    if owner in scanned:
                        held[row, scanned[owner]] = False
                self._scan_cell(
                    cell, np.flatnonzero(held[row]), asked, None if along is None else along[row]
                )

    def _scan_cell(self, cell: int, asking: Integers, asked: _Asked, along: Floats | None) -> None:
        """Count in one cell for the queries that may have closer points in it."""
        search = self.search
        for at in _slices(0, len(asking)):
            for places in _strips(search.edges[cell], search.edges[cell + 1]):
                hits = asking[at]
                if asked.bounds is not None and along is not None:
                    hits = hits[asked.bounds.most(places, hits, along) > asked.lowest[hits]]
                    if len(hits) == 0:
                        continue
                cosines = search.corpus_rows[places] @ asked.rows[hits].T
                best = cosines.max(axis=0)
                kept = np.flatnonzero(best > asked.surely_not[hits])
                if len(kept) == 0:
                    continue
                edges = asked.edges
                column, rank = _ranges(edges[hits[kept]], edges[hits[kept] + 1])
                column, tasks = kept[column], asked.tasks[rank]
                # A query's tasks part here: those of nearer goals find nothing in most tiles.
                open_ = best[column] > self.surely_not[tasks]
                column, tasks = column[open_], tasks[open_]
                if len(column) < len(hits) or (column[:-1] == column[1:]).any():
                    cosines = cosines[:, column]
                self._count_tile(cosines, places.start, cell, tasks)

    def _count_tile(self, cosines: Floats, start: int, cell: int, tasks: Integers) -> None:
        """Add the certain counts of one tile, and put aside points that float32 cannot decide.

        Rows of the tile are positions in the corpus from ``start`` on, columns are tasks.
        """
        for places in (self.own_place[tasks], self.goal_place[tasks]):
            # A tie by definition; left in, it would send every task on to float64.
            at = places - start
            inside = np.flatnonzero((at >= 0) & (at < len(cosines)))
            cosines[at[inside], inside] = -2.0
        possible = cosines > self.surely_not[tasks]
        sure = cosines > self.surely[tasks]
        n_sure = _column_counts(sure)
        doubtful = np.flatnonzero(_column_counts(possible) != n_sure)
        found = n_sure.astype(np.int64)
        first = self.search.edges[cell]
        n_repeated = first + self.search.repeated[cell] - start
        if n_repeated > 0:
            copies = self.search.copies[start : start + min(n_repeated, len(cosines))]
            found += (copies - 1) @ sure[: len(copies)]
        self.closer[tasks] += found
        if len(doubtful):
            possible = possible[:, doubtful] & ~sure[:, doubtful]
            task, place = np.nonzero(possible.T)
            self._put_aside(tasks[doubtful[task]], start + place)

    def _put_aside(self, tasks: Integers, places: Integers) -> None:
        """Keep doubtful tasks and positions for float64, and decide them when they are many."""
        self.doubts.append((tasks, places))
        self.n_doubts += len(tasks)
        if self.n_doubts > chunk_rows(self.units.shape[1]):
            self._settle()

    def _settle(self) -> None:
        """Decide doubtful points in float64, in the order of the tree."""
        if not self.doubts:
            return
        search = self.search
        task = np.concatenate([tasks for tasks, _ in self.doubts])
        place = np.concatenate([places for _, places in self.doubts])
        self.doubts, self.n_doubts = [], 0
        if search.k_max is not None:
            kept = self.closer[task] < search.k_max
            task, place = task[kept], place[kept]
        for chunk in chunks(len(task), self.units.shape[1]):
            terms = exact_units(search.points, search.columns[place[chunk]])
            terms *= self.units[self.query[task[chunk]]]
            beats = tree_sums(terms) > self.threshold[task[chunk]]
            np.add.at(self.closer, task[chunk][beats], search.copies[place[chunk][beats]])


@dataclass(frozen=True)
class _Asked:
    """Open tasks by query: ``edges`` separate them, the other fields are their thresholds."""

    tasks: Integers
    queries: Integers
    edges: Integers
    lowest: Floats
    surely_not: Floats
    rows: Floats
    bounds: LeadBounds | None

    @classmethod
    def of(cls, block: Block, tasks: Integers) -> _Asked:
        queries, first = np.unique(block.query[tasks], return_index=True)
        rows = block.rows[queries]
        return cls(
            tasks,
            queries,
            np.append(first, len(tasks)),
            np.minimum.reduceat(block.threshold[tasks], first),
            np.minimum.reduceat(block.surely_not[tasks], first),
            rows,
            block.search.leads.bounds_of(rows) if block.search.leads else None,
        )


def _column_counts(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Count the set flags of each column of at most 255 rows, eight times as fast as in int64."""
    return flags.view(np.uint8).sum(axis=0, dtype=np.uint8)


def _slices(start: int, stop: int) -> list[slice]:
    """Divide the columns of tiles so that a tile stays in cache."""
    size = _TILE_BYTES // (4 * _TILE_ROWS)
    return [slice(at, min(at + size, stop)) for at in range(start, stop, size)]


def _strips(start: int, stop: int) -> list[slice]:
    """Divide the rows of tiles so that their counts fit in a byte."""
    return [slice(at, min(at + _TILE_ROWS, stop)) for at in range(start, stop, _TILE_ROWS)]


def _ranges(start: Integers, stop: Integers) -> tuple[Integers, Integers]:
    """Concatenate ranges; return the range of each number, and the numbers."""
    size = stop - start
    which = np.repeat(np.arange(len(size)), size)
    before = np.cumsum(size) - size
    return which, np.arange(len(which)) + (start - before)[which]


def _owners(near: Integers) -> list[list[int]]:
    """Return, for each cell, the cells to which it is near."""
    owners: list[list[int]] = [[] for _ in range(len(near))]
    for owner, cells in enumerate(near.tolist()):
        for cell in cells:
            owners[cell].append(owner)
    return owners

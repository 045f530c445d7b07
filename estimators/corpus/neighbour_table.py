"""Table of the nearest neighbours of all points of a growing corpus, searched block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from estimators.corpus.text_space import nonzero_rows
from estimators.persistence import savable
from film.corpus import NearestSearch, SparseSearch, learn_centres

BLOCK_ROWS = 65_536
SAMPLE_ROWS = 500
FEW_POINTS = 256
"""Number of points up to which all are compared."""

MOST_PROBED = 100
"""Maximal number of cells searched per point."""

EASY_PRODUCTS = 400_000_000
"""Products of terms of sparse points, in all, up to which all points are compared: two seconds."""

LARGEST_TABLE = 100_000_000
"""Maximal number of neighbours in all: at most 6 GB for the table and its pairs."""

_ENTRY = np.dtype([("point", np.int32), ("similarity", np.float32)])

Progress = Callable[[str], None] | None


def table_width(k: int, blocks: np.ndarray) -> int:
    """Return the number of neighbours that a point can have, at most k.

    Parameters
    ----------
    k : int
        ``n_neighbors``.
    blocks : ndarray of int, shape (n,)
        Block of each point.

    Raises
    ------
    ValueError
        If there are more than `LARGEST_TABLE` neighbours.
    """
    width = min(k, int(np.unique(blocks, return_counts=True)[1].max(initial=1)) - 1)
    if len(blocks) * width > LARGEST_TABLE:
        raise ValueError(
            f"n_neighbors={k} with {len(blocks):,} different texts makes "
            f"{len(blocks) * width:,} candidates, about {len(blocks) * width * 60 // 10**9} GB; "
            f"give n_neighbors={max(1, LARGEST_TABLE // len(blocks))} or less, or compare within "
            "smaller blocks"
        )
    return width


@savable
class NeighbourTable:
    """The k nearest points of each point within its block, by cosine.

    An interrupted search keeps its finished blocks, and appended points are compared without
    repeating finished comparisons. Either way, the table equals that of a single search.

    Parameters
    ----------
    k : int
        Neighbours per point; fewer if its block is smaller.
    approximate : bool
        Whether to search the nearest cells only, or by rare terms if points are sparse.
    seed : int
        Seeds the cells, and the sample that estimates the recall.

    Attributes
    ----------
    points : ndarray or csr_array of float32, shape (n, d)
        Unit rows; zero rows are never neighbours, nor are sparse points without a common term.
    blocks : ndarray of intp, shape (n,)
        Block of each point.
    """

    def __init__(self, k: int, approximate: bool, seed: int) -> None:
        self.k = k
        self.approximate = approximate
        self.seed = seed
        self.points: Any = np.empty((0, 0), dtype=np.float32)
        self.blocks = np.empty(0, dtype=np.intp)
        # One array, so that a single assignment stores a block, even if Ctrl-C follows.
        self._table = np.empty((0, 0), dtype=_ENTRY)
        self._compared = np.empty(0, dtype=np.intp)
        # Centres of the cells, by block.
        self._cells: dict[int, np.ndarray] = {}
        self._search: _SearchInBlocks | None = None
        self._search_all: _SearchInBlocks | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_search": None, "_search_all": None}

    def check_state(self) -> None:
        """Raise an error if arrays of a loaded table do not match, or indices are out of range."""
        n = self.points.shape[0]
        arrays = self.blocks, self._compared, self._table
        if any(len(array) != n for array in arrays) or self._table.dtype != _ENTRY:
            raise ValueError("the arrays of a table of neighbours do not match its points")
        for array, low, high in ((self._compared, 0, n), (self._table["point"], -1, n - 1)):
            if array.size and not low <= array.min() <= array.max() <= high:
                raise ValueError(f"a table of neighbours of {n} points has an index out of range")

    def append(self, points: Any, blocks: np.ndarray) -> None:
        """Add points at the end, given all points and the blocks of the new ones."""
        every = np.concatenate([self.blocks, blocks])
        width = table_width(self.k, every)
        # If rows were as wide as the largest block, their new neighbours are still missing.
        table = np.empty((len(every), width), dtype=_ENTRY)
        table["point"], table["similarity"] = -1, -np.inf
        table[: len(self.blocks), : self._table.shape[1]] = self._table
        self.points, self.blocks, self._table = points, every, table
        self._compared = np.concatenate([self._compared, np.zeros(len(blocks), dtype=np.intp)])
        self._search = self._search_all = None

    def complete(self, progress: Progress = None) -> None:
        """Compare every point with all points of its block that it was not compared with."""
        n, width = len(self.blocks), self._table.shape[1]
        for start in np.unique(self._compared[self._compared < n]).tolist():
            rows = np.flatnonzero(self._compared == start)
            rows = rows[np.argsort(self.blocks[rows], kind="stable")]
            search = self._whole() if start == 0 else self._searcher(start, {})
            for first in range(0, len(rows), BLOCK_ROWS):
                chunk = rows[first : first + BLOCK_ROWS]
                found = search(self.points[chunk], self.blocks[chunk], width + 1)
                self._table[chunk] = self._merged(chunk, start, *found)
                self._compared[chunk] = n
                if progress:
                    progress(f"neighbours {int((self._compared == n).sum())}/{n}")

    def neighbours(self, rows: np.ndarray | None = None, k: int = 0) -> np.ndarray:
        """Return the neighbours of all points, (n, width), or k of some, padded with −1.

        Those of all points come from the table; other numbers are searched.
        """
        if rows is None:
            return self._table["point"]
        found = self._whole()(self.points[rows], self.blocks[rows], k + 1)
        nearest = _without_self(rows, *found, k)
        return np.where(np.isfinite(nearest["similarity"]), nearest["point"], -1)

    def pairs(self) -> np.ndarray:
        """Return unique, sorted pairs of neighbours, (m, 2), the lower point first."""
        n = len(self.blocks)
        a = np.repeat(np.arange(n), self._table.shape[1])
        b = self._table["point"].ravel().astype(np.intp)
        a, b = a[b >= 0], b[b >= 0]
        keys = np.sort(np.minimum(a, b) * n + np.maximum(a, b))
        # If few keys are repeated, this is several times faster than `numpy.unique`.
        keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        return np.column_stack([keys // max(n, 1), keys % max(n, 1)])

    def nearest(
        self, queries: Any, k: int, blocks: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest points of new unit rows, and their cosines, (n_queries, k) each.

        Points are padded with −1, cosines with −∞. The search covers the block of each query, or
        all points if ``blocks`` is None.
        """
        if blocks is not None:
            return self._whole()(queries, blocks, k)
        if self._search_all is None:
            one = np.zeros_like(self.blocks)
            cells = self._cells if not self.blocks.any() else {}
            self._search_all = _SearchInBlocks(self.points, one, self.approximate, self.seed, cells)
        return self._search_all(queries, np.zeros(queries.shape[0], dtype=np.intp), k)

    def recall(self) -> float:
        """Estimate the share of the exact neighbours in the table, on a sample of points."""
        known = np.flatnonzero(nonzero_rows(self.points))
        if not self.approximate or not len(known):
            return 1.0
        rng = np.random.default_rng(self.seed)
        rows = rng.choice(known, min(SAMPLE_ROWS, len(known)), replace=False)
        exact = _SearchInBlocks(self.points, self.blocks, False, self.seed, {})
        width = self._table.shape[1]
        found = exact(self.points[rows], self.blocks[rows], width + 1)
        true = _without_self(rows, *found, width)["similarity"]
        # Ties are equally good; float32 cosines of the two searches differ by 1e-6.
        last = true.min(axis=1, initial=np.inf, where=np.isfinite(true), keepdims=True) - 1e-5
        held = self._table["similarity"][rows] >= last
        return float(held.sum() / max(1, np.isfinite(true).sum()))

    def _whole(self) -> _SearchInBlocks:
        if self._search is None:
            self._search = self._searcher(0, self._cells)
        return self._search

    def _searcher(self, start: int, cells: dict[int, np.ndarray]) -> _SearchInBlocks:
        points, blocks = self.points[start:], self.blocks[start:]
        return _SearchInBlocks(points, blocks, self.approximate, self.seed, cells)

    def _merged(
        self, rows: np.ndarray, start: int, points: np.ndarray, similarity: np.ndarray
    ) -> np.ndarray:
        """Merge the results of a search from ``start`` on with the known neighbours of rows."""
        width = self._table.shape[1]
        new = _without_self(rows, np.where(points < 0, -1, points + start), similarity, width)
        old = self._table[rows]
        # An interruption may come between storing a block and marking it as stored.
        old["similarity"][old["point"] >= start] = -np.inf
        both = np.concatenate([old, new], axis=1)
        order = np.lexsort((both["point"], -both["similarity"]), axis=1)[:, :width]
        best = np.take_along_axis(both, order, axis=1)
        best["point"][~np.isfinite(best["similarity"])] = -1
        return best


class _SearchInBlocks:
    """Search each query within its block.

    Parameters
    ----------
    points : ndarray or csr_array of float32, shape (n, d)
        Unit rows.
    blocks : ndarray of int, shape (n,)
        Block of each point.
    approximate : bool
        As in `NeighbourTable`.
    seed : int
        Random seed.
    cells : dict of int to ndarray
        Known centres of cells by block; newly learned centres are added.
    """

    def __init__(
        self,
        points: Any,
        blocks: np.ndarray,
        approximate: bool,
        seed: int,
        cells: dict[int, np.ndarray],
    ) -> None:
        self._points, self._approximate, self._seed, self._cells = points, approximate, seed, cells
        known = np.flatnonzero(nonzero_rows(points))
        self._members = known[np.argsort(blocks[known], kind="stable")]
        self._sorted = blocks[self._members]
        self._large: dict[int, NearestSearch | SparseSearch] = {}

    def __call__(self, queries: Any, blocks: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points and similarities, (n_queries, k) each, padded with −1 and −inf."""
        found = np.full((queries.shape[0], k), -1, dtype=np.intp)
        nearest = np.full((queries.shape[0], k), -np.inf, dtype=np.float32)
        asked = np.flatnonzero(nonzero_rows(queries))
        if not len(asked):
            return found, nearest
        asked = asked[np.argsort(blocks[asked], kind="stable")]
        names, starts = np.unique(blocks[asked], return_index=True)
        low = np.searchsorted(self._sorted, names, side="left")
        high = np.searchsorted(self._sorted, names, side="right")
        for name, some, first, last in zip(
            names.tolist(), np.split(asked, starts[1:]), low.tolist(), high.tolist(), strict=True
        ):
            width = min(k, last - first)
            if width:
                search = self._of_block(name, self._members[first:last])
                position, similarity = search(queries[some], width)
                found[some, :width], nearest[some, :width] = position, similarity
        return found, nearest

    def _of_block(self, name: int, members: np.ndarray) -> NearestSearch | SparseSearch:
        search = self._large.get(name)
        if search is None:
            n = len(members)
            approximate = self._approximate and n > FEW_POINTS
            if sp.issparse(self._points):
                most = max(3 * EASY_PRODUCTS // (4 * n), int(9 * np.sqrt(n)))
                most = most if approximate else None
                search = SparseSearch(self._points, members, most=most)
            else:
                centres = self._centres(name, members) if approximate else None
                n_probe = 0 if centres is None else min(max(8, len(centres) // 10), MOST_PROBED)
                search = NearestSearch(self._points, members, centres=centres, n_probe=n_probe)
            if n > FEW_POINTS:
                self._large[name] = search
        return search

    def _centres(self, name: int, members: np.ndarray) -> np.ndarray:
        """Return the centres of a block's cells; centres are reused until the points double."""
        n = len(members)
        n_cells = max(1, min(int(4 * np.sqrt(n)), n // 40))
        centres = self._cells.get(name)
        width = self._points.shape[1]
        if centres is None or centres.shape[1:] != (width,) or 2 * len(centres) < n_cells:
            centres = learn_centres(self._points, n_cells, self._seed, members)
            self._cells[name] = centres
        return centres


def n_products(points: Any) -> int:
    """Return how many products of terms a comparison of all sparse points takes."""
    n_with = np.bincount(points.indices).astype(np.float64)
    return int(n_with @ n_with)


def _without_self(
    rows: np.ndarray, points: np.ndarray, similarity: np.ndarray, k: int
) -> np.ndarray:
    """Remove the row itself from k + 1 nearest rows and keep k."""
    entries = np.empty(points.shape, dtype=_ENTRY)
    entries["point"], entries["similarity"] = points, similarity
    entries["similarity"][points == rows[:, None]] = -np.inf
    order = np.argsort(-entries["similarity"], axis=1, kind="stable")[:, :k]
    return np.take_along_axis(entries, order, axis=1)

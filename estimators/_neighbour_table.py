"""Nearest neighbours of every point of a growing corpus, searched block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

BLOCK_ROWS = 4096
SAMPLE_ROWS = 500

Progress = Callable[[str], None] | None
Search = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


class NeighbourTable:
    """The k nearest other points of every point, by cosine.

    An interrupted search keeps its finished blocks; appended points are compared with the others
    without doing again what is done. Either way the table is that of one search over all points.

    Parameters
    ----------
    k : int
        Neighbours a point.
    approximate : bool
        Whether to search by faiss.
    seed : int
        Seeds the clustering of faiss, and the sample that recall is measured on.

    Attributes
    ----------
    points : ndarray of float32, shape (n, d)
        Unit rows; zero rows are nobody's neighbour.
    """

    def __init__(self, k: int, approximate: bool, seed: int) -> None:
        self.k = k
        self.approximate = approximate
        self.seed = seed
        self.points = np.empty((0, 0), dtype=np.float32)
        # One array, so that one assignment writes a block whole, whenever Ctrl-C comes.
        entry = [("point", np.int32), ("similarity", np.float32)]
        self._table = np.empty((0, k), dtype=entry)
        self._compared = np.empty(0, dtype=np.intp)
        self._search: Search | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_search": None}

    def append(self, points: np.ndarray) -> None:
        """Add points at the end."""
        n = len(points)
        fresh = np.empty((n, self.k), dtype=self._table.dtype)
        fresh["point"], fresh["similarity"] = -1, -np.inf
        self.points = np.concatenate([self.points.reshape(-1, points.shape[1]), points])
        self._table = np.concatenate([self._table, fresh])
        self._compared = np.concatenate([self._compared, np.zeros(n, dtype=np.intp)])
        self._search = None

    def complete(self, progress: Progress = None) -> None:
        """Compare every point with all those it has not been compared with."""
        n = len(self.points)
        for start in np.unique(self._compared[self._compared < n]).tolist():
            rows = np.flatnonzero(self._compared == start)
            search = _searcher(self.points[start:], self.approximate, self.seed)
            if start == 0:
                self._search = search
            for first in range(0, len(rows), BLOCK_ROWS):
                block = rows[first : first + BLOCK_ROWS]
                self._table[block] = self._merged(block, start, search)
                self._compared[block] = n
                if progress:
                    progress(f"neighbours {int((self._compared == n).sum())}/{n}")

    def pairs(self) -> np.ndarray:
        """Pairs of neighbours, (m, 2), lower point first, each once and sorted."""
        n = len(self.points)
        a = np.repeat(np.arange(n), self.k)
        b = self._table["point"].ravel().astype(np.intp)
        a, b = a[b >= 0], b[b >= 0]
        keys = np.unique(np.minimum(a, b) * n + np.maximum(a, b))
        return np.column_stack([keys // max(n, 1), keys % max(n, 1)])

    def nearest(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Nearest points of new unit rows, (n_queries, k), −1 where there are too few."""
        if self._search is None:
            self._search = _searcher(self.points, self.approximate, self.seed)
        return self._search(queries, k)[0]

    def recall(self) -> float:
        """Share of the exact neighbours of sampled points that the table holds."""
        if not self.approximate or not self.points.any():
            return 1.0
        known = np.flatnonzero(self.points.any(axis=1))
        rng = np.random.default_rng(self.seed)
        rows = rng.choice(known, min(SAMPLE_ROWS, len(known)), replace=False)
        exact = _searcher(self.points, False, self.seed)
        true = _without_self(rows, *exact(self.points[rows], self.k + 1), self.k)["similarity"]
        # Equally near neighbours are as good; float32 cosines of the two searches differ by 1e-6.
        last = true.min(axis=1, initial=np.inf, where=np.isfinite(true), keepdims=True) - 1e-5
        found = self._table["similarity"][rows] >= last
        return float(found.sum() / max(1, np.isfinite(true).sum()))

    def _merged(self, rows: np.ndarray, start: int, search: Search) -> np.ndarray:
        points, similarity = search(self.points[rows], self.k + 1)
        new = _without_self(rows, points + start, similarity, self.k)
        old = self._table[rows]
        # An interruption can fall between a block's writing and its being noted as written.
        old["similarity"][old["point"] >= start] = -np.inf
        both = np.concatenate([old, new], axis=1)
        order = np.lexsort((both["point"], -both["similarity"]), axis=1)[:, : self.k]
        best = np.take_along_axis(both, order, axis=1)
        best["point"][~np.isfinite(best["similarity"])] = -1
        return best


def _without_self(
    rows: np.ndarray, points: np.ndarray, similarity: np.ndarray, k: int
) -> np.ndarray:
    """Keep the k nearest of k + 1 that are not the row itself."""
    entries = np.empty(points.shape, dtype=[("point", np.int32), ("similarity", np.float32)])
    entries["point"], entries["similarity"] = points, similarity
    entries["similarity"][points == rows[:, None]] = -np.inf
    order = np.argsort(-entries["similarity"], axis=1, kind="stable")[:, :k]
    return np.take_along_axis(entries, order, axis=1)


def _searcher(points: np.ndarray, approximate: bool, seed: int) -> Search:
    """Build a search over points: queries, k → points and similarities, (n_queries, k)."""
    known = np.flatnonzero(points.any(axis=1))
    if len(known) == 0:
        return _none_found
    build = _approximate if approximate else _exact
    inner = build(points[known], seed)

    def search(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        found, nearest = _none_found(queries, k)
        asked = np.flatnonzero(queries.any(axis=1))
        width = min(k, len(known))
        if len(asked):
            position, similarity = inner(np.ascontiguousarray(queries[asked]), width)
            found[asked, :width] = np.where(position >= 0, known[position], -1)
            nearest[asked, :width] = np.where(position >= 0, similarity, -np.inf)
        return found, nearest

    return search


def _none_found(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    shape = (len(queries), k)
    return np.full(shape, -1, dtype=np.intp), np.full(shape, -np.inf, dtype=np.float32)


def _exact(points: np.ndarray, seed: int) -> Search:
    neighbours = NearestNeighbors(algorithm="brute").fit(points)

    def search(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        distance, position = neighbours.kneighbors(queries, n_neighbors=k)
        return position, 1 - distance**2 / 2

    return search


def _approximate(points: np.ndarray, seed: int) -> Search:
    """Search the nearest of the cells that k-means parts the corpus into.

    Near-duplicates mostly share a cell, where graph indexes lose some of them.
    """
    import faiss

    n, d = points.shape
    n_cells = max(1, min(int(4 * np.sqrt(n)), n // 40))
    # faiss does not keep the coarse index alive by itself.
    coarse = faiss.IndexFlatIP(d)
    index = faiss.IndexIVFFlat(coarse, d, n_cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = seed
    index.cp.min_points_per_centroid = 1
    index.train(points)
    index.add(points)
    index.nprobe = max(8, n_cells // 32)

    def search(queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        similarity, position = index.search(queries, k)
        return position, similarity

    search.coarse = coarse  # type: ignore[attr-defined]
    return search

"""Nearest neighbours by cosine: exhaustive, or restricted to the nearest cells."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from film.threads import one_blas_thread, usable_cores

__all__ = ["NearestSearch", "learn_centres"]

Points = NDArray[np.float32]
Rows = NDArray[np.intp]

PART_QUERIES = 8192
"""Queries per thread and step: enough of them share a cell for fast products."""

FEW_QUERIES = 64
"""Up to this many queries, one NumPy thread is faster than several."""

BLOCK_POINTS = 4096
"""Points compared at a time without cells."""

BLOCK_NUMBERS = 2**22
"""Cosines that one thread holds at a time: 16 MB."""


def learn_centres(
    points: Points, n_cells: int, seed: int, rows: Rows | None = None, *, n_iter: int = 5
) -> Points:
    """Learn cell centres by spherical k-means.

    Parameters
    ----------
    points : ndarray of float32, shape (n, d)
        Unit rows. The sample has at most 32 rows per cell.
    n_cells : int
        Number of cells, at most the number of rows.
    seed : int
        Seeds the sample and the first centres.
    rows : ndarray of intp, shape (m,), default=None
        Rows of `points` to learn from; None means all.
    n_iter : int, default=5
        Iterations. A few are enough for neighbour search.

    Returns
    -------
    centres : ndarray of float32, shape (n_cells, d)
        Unit rows. A point belongs to the centre with the largest product.

    Notes
    -----
    Dhillon and Modha, *Concept Decompositions for Large Sparse Text Data*, 2001. A cell without
    points keeps its centre. O(n_iter · 32 n_cells² d).

    Examples
    --------
    >>> import numpy as np
    >>> from film.corpus import learn_centres
    >>> points = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> learn_centres(points, 2, seed=0).shape
    (2, 2)
    """
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(points) if rows is None else rows)[: 32 * n_cells]
    sample = points[np.sort(drawn)]
    centres = points[drawn[:n_cells]]
    for _ in range(n_iter):
        cell = _nearest_cells(sample, centres, 1)[:, 0]
        member = sp.csr_array(
            (np.ones(len(sample), np.float32), (cell, np.arange(len(sample)))),
            shape=(n_cells, len(sample)),
        )
        sums = np.asarray(member @ sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
    return np.ascontiguousarray(centres, dtype=np.float32)


class NearestSearch:
    """Search for the k nearest points by cosine.

    Parameters
    ----------
    points : ndarray of float32, shape (n, d)
        Unit rows.
    rows : ndarray of intp, shape (m,), default=None
        Rows of `points` to search; None means all.
    centres : ndarray of float32, shape (n_cells, d), default=None
        From `learn_centres`. Queries are compared only with the points of their nearest cells, or
        with all points if None.
    n_probe : int, default=16
        Number of cells searched per query.

    Notes
    -----
    Queries and points are multiplied in blocks, cell by cell: O(n_queries · n · d) without cells,
    and O(n_queries · (n_cells + n · n_probe / n_cells) · d) with cells of similar size. Memory is
    about 32 MB per thread on top of the points. Products are in float32, so points whose cosines
    differ by less than about 1e-7 may come in either order.

    Examples
    --------
    >>> import numpy as np
    >>> from film.corpus import NearestSearch
    >>> points = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> position, cosine = NearestSearch(points)(points[:1], 2)
    >>> position.tolist(), cosine.round(1).tolist()
    ([[0, 1]], [[1.0, 0.800000011920929]])
    """

    def __init__(
        self,
        points: Points,
        rows: Rows | None = None,
        *,
        centres: Points | None = None,
        n_probe: int = 16,
    ) -> None:
        self._points = points
        self._rows = np.arange(len(points)) if rows is None else rows
        self._centres = centres
        self._n_probe = n_probe
        if centres is not None:
            cell = _nearest_cells(points, centres, 1, self._rows)[:, 0]
            members = self._rows[np.argsort(cell, kind="stable")]
            sizes = np.bincount(cell, minlength=len(centres))
            self._members = np.split(members, np.cumsum(sizes)[:-1])

    def __call__(self, queries: Points, k: int) -> tuple[Rows, Points]:
        """Find the k nearest points of each query.

        Parameters
        ----------
        queries : ndarray of float32, shape (n_queries, d)
            Unit rows.
        k : int
            Number of neighbours per query.

        Returns
        -------
        positions : ndarray of intp, shape (n_queries, k)
            Row numbers, nearest first and ties by row number; −1 if there are fewer than k points.
        cosines : ndarray of float32, shape (n_queries, k)
            −∞ where positions are −1.
        """
        if len(queries) <= FEW_QUERIES:
            return self._look_up(queries, _Best(queries, k))
        positions = np.empty((len(queries), k), dtype=np.intp)
        cosines = np.empty((len(queries), k), dtype=np.float32)
        threads = usable_cores()
        size = min(PART_QUERIES, -(-len(queries) // threads))
        starts = range(0, len(queries), size)

        def fill(start: int) -> None:
            part = slice(start, start + size)
            positions[part], cosines[part] = self._look_up(queries[part], _Best(queries[part], k))

        with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, starts))
        return positions, cosines

    def _look_up(self, queries: Points, best: _Best) -> tuple[Rows, Points]:
        for rows, members in self._visits(queries):
            best.compare(rows, self._points[members], members)
        return best.sorted()

    def _visits(self, queries: Points) -> Iterator[tuple[Rows, Rows]]:
        """Yield queries and the points to compare them with, nearest cell first."""
        every = np.arange(len(queries))
        if self._centres is None:
            for first in range(0, len(self._rows), BLOCK_POINTS):
                yield every, self._rows[first : first + BLOCK_POINTS]
            return
        cells = _nearest_cells(queries, self._centres, self._n_probe)
        # Visit every query's nearest cell first, to get a high lower bound early.
        for some in (cells[:, :1], cells[:, 1:])[: cells.shape[1]]:
            order = np.argsort(some, axis=None, kind="stable")
            rows = np.repeat(every, some.shape[1])[order]
            found, starts = np.unique(some.ravel()[order], return_index=True)
            for cell, asked in zip(found.tolist(), np.split(rows, starts[1:]), strict=True):
                if len(self._members[cell]):
                    yield asked, self._members[cell]


class _Best:
    """The k largest cosines found so far for each query."""

    def __init__(self, queries: Points, k: int) -> None:
        self._queries, self._n, self._k = queries, len(queries), k
        # Each query's k-th largest cosine so far; smaller ones can be skipped.
        self._least = np.full(len(queries), -np.inf, dtype=np.float32)
        self._kept: list[tuple[Rows, Rows, Points]] = []
        self._n_kept = self._n_settled = 0

    def compare(self, rows: Rows, points: Points, members: Rows) -> None:
        """Compare distinct queries with points numbered ``members``."""
        step = max(1, BLOCK_NUMBERS // len(members))
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            self._take(some, self._queries[some] @ points.T, members)

    def sorted(self) -> tuple[Rows, Points]:
        """Return the points and their cosines, shape (n, k), largest first."""
        positions = np.full((self._n, self._k), -1, dtype=np.intp)
        cosines = np.full((self._n, self._k), -np.inf, dtype=np.float32)
        if self._kept:
            row, point, cosine, nth = self._settle()
            positions[row, nth], cosines[row, nth] = point, cosine
        return positions, cosines

    def _take(self, rows: Rows, cosines: Points, members: Rows) -> None:
        least = self._least[rows]
        width = cosines.shape[1]
        if width > self._k and np.isneginf(least).any():
            place = width - self._k
            least = np.maximum(least, np.partition(cosines, place, axis=1)[:, place])
            self._least[rows] = least
        row, column = np.divmod(np.flatnonzero(cosines >= least[:, None]), width)
        self._kept.append((rows[row], members[column], cosines[row, column]))
        self._n_kept += len(row)
        if self._n_kept > 2 * self._n_settled + 64 * self._n:
            self._settle()

    def _settle(self) -> tuple[Rows, Rows, Points, Rows]:
        """Keep only the k largest of each query."""
        row, point, cosine = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        order = np.lexsort((point, -cosine, row))
        row, point, cosine = row[order], point[order], cosine[order]
        counts = np.bincount(row, minlength=self._n)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = nth < self._k
        row, point, cosine, nth = row[kept], point[kept], cosine[kept], nth[kept]
        self._least[row[nth == self._k - 1]] = cosine[nth == self._k - 1]
        self._kept = [(row, point, cosine)]
        self._n_kept = self._n_settled = len(row)
        return row, point, cosine, nth


def _nearest_cells(points: Points, centres: Points, k: int, rows: Rows | None = None) -> Rows:
    """Return the k nearest centres of each point, or of ``rows``, nearest first."""
    k = min(k, len(centres))
    n = len(points) if rows is None else len(rows)
    found = np.empty((n, k), dtype=np.intp)
    step = max(1, BLOCK_NUMBERS // len(centres))
    for first in range(0, n, step):
        block = slice(first, first + step)
        S = points[block if rows is None else rows[block]] @ centres.T
        if k == 1:
            found[block, 0] = S.argmax(axis=1)
            continue
        near = np.argpartition(S, len(centres) - k, axis=1)[:, len(centres) - k :]
        order = np.argsort(-np.take_along_axis(S, near, axis=1), axis=1)
        found[block] = np.take_along_axis(near, order, axis=1)
    return found

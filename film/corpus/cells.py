"""Nearest points by cosine, among all points or among those of the nearest cells."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from film.corpus.devices import BestOnDevice, checked_device, whole_float32
from film.threads import one_blas_thread, usable_cores

__all__ = ["NearestSearch", "learn_centres"]

Points = NDArray[np.float32]
Rows = NDArray[np.intp]

PART_QUERIES = 8192
"""Queries that one thread looks up at once: enough of them share a cell for a fast product."""

FEW_QUERIES = 64
"""Up to so many queries threads, or a device, cost more than they bring."""

BLOCK_POINTS = 4096
"""Points that are compared at once where there are no cells."""

BLOCK_NUMBERS = 2**22
"""Cosines that one thread holds at once: 16 MB."""


def learn_centres(
    points: Points, n_cells: int, seed: int, rows: Rows | None = None, *, n_iter: int = 5
) -> Points:
    """Part directions into cells by spherical k-means.

    Parameters
    ----------
    points : ndarray of float32, shape (n, d)
        Unit rows. At most 32 a cell are drawn to learn from.
    n_cells : int
        Number of cells, at most as many as rows.
    seed : int
        Seeds the sample and the first centres.
    rows : ndarray of intp, shape (m,), default=None
        Rows of `points` to learn from; all when None.
    n_iter : int, default=5
        Rounds. Cells that serve to look neighbours up need not be the best.

    Returns
    -------
    centres : ndarray of float32, shape (n_cells, d)
        Unit rows. The cell of a point is that of the centre with the largest product.

    Notes
    -----
    Dhillon and Modha, *Concept Decompositions for Large Sparse Text Data*, 2001. A cell that loses
    all its points keeps its centre. O(n_iter · 32 n_cells² d).

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
    """Find the k nearest of some points by cosine.

    Parameters
    ----------
    points : ndarray of float32, shape (n, d)
        Unit rows.
    rows : ndarray of intp, shape (m,), default=None
        Rows of `points` to search among; all when None.
    centres : ndarray of float32, shape (n_cells, d), default=None
        From `learn_centres`: a query is compared with the points of its nearest cells alone. None
        compares it with all points.
    n_probe : int, default=16
        Cells that a query is compared with.

    Notes
    -----
    Products are made of many queries and many points at a time, cell by cell, so that they run at
    the speed of matrix products: O(n_queries · n · d) without cells, and with them
    O(n_queries · (n_cells + n · n_probe / n_cells) · d) where cells are about equally large. Memory
    is some 32 MB a thread beside the points. Products are in float32: of points that are nearer to
    each other than its rounding, about 1e-7, either may come first.

    A device of torch is sent the queries, then the points of one cell, or 4096 points, at a time:
    its memory need not hold them all. Cells are found by NumPy in any case, so that the same points
    are compared.

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

    def __call__(self, queries: Points, k: int, device: str | None = None) -> tuple[Rows, Points]:
        """Find the k nearest points of unit rows.

        Parameters
        ----------
        queries : ndarray of float32, shape (n_queries, d)
            Unit rows.
        k : int
            Points of each.
        device : str, optional
            A device of torch such as "cuda", which makes the products of more than 64 queries and
            gives the same answers up to their rounding. None leaves them to NumPy.

        Returns
        -------
        positions : ndarray of intp, shape (n_queries, k)
            Rows of the points, the nearest first, of equals the lower; −1 where there are no more.
        cosines : ndarray of float32, shape (n_queries, k)
            −∞ where there are no more.

        Raises
        ------
        ImportError, ValueError
            If the device is not there.
        """
        place = None if device is None else checked_device(device)
        if len(queries) <= FEW_QUERIES:
            return self._look_up(queries, _Best(queries, k))
        if place is not None:
            with whole_float32():
                return self._look_up(queries, BestOnDevice(queries, k, place))
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

    def _look_up(self, queries: Points, best: _Best | BestOnDevice) -> tuple[Rows, Points]:
        for rows, members in self._visits(queries):
            best.compare(rows, self._points[members], members)
        return best.sorted()

    def _visits(self, queries: Points) -> Iterator[tuple[Rows, Rows]]:
        """Yield queries and the points to compare them with, each query's nearest cell first."""
        every = np.arange(len(queries))
        if self._centres is None:
            for first in range(0, len(self._rows), BLOCK_POINTS):
                yield every, self._rows[first : first + BLOCK_POINTS]
            return
        cells = _nearest_cells(queries, self._centres, self._n_probe)
        # The nearest cell of all queries sets the bar for what the other cells have to offer.
        for some in (cells[:, :1], cells[:, 1:])[: cells.shape[1]]:
            order = np.argsort(some, axis=None, kind="stable")
            rows = np.repeat(every, some.shape[1])[order]
            found, starts = np.unique(some.ravel()[order], return_index=True)
            for cell, asked in zip(found.tolist(), np.split(rows, starts[1:]), strict=True):
                if len(self._members[cell]):
                    yield asked, self._members[cell]


class _Best:
    """The k largest cosines of each query among those compared."""

    def __init__(self, queries: Points, k: int) -> None:
        self._queries, self._n, self._k = queries, len(queries), k
        # A query's k-th largest so far: nothing below it can be among the k largest of all.
        self._least = np.full(len(queries), -np.inf, dtype=np.float32)
        self._kept: list[tuple[Rows, Rows, Points]] = []
        self._n_kept = self._n_settled = 0

    def compare(self, rows: Rows, points: Points, members: Rows) -> None:
        """Compare some queries, each once, with points, whose numbers are ``members``."""
        step = max(1, BLOCK_NUMBERS // len(members))
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            self._take(some, self._queries[some] @ points.T, members)

    def sorted(self) -> tuple[Rows, Points]:
        """Give the points and their cosines, (n, k), the largest first."""
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
        """Drop all but the k largest of each query."""
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
    """Give the k nearest centres of each point, or of some of them, the nearest first."""
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

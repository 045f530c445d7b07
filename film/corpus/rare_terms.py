"""Nearest neighbours of sparse points by cosine, through the terms that few points have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from film.threads import usable_cores

__all__ = ["SparseSearch"]

BLOCK_QUERIES = 256
BLOCK_COSINES = 2**22
"""Cosines that one thread holds at most: some 100 MB."""

WIDER = 4
"""Points compared in all terms for each wanted one, if rare terms choose them."""

Points = Any
Rows = NDArray[np.intp]
_Found = tuple[Rows, Rows, NDArray[np.float32]]

_POINT_BITS, _COSINE_BITS = np.uint64(25), np.uint64(31)
_POINT_MASK, _COSINE_MASK = (np.uint64((1 << int(n)) - 1) for n in (_POINT_BITS, _COSINE_BITS))


class SparseSearch:
    """Search for the k nearest sparse points by cosine.

    Parameters
    ----------
    points : csr_array of float32, shape (n, d)
        Unit rows, at most 33 million.
    rows : ndarray of intp, shape (m,), default=None
        Rows of `points` to search; None means all.
    most : int, default=None
        Products of terms per query. Rare and heavy terms of the query, as many as have at most this
        many points together, choose 4 k points, which are then compared in all terms. If the first
        term has more points, those where it weighs most are taken. None compares all points.

    Notes
    -----
    O(n_queries (most + k t) + nnz) for points of t terms, where ``most`` is replaced by the number
    of points with a term of the query if it is None.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.corpus import SparseSearch
    >>> points = sp.csr_array(np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32))
    >>> position, cosine = SparseSearch(points)(points[:1], 2)
    >>> position.tolist(), cosine.round(1).tolist()
    ([[0, 1]], [[1.0, 0.800000011920929]])
    """

    def __init__(
        self, points: Points, rows: Rows | None = None, *, most: int | None = None
    ) -> None:
        self._rows = np.arange(points.shape[0]) if rows is None else rows
        self._points = points if len(self._rows) == points.shape[0] else points[self._rows]
        self._most = most
        by_term = sp.csr_array(self._points.T)
        self._by_term = by_term if most is None else _heaviest(by_term, most)
        self._n_with = np.diff(self._by_term.indptr)

    def __call__(self, queries: Points, k: int) -> tuple[Rows, NDArray[np.float32]]:
        """Find the k nearest points of each query.

        Returns
        -------
        positions : ndarray of intp, shape (n_queries, k)
        cosines : ndarray of float32, shape (n_queries, k)
            The largest first; of equal ones the lower point. Positions are padded with −1, cosines
            with −∞ if fewer points have a common term with the query.
        """
        n = queries.shape[0]
        positions = np.full((n, k), -1, dtype=np.intp)
        cosines = np.full((n, k), -np.inf, dtype=np.float32)
        # Most points have some term in common with a query.
        n_cosines = min(len(self._rows), self._most or len(self._rows))
        size = min(BLOCK_QUERIES, max(1, BLOCK_COSINES // max(1, n_cosines)))

        def fill(first: int) -> None:
            row, point, cosine = self._nearest(queries[first : first + size], k)
            place = np.arange(len(row)) - np.searchsorted(row, row)
            positions[first + row, place] = self._rows[point]
            cosines[first + row, place] = cosine

        with ThreadPoolExecutor(usable_cores()) as pool:
            list(pool.map(fill, range(0, n, size)))
        return positions, cosines

    def _nearest(self, queries: Points, k: int) -> _Found:
        """Return rows, points and cosines of the k nearest points, sorted by row and rank."""
        if self._most is None:
            return _ranked(*_largest(queries @ self._by_term, k), k)
        found = _largest(self._most_telling(queries, self._most) @ self._by_term, WIDER * k)
        row, point, _ = _ranked(*found, WIDER * k)
        return _ranked(row, point, _products(queries, row, self._points[point]), k)

    def _most_telling(self, queries: Points, most: int) -> Points:
        """Keep the terms of each query that add most per product, of at most this many points.

        A term adds about its squared weight to the cosine with each of its points.
        """
        counts = self._n_with[queries.indices].astype(np.int64)
        owner = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
        order = np.lexsort((counts / queries.data.astype(np.float64) ** 2, owner))
        total = np.append(0, np.cumsum(counts[order]))
        fits = total[1:] - total[queries.indptr[owner]] <= most
        return _entries(queries, order[fits], fits)


def _entries(rows: Points, places: Rows, kept: NDArray[np.bool_]) -> Points:
    """Return rows with only the entries at these places, as many per row as are kept."""
    ends = np.append(0, np.cumsum(kept))[rows.indptr].astype(rows.indptr.dtype)
    return sp.csr_array((rows.data[places], rows.indices[places], ends), shape=rows.shape)


def _heaviest(by_term: Points, most: int) -> Points:
    """Keep at most this many points of each term, those where it weighs most."""
    kept = np.ones(by_term.nnz, dtype=bool)
    for term in np.flatnonzero(np.diff(by_term.indptr) > most).tolist():
        part = slice(*by_term.indptr[term : term + 2])
        lightest = np.argpartition(by_term.data[part], -most)[:-most]
        kept[part.start + lightest] = False
    return _entries(by_term, np.flatnonzero(kept), kept)


def _largest(rows: Points, k: int) -> _Found:
    """Return rows, columns and values of entries that include the k largest of each row."""
    sizes = np.diff(rows.indptr)
    n_parts = 4 * k
    wide = np.flatnonzero(sizes > 2 * n_parts)
    least = np.full(len(sizes), -np.inf, dtype=np.float32)
    if len(wide):
        parts = np.arange(n_parts) * sizes[wide][:, None] // n_parts
        starts = np.column_stack([rows.indptr[wide][:, None] + parts, rows.indptr[wide + 1]])
        starts[-1, -1] = min(starts[-1, -1], len(rows.data) - 1)
        # The k-th largest maximum of parts of a row is at most its k-th largest entry.
        highest = np.maximum.reduceat(rows.data, starts.ravel()).reshape(starts.shape)[:, :-1]
        least[wide] = np.partition(highest, n_parts - k, axis=1)[:, n_parts - k]
    kept = np.flatnonzero(rows.data >= np.repeat(least, sizes))
    return np.searchsorted(rows.indptr, kept, side="right") - 1, rows.indices[kept], rows.data[kept]


def _ranked(row: Rows, point: Rows, cosine: NDArray[np.float32], k: int) -> _Found:
    """Return the k largest cosines of each row, sorted; of equal ones the lower point."""
    # One integer holds row, cosine and point, from the highest bit on: integers sort fast.
    bits = _COSINE_MASK - np.maximum(cosine, 0).view(np.uint32)
    key = (row.astype(np.uint64) << _COSINE_BITS | bits) << _POINT_BITS | point.astype(np.uint64)
    key.sort()
    row = (key >> (_COSINE_BITS + _POINT_BITS)).astype(np.intp)
    kept = np.arange(len(row)) - np.searchsorted(row, row) < k
    key = key[kept]
    bits = _COSINE_MASK - (key >> _POINT_BITS & _COSINE_MASK)
    cosine = bits.astype(np.uint32).view(np.float32)
    return row[kept], (key & _POINT_MASK).astype(np.intp), cosine


def _products(queries: Points, row: Rows, others: Points) -> NDArray[np.float32]:
    """Return the product of each given row of queries with a row of others."""
    terms = np.unique(queries.indices)
    place = np.zeros(queries.shape[1], dtype=np.intp)
    place[terms] = np.arange(1, len(terms) + 1)
    width = len(terms) + 1
    dense = np.zeros(queries.shape[0] * width, dtype=np.float32)
    owner = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
    dense[owner * width + place[queries.indices]] = queries.data
    values = dense[np.repeat(row * width, np.diff(others.indptr)) + place[others.indices]]
    values *= others.data
    return np.add.reduceat(values, others.indptr[:-1])

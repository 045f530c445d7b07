"""Vectors of texts drawn towards their neighbours in an unlabelled collection."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

_BLOCK_BYTES = 32 * 2**20
# Length of a row whose largest entry was brought to at least that; zeros are shorter.
_SHORTEST = 0.5
_SAME = 1 - 1e-6
"""Cosine above which a point of the collection is the row itself, or a copy of it."""


def drawn_to_neighbours(rows: Any, collection: Any, *, k: int = 20, weight: float = 0.5) -> Any:
    """Add to each row the mean of its k nearest points of a collection, each times its cosine.

    ``x + (weight / k) Σ_{j ∈ N(x)} max(0, cos(x, c_j)) c_j``, with x and c_j of length 1. Texts of
    one matter have their neighbours in common, so that the cosine of what is drawn tells which
    differences matter within this collection, without any label. A smoothing of vectors over
    their graph of nearest neighbours, one step long.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n, d)
        Any length of a row.
    collection : ndarray or sparse matrix of shape (m, d)
        Of the same kind as rows. Dense ones are first rid of the direction that all share: of the
        mean of the collection's rows, shrunk as if k zeros stood among them.
    k : int, default=20
        Neighbours; a point of the row's own direction is none. Where there are fewer than k, the
        rest count as 0.
    weight : float, default=0.5
        0 leaves the rows where they are.

    Returns
    -------
    drawn : ndarray or sparse matrix of float32, shape (n, d)
        Rows of length 1; a row of zeros, or without the direction that all share, stays zero.

    Notes
    -----
    O(n m d) time, a block of cosines at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from film.pairs import drawn_to_neighbours
    >>> rows = csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> drawn_to_neighbours(rows, csr_array([[3.0, 4.0]]), k=1, weight=1.0).toarray().round(2)
    array([[0.94, 0.33],
           [0.28, 0.96]], dtype=float32)
    """
    points, among = _unit(rows), _unit(collection)
    if not sp.issparse(points):
        shared = among.sum(axis=0) / (len(among) + k)
        points, among = _unit(points - shared), _unit(among - shared)
    m = among.shape[0]
    size = max(1, _BLOCK_BYTES // (4 * m))
    parts = []
    across = sp.csr_array(among.T) if sp.issparse(among) else among.T
    for start in range(0, points.shape[0], size):
        block = points[start : start + size]
        cosines = block @ across
        cosines = cosines.toarray() if sp.issparse(cosines) else cosines
        nearest = _nearest_alone(cosines, k)
        parts.append(block + (nearest @ among) * np.float32(weight / k))
    if not sp.issparse(points):
        return _unit(np.concatenate(parts)) if parts else points
    return _unit(sp.csr_array(sp.vstack(parts))) if parts else points


def _nearest_alone(cosines: np.ndarray, k: int) -> Any:
    """Keep the k greatest positive cosines of each row, those of itself apart."""
    cosines[cosines > _SAME] = 0
    n, m = cosines.shape
    k = min(k, m)
    columns = np.argpartition(cosines, m - k, axis=1)[:, m - k :]
    values = np.maximum(np.take_along_axis(cosines, columns, axis=1), 0)
    edges = np.arange(0, n * k + 1, k)
    return sp.csr_array((values.ravel(), columns.ravel(), edges), shape=(n, m))


def _unit(rows: Any) -> Any:
    """Rows of length 1 in float32, zero rows as they are."""
    if not sp.issparse(rows):
        dense = np.asarray(rows, dtype=np.result_type(rows, np.float32))
        exponents = _exponents(np.maximum(dense.max(axis=1), -dense.min(axis=1)))
        dense = np.ldexp(dense, -exponents[:, None]).astype(np.float32, copy=False)
        return dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), _SHORTEST)
    found = sp.csr_array(rows, dtype=np.result_type(rows.dtype, np.float32))
    exponents = _exponents(abs(found).max(axis=1).toarray().ravel())
    data = np.ldexp(found.data, -np.repeat(exponents, np.diff(found.indptr)))
    found = sp.csr_array((data.astype(np.float32), found.indices, found.indptr), found.shape)
    lengths = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())
    scaled = sp.diags_array(1 / np.maximum(lengths, _SHORTEST)) @ found
    return sp.csr_array(scaled, dtype=np.float32)


def _exponents(largest: np.ndarray) -> np.ndarray:
    """Powers of two that bring rows near length 1, whose squares float32 would lose or overflow.

    To divide by a power of two rounds nothing.
    """
    return np.frexp(largest.astype(np.float64))[1]

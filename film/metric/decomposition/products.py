"""Multithreaded products of a sparse and a dense matrix."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

from film.threads import usable_cores

Matrix = Any
"""A dense ``(n, D)`` array or a SciPy sparse matrix of that shape."""

# Fewer multiplications than this are done before a thread has started.
_WORTH_THREADS = 1_000_000
# Narrower shares of a dense factor's columns would cost as much in passes over the sparse one.
_LEAST_COLUMNS = 16


def threaded_product(left: Matrix, right: np.ndarray) -> np.ndarray:
    """Return the product of a sparse and a dense matrix, computed by several threads.

    SciPy's product uses one core but releases the interpreter lock, so blocks of rows can run in
    parallel. For a CSC matrix, such as the transpose of a CSR matrix, these are blocks of the dense
    matrix's columns. Each number is computed as in the plain product, so the result does not depend
    on the number of threads.

    Parameters
    ----------
    left : sparse matrix or ndarray of shape (n, D)
        Dense input uses BLAS, which has its own threads. The transpose of a CSR matrix is used
        directly: for texts, a row-wise copy would take twice the time.
    right : ndarray of shape (D, k)
        Dense factor.

    Returns
    -------
    product : ndarray of shape (n, k)
        ``left @ right``; the cost is O(nnz k).

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.metric.decomposition.products import threaded_product
    >>> threaded_product(sp.eye_array(3, format="csr"), np.arange(6.0).reshape(3, 2))
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """
    if not sp.issparse(left):
        return left @ right
    if usable_cores() < 2 or left.nnz * right.shape[1] < _WORTH_THREADS:
        return left @ right
    product = np.empty((left.shape[0], right.shape[1]), np.result_type(left.dtype, right.dtype))
    if left.format == "csc":
        return _by_columns(left, right, product)
    left = sp.csr_array(left)

    def fill(start: int, stop: int) -> None:
        product[start:stop] = row_slice(left, start, stop) @ right

    # More blocks than threads, of as many entries each, so that no core is idle at the end.
    edges = balanced_edges(np.asarray(left.indptr), 4 * usable_cores())
    with ThreadPoolExecutor(usable_cores()) as pool:
        list(pool.map(fill, edges[:-1], edges[1:]))
    return product


def _by_columns(left: Any, right: np.ndarray, product: np.ndarray) -> np.ndarray:
    """Fill the product, with blocks of its columns in parallel."""

    def fill(start: int, stop: int) -> None:
        product[:, start:stop] = left @ np.ascontiguousarray(right[:, start:stop])

    width = right.shape[1]
    n_blocks = max(1, min(usable_cores(), width // _LEAST_COLUMNS))
    edges = np.linspace(0, width, n_blocks + 1).astype(int)
    with ThreadPoolExecutor(n_blocks) as pool:
        list(pool.map(fill, edges[:-1], edges[1:]))
    return product


def balanced_edges(cumulative: np.ndarray, n_blocks: int) -> np.ndarray:
    """Return the edges of consecutive blocks with nearly equal work.

    Parameters
    ----------
    cumulative : ndarray of shape (n + 1,)
        Total work of the rows before each row, from 0 to the work of all rows, such as ``indptr``.
    n_blocks : int
        Maximum number of blocks.

    Returns
    -------
    edges : ndarray of intp, increasing
        From 0 to n; block b is ``edges[b] : edges[b + 1]``, and no block is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.decomposition.products import balanced_edges
    >>> balanced_edges(np.array([0, 10, 11, 12, 20]), 2)
    array([0, 1, 4])
    """
    n = len(cumulative) - 1
    shares = np.linspace(0, cumulative[-1], n_blocks + 1)[1:-1]
    return np.unique(np.concatenate([[0], np.searchsorted(cumulative, shares), [n]]))


def row_slice(matrix: Any, start: int, stop: int) -> sp.csr_array:
    """Rows start … stop of a CSR matrix, on the memory of the matrix."""
    ends = np.asarray(matrix.indptr)[start : stop + 1]
    entries = slice(ends[0], ends[-1])
    shape = (stop - start, matrix.shape[1])
    return sp.csr_array((matrix.data[entries], matrix.indices[entries], ends - ends[0]), shape)

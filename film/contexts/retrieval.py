"""First screening of contexts: the rows of a matrix nearest to queries by their product."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix, issparse

Sparse = csr_array | csr_matrix | csc_array | csc_matrix
_BLOCK_CELLS = 8_000_000
"""Products that a block of queries may hold at once."""


@overload
def nearest_rows(
    queries: Sparse, points: Sparse, n: int, *, return_products: Literal[False] = False
) -> NDArray[np.int64]: ...
@overload
def nearest_rows(
    queries: Sparse, points: Sparse, n: int, *, return_products: Literal[True]
) -> tuple[NDArray[np.int64], NDArray]: ...
def nearest_rows(
    queries: Sparse, points: Sparse, n: int, *, return_products: bool = False
) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray]:
    """Find the n points with the largest inner product for each query.

    With rows of length 1, as TF-IDF makes them, the order is that of the cosine.

    Parameters
    ----------
    queries : sparse matrix, shape (q, V)
        Vectors of sentences.
    points : sparse matrix, shape (m, V)
        Vectors of chunks. For repeated calls give ``points.tocsc()``, which saves a conversion
        of all entries per call.
    n : int
        Points per query, at least 1; all m where it is larger.
    return_products : bool, default=False
        Whether to return the products too. They tell where a query has nothing in common with a
        point: product 0, and rows in ascending order.

    Returns
    -------
    rows : ndarray of int64, shape (q, min(n, m))
        By descending product; equal products by ascending row.
    products : ndarray of float, shape (q, min(n, m))
        In the common dtype of both matrices. Only with `return_products`.

    Raises
    ------
    ValueError
        When a matrix is not sparse, widths differ, a product is NaN or infinite, or n is below 1.

    Notes
    -----
    Blocks of queries are multiplied with an inverted index; memory is 8 million products besides
    the result. Selection is O(m + n log n) per query.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> points = csr_array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> nearest_rows(csr_array([[0.0, 2.0]]), points, 2).tolist()
    [[2, 1]]
    """
    for name, matrix in (("queries", queries), ("points", points)):
        if not issparse(matrix) or matrix.ndim != 2:
            raise ValueError(
                f"{name} must be a sparse matrix with rows for texts, got {type(matrix).__name__}"
            )
    (n_queries, n_words), (n_points, n_columns) = _shape(queries), _shape(points)
    if n_words != n_columns:
        raise ValueError(
            f"queries and points must have the same columns, got {n_words} and {n_columns}"
        )
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be an integer of at least 1, got {n!r}")
    index = csr_array(points.T)
    asked = csr_array(queries)
    width = min(int(n), n_points)
    rows = np.empty((n_queries, width), dtype=np.int64)
    products = np.empty((n_queries, width), dtype=np.result_type(asked.dtype, index.dtype))
    step = max(1, _BLOCK_CELLS // max(1, n_points))
    for start in range(0, n_queries, step):
        block = (asked[start : start + step] @ index).toarray()
        # Far fewer than the entries of `points`.
        if not np.isfinite(block).all():
            raise ValueError(
                "queries and points must be finite and their products too, got a product of NaN "
                f"or infinity for query {start + int(np.argwhere(~np.isfinite(block))[0, 0])}"
            )
        for k, line in enumerate(block, start=start):
            rows[k] = _largest(line, width)
            products[k] = line[rows[k]]
    return (rows, products) if return_products else rows


def _shape(matrix: Sparse) -> tuple[int, int]:
    n_rows, n_columns = matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
    return n_rows, n_columns


def _largest(values: NDArray, n: int) -> NDArray[np.int64]:
    """Return the places of the n largest values, in descending order, ties by place."""
    if n < len(values):
        least = np.partition(values, len(values) - n)[len(values) - n]
        above = np.flatnonzero(values > least)
        equal = np.flatnonzero(values == least)[: n - len(above)]
        # Equal values come after all above, so that the stable sort leaves ties in order.
        places = np.concatenate([above, equal])
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")]

"""Rows with the largest products with queries, and the largest of many values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

_BLOCK_CELLS = 8_000_000
"""Maximum number of products of a block of queries."""


def nearest_rows(queries: Any, points: Any, n: int) -> tuple[NDArray[np.int64], NDArray]:
    """Find the n points with the largest inner product for each query.

    For rows of length 1, as in TF-IDF, this is the order by cosine.

    Parameters
    ----------
    queries : sparse matrix, shape (q, V)
        Vectors of sentences.
    points : sparse matrix, shape (m, V)
        Vectors of chunks. For repeated calls, pass ``points.tocsc()``, which saves a conversion
        of all entries in each call.
    n : int
        Points per query, at least 1; if it is above m, all m points.

    Returns
    -------
    rows : ndarray of int64, shape (q, min(n, m))
        By descending product; equal products by ascending row.
    products : ndarray of float, shape (q, min(n, m))
        Their products; 0 if a query and a point have no term in common.

    Notes
    -----
    Blocks of queries are multiplied with an inverted index, which needs memory for 8 million
    products in addition to the result. Selection is O(m + n log n) per query.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> points = csr_array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> nearest_rows(csr_array([[0.0, 2.0]]), points, 2)[0].tolist()
    [[2, 1]]
    """
    index, asked = csr_array(points.T), csr_array(queries)
    step = max(1, _BLOCK_CELLS // max(1, points.shape[0]))
    rows, products = [], []
    for start in range(0, queries.shape[0], step):
        for line in (asked[start : start + step] @ index).toarray():
            rows.append(largest_first(line, n))
            products.append(line[rows[-1]])
    shape = queries.shape[0], min(n, points.shape[0])
    return np.reshape(rows, shape).astype(np.int64), np.reshape(products, shape)


def largest_first(values: NDArray, n: int) -> NDArray[np.int64]:
    """Return the positions of the n largest values, in descending order.

    Parameters
    ----------
    values : ndarray, shape (m,)
        Numbers.
    n : int
        Number of values; if it is above m, all m values.

    Returns
    -------
    places : ndarray of int64, shape (min(n, m),)
        Equal values by ascending position.

    Examples
    --------
    >>> import numpy as np
    >>> from film.contexts import largest_first
    >>> largest_first(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    places = np.arange(len(values))
    if 0 < n < len(values):
        least = np.partition(values, len(values) - n)[len(values) - n]
        places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")][: max(n, 0)]

"""Products with the Gram matrix G = XᵀX of the features.

For short texts, G has only a few times as many entries as X, since most texts repeat pairs of words
of other texts. If G is formed, a product with it is one pass over its entries. Its time does not
depend on the number of texts, and no block is as tall as X. The most common words fill whole
columns; as a dense block, these use BLAS, which is twenty times as fast as a sparse product.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from film.metric.decomposition.products import (
    Matrix,
    balanced_edges,
    row_slice,
    threaded_product,
)
from film.threads import usable_cores

# G is formed if the number of pairs of entries within rows is at most this many times the number of
# entries. Texts of up to some thirty words are below it.
_MOST_PAIRS = 32
# A feature is common if at least this share of its column of G is nonzero.
_COMMON = 1 / 16
# Maximum number of entries of the dense block.
_MOST_DENSE = 64_000_000


@dataclass(frozen=True, eq=False)
class FeatureGram:
    """G = XᵀX over the features that occur.

    Attributes
    ----------
    features : ndarray of intp, shape (D',)
        The columns of X in G, in the order of G.
    rows : sparse matrix or ndarray of shape (n, D'), or None
        These columns of X; None if only G is known.
    diagonal : ndarray of shape (D',)
        Squared norms of the columns.
    times : callable
        ``times(B)`` returns G B for an array B of shape (D', k).
    """

    features: np.ndarray
    rows: Matrix
    diagonal: np.ndarray
    times: Callable[[np.ndarray], np.ndarray]


def feature_gram(X: Matrix, n_products: int) -> FeatureGram:
    """Return G of the nonempty columns of X; G is formed if that is cheaper.

    Parameters
    ----------
    X : csr_array or ndarray of shape (n, D), float32 or float64
        Rows are samples.
    n_products : int
        Approximate total number of columns to be multiplied; decides whether to form G of dense X.

    Returns
    -------
    gram : FeatureGram
        Features of sparse X by decreasing count. Forming G costs O(Σ nnz(x_i)²) for rows x_i, or
        O(n D²) for dense X. A product with k columns costs O(nnz(G) k), or O(nnz k) if G is not
        formed.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.metric.decomposition.gram import feature_gram
    >>> gram = feature_gram(sp.csr_array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0]]), 1)
    >>> gram.features, gram.times(np.eye(2))
    (array([2, 0]), array([[2., 2.],
           [2., 4.]]))
    """
    if not sp.issparse(X):
        features = np.arange(X.shape[1])
        diagonal = np.einsum("nd,nd->d", X, X)
        if X.shape[1] > 2 * n_products:
            return FeatureGram(features, X, diagonal, lambda block: X.T @ (X @ block))
        G = X.T @ X
        return FeatureGram(features, X, diagonal, lambda block: G @ block)

    counts = np.bincount(X.indices, minlength=X.shape[1])
    features = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    places = np.zeros(X.shape[1], dtype=X.indices.dtype)
    places[features] = np.arange(len(features))
    shape = (X.shape[0], len(features))
    rows = sp.csr_array((X.data, places[X.indices], X.indptr), shape)
    if not rows.has_canonical_format:
        # Duplicate entries are summed in place, and the data belong to the caller.
        rows = rows.copy()
        rows.sum_duplicates()
    diagonal = np.bincount(rows.indices, rows.data.astype(float) ** 2, minlength=shape[1])
    diagonal = diagonal.astype(X.dtype)
    widths = np.diff(rows.indptr)
    if float(widths @ widths.astype(float)) > _MOST_PAIRS * rows.nnz:
        return FeatureGram(
            features,
            rows,
            diagonal,
            lambda block: threaded_product(rows.T, threaded_product(rows, block)),
        )
    return FeatureGram(features, rows, diagonal, _multiplier(_formed(rows)))


def summed_gram(G: Matrix) -> FeatureGram:
    """Wrap a given G, such as a sum over row blocks.

    Parameters
    ----------
    G : sparse matrix or ndarray of shape (D, D)
        XᵀX of all rows.

    Returns
    -------
    gram : FeatureGram
        As from `feature_gram`, but without rows, and sparse G is ordered by its own counts.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.metric.decomposition.gram import summed_gram
    >>> gram = summed_gram(sp.diags_array([0.0, 2.0, 5.0]))
    >>> gram.features, gram.times(np.ones((2, 1))).ravel()
    (array([1, 2]), array([2., 5.]))
    """
    diagonal = G.diagonal()
    if not sp.issparse(G):
        return FeatureGram(np.arange(len(G)), None, diagonal, lambda block: G @ block)
    G = sp.csr_array(G)
    counts = np.where(diagonal > 0, np.diff(np.asarray(G.indptr)), 0)
    features = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    ordered = sp.csr_array(sp.csr_array(G[features])[:, features])
    return FeatureGram(features, None, diagonal[features], _multiplier(ordered))


def _formed(rows: Any) -> sp.csr_array:
    """Return G = rowsᵀ rows; each thread computes some of its rows."""
    columns = sp.csr_array(rows.T)
    widths = np.diff(rows.indptr)
    work = np.bincount(rows.indices, np.repeat(widths, widths), minlength=rows.shape[1])
    edges = balanced_edges(np.concatenate([[0], np.cumsum(work)]), 8 * usable_cores())
    with ThreadPoolExecutor(usable_cores()) as pool:
        parts: Any = pool.map(
            lambda start, stop: row_slice(columns, start, stop) @ rows, edges[:-1], edges[1:]
        )
        return sp.csr_array(sp.vstack(list(parts), format="csr"))


def _multiplier(G: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function for products with symmetric G, whose most common features come first."""
    D = G.shape[0]
    most = min(D, _MOST_DENSE // D)
    crowded = np.diff(np.asarray(G.indptr))[:most] >= _COMMON * D
    n_common = most if crowded.all() else int(crowded.argmin())
    dense = np.ascontiguousarray(G[:n_common].toarray().T)
    rest = sp.csr_array(sp.csr_array(G[n_common:])[:, n_common:])

    def times(block: np.ndarray) -> np.ndarray:
        product = np.empty(block.shape, dtype=np.result_type(block.dtype, G.dtype))
        product[:n_common] = dense.T @ block
        product[n_common:] = threaded_product(rest, block[n_common:])
        product[n_common:] += dense[n_common:] @ block[:n_common]
        return product

    return times

"""Truncated singular value decomposition of a wide, usually sparse, data matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from film.metric.decomposition.gram import FeatureGram, feature_gram
from film.metric.decomposition.krylov import block_width, leading_eigenpairs
from film.metric.decomposition.products import Matrix, threaded_product
from film.threads import one_blas_thread

DENSE_ENTRIES = 4_000_000
"""Up to this size, a matrix is decomposed as a whole if the rank is almost full; this is exact."""
# With fewer rows or features than this for each triplet, all of the shorter side's Gram matrix is
# decomposed, for the block Krylov space would end about as large.
_ALMOST_ALL = 2.5


@dataclass(frozen=True)
class LowRank:
    """X ≈ V diag(σ) Uᵀ.

    Attributes
    ----------
    left : ndarray of shape (n, r)
        V, orthonormal columns, one row per sample.
    singular_values : ndarray of shape (r,)
        σ, decreasing, all positive.
    right : ndarray of shape (D, r)
        U, orthonormal columns, one row per feature.
    """

    left: np.ndarray
    singular_values: np.ndarray
    right: np.ndarray


def project(X: Matrix, components: np.ndarray) -> np.ndarray:
    """Map every row of X to y = L x.

    Parameters
    ----------
    X : sparse matrix or ndarray of shape (n, D)
        Rows.
    components : ndarray of shape (d, D)
        L.

    Returns
    -------
    Y : ndarray of shape (n, d)
        The cost is O(nnz d). A zero row stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import project
    >>> project(np.eye(2), np.array([[2.0, 3.0]]))
    array([[2.],
           [3.]])
    """
    return threaded_product(X, np.ascontiguousarray(components.T))


def symmetric_root(components: np.ndarray) -> np.ndarray:
    """Return the square map with the same inner products as L: the root of LᵀL.

    Parameters
    ----------
    components : ndarray of shape (d, h)
        L.

    Returns
    -------
    root : ndarray of float64, shape (h, h)
        Symmetric, with root @ root = LᵀL up to rounding, so root x has the same lengths and cosines
        as L x. Among all such maps, it is the closest to the identity. The cost is O(h³).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import symmetric_root
    >>> symmetric_root(np.array([[0.0, 2.0]])).round(6)
    array([[0., 0.],
           [0., 2.]])
    """
    L = np.asarray(components, dtype=np.float64)
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(L.T @ L)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return (root + root.T) / 2


def truncated_svd(
    X: Matrix,
    rank: int,
    *,
    tol: float = 2e-3,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> LowRank:
    """Return the leading singular triplets of X, by block Krylov on the Gram matrix of features.

    Only V is as tall as X; it is computed in one pass at the end. Singular values within rounding
    error are dropped: those below ``10 √eps`` of the largest, or below ``eps · max(n, D)`` of it if
    X is decomposed as a whole (see Notes). So the rank of the result may be smaller.

    Parameters
    ----------
    X : sparse matrix or ndarray of shape (n, D)
        Rows are samples; float32 stays float32.
    rank : int
        r, the number of triplets, 1 … min(n, D).
    tol : float, default=2e-3
        Share of the captured energy Σσ² that may be missing, estimated from the gains of the last
        blocks. At most four directions per triplet are computed, or sixteen blocks more than
        `rank`; a flat spectrum may reach this limit first, and lack more. With 0, exactly this
        many directions are computed.
    random_state : int, Generator or None
        Seeds the first block.
    progress : callable, optional
        Called with a short text after each block.

    Returns
    -------
    factors : LowRank
        V, σ, U; the entry of largest magnitude in each column of U is positive. V = X U diag(1/σ),
        so later rows are mapped in the same way. If X is zero, one triplet with σ = 0.

    Raises
    ------
    ValueError
        If ``rank`` is outside 1 … min(n, D).

    Notes
    -----
    Texts need about 2.2 directions per triplet. With m directions, the cost is O(Σ nnz(x_i)² +
    nnz(XᵀX) m + D m² + m³ + nnz r) for rows x_i with up to some thirty entries, for which XᵀX is
    formed; otherwise it is O(nnz m + D m² + m³). Memory in addition to X and V is D m. If 2.5 r is
    at least min(n, D), all eigenvectors of the shorter side's Gram matrix are computed; if X is
    also small, a dense SVD of X, which is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import truncated_svd
    >>> X = np.diag([3.0, 2.0, 1.0])
    >>> truncated_svd(X, 2, random_state=0).singular_values.round(6)
    array([3., 2.])
    """
    n, D = X.shape
    if not 1 <= rank <= min(n, D):
        raise ValueError(
            f"rank={rank} must lie between 1 and min(n_samples, n_features) = {min(n, D)}"
        )
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=dtype)
    else:
        X = np.asarray(X, dtype=dtype)
    if _ALMOST_ALL * rank + block_width(rank, min(n, D)) >= min(n, D):
        if n * D <= DENSE_ENTRIES:
            return _exact_svd(X, rank)
        return _by_shorter_side(X, rank)

    gram = feature_gram(X, 2 * rank)
    singular, right = gram_svd(gram, D, rank, dtype, tol, random_state, progress)
    scaled = right[gram.features] / np.where(singular > 0, singular, 1)
    return LowRank(threaded_product(gram.rows, scaled), singular, right)


def gram_svd(
    gram: FeatureGram,
    n_features: int,
    rank: int,
    dtype: Any,
    tol: float,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return σ and U from only the Gram matrix of the features.

    Parameters
    ----------
    gram : FeatureGram
        G and its features.
    n_features : int
        D, the number of features of X.
    rank, tol, random_state, progress
        As for `truncated_svd`.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    singular_values : ndarray of shape (r,)
        σ, decreasing, all positive unless G is zero.
    right : ndarray of shape (D, r)
        U, with signs as in `truncated_svd`.
    """
    rng = np.random.default_rng(random_state)
    size = len(gram.features)
    right = np.zeros((n_features, 1), dtype=dtype)
    if size == 0:
        right[0] = 1
        return np.zeros(1, dtype=dtype), right
    rank = min(rank, size)
    # Drawn in the order of X, so that sparse and dense X start alike. Features that occur often
    # lead: the scale of each saves the start a part of its way.
    start = rng.standard_normal((n_features, block_width(rank, size)), dtype=np.float32)
    start = start[gram.features].astype(dtype) * np.sqrt(gram.diagonal)[:, None]
    values, vectors = leading_eigenpairs(
        gram.times, start, rank, tol=tol, rng=rng, progress=progress
    )
    singular = singular_values(values, dtype)
    vectors = vectors[:, : len(singular)]
    right = np.zeros((n_features, len(singular)), dtype=dtype)
    right[gram.features] = vectors * _column_signs(vectors)
    return singular, right


def _exact_svd(X: Matrix, rank: int) -> LowRank:
    dense = X.toarray() if sp.issparse(X) else X
    with one_blas_thread():
        left, values, right_t = scipy.linalg.svd(dense, full_matrices=False)
    kept = _numerical_rank(values[:rank], np.finfo(values.dtype).eps * max(dense.shape))
    signs = _column_signs(right_t[:kept].T)
    return LowRank(left[:, :kept] * signs, values[:kept], right_t[:kept].T * signs)


def _by_shorter_side(X: Matrix, rank: int) -> LowRank:
    """Return triplets from all eigenvectors of XᵀX, or of XXᵀ if there are fewer rows."""
    wide = X.shape[0] < X.shape[1]
    singular, near = whole_gram_svd(X @ X.T if wide else X.T @ X, rank, X.dtype)
    far = threaded_product(X.T if wide else X, near)
    far /= np.where(singular > 0, singular, 1)
    left, right = (near, far) if wide else (far, near)
    signs = _column_signs(right)
    return LowRank(left * signs, singular, right * signs)


def whole_gram_svd(gram: Matrix, rank: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return σ and signed singular vectors from all eigenvectors of a small Gram matrix (s, s).

    The cost is O(s³); memory is s² float64.
    """
    dense = (gram.toarray() if sp.issparse(gram) else gram).astype(np.float64)
    size = len(dense)
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(dense, subset_by_index=[size - rank, size - 1])
    singular = singular_values(values[::-1], dtype)
    near = np.ascontiguousarray(vectors[:, ::-1][:, : len(singular)]).astype(dtype)
    return singular, near * _column_signs(near)


def singular_values(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the roots of the eigenvalues of a Gram matrix above rounding error, at least one.

    The Gram matrix squares the condition number: the relative error of a value τ times the largest
    is eps/τ², and so is that of the norm of its column of V.
    """
    singular = np.sqrt(np.maximum(values, 0.0)).astype(dtype)
    return singular[: _numerical_rank(singular, 10 * np.sqrt(np.finfo(dtype).eps))]


def _numerical_rank(singular: np.ndarray, tolerance: float) -> int:
    return max(1, int((singular > tolerance * singular[0]).sum()))


def _column_signs(block: np.ndarray) -> np.ndarray:
    largest = np.abs(block).argmax(axis=0)
    return np.where(block[largest, np.arange(block.shape[1])] < 0, -1, 1).astype(block.dtype)

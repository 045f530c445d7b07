"""Truncated singular value decomposition of a wide, usually sparse, data matrix."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from film.threads import one_blas_thread, usable_cores

Matrix = Any
"""A dense ``(n, D)`` array or a SciPy sparse matrix of that shape."""


DENSE_ENTRIES = 4_000_000
"""Up to this size a matrix of almost full rank is factorised whole, which is exact."""
# Columns beyond the rank that are carried through the iteration.
_LEAST_OVERSAMPLING = 10


@dataclass(frozen=True)
class LowRank:
    """X ≈ V diag(σ) Uᵀ.

    Attributes
    ----------
    left : ndarray of shape (n, r)
        V, orthonormal columns, one row a sample.
    singular_values : ndarray of shape (r,)
        σ, decreasing, all positive.
    right : ndarray of shape (D, r)
        U, orthonormal columns, one row per feature.
    """

    left: np.ndarray
    singular_values: np.ndarray
    right: np.ndarray


def threaded_product(left: Matrix, right: np.ndarray) -> np.ndarray:
    """Product of a sparse matrix with a dense one, its rows shared among threads.

    SciPy's sparse-times-dense product uses one core. It releases the interpreter lock, so
    blocks of rows run side by side; each row is computed as in the plain product, so the result
    does not depend on the number of threads.

    Parameters
    ----------
    left : sparse matrix or ndarray of shape (n, D)
        Dense input goes straight to BLAS, which has threads of its own.
    right : ndarray of shape (D, k)
        Dense factor.

    Returns
    -------
    product : ndarray of shape (n, k)
        ``left @ right``; costs O(nnz k).

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.metric.svd import threaded_product
    >>> threaded_product(sp.eye_array(3, format="csr"), np.arange(6.0).reshape(3, 2))
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """
    if not sp.issparse(left):
        return left @ right
    threads = usable_cores()
    rows = left.shape[0]
    if threads < 2 or left.nnz * right.shape[1] < 1_000_000:
        return left @ right
    # More blocks than threads, so that a run of long sentences does not leave a core idle.
    edges = np.linspace(0, rows, min(rows, 4 * threads) + 1).astype(int)
    product = np.empty((rows, right.shape[1]), dtype=np.result_type(left.dtype, right.dtype))

    def fill(start: int, stop: int) -> None:
        product[start:stop] = left[start:stop] @ right

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, edges[:-1], edges[1:]))
    return product


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
        Costs O(nnz d). A zero row stays zero.

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
    """Map with the same inner products as L that keeps the width: the root of LᵀL.

    Parameters
    ----------
    components : ndarray of shape (d, h)
        L.

    Returns
    -------
    root : ndarray of float64, shape (h, h)
        Symmetric, with root @ root = LᵀL up to rounding, so that lengths and cosines of root x are
        those of L x. Of all such maps it is the closest to the identity. Costs O(h³).

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
    n_iter: int = 4,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> LowRank:
    """Leading singular triplets of X by subspace iteration on the feature side.

    Only (D, r) blocks are orthogonalised, by Cholesky-QR done twice; the tall sentence side is
    never factorised, which is where the general routines spend their time. Singular values that
    rounding can make are dropped, so the rank can come back smaller: those below ``10 √eps`` of
    the largest, or ``eps · max(n, D)`` where the decomposition is exact (see Notes).

    Parameters
    ----------
    X : sparse matrix or ndarray of shape (n, D)
        Rows are samples; float32 stays float32.
    rank : int
        r, the number of triplets wanted, 1 … min(n, D).
    n_iter : int
        Subspace iterations. 4 gives the leading subspace of text to about a percent of the
        trailing kept singular values.
    random_state : int, Generator or None
        Seeds the starting block.
    progress : callable, optional
        Called with a short text after each iteration.

    Returns
    -------
    factors : LowRank
        V, σ, U; each column of U has a positive entry of largest magnitude. Where X has only
        zeros, one triplet with σ = 0.

    Raises
    ------
    ValueError
        If ``rank`` is outside 1 … min(n, D).

    Notes
    -----
    Cost O(n_iter (nnz r + D r²) + n r²). Subspace iteration: Halko, Martinsson and Tropp (2011),
    algorithm 4.4, with r/10 extra columns, at least 10. Where these are all D features there is
    nothing to iterate: the eigenvectors of XᵀX are taken, at O(n D²) for dense X. Where r is half
    of min(n, D) or more and X is small, a dense SVD of X is taken instead, which is exact.

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
    width = rank + max(_LEAST_OVERSAMPLING, rank // 10)
    if 2 * width >= min(n, D) and n * D <= DENSE_ENTRIES:
        return _exact_svd(X, rank)
    width = min(width, n, D)
    if width == D:
        # The block would span all features: nothing to iterate, as with dense vectors of texts.
        return _assemble(X, np.eye(D, dtype=dtype), rank)

    rng = np.random.default_rng(random_state)
    # A plain transpose of CSR is CSC, whose product cannot be split by rows.
    Xt = sp.csr_array(X.T) if sp.issparse(X) else X.T
    basis = _orthonormalise(rng.standard_normal((D, width)).astype(dtype))
    for step in range(n_iter):
        basis = _orthonormalise(threaded_product(Xt, threaded_product(X, basis)))
        if progress is not None:
            progress(f"svd {step + 1}/{n_iter}")
    return _assemble(threaded_product(X, basis), basis, rank)


def _exact_svd(X: Matrix, rank: int) -> LowRank:
    dense = X.toarray() if sp.issparse(X) else X
    with one_blas_thread():
        left, values, right_t = scipy.linalg.svd(dense, full_matrices=False)
    kept = _numerical_rank(values[:rank], np.finfo(values.dtype).eps * max(dense.shape))
    signs = _column_signs(right_t[:kept].T)
    return LowRank(left[:, :kept] * signs, values[:kept], right_t[:kept].T * signs)


def _assemble(scores: Matrix, basis: np.ndarray, rank: int) -> LowRank:
    """Leading triplets of ``scores @ basis.T``, whose basis has orthonormal columns."""
    gram = scores.T @ scores
    gram = (gram.toarray() if sp.issparse(gram) else gram).astype(np.float64)
    width = len(gram)
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[width - rank, width - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    singular = np.sqrt(np.maximum(values, 0.0)).astype(scores.dtype)
    # The Gram matrix squares the condition number: a value of τ times the largest is exact to
    # eps/τ² of itself, and so is the length of its column of V.
    kept = _numerical_rank(singular, 10 * np.sqrt(np.finfo(singular.dtype).eps))
    rotation = vectors[:, :kept].astype(scores.dtype)
    right = basis @ rotation
    signs = _column_signs(right)
    inverse = 1 / singular[:kept] if singular[0] > 0 else np.zeros(1, dtype=scores.dtype)
    return LowRank(scores @ (rotation * (signs * inverse)), singular[:kept], right * signs)


def _numerical_rank(singular: np.ndarray, tolerance: float) -> int:
    return max(1, int((singular > tolerance * singular[0]).sum()))


def _column_signs(block: np.ndarray) -> np.ndarray:
    largest = np.abs(block).argmax(axis=0)
    return np.where(block[largest, np.arange(block.shape[1])] < 0, -1, 1).astype(block.dtype)


def _orthonormalise(block: np.ndarray) -> np.ndarray:
    """Cholesky-QR twice, with a Householder QR where the block is too close to rank-deficient."""
    for _ in range(2):
        norms = np.linalg.norm(block, axis=0)
        block = block / np.where(norms > 0, norms, 1)
        gram = block.T @ block
        with one_blas_thread():
            try:
                factor = scipy.linalg.cholesky(gram, check_finite=False)
            except scipy.linalg.LinAlgError:
                return np.linalg.qr(block)[0]
            inverse = scipy.linalg.solve_triangular(
                factor, np.eye(len(gram), dtype=block.dtype), check_finite=False
            )
        block = block @ inverse
    return block

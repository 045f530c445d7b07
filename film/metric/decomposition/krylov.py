"""Leading eigenvectors of a positive semidefinite matrix, by block Krylov.

Subspace iteration keeps one block of as many columns as are wanted and forgets what it was
multiplied from. Here blocks of a sixth of that stay beside their images, so that a direction is
found as the best polynomial of degree twelve would find it: on texts, two columns multiplied for
each one wanted reach what takes subspace iteration five or six.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from film.threads import one_blas_thread

# A block is a sixth of the rank: smaller ones converge a little sooner and cost more a column.
_BLOCKS = 6
_LEAST_BLOCK = 8
# At most this many directions for each one wanted, or so many blocks beyond.
_MOST_WIDTH, _MOST_BLOCKS = 4, 16
# A column that keeps less than this share of its length is orthogonalised once more.
_CANCELLED = 0.3
# One that keeps less than this share beside the others of its block has no direction of its own.
_DEPENDENT = 0.01


def block_width(rank: int, size: int) -> int:
    """Columns of the starting block for ``rank`` eigenvectors of a matrix of that size."""
    return min(size, max(_LEAST_BLOCK, -(-rank // _BLOCKS)))


def leading_eigenpairs(
    times: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    rank: int,
    *,
    tol: float,
    rng: np.random.Generator,
    progress: Callable[[str], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of G and their eigenvectors, in the Krylov space of a block.

    Parameters
    ----------
    times : callable
        ``times(B)`` is the product G B with an array (D, b); G is symmetric and has no negative
        eigenvalue.
    start : ndarray of shape (D, b), float32 or float64
        First block, of which no column may depend on the others; its dtype is that of the work.
    rank : int
        r, the number of eigenpairs, 1 … D.
    tol : float
        Stop where the sum of the r largest eigenvalues is estimated to lack at most this share.
        The estimate follows the gains of the last two blocks on. With 0, only the size of the
        space ends it.
    rng : Generator
        Directions in place of those that G leaves in the space.
    progress : callable, optional
        Called with a short text after each block.

    Returns
    -------
    values : ndarray of float64, shape (r,)
        Decreasing.
    vectors : ndarray of shape (D, r)
        Orthonormal columns, with vectorsᵀ G vectors = diag(values). For m directions in all, costs
        m columns of products, O(D m²) and O(m³) in float64; memory D m.

    References
    ----------
    Musco and Musco, "Randomized block Krylov methods for stronger and faster approximate singular
    value decomposition" (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.decomposition.krylov import leading_eigenpairs
    >>> G, rng = np.diag(np.arange(1.0, 41.0)), np.random.default_rng(0)
    >>> start = rng.standard_normal((40, 8))
    >>> leading_eigenpairs(lambda B: G @ B, start, 2, tol=1e-8, rng=rng)[0].round(4)
    array([40., 39.])
    """
    size, width = start.shape
    limit = min(size, max(_MOST_WIDTH * rank, rank + _MOST_BLOCKS * width))
    # By columns, so that the directions there are lie together; pages not yet used cost nothing.
    basis = np.empty((size, limit), dtype=start.dtype, order="F")
    inner = np.zeros((limit, limit))
    captured: list[float] = []
    known, block = 0, orthonormalise(start)
    while True:
        first, known = known, known + block.shape[1]
        basis[:, first:known] = block
        image = times(block)
        K = basis[:, :known]
        shares = K.T @ image
        inner[:known, first:known] = shares
        inner[first:known, :known] = shares.T
        if known >= rank:
            captured.append(_captured(inner[:known, :known], rank, start.dtype))
        if progress is not None:
            progress(f"svd {known} directions")
        if known == limit or _settled(captured, tol):
            break
        block = _next_block(K, image, shares, limit - known, rng)
    with one_blas_thread():
        values, turns = scipy.linalg.eigh(
            inner[:known, :known], subset_by_index=[known - rank, known - 1], check_finite=False
        )
    return values[::-1], basis[:, :known] @ turns[:, ::-1].astype(start.dtype)


def orthonormalise(block: np.ndarray) -> np.ndarray:
    """Orthonormal columns of the same span.

    Cholesky-QR twice, its Gram matrices factorised in float64, with a Householder QR where the
    block is too close to rank-deficient for that.

    Parameters
    ----------
    block : ndarray of shape (D, b), D ≥ b
        Columns, that may have very different lengths.

    Returns
    -------
    Q : ndarray of shape (D, b)
        Costs O(D b²).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.decomposition.krylov import orthonormalise
    >>> orthonormalise(np.array([[3.0, 3.0], [0.0, 1e9]])).round(9)
    array([[1., 0.],
           [0., 1.]])
    """
    for _ in range(2):
        norms = np.linalg.norm(block, axis=0)
        block = block / np.where(norms > 0, norms, 1)
        gram = (block.T @ block).astype(np.float64)
        with one_blas_thread():
            try:
                factor = scipy.linalg.cholesky(gram, check_finite=False)
            except scipy.linalg.LinAlgError:
                return np.linalg.qr(block)[0]
            inverse = scipy.linalg.solve_triangular(factor, np.eye(len(gram)), check_finite=False)
        block = block @ inverse.astype(block.dtype)
    return block


def _captured(inner: np.ndarray, rank: int, dtype: np.dtype) -> float:
    """Sum of the largest eigenvalues; its digits are those of the work, and float32 is faster."""
    with one_blas_thread():
        values = scipy.linalg.eigvalsh(inner.astype(dtype), check_finite=False)
    return float(values[-rank:].sum(dtype=np.float64))


def _settled(captured: list[float], tol: float) -> bool:
    """Whether what is still to come is below tol: gains shrink at least as fast as the last two."""
    if len(captured) < 3 or tol == 0:
        return False
    before, last = np.maximum(np.diff(captured[-3:]), 0.0)
    if last >= before:
        return bool(last <= np.finfo(np.float32).eps * captured[-1])
    return bool(last * last / (before - last) <= tol * captured[-1])


def _next_block(
    K: np.ndarray, image: np.ndarray, shares: np.ndarray, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Orthonormal directions of the image beyond the span of K; random ones where it has none."""
    before = np.linalg.norm(image, axis=0)
    image = image - K @ shares
    after = np.linalg.norm(image, axis=0)
    if (after < _CANCELLED * before).any():
        image -= K @ (K.T @ image)
        after = np.linalg.norm(image, axis=0)
    # What rounding leaves of a product is no direction of G.
    lost = after <= 100 * np.finfo(image.dtype).eps * before.max(initial=0.0)
    if not lost.any():
        block = orthonormalise(image)
        # Columns that depend on each other cancel here, which their norms do not tell.
        kept = np.abs(np.einsum("db,db->b", block, image)) / after
        if (kept >= _CANCELLED).all():
            return block[:, :most]
        if (kept >= _DEPENDENT).all():
            return orthonormalise(block - K @ (K.T @ block))[:, :most]
    image, lost = image[:, :most], lost[:most]
    while True:
        image[:, lost] = rng.standard_normal((len(image), int(lost.sum())))
        for _ in range(2):
            image /= np.linalg.norm(image, axis=0)
            image -= K @ (K.T @ image)
        block, triangle = np.linalg.qr(image / np.linalg.norm(image, axis=0))
        lost = np.abs(triangle.diagonal()) < np.sqrt(np.finfo(image.dtype).eps)
        if not lost.any():
            return np.linalg.qr(block - K @ (K.T @ block))[0]

"""Leading eigenvectors of a positive semidefinite matrix, by block Krylov.

Subspace iteration keeps one block with as many columns as wanted eigenvectors, and forgets earlier
blocks. Block Krylov uses blocks a sixth as wide and keeps them all, so each direction is as good as
with the best polynomial of degree twelve. On texts, it multiplies two columns per wanted
eigenvector; for the same accuracy, subspace iteration needs five or six.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from film.threads import one_blas_thread

# A block is a sixth of the rank: smaller blocks converge a little faster but cost more per column.
_BLOCKS = 6
_LEAST_BLOCK = 8
# Maximum number of directions per wanted direction, or of additional blocks.
_MOST_WIDTH, _MOST_BLOCKS = 4, 16
# The smallest eigenvalues, one in so many, gain longest; their rest is estimated separately.
_LATE_ONE_IN = 10
# Blocks of the least width are cheap, and the gains of few eigenvalues are uneven. There, so many
# estimates in a row must be small enough.
_AGREEING = 3
# A column that keeps less than this share of its length is orthogonalised once more.
_CANCELLED = 0.3
# A column that keeps less than this share depends on the other columns of its block.
_DEPENDENT = 0.01


def block_width(rank: int, size: int) -> int:
    """Return the columns of the first block for ``rank`` eigenvectors of a matrix."""
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
    """Return the largest eigenvalues of G and their eigenvectors, from a block Krylov space.

    Parameters
    ----------
    times : callable
        ``times(B)`` returns G B for an array B of shape (D, b); G is symmetric and positive
        semidefinite.
    start : ndarray of shape (D, b), float32 or float64
        First block, with linearly independent columns; its dtype is used throughout.
    rank : int
        r, the number of eigenpairs, 1 … D.
    tol : float
        Stop if at most this share of the sum of the r largest eigenvalues is estimated to be
        missing. The estimate extrapolates the gains of the last two blocks, separately for the
        smallest tenth of the eigenvalues; up to r = 48, the last three estimates must all be small
        enough. With 0, only the size of the space ends the iteration: 4 r directions, or r and
        sixteen blocks.
    rng : Generator
        Draws new directions if a product adds none to the space.
    progress : callable, optional
        Called with a short text after each block.

    Returns
    -------
    values : ndarray of float64, shape (r,)
        Decreasing.
    vectors : ndarray of shape (D, r)
        Orthonormal columns, with vectorsᵀ G vectors = diag(values). For m directions in total, the
        cost is m columns of products, O(D m²), and O(m³) in float64; memory is D m.

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
    # Column order keeps used directions together; unused pages take no memory.
    basis = np.empty((size, limit), dtype=start.dtype, order="F")
    inner = np.zeros((limit, limit))
    found: list[np.ndarray] = []
    n_agreeing = _AGREEING if rank <= _BLOCKS * _LEAST_BLOCK else 1
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
            found.append(_largest(inner[:known, :known], rank, start.dtype))
        if progress is not None:
            progress(f"svd {known} directions")
        if known == limit or _settled(found, tol, n_agreeing):
            break
        block = _next_block(K, image, shares, limit - known, rng)
    with one_blas_thread():
        values, turns = scipy.linalg.eigh(
            inner[:known, :known], subset_by_index=[known - rank, known - 1], check_finite=False
        )
    return values[::-1], basis[:, :known] @ turns[:, ::-1].astype(start.dtype)


def orthonormalise(block: np.ndarray) -> np.ndarray:
    """Return orthonormal columns with the same span.

    The method is Cholesky-QR, twice, with Gram matrices factorised in float64. If the block is
    nearly rank-deficient, it is a Householder QR.

    Parameters
    ----------
    block : ndarray of shape (D, b), D ≥ b
        Columns, which may have very different norms.

    Returns
    -------
    Q : ndarray of shape (D, b)
        The cost is O(D b²).

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


def _largest(inner: np.ndarray, rank: int, dtype: np.dtype) -> np.ndarray:
    """Return the largest eigenvalues, in ascending order; float32 is faster and suffices."""
    with one_blas_thread():
        values = scipy.linalg.eigvalsh(inner.astype(dtype), check_finite=False)
    return values[-rank:].astype(np.float64)


def _settled(found: list[np.ndarray], tol: float, n_agreeing: int) -> bool:
    """Return whether the rest is below tol in each of the last estimates.

    An estimate assumes that gains shrink like the last two. It is made separately for the smallest
    eigenvalues found, because others may gain much faster.
    """
    if tol == 0 or len(found) < n_agreeing + 2:
        return False
    rank, total = len(found[-1]), found[-1].sum()
    late = min(-(-rank // _LATE_ONE_IN), rank - 1)
    sums = np.add.reduceat(found[-n_agreeing - 2 :], np.unique([0, late]), axis=1)
    gains = np.maximum(np.diff(sums, axis=0), 0.0)
    gains[gains <= np.finfo(np.float32).eps * total] = 0.0
    before, last = gains[:-1], gains[1:]
    steps = np.where(last > 0, np.inf, 0.0)
    np.divide(last, before - last, out=steps, where=before > last)
    return bool(((steps * last).sum(axis=1) <= tol * total).all())


def _next_block(
    K: np.ndarray, image: np.ndarray, shares: np.ndarray, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Return orthonormal directions of the image outside the span of K; random if it has none."""
    before = np.linalg.norm(image, axis=0)
    image = image - K @ shares
    after = np.linalg.norm(image, axis=0)
    if (after < _CANCELLED * before).any():
        image -= K @ (K.T @ image)
        after = np.linalg.norm(image, axis=0)
    # Rounding errors of a product are not directions of G.
    lost = after <= 100 * np.finfo(image.dtype).eps * before.max(initial=0.0)
    if not lost.any():
        block = orthonormalise(image)
        # Dependent columns cancel here, which their norms do not show.
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

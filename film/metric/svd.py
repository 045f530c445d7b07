"""Truncated SVD by block Krylov spaces of XᵀX."""

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
    >>> from film.metric.svd import threaded_product
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
    >>> from film.metric.svd import balanced_edges
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
    rows : sparse matrix or ndarray of shape (n, D')
        These columns of X.
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
    >>> from film.metric.svd import feature_gram
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
    >>> from film.metric.svd import leading_eigenpairs
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
    >>> from film.metric.svd import orthonormalise
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

"""FILM on row blocks on disk, from two sums over the blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from film.corpus import RowBlocks, sum_blocks
from film.metric.svd import gram_svd, summed_gram, threaded_product, whole_gram_svd
from film.metric.triplets import anchor_weights

Progress = Callable[[str], None] | None
_SMALL = 1000
"""Up to this many features XᵀX is decomposed in full."""


class RightSide(NamedTuple):
    """Leading singular values and right singular vectors of X.

    Parameters
    ----------
    singular_values : ndarray of shape (r,)
        σ, in descending order.
    right : ndarray of shape (D, r)
        U, with orthonormal columns; V = X U diag(1/σ).
    """

    singular_values: np.ndarray
    right: np.ndarray


def block_svd(
    X: RowBlocks,
    rank: int,
    *,
    tol: float = 2e-3,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> RightSide:
    """Compute leading singular values and right singular vectors of row blocks on disk.

    One pass over the blocks sums XᵀX in float64; the block Krylov method of `truncated_svd` then
    runs on that matrix, whose size does not depend on the number of rows.

    Parameters
    ----------
    X : RowBlocks
        Blocks of sparse or dense rows.
    rank : int
        r, the number of singular values, 1 … min(n, D).
    tol, random_state, progress
        As in `truncated_svd`.
    n_jobs : int, optional
        As in `film.corpus.sum_blocks`.

    Returns
    -------
    factors : RightSide
        σ and U, with the signs of `truncated_svd`.

    Raises
    ------
    ValueError
        If ``rank`` is outside 1 … min(n, D), or an entry is NaN or infinite.

    Notes
    -----
    Costs O(Σ nnz(row)² + nnz(XᵀX) m + D m²) for m = 2.2 r. Memory is 12 bytes for each entry of
    XᵀX, of which there are at most D² and at most Σ nnz(row)², plus D m numbers.
    If XᵀX is dense, as for character trigrams, it takes 8 D² bytes: reduce ``max_features``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from film.corpus import write_blocks
    >>> from film.metric import block_svd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_blocks(folder, [np.diag([3.0, 2.0, 1.0]), np.eye(2, 3)])
    ...     block_svd(X, 2, random_state=0).singular_values.round(3)
    array([3.162, 2.236])
    """
    n, D = X.shape
    if not 1 <= rank <= min(n, D):
        raise ValueError(
            f"rank={rank} must lie between 1 and min(n_samples, n_features) = {min(n, D)}"
        )
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    G = sum_blocks(_normal_matrix, X, n_jobs=n_jobs, progress=progress)
    if not np.isfinite(G.data if sp.issparse(G) else G).all():
        raise ValueError("X holds NaN or infinity, or squares overflow; clean the rows")
    # A power of two is exact, and keeps G in the range of float32 wherever X is.
    unit = float(np.exp2(np.frexp(np.sqrt(G.diagonal().max()))[1]))
    G = (G / unit / unit).astype(dtype)
    if D <= max(3 * rank, _SMALL):
        singular, right = whole_gram_svd(G, rank, dtype)
    else:
        singular, right = gram_svd(summed_gram(G), D, rank, dtype, tol, random_state, progress)
    return RightSide(singular * dtype.type(unit), right)


def block_moments(
    X: RowBlocks,
    triplets: np.ndarray,
    axes: np.ndarray,
    *,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the coordinates of anchors and their pulls.

    Parameters
    ----------
    X : RowBlocks
        Blocks of rows.
    triplets : ndarray of int, shape (T, 3)
        Validated triplets of row numbers.
    axes : ndarray of shape (D, r)
        Coordinates are X @ axes.
    n_jobs, progress
        As in `film.corpus.sum_blocks`.

    Returns
    -------
    anchors : ndarray of shape (m, r)
        v_i of the points with a triplet, by ascending row.
    pulls : ndarray of shape (m, r)
        a_i, as in `anchor_sums`.

    Notes
    -----
    One pass over the blocks, O(T nnz(row) + m r nnz(pull)) time; memory grows with the number of
    triplets, not of rows.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from film.corpus import write_blocks
    >>> from film.metric import block_moments
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_blocks(folder, [np.array([[0.0], [4.0]]), np.array([[1.0]])])
    ...     block_moments(X, np.array([[0, 1, 2]]), np.eye(1))
    (array([[0.]]), array([[1.5]]))
    """
    anchors, weights = anchor_weights(triplets, X.shape[0], axes.dtype)
    chosen = sp.csr_array(
        (np.ones(len(anchors), axes.dtype), (np.arange(len(anchors)), anchors)),
        shape=weights.shape,
    )
    # Sums of rows are sparse like the rows, and a tenth of the size of their coordinates.
    work = partial(_weighted_rows, sp.csc_array(sp.vstack([chosen, weights])))
    sums = sum_blocks(work, X, n_jobs=n_jobs, progress=progress)
    coordinates = threaded_product(sums, axes)
    return coordinates[: len(anchors)], coordinates[len(anchors) :]


def _normal_matrix(rows: Any, start: int) -> Any:
    wide = rows.astype(np.float64)
    return wide.T @ wide if isinstance(wide, np.ndarray) else sp.csr_array(wide.T @ wide)


def _weighted_rows(weights: Any, rows: Any, start: int) -> Any:
    some = sp.csr_array(weights[:, start : start + rows.shape[0]])
    return some @ rows

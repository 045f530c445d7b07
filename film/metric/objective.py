"""FILM's objective: hinge activity, the matrix K, the smooth f2 and its gradient.

Notation, with rows as points where the paper has columns: V (m, r) has the anchors' coordinates
v_i, A (m, r) their pulls a_i (`film.metric.anchor_sums`), P (r, d) is a point of the Stiefel
manifold, s (d,) ≥ 0. The learned representation is y_i = diag(√s) Pᵀ v_i.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.special import expit

from film.threads import one_blas_thread

_ROWS = 16_384
"""Rows per block in `pull_matrix`."""


def hinge_arguments(
    P: np.ndarray, s: np.ndarray, anchors: np.ndarray, pulls: np.ndarray
) -> np.ndarray:
    """Average triplet violation of each anchor.

    z_i = −y_i · diag(√s) Pᵀ a_i (paper, step 2); the hinge loss of anchor i is max(0, z_i + m).

    Parameters
    ----------
    P : ndarray of shape (r, d)
        Orthonormal columns.
    s : ndarray of shape (d,)
        Non-negative weights of the columns.
    anchors, pulls : ndarray of shape (m, r)
        Rows v_i and a_i.

    Returns
    -------
    z : ndarray of shape (m,)
        Hinge arguments.

    Notes
    -----
    O(m r d).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.objective import hinge_arguments
    >>> hinge_arguments(np.eye(2, 1), np.array([3.0]), np.array([[1.0, 5.0]]), np.eye(1, 2))
    array([-3.])
    """
    return -np.einsum("il,il,l->i", anchors @ P, pulls @ P, s)


def pull_matrix(anchors: np.ndarray, pulls: np.ndarray, activity: np.ndarray) -> np.ndarray:
    """K = −Σ_i λ_i a_i v_iᵀ (paper, step 4).

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r)
        Rows v_i and a_i.
    activity : ndarray of shape (m,)
        λ_i, boolean, or in [0, 1] for averaged activities. Rows with λ_i = 0 are skipped.

    Returns
    -------
    K : ndarray of shape (r, r)
        Costs O(#active r²) time, and memory for a few thousand rows.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import pull_matrix
    >>> pull_matrix(np.eye(2), np.ones((2, 2)), np.array([True, False]))
    array([[-1., -0.],
           [-1., -0.]])
    """
    rows = np.flatnonzero(activity)
    if len(rows) == len(activity) and activity.dtype == bool:
        return -(pulls.T @ anchors)
    r = anchors.shape[1]
    K = np.zeros((r, r), dtype=anchors.dtype)
    # In blocks, because nearly all rows may be copied.
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        weighted = anchors[some]
        if activity.dtype != bool:
            weighted *= activity[some, None].astype(anchors.dtype)
        K += pulls[some].T @ weighted
    return -K


def rounding_of_pulls(anchors: np.ndarray, pulls: np.ndarray, second_moment: np.ndarray) -> float:
    """Bound the eigenvalues of K that are due to rounding.

    A pull is a mean of differences of points, so its error is about eps times their length even if
    they cancel, for example if a similar and a dissimilar point are copies.

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r)
        Rows v_i and a_i.
    second_moment : ndarray of shape (r,)
        Mean of v² over all points, per coordinate.

    Returns
    -------
    bound : float
        4 eps ‖V‖ (‖A‖ + ℓ √m), with ℓ the root mean square length of the points; costs O(m r).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.objective import rounding_of_pulls
    >>> bound = rounding_of_pulls(np.ones((4, 1)), np.zeros((4, 1)), np.array([9.0]))
    >>> float(bound / np.finfo(float).eps)
    48.0
    """
    eps = float(np.finfo(anchors.dtype).eps)
    length = float(np.sqrt(second_moment.sum(dtype=np.float64) * len(anchors)))
    return 4 * eps * float(np.linalg.norm(anchors)) * (float(np.linalg.norm(pulls)) + length)


def curvatures(P: np.ndarray, K: np.ndarray) -> np.ndarray:
    """k_l = −p_lᵀ K p_l; the best weights at P are s_l = max(0, k_l) (Eq. 15).

    Parameters
    ----------
    P : ndarray of shape (r, d)
        Orthonormal columns p_l.
    K : ndarray of shape (r, r)
        From `pull_matrix`.

    Returns
    -------
    k : ndarray of shape (d,)
        Costs O(r² d).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.objective import curvatures
    >>> curvatures(np.eye(2), np.diag([-2.0, 1.0]))
    array([ 2., -1.])
    """
    return -np.einsum("rl,rl->l", P, K @ P)


def smooth_objective(P: np.ndarray, K: np.ndarray) -> tuple[float, np.ndarray]:
    """f2 without its constant m · #active, and its gradient, at fixed activity.

    f2 = −½ Σ_l k_l µ(k_l), µ = softplus (Eq. 18, 19); ∇f2 = −(K + Kᵀ) P diag(q),
    q_l = −½ (µ(k_l) + k_l σ(k_l)) (Eq. 28).

    Parameters
    ----------
    P : ndarray of shape (r, d)
        Orthonormal columns.
    K : ndarray of shape (r, r)
        From `pull_matrix`. Softplus is not homogeneous: scale K to unit size first.

    Returns
    -------
    value : float
        f2(P) − m · #active.
    gradient : ndarray of shape (r, d)
        Euclidean gradient; both cost O(r² d).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.objective import smooth_objective
    >>> value, gradient = smooth_objective(np.eye(2, 1), np.diag([-1.0, 0.0]))
    >>> round(value, 4), gradient.round(4).tolist()
    (-0.6566, [[-2.0443], [0.0]])
    """
    turned = (K + K.T) @ P
    k = -0.5 * np.einsum("rl,rl->l", P, turned)
    softplus = np.logaddexp(0, k)
    q = -0.5 * (softplus + k * expit(k))
    return float(-0.5 * (k @ softplus)), -turned * q


def true_objective(z: np.ndarray, s: np.ndarray, margin: float) -> float:
    """FILM's objective Σ_i max(0, z_i + m) + ½ ‖s‖² (Eq. 5, 14).

    Parameters
    ----------
    z : ndarray of shape (m,)
        Hinge arguments of all anchors.
    s : ndarray of shape (d,)
        Weights.
    margin : float
        m, in the units of z.

    Returns
    -------
    value : float
        Accumulated in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.objective import true_objective
    >>> true_objective(np.array([-3.0, 1.0]), np.array([2.0]), 1.0)
    4.0
    """
    hinge = np.maximum(z.astype(np.float64) + margin, 0).sum()
    return float(hinge + 0.5 * np.square(s, dtype=np.float64).sum())


def leading_eigenvectors(K: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Closed-form minimiser of f2 at fixed activity.

    If the d largest eigenvalues of −(K + Kᵀ)/2 are positive, their eigenvectors minimise f2,
    because k · softplus(k) is convex and increasing on k ≥ 0 (Schur-Horn).

    Parameters
    ----------
    K : ndarray of shape (r, r)
        From `pull_matrix`.
    d : int
        Number of columns, at most r.

    Returns
    -------
    k : ndarray of shape (d,)
        Eigenvalues in descending order.
    P : ndarray of shape (r, d)
        Eigenvectors, each with a positive largest entry; costs O(r³).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.objective import leading_eigenvectors
    >>> leading_eigenvectors(np.diag([-1.0, -3.0]), 1)
    (array([3.]), array([[0.],
           [1.]]))
    """
    r = len(K)
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(
            -(K + K.T) / 2, subset_by_index=[r - d, r - 1], check_finite=False
        )
    return values[::-1], fix_signs(vectors[:, ::-1])


def fix_signs(P: np.ndarray) -> np.ndarray:
    """Flip the columns of P so that the largest entry of each is positive."""
    largest = np.abs(P).argmax(axis=0)
    signs = np.where(P[largest, np.arange(P.shape[1])] < 0, -1, 1).astype(P.dtype)
    return P * signs

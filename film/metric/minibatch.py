"""Mini-batch FILM: learn L from batches of triplets without forming V."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from film.metric.objective import (
    curvatures,
    hinge_arguments,
    leading_eigenvectors,
    pull_matrix,
    rounding_of_pulls,
    smooth_objective,
)
from film.metric.stiefel import polar_retraction, tangent_gradient
from film.metric.svd import Matrix, truncated_svd
from film.metric.triplets import anchor_sums


@dataclass(frozen=True, eq=False)
class BatchStep:
    """Result of one batch.

    Attributes
    ----------
    components : ndarray of shape (d, D)
        The new L.
    loss : float
        Mean hinge loss of the batch's anchors before the step, in units of the mean ‖y‖².
    active_share : float
        Fraction of the batch's anchors that were active.
    directed : bool, default=True
        Whether some direction brings similar points closer than dissimilar ones.
    """

    components: np.ndarray
    loss: float
    active_share: float
    directed: bool = True


def initial_components(
    d: int, D: int, random_state: int | np.random.Generator | None, dtype: np.dtype
) -> np.ndarray:
    """Random projection that mini-batches start from.

    Cosines after a Gaussian projection estimate the original ones, so features that have not
    occurred in a batch yet keep their influence.

    Parameters
    ----------
    d, D : int
        Rows and columns.
    random_state : int, Generator or None
        Seeds the projection.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    components : ndarray of shape (d, D)
        Independent normal entries of variance 1/d.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import initial_components
    >>> initial_components(2, 3, 0, np.dtype(float)).shape
    (2, 3)
    """
    rng = np.random.default_rng(random_state)
    return (rng.standard_normal((d, D)) / np.sqrt(d)).astype(dtype)


def batch_step(
    components: np.ndarray,
    X: Matrix,
    triplets: np.ndarray,
    *,
    n_steps: int,
    margin: float,
    rank: int,
    random_state: int | np.random.Generator | None = None,
) -> BatchStep:
    """Take one mini-batch step of FILM.

    X_b ≈ V_b Σ_b U_bᵀ contains only the batch's rows. L restricted to their row space gives (P, s);
    one projected gradient step moves P; then L changes only within that row space:
    L ← L + η_J (L_batch − L U_b U_bᵀ), η_J = 1/√J. A plain running average of maps would shrink
    every feature that is not in the batch.

    Parameters
    ----------
    components : ndarray of shape (d, D)
        L.
    X : sparse matrix or ndarray of shape (n_b, D)
        The batch's rows.
    triplets : ndarray of int, shape (T_b, 3)
        Validated triplets; indices into the batch's rows.
    n_steps : int
        J, counted from 1.
    margin : float
        Relative to the batch's mean ‖y‖².
    rank : int
        Maximum number of singular directions of the batch.
    random_state : int, Generator or None
        Seeds the decomposition.

    Returns
    -------
    step : BatchStep
        The new L; the old one if the batch has no useful direction. Costs O(n_b r_b² + d D r_b).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import batch_step
    >>> X = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    >>> batch_step(np.eye(1, 3), X, np.array([[0, 1, 2]]), n_steps=1, margin=1.0,
    ...            rank=3).components.shape
    (1, 3)
    """
    n, D = X.shape
    low = truncated_svd(X, min(rank, n, D), random_state=random_state)
    V, sigma, U = low.left, low.singular_values, low.right
    d = len(components)
    # B = L U Σ maps V-coordinates to y; B = Q diag(√s) Pᵀ. Keep Q, so that the rows of the batch's
    # map and of L refer to the same directions.
    restricted = components @ U
    Q, root, Pt = scipy.linalg.svd(restricted * sigma, full_matrices=False)
    width = min(d, len(sigma))
    P, s = Pt[:width].T, root[:width] ** 2

    anchors, sums = anchor_sums(triplets, V)
    points = V[anchors]
    total = float(s.sum())
    m = margin * total / n
    z = hinge_arguments(P, s, points, sums)
    active = z + m > 0
    share = float(active.mean())
    loss = float((z + m)[active].sum()) / len(anchors) * n / total if total > 0 else margin
    K_all = pull_matrix(points, sums, np.ones(len(anchors), dtype=bool))
    scale = float(leading_eigenvectors(K_all, 1)[0][0])
    if not scale > rounding_of_pulls(points, sums, np.square(V).mean(axis=0)):
        return BatchStep(components, loss, share, directed=False)
    if not active.any():
        return BatchStep(components, loss, share)
    K = pull_matrix(points, sums, active) / V.dtype.type(scale)
    rate = 1.0 / np.sqrt(n_steps)
    P = retract_step(P, K, rate)
    weights = np.maximum(curvatures(P, K), 0)
    if not weights.any():
        return BatchStep(components, loss, share)
    # Cosines do not depend on the scale of L. Use the scale of the starting map for all batches, so
    # that neither the target nor the average of two different maps shrinks.
    weights *= total / weights.sum() if total > 0 else 1.0
    target = (Q[:, :width] * np.sqrt(weights)) @ P.T / sigma
    mixed = restricted + restricted.dtype.type(rate) * (target - restricted)
    length = np.square(mixed * sigma, dtype=np.float64).sum()
    if total > 0 and length > 0:
        mixed *= restricted.dtype.type(np.sqrt(total / length))
    moved = components + (mixed - restricted) @ U.T
    return BatchStep(moved.astype(components.dtype, copy=False), loss, share)


def retract_step(P: np.ndarray, K: np.ndarray, step: float) -> np.ndarray:
    """Take one projected gradient step on f2 with polar retraction.

    Parameters
    ----------
    P : ndarray of shape (r, d)
        Orthonormal columns.
    K : ndarray of shape (r, r)
        At unit scale.
    step : float
        Length along −F(P) / ‖F(P)‖, in units of √d.

    Returns
    -------
    P : ndarray of shape (r, d)
        The new point.
    """
    direction = tangent_gradient(P, smooth_objective(P, K)[1])
    norm = np.linalg.norm(direction)
    if not norm > 0:
        return P
    return polar_retraction(P - P.dtype.type(step * np.sqrt(P.shape[1]) / norm) * direction)


def anchor_batches(
    triplets: np.ndarray, size: int, random_state: int | np.random.Generator | None
) -> list[np.ndarray]:
    """Split triplets into batches in random order, keeping each anchor in one batch.

    Parameters
    ----------
    triplets : ndarray of int, shape (T, 3)
        Validated triplets.
    size : int
        Approximate number of triplets per batch.
    random_state : int, Generator or None
        Seeds the order.

    Returns
    -------
    batches : list of ndarray of int, shape (T_b, 3)
        Each anchor is in one batch only, because splitting it would change its average.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import anchor_batches
    >>> triplets = np.array([[0, 1, 2], [0, 1, 3], [1, 0, 2], [1, 0, 3]])
    >>> [len(batch) for batch in anchor_batches(triplets, 1, 0)]
    [2, 2]
    """
    rng = np.random.default_rng(random_state)
    anchors, position = np.unique(triplets[:, 0], return_inverse=True)
    place = rng.permutation(len(anchors))[position]
    order = np.argsort(place, kind="stable")
    n_batches = max(1, round(len(triplets) / size))
    counts = np.bincount(place)
    # All triplets of an anchor go to the batch of its first one.
    batch = (np.cumsum(counts) - counts) * n_batches // len(triplets)
    edges = np.flatnonzero(np.diff(batch[place[order]])) + 1
    return np.split(triplets[order], edges)


def pass_settled(losses: np.ndarray, start: int, tol: float) -> bool:
    """Return whether the mean loss of a pass fell by less than tol / 3 of the previous pass.

    ``losses`` has the loss of every batch; the pass begins at ``start``. Returns False if there is
    no previous pass of the same number of batches.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import pass_settled
    >>> pass_settled(np.array([1.0, 0.8, 0.9, 0.9]), 2, 0.1)
    True
    """
    now = losses[start:]
    before = losses[max(0, start - len(now)) : start]
    return len(before) == len(now) and bool(before.mean() - now.mean() <= tol / 3 * before.mean())

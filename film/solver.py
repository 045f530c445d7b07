"""Full-batch FILM: alternate between the set of active anchors and the best (P, s) for it.

With activity fixed, f2 is a lower bound of what FILM minimises, so switching whole sets of anchors
on and off makes the iteration jump between two maps. Activities λ ∈ [0, 1] that move only part of
the way are the dual variables of

    min over M = P diag(s) Pᵀ of  Σ_i max(0, m − ⟨M, a_i v_iᵀ⟩) + ½ ‖M‖²,

and the step length below is the exact one of the dual function without its projection: a
Frank-Wolfe step that cannot overshoot. The map kept is the one of the lowest true objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
import scipy.linalg

from film.descent import ConvergenceReason, minimize_on_stiefel
from film.objective import (
    active_anchors,
    curvatures,
    hinge_arguments,
    pull_matrix,
    smooth_objective,
    true_objective,
)
from film.stiefel import polar_retraction, random_point, tangent_gradient
from film.threads import one_blas_thread

Method = Literal["eigen", "cayley"]


class StopReason(Enum):
    """Why the alternation ended; the value says what happened and what to do."""

    ALL_ACTIVE = (
        "converged: every anchor stays active at this margin, so the first map is the minimum; "
        "a smaller margin would let satisfied anchors go"
    )
    CHANGE = "converged: the objective stopped changing within tol; nothing needs doing"
    MAX_ITER = "not converged: max_iter was reached; raise max_iter or loosen tol"
    NO_DIRECTION = (
        "not converged: no direction brings similar points closer than dissimilar ones, so the "
        "leading singular directions were kept with equal weights; check the triplets"
    )
    INTERRUPTED = (
        "not converged: interrupted from the keyboard and the best map so far was kept; fit "
        "again to go on"
    )

    @property
    def converged(self) -> bool:
        """Whether the map is a solution within the tolerance."""
        return self in (StopReason.ALL_ACTIVE, StopReason.CHANGE)


@dataclass(frozen=True, eq=False)
class Solution:
    """A FILM map in the coordinates of the anchors.

    Attributes
    ----------
    P : ndarray of shape (r, d)
        Orthonormal columns, by decreasing weight, largest entry of each positive.
    s : ndarray of shape (d,)
        Weights ≥ 0 in units of the first, all-active map's largest.
    objective : float
        Lowest true objective met by a map other than zero, in the same units.
    n_iter : int
        Rounds done.
    reason : StopReason
        Why the rounds ended.
    loss_curve, gradient_norms, active_shares : ndarray of shape (n_iter,)
        True objective, ‖F(P)‖ of f2 at the round's start, and share of active anchors, a round.
    """

    P: np.ndarray
    s: np.ndarray
    objective: float
    n_iter: int
    reason: StopReason
    loss_curve: np.ndarray
    gradient_norms: np.ndarray
    active_shares: np.ndarray


def leading_eigenvectors(K: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Closed-form minimiser of f2 at fixed activity.

    With the d largest eigenvalues of −(K + Kᵀ)/2 positive, their eigenvectors minimise f2, for
    k · softplus(k) is convex and increasing on k ≥ 0 (Schur-Horn).

    Parameters
    ----------
    K : ndarray of shape (r, r)
        From `film.objective.pull_matrix`.
    d : int
        Number of columns, at most r.

    Returns
    -------
    k : ndarray of shape (d,)
        Eigenvalues, decreasing.
    P : ndarray of shape (r, d)
        Eigenvectors, largest entry of each positive; costs O(r³).

    Examples
    --------
    >>> import numpy as np
    >>> from film.solver import leading_eigenvectors
    >>> leading_eigenvectors(np.diag([-1.0, -3.0]), 1)
    (array([3.]), array([[0.],
           [1.]]))
    """
    r = len(K)
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(
            -(K + K.T) / 2, subset_by_index=[r - d, r - 1], check_finite=False
        )
    return values[::-1], _fix_signs(vectors[:, ::-1])


def solve(
    anchors: np.ndarray,
    pulls: np.ndarray,
    second_moment: np.ndarray,
    d: int,
    *,
    margin: float = 1.0,
    method: Method = "eigen",
    max_iter: int = 30,
    tol: float = 1e-3,
    inner_iter: int = 20,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Full-batch FILM (algorithm 1 of the paper) on coordinates.

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r)
        v_i and a_i of the points that have triplets.
    second_moment : ndarray of shape (r,)
        Mean of v² over all points, a coordinate; coordinates are uncorrelated.
    d : int
        Dimensions to learn, 1 … r.
    margin : float
        Margin relative to the mean of ‖y‖² under the first map, in which every anchor is active.
        Frozen from then on: large margins keep all anchors active, 0 keeps those violated.
    method : {"eigen", "cayley"}
        The inner step: closed form, or the paper's descent on the Stiefel manifold.
    max_iter : int
        Most rounds.
    tol : float
        Stop when the best objective improved by less than ``tol`` of itself over three rounds.
    inner_iter : int
        Descent steps a round, for "cayley".
    random_state : int, Generator or None
        Seeds the starting point of "cayley".
    progress : callable, optional
        Called with a short text after each round.

    Returns
    -------
    solution : Solution
        Never NaN and never all zero.

    Notes
    -----
    A round costs O(#active r² + m r d) and O(r³) (eigen) or O(inner_iter r² d) (cayley).

    Examples
    --------
    >>> import numpy as np
    >>> from film.solver import solve
    >>> V, A = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 0.0], [0.0, -1.0]])
    >>> solve(V, A, np.array([0.5, 0.5]), 1).P.ravel()
    array([1., 0.])
    """
    everyone = np.ones(len(anchors), dtype=bool)
    K_all = pull_matrix(anchors, pulls, everyone)
    scale = float(leading_eigenvectors(K_all, 1)[0][0])
    floor = np.finfo(anchors.dtype).eps * float(np.linalg.norm(K_all))
    if not scale > floor:
        return _no_direction(len(K_all), d, anchors.dtype)
    # ‖K‖ depends on n and on the units of X; softplus and tolerances need it near one.
    unit = anchors.dtype.type(scale)
    K_all = K_all / unit

    inner = _Inner(method, d, inner_iter, np.random.default_rng(random_state))
    K, activity = K_all, np.ones(len(anchors), dtype=np.float64)
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    losses: list[float] = []
    norms: list[float] = []
    shares: list[float] = []
    reason, m = StopReason.MAX_ITER, 0.0
    try:
        for _ in range(max_iter):
            P, s, norm = inner.step(K)
            if not losses:
                # z is in units of 1/scale since the pulls are, and m has to share them.
                m = margin * float(np.einsum("rl,rl,r,l->", P, P, second_moment, s)) / scale
            z = hinge_arguments(P, s, anchors, pulls) / unit
            active = active_anchors(z, m)
            losses.append(true_objective(z, s, m))
            norms.append(norm)
            shares.append(float(active.mean()))
            if s.any() and (best is None or losses[-1] < best[0]):
                best = losses[-1], P, s
            if progress is not None:
                progress(f"loss {losses[-1]:.4g}, active {shares[-1]:.1%}")
            if active.all() and activity.min() == 1.0:
                if inner.exact or norm <= tol:
                    reason = StopReason.ALL_ACTIVE
                    break
                continue
            if _settled(losses, tol):
                reason = StopReason.CHANGE
                break
            K, activity = _move_activity(
                K, K_all, activity, active, (anchors, pulls, unit), P, s, m
            )
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
        if best is None:
            raise
    assert best is not None
    value, P, s = best
    order = np.argsort(-s, kind="stable")
    return Solution(
        P=_fix_signs(P[:, order]),
        s=s[order],
        objective=value,
        n_iter=len(losses),
        reason=reason,
        loss_curve=np.array(losses),
        gradient_norms=np.array(norms),
        active_shares=np.array(shares),
    )


class _Inner:
    """Best (P, s) for a K: exactly, or by descent from the last P."""

    def __init__(self, method: Method, d: int, n_iter: int, rng: np.random.Generator) -> None:
        self.exact = method == "eigen"
        self._d, self._n_iter, self._rng = d, n_iter, rng
        self._P: np.ndarray | None = None
        self._step: float | None = None

    def step(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """(P, s, ‖F‖ of f2 at the point the round began with)."""
        start = random_point(len(K), self._d, self._rng, K.dtype) if self._P is None else self._P
        norm = float(np.linalg.norm(tangent_gradient(start, smooth_objective(start, K)[1])))
        if self.exact:
            k, P = leading_eigenvectors(K, self._d)
        else:
            result = minimize_on_stiefel(
                lambda point: smooth_objective(point, K),
                start,
                max_iter=self._n_iter,
                initial_step=self._step,
            )
            if result.reason is ConvergenceReason.INTERRUPTED:
                raise KeyboardInterrupt
            P, self._step = result.point, result.step
            k = curvatures(P, K)
            if not (k > 0).any():
                # Softplus is flat far below zero, so a descent that starts there stays there.
                k, P = leading_eigenvectors(K, self._d)
        self._P = P
        return P, np.maximum(k, 0), norm


def _move_activity(
    K: np.ndarray,
    K_all: np.ndarray,
    activity: np.ndarray,
    active: np.ndarray,
    moments: tuple[np.ndarray, np.ndarray, np.floating],
    P: np.ndarray,
    s: np.ndarray,
    m: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Move activities towards the active set, by the step that maximises the dual.

    The dual is m Σλ − ½ ‖[−K_sym(λ)]₊‖², and the projection [·]₊ does not expand, so its
    curvature along the move is at most ‖ΔK_sym‖².
    """
    anchors, pulls, unit = moments
    if 2 * active.sum() <= len(active):
        target = pull_matrix(anchors, pulls, active) / unit
    else:
        target = K_all - pull_matrix(anchors, pulls, ~active) / unit
    change = target - K
    slope = m * float((active - activity).sum()) - float(curvatures(P, change) @ s)
    curvature = float(np.square((change + change.T) / 2, dtype=np.float64).sum())
    step = min(max(slope / curvature, 0.0), 1.0) if curvature > 0 else 0.0
    return K + K.dtype.type(step) * change, activity + step * (active - activity)


def _settled(losses: list[float], tol: float) -> bool:
    if len(losses) < 4:
        return False
    before, now = min(losses[:-3]), min(losses)
    return before - now <= tol * abs(before)


def _no_direction(r: int, d: int, dtype: np.dtype) -> Solution:
    nothing = np.empty(0)
    return Solution(
        P=np.eye(r, d, dtype=dtype),
        s=np.ones(d, dtype=dtype),
        objective=float("inf"),
        n_iter=0,
        reason=StopReason.NO_DIRECTION,
        loss_curve=nothing,
        gradient_norms=nothing,
        active_shares=nothing,
    )


def _fix_signs(P: np.ndarray) -> np.ndarray:
    largest = np.abs(P).argmax(axis=0)
    signs = np.where(P[largest, np.arange(P.shape[1])] < 0, -1, 1).astype(P.dtype)
    return P * signs


def retract_step(P: np.ndarray, K: np.ndarray, step: float) -> np.ndarray:
    """One projected gradient step on f2 with polar retraction, as mini-batch FILM takes.

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

    Examples
    --------
    >>> import numpy as np
    >>> from film.solver import retract_step
    >>> P = retract_step(np.eye(2, 1), np.diag([0.0, -1.0]), 0.0)
    >>> P.ravel()
    array([1., 0.])
    """
    direction = tangent_gradient(P, smooth_objective(P, K)[1])
    norm = np.linalg.norm(direction)
    if not norm > 0:
        return P
    return polar_retraction(P - P.dtype.type(step * np.sqrt(P.shape[1]) / norm) * direction)

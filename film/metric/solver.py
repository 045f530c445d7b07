"""Full-batch FILM: alternate between the activity of anchors and the best (P, s) for it.

With fixed activity, f2 is only a lower bound of the objective. Switching whole sets of anchors on
and off makes the iteration jump between two maps. So activities λ ∈ [0, 1] move only part of the
way. They are the dual variables of

    min over M = P diag(s) Pᵀ of  Σ_i max(0, m − ⟨M, a_i v_iᵀ⟩) + ½ ‖M‖².

"eigen" moves the map towards the closed form for its mean activities, as far as the objective
itself falls (`film.metric.factor`). "cayley" is the paper's descent; the step of its activities is
the best for the dual of full rank, and the map with the lowest objective is kept. Both start with
the same margin and measure convergence by a lower bound of the objective. If their rounds stall
above it, L-BFGS continues from the best map and from random maps (`film.metric.polish`), until
eight maps reach the lowest objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from film.metric.descent import minimize_on_stiefel
from film.metric.factor import descend_factor, rank_bound
from film.metric.objective import (
    curvatures,
    fix_signs,
    hinge_arguments,
    leading_eigenvectors,
    pull_matrix,
    rounding_of_pulls,
    smooth_objective,
    true_objective,
)
from film.metric.polish import polish
from film.metric.stiefel import random_point, tangent_gradient
from film.metric.stopping import StopReason
from film.threads import one_blas_thread

# Rounds in a row that may gain little: progress comes in phases where d is small.
_PATIENCE = 4
# Descent steps per round of "cayley".
_DESCENT_STEPS = 20
# Most maps that are polished, and how many of them have to agree.
_POLISHED, _AGREEING = 24, 8
# Most multiplications of all polishing, a few seconds, and steps that a map takes.
_WORK, _STEPS_OF_ONE = 1e11, 100
# Maps that have to agree are polished to this share of the accuracy.
_WITHIN = 0.02
# Where there are too many anchors for that, the best map alone is polished, by one anchor in so
# many.
_NEAR = 6


@dataclass(frozen=True, eq=False)
class Solution:
    """A FILM map in the coordinates of the anchors.

    Attributes
    ----------
    P : ndarray of shape (r, d)
        Orthonormal columns, by decreasing weight; the largest entry of each is positive.
    s : ndarray of shape (d,)
        Weights ≥ 0, in units of the largest weight of the first map, which has all anchors active.
    objective : float
        Lowest true objective of all nonzero maps found, in the same units.
    lower_bound : float
        No map of d dimensions has a lower objective: the largest `film.metric.rank_bound` found.
    n_iter : int
        Number of rounds.
    reason : StopReason
        Why the rounds ended.
    loss_curve, gradient_norms, active_shares : ndarray of shape (n_iter,)
        Lowest true objective up to each round, norm of the gradient, and share of active anchors.
        For "eigen" and polished maps, the gradient is that of the smoothed objective with respect
        to P diag(√s). For "cayley", it is F(P) of f2 at the start of the round.
    """

    P: np.ndarray
    s: np.ndarray
    objective: float
    lower_bound: float
    n_iter: int
    reason: StopReason
    loss_curve: np.ndarray
    gradient_norms: np.ndarray
    active_shares: np.ndarray


def solve(
    anchors: np.ndarray,
    pulls: np.ndarray,
    second_moment: np.ndarray,
    d: int,
    *,
    margin: float,
    solver: str,
    max_iter: int,
    tol: float,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Full-batch FILM (algorithm 1 of the paper) on coordinates.

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r)
        v_i and a_i of the points with triplets.
    second_moment : ndarray of shape (r,)
        Mean of v² over all points, per coordinate; coordinates are uncorrelated.
    d : int
        Dimensions to learn, 1 … r.
    margin : float
        Margin relative to the mean of ‖y‖² under the closed-form map with all anchors active. It
        then stays fixed, and is the same for both solvers. Large margins keep all anchors active,
        small margins only those violated.
    solver : {"eigen", "cayley"}
        Steps towards the closed form, or the paper's descent on the Stiefel manifold.
    max_iter : int
        Maximum number of rounds.
    tol : float
        Stop if the objective exceeds its lower bound by at most this share, both of itself and of
        its decrease from the zero map. If four rounds lower it by less, maps are polished, one per
        round, until eight are within half of this share of the lowest. After 24 maps, or a few
        seconds of work, the reason is `StopReason.STALLED`. If 4 m r d is above 1.25e8, eight maps
        would take longer than the rounds, so only one is polished.
    random_state : int, Generator or None
        Seeds the starting point of "cayley", and the random maps to be polished.
    progress : callable, optional
        Called with a short text after each round.

    Returns
    -------
    solution : Solution
        Never NaN and never all zero.

    Notes
    -----
    A round costs O(m r d + c r² + r³) (eigen), with c the anchors whose activity changed, or
    O(#active r² + m r d + r² d + r³) (cayley). A polished map takes some hundred steps of
    O(m r d), or of O(m r d / 6 + r² d) if only one is polished.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import solve
    >>> V, A = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 0.0], [0.0, -1.0]])
    >>> settings = {"margin": 1.0, "solver": "eigen", "max_iter": 10, "tol": 1e-2}
    >>> solve(V, A, np.array([0.5, 0.5]), 1, **settings).P.ravel()
    array([1., 0.])
    """
    everyone = np.ones(len(anchors), dtype=bool)
    K_all = pull_matrix(anchors, pulls, everyone)
    k, P = leading_eigenvectors(K_all, d)
    scale = float(k[0])
    if not scale > rounding_of_pulls(anchors, pulls, second_moment):
        return _no_direction(anchors, pulls, second_moment, d, margin)
    # ‖K‖ depends on n and on the units of X; softplus and tolerances need it near one.
    K_all = K_all / anchors.dtype.type(scale)
    s = np.maximum(k / k.dtype.type(scale), 0)
    # z is in units of 1/scale since the pulls are, and m has to share them.
    m = margin * float(np.einsum("rl,rl,r,l->", P, P, second_moment, s)) / scale
    rng = np.random.default_rng(random_state)
    if solver == "eigen":
        rounds = _eigen_rounds(anchors, pulls, scale, K_all, P, s, m)
    else:
        start = random_point(len(P), d, rng, P.dtype)
        rounds = _cayley_rounds(anchors, pulls, scale, K_all, start, m)

    def polished(best: _Round, accuracy: float, n_rounds: int) -> Iterator[_Round]:
        return _polished_rounds(
            anchors, pulls, scale, K_all, best, m, accuracy, n_rounds, rng, progress
        )

    return _best_of(rounds, polished, max_iter, tol, m * len(anchors), progress)


@dataclass(frozen=True, eq=False)
class _Round:
    """A map and the figures of its round; ``slack`` bounds the effect of smoothing its loss."""

    P: np.ndarray
    s: np.ndarray
    loss: float
    bound: float
    norm: float
    share: float
    slack: float = 0.0
    reason: StopReason | None = None


def _best_of(
    rounds: Iterator[_Round],
    polished: Callable[[_Round, float, int], Iterator[_Round]],
    max_iter: int,
    tol: float,
    nothing: float,
    progress: Callable[[str], None] | None,
) -> Solution:
    """Run rounds until they stall, polish maps until they agree, and keep the best map.

    ``nothing`` is the objective of the zero map.
    """
    done: list[_Round] = []
    best: _Round | None = None
    ends: list[float] | None = None
    bound = accuracy = 0.0
    reason = StopReason.MAX_ITER
    try:
        while len(done) < max_iter:
            now = next(rounds, None)
            if now is None and ends is None and best is not None:
                ends, rounds = [], polished(best, accuracy, len(done))
                continue
            if now is None:
                reason = StopReason.STALLED
                break
            if now.s.any() and (best is None or now.loss < best.loss):
                best = now
            done.append(now)
            bound = max(bound, now.bound)
            if progress is not None:
                progress(f"loss {now.loss:.4g}, active {now.share:.1%}")
            if now.reason is not None:
                reason = now.reason
                break
            lowest = min(row.loss for row in done)
            # With a large margin, all maps have a large objective, so a share of it alone says
            # little.
            accuracy = tol * min(lowest, abs(nothing - lowest))
            if lowest - bound <= accuracy:
                reason = StopReason.BOUND
                break
            if ends is not None:
                ends.append(now.loss)
                if sum(end - lowest <= accuracy / 2 for end in ends) >= _AGREEING:
                    reason = StopReason.AGREED
                    break
            elif len(done) > _PATIENCE and best is not None:
                gain = min(row.loss for row in done[:-_PATIENCE]) - lowest
                if gain + now.slack <= accuracy:
                    ends, rounds = [], polished(best, accuracy, len(done))
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
        if best is None:
            raise
    assert best is not None
    order = np.argsort(-best.s, kind="stable")
    return Solution(
        P=fix_signs(best.P[:, order]),
        s=best.s[order],
        objective=best.loss,
        lower_bound=min(bound, best.loss),
        n_iter=len(done),
        reason=reason,
        loss_curve=np.minimum.accumulate([row.loss for row in done]),
        gradient_norms=np.array([row.norm for row in done]),
        active_shares=np.array([row.share for row in done]),
    )


def _eigen_rounds(
    anchors: np.ndarray,
    pulls: np.ndarray,
    scale: float,
    K_all: np.ndarray,
    P: np.ndarray,
    s: np.ndarray,
    m: float,
) -> Iterator[_Round]:
    """Start with the closed form for all anchors active, and descend on the objective."""
    if m == 0:
        z = hinge_arguments(P, s, anchors, pulls) / anchors.dtype.type(scale)
        share = float((z > 0).mean())
        yield _Round(P, s, true_objective(z, s, m), 0.0, 0.0, share, reason=StopReason.NO_MARGIN)
        return
    dtype = anchors.dtype
    first = P.astype(np.float64) * np.sqrt(s.astype(np.float64))
    S_all = -(K_all + K_all.T) / 2
    for number, at in enumerate(descend_factor(anchors, pulls, scale, S_all, first, m)):
        if number:
            P, s = _map_of(at.B, dtype)
        active = at.hinge > 0
        reason = StopReason.ALL_ACTIVE if number == 0 and active.all() else None
        yield _Round(
            P,
            s,
            at.loss,
            at.bound,
            at.gradient_norm,
            float(active.mean()),
            at.smoothing,
            reason,
        )


def _polished_rounds(
    anchors: np.ndarray,
    pulls: np.ndarray,
    scale: float,
    K_all: np.ndarray,
    best: _Round,
    m: float,
    accuracy: float,
    n_rounds: int,
    rng: np.random.Generator,
    progress: Callable[[str], None] | None,
) -> Iterator[_Round]:
    """Polish the best map, then random maps as long as the work is small enough."""
    dtype = anchors.dtype
    lengths = np.sqrt(best.s.astype(np.float64))
    start, size = best.P * lengths, float(np.sqrt(np.square(lengths).mean()))
    S_all = -(K_all + K_all.T).astype(np.float64) / 2
    left = int(_WORK / (4 * len(anchors) * best.P.size))
    n_maps, n_near, within = _POLISHED, len(anchors), _WITHIN * accuracy
    if left < _AGREEING * _STEPS_OF_ONE:
        # Too few maps would be polished to agree, so only the bound decides convergence.
        n_maps, n_near, within = 1, -(-len(anchors) // _NEAR), accuracy
        left = max(_NEAR * n_rounds, left)

    def told(loss: float) -> None:
        nonlocal left
        left -= 1
        if progress is not None:
            progress(f"polishing, loss {loss:.4g}")

    for _ in range(n_maps):
        at = polish(anchors, pulls, scale, S_all, start, m, within, n_near, left, told)
        P, s = _map_of(at.B, dtype)
        share = float((at.hinge > 0).mean())
        yield _Round(P, s, at.loss, at.bound, at.gradient_norm, share, at.smoothing)
        if left <= 0:
            return
        start = size * random_point(len(best.P), best.P.shape[1], rng)


def _map_of(B: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return (P, s) of a factor."""
    with one_blas_thread():
        left, root, _ = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
    return left.astype(dtype), np.square(root).astype(dtype)


def _cayley_rounds(
    anchors: np.ndarray,
    pulls: np.ndarray,
    scale: float,
    K_all: np.ndarray,
    P: np.ndarray,
    m: float,
) -> Iterator[_Round]:
    """Descend on f2 from P as in the paper; move activities part of the way to the active set."""
    unit = anchors.dtype.type(scale)
    K, activity, step = K_all, np.ones(len(anchors), dtype=np.float64), None
    while True:
        bound = rank_bound(-(K + K.T).astype(np.float64) / 2, activity, m, P.shape[1])[0]
        P, s, norm, step = _descend(K, P, step)
        z = hinge_arguments(P, s, anchors, pulls) / unit
        active = z + m > 0
        reason = StopReason.NO_MARGIN if m == 0 else None
        yield _Round(
            P, s, true_objective(z, s, m), bound, norm, float(active.mean()), reason=reason
        )
        K, activity = _move_activity(K, K_all, activity, active, (anchors, pulls, unit), P, s, m)


def _descend(
    K: np.ndarray, start: np.ndarray, first_step: float | None
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the best (P, s) for K by descent, ‖F‖ of f2 at the start, and the next step size."""
    norm = float(np.linalg.norm(tangent_gradient(start, smooth_objective(start, K)[1])))
    result = minimize_on_stiefel(
        lambda point: smooth_objective(point, K),
        start,
        max_iter=_DESCENT_STEPS,
        first_step=first_step,
    )
    P, k = result.point, curvatures(result.point, K)
    if not (k > 0).any():
        # Softplus is flat far below zero, so a descent that starts there stays there.
        k, P = leading_eigenvectors(K, P.shape[1])
    return P, np.maximum(k, 0), norm, result.step


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
    """Move activities towards the active set, with the step that maximises the dual.

    The dual is m Σλ − ½ ‖[−K_sym(λ)]₊‖². The projection [·]₊ is nonexpansive, so the curvature
    along the move is at most ‖ΔK_sym‖².
    """
    anchors, pulls, unit = moments
    if 2 * active.sum() <= len(active):
        target = pull_matrix(anchors, pulls, active) / unit
    else:
        target = K_all - pull_matrix(anchors, pulls, ~active) / unit
    change = target - K
    slope = m * float((active - activity).sum()) - float(curvatures(P, change) @ s)
    curvature = float(np.square((change + change.T) / 2, dtype=np.float64).sum())
    # Without curvature, as of pulls that cancel, the dual is a line.
    step = min(max(slope / curvature, 0.0), 1.0) if curvature > 0 else float(slope > 0)
    return K + K.dtype.type(step) * change, activity + step * (active - activity)


def _no_direction(
    anchors: np.ndarray, pulls: np.ndarray, second_moment: np.ndarray, d: int, margin: float
) -> Solution:
    """Return the leading directions with weight 1; without a scale, in the units of the data."""
    P, s = np.eye(len(second_moment), d, dtype=anchors.dtype), np.ones(d, dtype=anchors.dtype)
    nothing = np.empty(0)
    z = hinge_arguments(P, s, anchors, pulls)
    return Solution(
        P=P,
        s=s,
        objective=true_objective(z, s, margin * float(second_moment[:d].sum())),
        lower_bound=0.0,
        n_iter=0,
        reason=StopReason.NO_DIRECTION,
        loss_curve=nothing,
        gradient_norms=nothing,
        active_shares=nothing,
    )

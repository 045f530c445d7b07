"""Minimisation of a smooth function on the Stiefel manifold.

Cayley steps, Barzilai-Borwein lengths and a nonmonotone line search: the method of the FILM
paper, section 3.2, for any objective. One call is one fixed objective; a caller whose objective
changes calls again from the point and the step of the last result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from film.metric.stiefel import FloatArray, cayley_curve, tangent_gradient, without_drift
from film.metric.stopping import StopReason

Objective = Callable[[Any], tuple[Any, Any]]

# rho: the share of the decrease predicted by the slope that a step must give.
_DECREASE = 1e-4
# eta: the factor of a step that was refused, and how often one step is shrunk.
_SHRINK, _MAX_SHRINKS = 0.2, 25
# gamma: the weight of earlier values in the reference a step must undercut (Zhang and Hager,
# 2004); 0 would make the descent monotone.
_MEMORY = 0.85
# tau0: how far the first step moves P, relative to ‖P‖ = √d. It is a distance and not a bare step
# length so that multiplying the objective by a constant changes nothing.
_FIRST_MOVE = 1e-3
# Bounds of a step, as distances in the same units. Beyond some ten the Cayley curve has gone half
# round and further lengths only cost trials.
_MIN_MOVE, _MAX_MOVE = 1e-20, 1e2
# Steps in a row, the first not counted, that must change point and value by no more than xtol and
# ftol.
_PATIENCE = 5
# Rounding of an objective in units of eps · |value|: some twenty of them, for sums of many terms.
_ROUNDING = 20.0


@dataclass(frozen=True, eq=False)
class StiefelResult:
    """Outcome of `minimize_on_stiefel`.

    Attributes
    ----------
    point : ndarray of shape (r, d)
        The accepted point of the lowest value.
    value, gradient_norm : float
        Objective and ‖F(P)‖ at `point`.
    n_iter : int
        Number of accepted steps.
    reason : StopReason
        Why the descent ended.
    values, gradient_norms : ndarray of shape (n_iter + 1,), float64
        Objective and ‖F(P)‖ at the start and after each step.
    step : float
        The step length to go on with: `initial_step` of a next call.
    """

    point: FloatArray
    value: float
    gradient_norm: float
    n_iter: int
    reason: StopReason
    values: NDArray[np.float64]
    gradient_norms: NDArray[np.float64]
    step: float


@dataclass(frozen=True, eq=False)
class _Place:
    """A point with everything the descent needs to know about it."""

    point: FloatArray
    value: float
    gradient: FloatArray
    tangent: FloatArray
    gradient_norm: float  # of the Euclidean gradient
    tangent_norm: float  # ‖F(P)‖
    slope: float  # decrease of the value per unit of step, where the Cayley curve begins


def minimize_on_stiefel(
    objective: Objective,
    P0: FloatArray,
    *,
    max_iter: int = 1000,
    gtol: float = 1e-6,
    xtol: float = 1e-8,
    ftol: float = 1e-12,
    initial_step: float | None = None,
) -> StiefelResult:
    """Minimise a smooth function of a matrix with orthonormal columns.

    Parameters
    ----------
    objective : callable
        ``objective(P) -> (value, gradient)``: the value at P, of shape (r, d), and its Euclidean
        gradient, an (r, d) array. It must not change P; it may reuse the gradient's memory.
    P0 : ndarray of shape (r, d)
        Where to start; ``P0ᵀ P0 = I``. float32 stays float32, and tolerances below 20 eps of the
        dtype are raised to that.
    max_iter : int, default=1000
        Most steps to accept.
    gtol : float, default=1e-6
        Stop when ‖F(P)‖ is at most gtol times the larger of the Euclidean gradient's norms at P0
        and at P. Relative, so the units of the objective do not matter.
    xtol, ftol : float, default=1e-8 and 1e-12
        Stop when for five steps in a row ‖ΔP‖ ≤ xtol ‖P‖ and the value changed by at most ftol of
        its size, where size is the largest of the values at P0, before and after the step.
    initial_step : float, optional
        First step length τ, as in `StiefelResult.step`. By default one that moves P by a
        thousandth of its length.

    Returns
    -------
    StiefelResult
        The accepted point of the lowest value, never NaN, and why the descent ended. As values
        need not fall at every step, it may be an earlier point than the one that met gtol; values
        equal within rounding count as equal. Nothing is warned of: that is the caller's to do.

    Raises
    ------
    ValueError
        If the objective is not finite at P0.

    Notes
    -----
    From P with gradient G the Cayley curve P(τ) (Eq. 24, 25) is searched for the first τ with
    ``ϕ(P(τ)) ≤ C - rho τ ⟨G, F(P)⟩``, τ shrinking by eta, where ``F(P) = G - P Gᵀ P`` (Eq. 21) and
    C is Zhang and Hager's average of earlier values. The first τ tried alternates between
    ``⟨S, S⟩ / |⟨S, Y⟩|`` (Eq. 26) and ``|⟨S, Y⟩| / ⟨Y, Y⟩`` (Eq. 27), with S and Y the changes of P
    and F(P) in the last step. A trial that is NaN or infinite is refused like one too high.

    C, S and Y belong to one objective, so each call begins them anew: to follow an objective that
    changes, call again with ``P0=result.point`` and ``initial_step=result.step``.

    A step costs one objective, seldom more, plus O(r d² + d³), or O(r³) where 2d > r.

    Examples
    --------
    The two leading eigenvectors of a symmetric matrix:

    >>> import numpy as np
    >>> from film.metric.descent import minimize_on_stiefel
    >>> from film.metric.stiefel import random_point
    >>> A, weights = np.diag([4.0, 3.0, 2.0, 1.0]), np.array([2.0, 1.0])
    >>> def objective(P):
    ...     gradient = -A @ P * weights
    ...     return 0.5 * np.sum(P * gradient), gradient
    >>> result = minimize_on_stiefel(objective, random_point(4, 2, random_state=0))
    >>> result.reason.name, round(result.value, 6)
    ('GRADIENT', -5.5)
    """
    eps = float(np.finfo(P0.dtype).eps)
    gtol, xtol, ftol = (max(tolerance, _ROUNDING * eps) for tolerance in (gtol, xtol, ftol))
    length = float(np.sqrt(P0.shape[1]))

    here = _evaluate(objective, without_drift(P0.copy()))
    if here is None:
        raise ValueError(
            "objective must be finite at P0, got NaN or infinity; check the data for NaN and "
            "its scale"
        )
    start = here
    step = initial_step or _FIRST_MOVE * length / (here.tangent_norm or 1.0)
    best, path = here, [(here.value, here.tangent_norm)]
    reference, weight, quiet, guessed = here.value, 1.0, 0, True
    reason = StopReason.MAX_ITER
    while True:
        if here.tangent_norm <= gtol * max(start.gradient_norm, here.gradient_norm):
            reason = StopReason.GRADIENT
            break
        if quiet >= _PATIENCE:
            reason = StopReason.STILL
            break
        if len(path) > max_iter:
            break

        unit = length / here.tangent_norm
        step = min(max(step, _MIN_MOVE * unit), _MAX_MOVE * unit)
        promised = step * here.slope
        size = max(abs(here.value), abs(start.value))
        # Values drown in rounding long before gradients do. Where even the whole step promises
        # less than that, the gradient is trusted over the comparison of values.
        noise = _ROUNDING * eps * size
        bound = reference + noise if promised <= noise else reference
        found, blocked = _search(objective, here, step, bound)
        if found is None:
            if blocked:
                reason = StopReason.NOT_FINITE
            elif promised <= ftol * size:
                reason = StopReason.STILL
            else:
                reason = StopReason.LINE_SEARCH
            break
        there, taken = found

        moved = _norm(there.point - here.point)
        changed = abs(there.value - here.value)
        still = moved <= xtol * length and changed <= ftol * max(size, abs(there.value))
        # A length that was guessed may be short for no reason, so that standing still after it
        # says nothing.
        quiet = 0 if not still else quiet if guessed else quiet + 1
        ratio = _barzilai_borwein(here, there, long=len(path) % 2 == 1)
        guessed = ratio is None
        step = taken / _SHRINK if ratio is None else ratio
        decayed = _MEMORY * weight
        weight = decayed + 1.0
        reference = (decayed * reference + there.value) / weight
        here = there
        best = here if here.value <= best.value else best
        path.append((here.value, here.tangent_norm))

    if reason is StopReason.GRADIENT:
        # Among values equal within rounding, the point that met gtol is the one to return.
        tie = _ROUNDING * eps * max(abs(best.value), abs(start.value))
        best = here if here.value <= best.value + tie else best
    values, gradient_norms = np.array(path, dtype=np.float64).T
    return StiefelResult(
        point=best.point,
        value=best.value,
        gradient_norm=best.tangent_norm,
        n_iter=len(path) - 1,
        reason=reason,
        values=values,
        gradient_norms=gradient_norms,
        step=step,
    )


def _search(
    objective: Objective, here: _Place, step: float, bound: float
) -> tuple[tuple[_Place, float] | None, bool]:
    """Shrink the step until accepted: (place, step) or None, and if the last was not finite."""
    curve = cayley_curve(here.point, here.gradient)
    there = None
    for _ in range(_MAX_SHRINKS + 1):
        there = _evaluate(objective, curve(step))
        if there is not None:
            # As a difference, so that a step too small to change the value is refused and not
            # taken for progress.
            if there.value - bound <= -_DECREASE * step * here.slope:
                return (there, step), False
        step *= _SHRINK
    return None, there is None


def _barzilai_borwein(before: _Place, after: _Place, *, long: bool) -> float | None:
    """Eq. 26 (long) or 27; None where rounding leaves no ratio, as in 0/0."""
    moved = (after.point - before.point).astype(np.float64).ravel()
    turned = (after.tangent - before.tangent).astype(np.float64).ravel()
    cross = abs(float(moved @ turned))
    above, below = (float(moved @ moved), cross) if long else (cross, float(turned @ turned))
    if not (above > 0.0 and below > 0.0):
        return None
    ratio = above / below
    return ratio if 0.0 < ratio < np.inf else None


def _evaluate(objective: Objective, point: FloatArray) -> _Place | None:
    """Evaluate at a point; None where the value or the gradient is NaN or infinite."""
    value, gradient = objective(point)
    value = float(value)
    with np.errstate(over="ignore", invalid="ignore"):
        # A copy, because the objective may write its next gradient into the same memory.
        gradient = np.array(gradient, dtype=point.dtype)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return None
        tangent = tangent_gradient(point, gradient)
        normal = _norm(point.T @ tangent)
        tangent_norm = _norm(tangent)
    if not np.isfinite(tangent_norm):
        return None
    # ⟨G, F(P)⟩ written without the cancellation of ‖G‖² - tr((PᵀG)²).
    slope = tangent_norm**2 - normal**2 / 2
    return _Place(point, value, gradient, tangent, _norm(gradient), tangent_norm, slope)


def _norm(array: FloatArray) -> float:
    # In float64: squares of small float32 entries would vanish.
    return float(np.linalg.norm(array.astype(np.float64, copy=False)))

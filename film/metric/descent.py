"""Minimisation of a smooth function on the Stiefel manifold.

Cayley steps, Barzilai-Borwein step lengths and a nonmonotone line search: the method of the FILM
paper, section 3.2, for any objective. To minimise an objective that changes, call again from the
point and the step of the last result.
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

# rho: the fraction of the predicted decrease that a step must achieve.
_DECREASE = 1e-4
# eta: the factor applied to a rejected step, and the maximum number of reductions.
_SHRINK, _MAX_SHRINKS = 0.2, 25
# gamma: the weight of earlier values in the reference value (Zhang and Hager, 2004); 0 would make
# the descent monotone.
_MEMORY = 0.85
# tau0: how far the first step moves P, relative to ‖P‖ = √d. A distance rather than a step length,
# so that the scale of the objective does not matter.
_FIRST_MOVE = 1e-3
# Bounds of a step, as distances in the same units. Beyond about ten, longer steps on the Cayley
# curve only cost trials.
_MIN_MOVE, _MAX_MOVE = 1e-20, 1e2
# Number of consecutive steps, after the first, in which point and value may change by at most xtol
# and ftol.
_PATIENCE = 5
# Rounding error of an objective in units of eps · |value|, for sums of many terms.
_ROUNDING = 20.0


@dataclass(frozen=True, eq=False)
class StiefelResult:
    """Outcome of `minimize_on_stiefel`.

    Attributes
    ----------
    point : ndarray of shape (r, d)
        The accepted point with the lowest value.
    value, gradient_norm : float
        Objective and ‖F(P)‖ at `point`.
    n_iter : int
        Number of accepted steps.
    reason : StopReason
        Why the descent stopped.
    values, gradient_norms : ndarray of shape (n_iter + 1,), float64
        Objective and ‖F(P)‖ at the start and after each step.
    step : float
        Current step length: the `initial_step` of a subsequent call.
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
    """A point with its value and gradients."""

    point: FloatArray
    value: float
    gradient: FloatArray
    tangent: FloatArray
    gradient_norm: float  # of the Euclidean gradient
    tangent_norm: float  # ‖F(P)‖
    slope: float  # initial decrease of the value along the Cayley curve, per unit of step


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
        Starting point; ``P0ᵀ P0 = I``. float32 stays float32, and tolerances are at least 20 eps of
        the dtype.
    max_iter : int, default=1000
        Maximum number of accepted steps.
    gtol : float, default=1e-6
        Stop if ‖F(P)‖ is at most gtol times the larger of the Euclidean gradient's norms at P0 and
        at P.
    xtol, ftol : float, default=1e-8 and 1e-12
        Stop if for five consecutive steps ‖ΔP‖ ≤ xtol ‖P‖ and the value changes by at most ftol
        times the largest absolute value at P0, before and after the step.
    initial_step : float, optional
        First step length τ, as in `StiefelResult.step`. By default P moves by a thousandth of its
        length.

    Returns
    -------
    StiefelResult
        The accepted point with the lowest value, never NaN, and why the descent stopped. Values
        need not fall at every step, so it may be an earlier point than the one that met gtol;
        values equal within rounding count as ties. No warnings are raised.

    Raises
    ------
    ValueError
        If the objective is not finite at P0.

    Notes
    -----
    From P with gradient G the Cayley curve P(τ) (Eq. 24, 25) is searched for the first τ with
    ``ϕ(P(τ)) ≤ C - rho τ ⟨G, F(P)⟩``, reducing τ by eta, where ``F(P) = G - P Gᵀ P`` (Eq. 21) and
    C is Zhang and Hager's average of earlier values. The first trial τ alternates between
    ``⟨S, S⟩ / |⟨S, Y⟩|`` (Eq. 26) and ``|⟨S, Y⟩| / ⟨Y, Y⟩`` (Eq. 27), with S and Y the changes of P
    and F(P) in the last step. A trial with a NaN or infinite value is rejected.

    C, S and Y are reset in each call: to follow a changing objective, call again with
    ``P0=result.point`` and ``initial_step=result.step``.

    A step costs one evaluation of the objective, rarely more, plus O(r d² + d³), or O(r³) if
    2d > r.

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
        # Values reach rounding error before gradients do. If the predicted decrease is smaller than
        # rounding error, trust the gradient instead of comparing values.
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
        # A guessed step length may be too short, so a small change after it is not evidence of
        # convergence.
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
        # Among values equal within rounding, return the point that met gtol.
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
    """Shrink the step until accepted; return (place, step) or None, and if it was not finite."""
    curve = cayley_curve(here.point, here.gradient)
    there = None
    for _ in range(_MAX_SHRINKS + 1):
        there = _evaluate(objective, curve(step))
        if there is not None:
            # Compare differences, so that a step too small to change the value is rejected.
            if there.value - bound <= -_DECREASE * step * here.slope:
                return (there, step), False
        step *= _SHRINK
    return None, there is None


def _barzilai_borwein(before: _Place, after: _Place, *, long: bool) -> float | None:
    """Eq. 26 (long) or 27; None if rounding makes the ratio undefined."""
    moved = (after.point - before.point).astype(np.float64).ravel()
    turned = (after.tangent - before.tangent).astype(np.float64).ravel()
    cross = abs(float(moved @ turned))
    above, below = (float(moved @ moved), cross) if long else (cross, float(turned @ turned))
    if not (above > 0.0 and below > 0.0):
        return None
    ratio = above / below
    return ratio if 0.0 < ratio < np.inf else None


def _evaluate(objective: Objective, point: FloatArray) -> _Place | None:
    """Evaluate the objective; None if the value or the gradient is NaN or infinite."""
    value, gradient = objective(point)
    value = float(value)
    with np.errstate(over="ignore", invalid="ignore"):
        # Copy, because the objective may reuse the memory.
        gradient = np.array(gradient, dtype=point.dtype)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return None
        tangent = tangent_gradient(point, gradient)
        normal = _norm(point.T @ tangent)
        tangent_norm = _norm(tangent)
    if not np.isfinite(tangent_norm):
        return None
    # ⟨G, F(P)⟩, without the cancellation of ‖G‖² - tr((PᵀG)²).
    slope = tangent_norm**2 - normal**2 / 2
    return _Place(point, value, gradient, tangent, _norm(gradient), tangent_norm, slope)


def _norm(array: FloatArray) -> float:
    # In float64, because squares of small float32 entries would underflow.
    return float(np.linalg.norm(array.astype(np.float64, copy=False)))

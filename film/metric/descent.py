"""Minimisation of a smooth function on the Stiefel manifold.

Cayley steps, Barzilai-Borwein lengths and a nonmonotone line search: the method of the FILM
paper, section 3.2, for any objective. One call is one fixed objective; a caller whose objective
changes calls again from the point and the step of the last result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.metric.stiefel import (
    FloatArray,
    cayley_curve,
    check_point,
    polar_retraction,
    tangent_gradient,
)

__all__ = [
    "ConvergenceReason",
    "DescentOptions",
    "DescentState",
    "StiefelResult",
    "minimize_on_stiefel",
]

Objective = Callable[[Any], tuple[Any, Any]]

# Rounding of an objective in units of eps · |value|: some twenty of them, for sums of many terms.
_ROUNDING = 20.0


class ConvergenceReason(Enum):
    """Why a minimisation ended; the value says what happened and what to do.

    Examples
    --------
    >>> from film.metric import ConvergenceReason
    >>> ConvergenceReason.MAX_ITER.converged
    False
    >>> ConvergenceReason.GRADIENT.value
    'converged: the gradient on the manifold fell within gtol; nothing needs doing'
    """

    GRADIENT = "converged: the gradient on the manifold fell within gtol; nothing needs doing"
    CHANGE = (
        "converged: point and value stopped changing (xtol, ftol) before the gradient fell within "
        "gtol; for a smaller gradient lower xtol and ftol, or work in float64"
    )
    MAX_ITER = (
        "not converged: max_iter was reached; raise max_iter, loosen gtol, or go on from the "
        "returned point and step"
    )
    LINE_SEARCH = (
        "not converged: no step along the gradient lowered the objective; check the gradient "
        "against finite differences, or work in float64"
    )
    NOT_FINITE = (
        "not converged: the objective became NaN or infinite along the step and the last good "
        "point was kept; check the scale of the data"
    )
    INTERRUPTED = (
        "not converged: interrupted from the keyboard or by the callback and the best point so "
        "far was kept; go on from the returned point and step"
    )

    @property
    def converged(self) -> bool:
        """Whether the point is a solution within the tolerances."""
        return self in (ConvergenceReason.GRADIENT, ConvergenceReason.CHANGE)


@dataclass(frozen=True)
class DescentOptions:
    """Constants of the line search and the step lengths; the defaults suit most objectives.

    Parameters
    ----------
    decrease : float in (0, 1), default=1e-4
        rho, the share of the decrease predicted by the slope that a step must give.
    shrink : float in (0, 1), default=0.2
        eta, the factor of a step that was refused.
    memory : float in [0, 1], default=0.85
        gamma, the weight of earlier values in the reference a step must undercut (Zhang and Hager,
        2004): 0 makes the descent monotone.
    first_move : float > 0, default=1e-3
        tau0, how far the first step moves P, relative to ‖P‖ = √d. It is a distance and not a bare
        step length so that multiplying the objective by a constant changes nothing.
    max_shrinks : int >= 1, default=25
        How often one step is shrunk before the line search gives up.
    min_move, max_move : float > 0, default=1e-20 and 1e2
        Bounds of a step, as distances in the same units. Beyond some ten the Cayley curve has
        gone half round and further lengths only cost trials.
    patience : int >= 1, default=5
        How many steps in a row, the first not counted, must change point and value by less than
        xtol and ftol.

    Raises
    ------
    ValueError
        If a constant is outside its range.

    Examples
    --------
    >>> from film.metric import DescentOptions
    >>> DescentOptions(memory=0.0).shrink
    0.2
    """

    decrease: float = 1e-4
    shrink: float = 0.2
    memory: float = 0.85
    first_move: float = 1e-3
    max_shrinks: int = 25
    min_move: float = 1e-20
    max_move: float = 1e2
    patience: int = 5

    def __post_init__(self) -> None:
        """Refuse constants with which no line search can work."""
        for name, ok, allowed in (
            ("decrease", 0 < self.decrease < 1, "between 0 and 1"),
            ("shrink", 0 < self.shrink < 1, "between 0 and 1"),
            ("memory", 0 <= self.memory <= 1, "from 0 to 1"),
            ("first_move", 0 < self.first_move < np.inf, "positive and finite"),
            ("max_shrinks", self.max_shrinks >= 1, "1 or more"),
            ("min_move", 0 < self.min_move <= self.max_move, "positive, at most max_move"),
            ("max_move", self.max_move < np.inf, "finite"),
            ("patience", self.patience >= 1, "1 or more"),
        ):
            if not ok:
                raise ValueError(f"{name} must be {allowed}, got {getattr(self, name)!r}")


@dataclass(frozen=True, eq=False)
class DescentState:
    """What a callback sees after an accepted step.

    Parameters
    ----------
    n_iter : int
        Steps accepted so far.
    point : ndarray of shape (r, d)
        The point reached.
    value, gradient_norm : float
        Objective and ‖F(P)‖ there.
    step : float
        The step length that led there.
    """

    n_iter: int
    point: FloatArray
    value: float
    gradient_norm: float
    step: float


@dataclass(frozen=True, eq=False)
class StiefelResult:
    """Outcome of `minimize_on_stiefel`.

    Parameters
    ----------
    point : ndarray of shape (r, d)
        The accepted point of the lowest value.
    value, gradient_norm : float
        Objective and ‖F(P)‖ at `point`.
    n_iter : int
        Number of accepted steps.
    reason : ConvergenceReason
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
    reason: ConvergenceReason
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
    slope: float  # decrease of the value a unit of step, where the Cayley curve begins


def minimize_on_stiefel(
    objective: Objective,
    P0: ArrayLike,
    *,
    max_iter: int = 1000,
    gtol: float = 1e-6,
    xtol: float = 1e-8,
    ftol: float = 1e-12,
    initial_step: float | None = None,
    callback: Callable[[DescentState], object] | None = None,
    options: DescentOptions | None = None,
) -> StiefelResult:
    """Minimise a smooth function of a matrix with orthonormal columns.

    Parameters
    ----------
    objective : callable
        ``objective(P) -> (value, gradient)``: the value at P, of shape (r, d), and its Euclidean
        gradient, an (r, d) array. It must not change P; it may reuse the gradient's memory.
    P0 : array of shape (r, d)
        Where to start; ``P0ᵀ P0 = I`` within half the digits of its dtype. float32 stays float32,
        and tolerances below 20 eps of the dtype are raised to that.
    max_iter : int, default=1000
        Most steps to accept.
    gtol : float, default=1e-6
        Stop when ‖F(P)‖ is at most gtol times the larger of the Euclidean gradient's norms at P0
        and at P. Relative, so the units of the objective do not matter.
    xtol, ftol : float, default=1e-8 and 1e-12
        Stop when for `DescentOptions.patience` steps in a row ‖ΔP‖ ≤ xtol ‖P‖ and the value
        changed by at most ftol of its size, where size is the largest of the values at P0, before
        and after the step.
    initial_step : float, optional
        First step length τ, as in `StiefelResult.step`. By default one that moves P by
        `DescentOptions.first_move`.
    callback : callable, optional
        Called with a `DescentState` after each accepted step; raising StopIteration ends the
        descent.
    options : DescentOptions, optional
        Constants of the line search.

    Returns
    -------
    StiefelResult
        The accepted point of the lowest value, never NaN, and why the descent ended. As values
        need not fall at every step, it may be an earlier point than the one that met gtol; values
        equal within rounding count as equal. Nothing is warned of: that is the caller's to do.

    Raises
    ------
    ValueError
        If P0 is no point of the manifold, the objective is not finite at P0 or returns a gradient
        of another shape, or a tolerance is out of range.

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
    >>> from film.metric import minimize_on_stiefel
    >>> from film.metric import random_point
    >>> A, weights = np.diag([4.0, 3.0, 2.0, 1.0]), np.array([2.0, 1.0])
    >>> def objective(P):
    ...     gradient = -A @ P * weights
    ...     return 0.5 * np.sum(P * gradient), gradient
    >>> result = minimize_on_stiefel(objective, random_point(4, 2, random_state=0))
    >>> result.reason.name, round(result.value, 6)
    ('GRADIENT', -5.5)
    >>> np.allclose(np.abs(result.point), np.eye(4, 2), atol=1e-4)
    True
    """
    options = DescentOptions() if options is None else options
    _check_settings(max_iter, gtol, xtol, ftol, initial_step)
    point = _checked_start(P0)
    eps = float(np.finfo(point.dtype).eps)
    gtol, xtol, ftol = (max(tolerance, _ROUNDING * eps) for tolerance in (gtol, xtol, ftol))
    length = float(np.sqrt(point.shape[1]))

    here = _evaluate(objective, point)
    if here is None:
        raise ValueError(
            "objective must be finite at P0, got NaN or infinity; check the data for NaN and "
            "its scale"
        )
    start = here
    step = initial_step or options.first_move * length / (here.tangent_norm or 1.0)
    # An interrupt may fall between any two lines: best and path each change in one go.
    best, path = here, [(here.value, here.tangent_norm)]
    reference, weight, quiet, guessed = here.value, 1.0, 0, True
    reason = ConvergenceReason.MAX_ITER
    try:
        while True:
            if here.tangent_norm <= gtol * max(start.gradient_norm, here.gradient_norm):
                reason = ConvergenceReason.GRADIENT
                break
            if quiet >= options.patience:
                reason = ConvergenceReason.CHANGE
                break
            if len(path) > max_iter:
                break

            unit = length / here.tangent_norm
            step = min(max(step, options.min_move * unit), options.max_move * unit)
            promised = step * here.slope
            size = max(abs(here.value), abs(start.value))
            # Values drown in rounding long before gradients do. Where even the whole step
            # promises less than that, the gradient is trusted over the comparison of values.
            noise = _ROUNDING * eps * size
            bound = reference + noise if promised <= noise else reference
            found, blocked = _search(objective, here, step, bound, options)
            if found is None:
                if blocked:
                    reason = ConvergenceReason.NOT_FINITE
                elif promised <= ftol * size:
                    reason = ConvergenceReason.CHANGE
                else:
                    reason = ConvergenceReason.LINE_SEARCH
                break
            there, taken = found

            moved = _norm(there.point - here.point)
            changed = abs(there.value - here.value)
            still = moved <= xtol * length and changed <= ftol * max(size, abs(there.value))
            # A length that was guessed may be short for no reason, so that standing still after
            # it says nothing.
            quiet = 0 if not still else quiet if guessed else quiet + 1
            ratio = _barzilai_borwein(here, there, long=len(path) % 2 == 1)
            guessed = ratio is None
            step = taken / options.shrink if ratio is None else ratio
            decayed = options.memory * weight
            weight = decayed + 1.0
            reference = (decayed * reference + there.value) / weight
            here = there
            best = here if here.value <= best.value else best
            path.append((here.value, here.tangent_norm))
            if callback is not None and _wants_stop(callback, len(path) - 1, here, taken):
                reason = ConvergenceReason.INTERRUPTED
                break
    except KeyboardInterrupt:
        reason = ConvergenceReason.INTERRUPTED

    if reason is ConvergenceReason.GRADIENT:
        # Among values equal within rounding, the point that met gtol is the one to return.
        tie = _ROUNDING * eps * max(abs(best.value), abs(start.value))
        best = here if here.value <= best.value + tie else best
    curves = np.array(path, dtype=np.float64)
    return StiefelResult(
        point=best.point,
        value=best.value,
        gradient_norm=best.tangent_norm,
        n_iter=len(path) - 1,
        reason=reason,
        values=curves[:, 0].copy(),
        gradient_norms=curves[:, 1].copy(),
        step=step,
    )


def _search(
    objective: Objective, here: _Place, step: float, bound: float, options: DescentOptions
) -> tuple[tuple[_Place, float] | None, bool]:
    """Shrink the step until accepted: (place, step) or None, and if the last was not finite."""
    curve = cayley_curve(here.point, here.gradient)
    there = None
    for _ in range(options.max_shrinks + 1):
        there = _evaluate(objective, curve(step))
        if there is not None:
            # As a difference, so that a step too small to change the value is refused and not
            # taken for progress.
            if there.value - bound <= -options.decrease * step * here.slope:
                return (there, step), False
        step *= options.shrink
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
    raw_value, raw_gradient = objective(point)
    value = float(raw_value)
    gradient = np.asarray(raw_gradient)
    if gradient.shape != point.shape:
        raise ValueError(
            f"objective must return a gradient of the point's shape {point.shape}, "
            f"got {gradient.shape}"
        )
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


def _wants_stop(
    callback: Callable[[DescentState], object], n_iter: int, place: _Place, step: float
) -> bool:
    try:
        callback(DescentState(n_iter, place.point, place.value, place.tangent_norm, step))
    except StopIteration:
        return True
    return False


def _norm(array: FloatArray) -> float:
    # In float64: squares of small float32 entries would vanish.
    return float(np.linalg.norm(array.astype(np.float64, copy=False)))


def _checked_start(P0: ArrayLike) -> FloatArray:
    point = np.asarray(P0)
    if point.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        point = point.astype(np.float64)
    ok, why = check_point(point, float(np.sqrt(np.finfo(point.dtype).eps)))
    if not ok:
        raise ValueError(
            f"P0 must be a point of the Stiefel manifold: {why}; begin with random_point, or put "
            "P0 on the manifold with polar_retraction"
        )
    exact, _ = check_point(point)
    return point.copy() if exact else polar_retraction(point)


def _check_settings(
    max_iter: int, gtol: float, xtol: float, ftol: float, initial_step: float | None
) -> None:
    if isinstance(max_iter, bool) or not isinstance(max_iter, Integral) or max_iter < 0:
        raise ValueError(f"max_iter must be an integer of 0 or more, got {max_iter!r}")
    for name, tolerance in (("gtol", gtol), ("xtol", xtol), ("ftol", ftol)):
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"{name} must be 0 or more and finite, got {tolerance!r}")
    if initial_step is not None and not 0 < initial_step < np.inf:
        raise ValueError(
            f"initial_step must be positive and finite, got {initial_step!r}; leave it out for "
            "a step chosen from the gradient"
        )

"""Minimisation of a smooth function on the Stiefel manifold.

Cayley steps, Barzilai-Borwein step lengths and a nonmonotone line search: the method of the FILM
paper, section 3.2, for any objective. To minimise an objective that changes, call again from the
point and the step of the last result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from film.metric.stiefel import FloatArray, cayley_curve, tangent_gradient, without_drift

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
# A point is critical if its gradient on the manifold is at most this share of the Euclidean one.
_FLAT = 1e-6
# Rounding error of an objective in units of eps · |value|, for sums of many terms.
_ROUNDING = 20.0


class Descent(NamedTuple):
    """Outcome of `minimize_on_stiefel`."""

    point: FloatArray
    """The accepted point with the lowest value, shape (r, d)."""
    value: float
    """The objective at `point`."""
    step: float
    """Current step length: the `first_step` of a subsequent call."""


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
    objective: Objective, P0: FloatArray, *, max_iter: int, first_step: float | None = None
) -> Descent:
    """Minimise a smooth function of a matrix with orthonormal columns.

    Parameters
    ----------
    objective : callable
        ``objective(P) -> (value, gradient)``: the value at P, of shape (r, d), and its Euclidean
        gradient, an (r, d) array. It must not change P; it may reuse the gradient's memory.
    P0 : ndarray of shape (r, d)
        Starting point; ``P0ᵀ P0 = I``. float32 stays float32.
    max_iter : int
        Maximum number of accepted steps. Fewer are taken if ‖F(P)‖ is a millionth of the gradient
        or less, or if no step lowers the objective.
    first_step : float, optional
        First step length τ, as in `Descent.step`. By default P moves by a thousandth of its length.

    Returns
    -------
    Descent
        The accepted point with the lowest value, never NaN. Values need not fall at every step.

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
    ``P0=result.point`` and ``first_step=result.step``.

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
    >>> start = random_point(4, 2, random_state=0)
    >>> round(minimize_on_stiefel(objective, start, max_iter=100).value, 6)
    -5.5
    """
    eps = float(np.finfo(P0.dtype).eps)
    length = float(np.sqrt(P0.shape[1]))

    here = _evaluate(objective, without_drift(P0.copy()))
    if here is None:
        raise ValueError(
            "objective must be finite at P0, got NaN or infinity; check the data for NaN and "
            "its scale"
        )
    start = best = here
    step = first_step or _FIRST_MOVE * length / (here.tangent_norm or 1.0)
    reference, weight = here.value, 1.0
    for number in range(max_iter):
        largest = max(start.gradient_norm, here.gradient_norm)
        if here.tangent_norm <= max(_FLAT, _ROUNDING * eps) * largest:
            break
        unit = length / here.tangent_norm
        step = min(max(step, _MIN_MOVE * unit), _MAX_MOVE * unit)
        # Values reach rounding error before gradients do. If the predicted decrease is smaller than
        # rounding error, trust the gradient instead of comparing values.
        noise = _ROUNDING * eps * max(abs(here.value), abs(start.value))
        bound = reference + noise if step * here.slope <= noise else reference
        found = _search(objective, here, step, bound)
        if found is None:
            break
        there, taken = found
        ratio = _barzilai_borwein(here, there, long=number % 2 == 0)
        step = taken / _SHRINK if ratio is None else ratio
        decayed = _MEMORY * weight
        weight = decayed + 1.0
        reference = (decayed * reference + there.value) / weight
        here = there
        best = here if here.value <= best.value else best
    return Descent(best.point, best.value, step)


def _search(
    objective: Objective, here: _Place, step: float, bound: float
) -> tuple[_Place, float] | None:
    """Shrink the step until it is accepted; return the place and the step, or None."""
    curve = cayley_curve(here.point, here.gradient)
    for _ in range(_MAX_SHRINKS + 1):
        there = _evaluate(objective, curve(step))
        # Compare differences, so that a step too small to change the value is rejected.
        if there is not None and there.value - bound <= -_DECREASE * step * here.slope:
            return there, step
        step *= _SHRINK
    return None


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

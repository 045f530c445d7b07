"""Finish a descent on FILM's objective: a quasi-Newton method on a factor of the map.

Rounds of `film.metric.solver` move along a few directions, and end in narrow valleys. From there,
L-BFGS continues on a factor B of the map M = B Bᵀ. Without a limit on the rank, the objective is
convex in M, so factors with enough columns have one minimum. With fewer columns there are several
local minima, which random starts find.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from film.metric.factor import FactorRound, rank_bound
from film.metric.objective import pull_matrix

# Width of the smoothed hinge in units of the margin: the first, by how much it shrinks, and the
# least: from there on, centring alone takes the smoothing off, and the lower bound stays tight.
_WIDTH, _FINER, _LEAST_WIDTH = 0.3, 0.3, 0.01
# Shares of the accuracy: the last gain of a step at one width, and the final effect of smoothing on
# the objective. All further steps would gain about ten times the last one.
_LAST_GAIN, _SMOOTHING = 1e-2, 0.25
# Maximum number of steps at one width, and of centrings of the hinge.
_STEPS, _CENTRES = 200, 20
# Rounding error of an objective, as a share of it.
Pair = tuple[np.ndarray, np.ndarray]
_ROUNDING = 1e-7


def polish(
    anchors: np.ndarray,
    pulls: np.ndarray,
    unit: float,
    S_all: np.ndarray,
    start: np.ndarray,
    margin: float,
    accuracy: float,
    n_near: int,
    max_steps: int,
    told: Callable[[float], None],
) -> FactorRound:
    """Find a local minimum from a factor, by L-BFGS on less and less smoothed objectives.

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r)
        v_i and a_i.
    unit : float
        Divisor of the pulls.
    S_all : ndarray of shape (r, r)
        Symmetric part of Σ a_i v_iᵀ / unit.
    start : ndarray of shape (r, d)
        Factor of the first map.
    margin : float
        m > 0, in the same units.
    accuracy : float
        Approximate distance of the final objective from the minimum.
    n_near : int
        Number of anchors that each step computes: those nearest to their hinge. The others keep
        their activity until the hinge is centred again.
    max_steps : int
        Maximum number of steps, at least 1.
    told : callable
        Called with the objective after each step.

    Returns
    -------
    polished : FactorRound
        The map and its figures. A step costs O(n_near r d + r² d), and centring O(m r d + c r²),
        with c the anchors that are near or change their activity.
    """
    dtype = anchors.dtype
    reached = 0.0

    def images(B: np.ndarray, rows: Pair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        left, right = rows[0] @ B.astype(dtype), rows[1] @ (B / unit).astype(dtype)
        return left, right, margin - np.einsum("md,md->m", left, right).astype(np.float64)

    def true_objective(B: np.ndarray, x: np.ndarray) -> float:
        return float(np.maximum(x, 0.0).sum() + 0.5 * np.square(B.T @ B).sum())

    def weighted(rows: Pair, weights: np.ndarray) -> np.ndarray:
        K = pull_matrix(*rows, weights).astype(np.float64) / unit
        return -(K + K.T) / 2

    def smoothed(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal reached
        B = flat.reshape(start.shape)
        left, right, x = images(B, near)
        values, slopes = _centred_hinge(x, width, activity[places])
        gram, turned = B.T @ B, S @ B
        reached = float(kept + values.sum() - np.vdot(turned, B) + 0.5 * np.square(gram).sum())
        weights = slopes[:, None].astype(dtype)
        pulled = near[1].T @ (weights * left / dtype.type(unit)) + near[0].T @ (weights * right)
        # SciPy compares values below one as if they were one.
        return reached / size, (2 * (B @ gram - turned) - pulled).ravel() / size

    def after_step(_: np.ndarray) -> None:
        told(reached)

    everyone = anchors, pulls
    B, width = start.astype(np.float64), _WIDTH * margin
    x = images(B, everyone)[2]
    loss = true_objective(B, x)
    activity, far, S = np.full(len(x), 0.5), np.ones(len(x)), S_all
    for _ in range(_CENTRES):
        places = np.sort(np.argpartition(np.abs(x), n_near - 1)[:n_near])
        near = everyone if n_near == len(x) else (anchors[places], pulls[places])
        before_far, far = far, (x > 0).astype(np.float64)
        far[places] = 0.0
        S = S + weighted(everyone, far - before_far)
        kept, size = margin * far.sum(), loss
        found = minimize(
            smoothed,
            B.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=after_step,
            options={
                "maxiter": min(_STEPS, max_steps),
                "ftol": max(_LAST_GAIN * accuracy / size, _ROUNDING),
                "gtol": 0.0,
            },
        )
        max_steps -= found.nit
        B = found.x.reshape(start.shape)
        x = images(B, everyone)[2]
        values, slopes = _centred_hinge(x[places], width, activity[places])
        activity = far.copy()
        activity[places] = slopes
        before, loss = loss, true_objective(B, x)
        gradient_norm = size * float(np.linalg.norm(found.jac))
        smoothing = float(np.maximum(x, 0.0).sum() - far @ x - values.sum())
        enough = max(_SMOOTHING * accuracy, _ROUNDING * loss)
        if max_steps <= 0 or max(smoothing, before - loss) <= enough:
            break
        width = max(_FINER * width, _LEAST_WIDTH * margin)
    S = S + weighted(near, activity[places])
    bound = rank_bound(S, activity, margin, B.shape[1])[0]
    return FactorRound(B, x, loss, bound, smoothing, gradient_norm)


def _centred_hinge(
    x: np.ndarray, width: float, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return max over λ in [0, 1] of λx − w/2 (λ − λ₀)², a bound below max(0, x), and this λ.

    If λ₀ is the activity at the minimum, the minimum is that of the hinge itself, for any width w.
    """
    activity = np.clip(x / width + centre, 0.0, 1.0)
    return activity * x - width / 2 * np.square(activity - centre), activity

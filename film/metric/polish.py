"""The last part of a descent on FILM's objective: a quasi-Newton method on a factor of the map.

Rounds of `film.metric.solver` move along a few directions, and end in narrow valleys. L-BFGS on a
factor B of the map M = B Bᵀ goes on from where they end. The objective is convex in M where its
rank has no limit, so that factors of enough columns have one minimum; fewer columns leave several
valleys, and starts at random find how many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from film.metric.factor import FactorRound, rank_bound
from film.metric.objective import Rows, pull_matrix

# Width of the smoothed hinge in units of the margin: the first, and by how much it shrinks.
_WIDTH, _FINER = 0.3, 0.3
# It is centred anew until smoothing takes this share off the objective, or less, and the objective
# fell by no more; or so often.
_SMOOTHING, _CENTRES = 1e-3, 20
# Most steps of L-BFGS at one width, and the share of the objective that ends them.
_STEPS, _NO_GAIN = 200, 1e-7


def polish(
    anchors: Rows,
    pulls: Rows,
    unit: float,
    start: np.ndarray,
    margin: float,
    max_steps: int,
    told: Callable[[float], None],
) -> FactorRound:
    """Go from a factor to a local minimum, by L-BFGS on ever less smoothed forms of the objective.

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r), or RowsOnDevice
        v_i and a_i.
    unit : float
        What the pulls are divided by.
    start : ndarray of shape (r, d)
        Factor of the map to begin with.
    margin : float
        m > 0, in the same units.
    max_steps : int
        Most steps, at least 1.
    told : callable
        Called with the objective after each step.

    Returns
    -------
    polished : FactorRound
        The map, and what is known there. A step costs O(m r d + r d²).
    """
    dtype = anchors.dtype
    reached = 0.0

    def hinge_arguments(B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        left, right = anchors @ B.astype(dtype), pulls @ (B / unit).astype(dtype)
        return left, right, margin - np.einsum("md,md->m", left, right).astype(np.float64)

    def true_objective(B: np.ndarray, x: np.ndarray) -> float:
        return float(np.maximum(x, 0.0).sum() + 0.5 * np.square(B.T @ B).sum())

    def smoothed(flat: np.ndarray, width: float, centre: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal reached
        B = flat.reshape(start.shape)
        left, right, x = hinge_arguments(B)
        values, slopes = _centred_hinge(x, width, centre)
        gram = B.T @ B
        reached = float(values.sum() + 0.5 * np.square(gram).sum())
        weights = slopes[:, None].astype(dtype)
        pulled = pulls.T @ (weights * left / dtype.type(unit)) + anchors.T @ (weights * right)
        # SciPy takes values below one for one where it compares them.
        return reached / size, (2 * B @ gram - pulled).ravel() / size

    def after_step(_: np.ndarray) -> None:
        told(reached)

    B, width = start.astype(np.float64), _WIDTH * margin
    x = hinge_arguments(B)[2]
    size = loss = true_objective(B, x)
    activity = np.full(len(anchors), 0.5)
    for _ in range(_CENTRES):
        found = minimize(
            smoothed,
            B.ravel(),
            args=(width, activity),
            jac=True,
            method="L-BFGS-B",
            callback=after_step,
            options={"maxiter": min(_STEPS, max_steps), "ftol": _NO_GAIN, "gtol": 0.0},
        )
        max_steps -= found.nit
        B = found.x.reshape(start.shape)
        x = hinge_arguments(B)[2]
        values, activity = _centred_hinge(x, width, activity)
        before, loss = loss, true_objective(B, x)
        gradient_norm, size = size * float(np.linalg.norm(found.jac)), loss
        smoothing = loss - float(values.sum() + 0.5 * np.square(B.T @ B).sum())
        if max_steps <= 0 or max(smoothing, before - loss) <= _SMOOTHING * loss:
            break
        width *= _FINER
    K = pull_matrix(anchors, pulls, activity).astype(np.float64) / unit
    bound = rank_bound(-(K + K.T) / 2, activity, margin, B.shape[1])[0]
    return FactorRound(B, x, loss, bound, smoothing, gradient_norm)


def _centred_hinge(
    x: np.ndarray, width: float, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Give max over λ in [0, 1] of λx − w/2 (λ − λ₀)², below max(0, x), and that λ.

    With λ₀ the activity at the minimum it has the minimum of the hinge itself, whatever its width.
    """
    activity = np.clip(x / width + centre, 0.0, 1.0)
    return activity * x - width / 2 * np.square(activity - centre), activity

"""FILM's objective as a function of a factor B of the map, M = P diag(s) Pᵀ = B Bᵀ.

With fixed activities the best map of rank d has a closed form, but jumping to it overshoots,
because activities change on the way. The hinge arguments are quadratic in the factor, so the
objective can be searched exactly in a few directions, at the cost of vectors of length m. Each
round searches the plane spanned by the direction to a closed form and the last move.

The closed form uses a running mean of the activities, because most activities at a map are 0 or 1
and change from round to round. The dual is concave, so the bound of the mean is above the mean of
the bounds, and its closed form is closer to the optimum than that of most single rounds. A round
with a higher bound of its own, as with few points and wide margins, restarts the mean.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from film.metric.objective import pull_matrix
from film.threads import one_blas_thread

# Widths of the smoothed hinge in units of the margin: the first, the one for slow rounds, and the
# finest, used once the objective no longer decreases.
_WIDTHS = (0.3, 0.01, 1e-4)
# A round that lowers the objective by less than this fraction switches to a finer hinge.
_SLOW = 3e-3
# After a round that lowers it by less than this, use the round's own activities too: with a duality
# gap at low rank, no map is at the dual's optimum.
_STUCK = 3e-4
_NEWTON_STEPS = 12
# Weight of the newest activities in the running mean: it forgets the first rounds, and the weight
# never falls below the minimum.
_FORGETTING, _LEAST_WEIGHT = 3.0, 0.2


@dataclass(frozen=True, eq=False)
class FactorRound:
    """One map of the descent and its values.

    Attributes
    ----------
    B : ndarray of shape (r, d), float64
        Factor of the map.
    hinge : ndarray of shape (m,), float64
        z_i + margin of each anchor.
    loss : float
        True objective Σ max(0, z_i + m) + ½ ‖BᵀB‖².
    bound : float
        A lower bound of the objective over all maps of rank at most d.
    smoothing : float
        How far the smoothed objective exceeds the true one.
        Norm of the smoothed objective's gradient with respect to B.
    """

    B: np.ndarray
    hinge: np.ndarray
    loss: float
    bound: float
    smoothing: float
    gradient_norm: float


def smoothed_hinge(x: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Smoothed hinge: max(0, x), rounded where |x| < width/2.

    Inside, h(x) = (x + w/2)² / 2w with w = ``width``; it exceeds max(0, x) by 0 to w/8. Returns
    h(x) and its derivative clip(x/w + ½, 0, 1), the anchor's activity.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.factor import smoothed_hinge
    >>> smoothed_hinge(np.array([-1.0, 0.0, 1.0]), 1.0)
    (array([0.   , 0.125, 1.   ]), array([0. , 0.5, 1. ]))
    """
    slopes = np.clip(x / width + 0.5, 0.0, 1.0)
    return slopes * x + width / 2 * slopes * (1 - slopes), slopes


def rank_bound(
    S: np.ndarray, activity: np.ndarray, margin: float, d: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Lower bound of the objective over maps of rank d, and the map that it comes from.

    max(0, x) ≥ λx for λ in [0, 1], so the objective is at least
    m Σ λ_i − ⟨M, S⟩ + ½ ‖M‖². Π_d(S) minimises this; the value is
    m Σ λ_i − ½ Σ_{l ≤ d} [k_l]₊² with k the eigenvalues of S in descending order.

    Parameters
    ----------
    S : ndarray of shape (r, r)
        Symmetric part of Σ λ_i a_i v_iᵀ.
    activity : ndarray of shape (m,)
        λ_i in [0, 1].
    margin : float
        m.
    d : int
        Maximum rank of a map.

    Returns
    -------
    bound : float
        Tight if λ is optimal and S has a gap after its d-th eigenvalue.
    s : ndarray of shape (d,)
        [k_l]₊.
    P : ndarray of shape (r, d)
        Their eigenvectors.

    Notes
    -----
    O(r³).
    """
    r = len(S)
    with one_blas_thread():
        k, P = scipy.linalg.eigh(S, subset_by_index=[r - d, r - 1], check_finite=False)
    s = np.maximum(k, 0.0)
    return float(margin * activity.sum() - 0.5 * np.square(s).sum()), s, P


def descend_factor(
    anchors: np.ndarray,
    pulls: np.ndarray,
    unit: float,
    S_all: np.ndarray,
    first: np.ndarray,
    margin: float,
) -> Iterator[FactorRound]:
    """Lower the objective from the closed form of full activity, one map per round.

    Parameters
    ----------
    anchors, pulls : ndarray of shape (m, r)
        v_i and a_i.
    unit : float
        Divisor of the pulls.
    S_all : ndarray of shape (r, r)
        Symmetric part of Σ a_i v_iᵀ / unit.
    first : ndarray of shape (r, d)
        Factor of the first map.
    margin : float
        m > 0, in the same units.

    Yields
    ------
    FactorRound
        The first map, the same map at its best length, and one map per step. The loss never rises.
        Stops if no step lowers the objective at the finest smoothing.

    Notes
    -----
    A round costs O(m r d + c r² + r³), with c the number of anchors whose activity changed.
    """
    d = first.shape[1]
    B = first.astype(np.float64)
    images = _images(anchors, pulls, B, unit)
    width, floor, finest = (share * margin for share in _WIDTHS)
    S, activity = S_all.astype(np.float64), np.ones(len(anchors))
    mean_S, mean_activity = S, activity
    last: _Direction | None = None
    scaled, before = False, np.inf
    for number in itertools.count():
        x = margin - _dots(*images)
        gram = B.T @ B
        loss = float(np.maximum(x, 0.0).sum() + 0.5 * np.square(gram).sum())
        drop = before - loss
        values, slopes = smoothed_hinge(x, width)
        smoothing = float((values - np.maximum(x, 0.0)).sum())
        if drop <= max(smoothing, _SLOW * loss) and width > floor:
            width = max(width / 2, floor)
            values, slopes = smoothed_hinge(x, width)
            smoothing = float((values - np.maximum(x, 0.0)).sum())
        change = slopes - activity
        S = S - _symmetric(pull_matrix(anchors, pulls, change).astype(np.float64)) / unit
        activity = slopes
        weight = max(_FORGETTING / (_FORGETTING + number), _LEAST_WEIGHT)
        mean_S = mean_S + weight * (S - mean_S)
        mean_activity = mean_activity + weight * (activity - mean_activity)
        bound, s, P = rank_bound(mean_S, mean_activity, margin, d)
        single, *own = rank_bound(S, activity, margin, d)
        goals, own_goal = [P * np.sqrt(s)], own[1] * np.sqrt(own[0])
        if single >= bound:
            bound, goals = single, [own_goal]
            mean_S, mean_activity = S, activity
        elif drop <= _STUCK * loss:
            goals.append(own_goal)
        norm = float(np.linalg.norm(2 * (B @ gram - S @ B)))
        yield FactorRound(B, x, loss, bound, smoothing, norm)

        if not scaled:
            # The all-active map is far too long if few anchors need to be active.
            root = np.sqrt(_best_length(margin - x, margin, float(np.square(gram).sum())))
            B, images = root * B, (root * images[0], root * images[1])
            scaled, before = True, loss
            continue
        moves = [_towards(B, goal) for goal in goals]
        directions = [_Direction(move, _images(anchors, pulls, move, unit)) for move in moves]
        if last is not None:
            directions.append(last)
        plane = _Plane(B, images, x, directions)
        t = plane.minimum(width)
        if not plane.loss(t) < loss:
            if width <= finest:
                return
            width, last, before = max(width / 2, finest), None, loss
            continue
        last = plane.combined(t)
        B = B + last.move
        for image, moved in zip(images, last.images, strict=True):
            image += moved
        before = loss


@dataclass(frozen=True, eq=False)
class _Direction:
    """A move of B and its effect on anchors B and pulls B."""

    move: np.ndarray
    images: tuple[np.ndarray, np.ndarray]


class _Plane:
    """The objective on B + Σ t_i D_i: hinge arguments and BᵀB are quadratic in t."""

    def __init__(
        self,
        B: np.ndarray,
        images: tuple[np.ndarray, np.ndarray],
        x: np.ndarray,
        directions: list[_Direction],
    ) -> None:
        self._directions, self._x, self._gram = directions, x, B.T @ B
        n = len(directions)
        self._linear = np.array(
            [-_dots(images[0], D.images[1]) - _dots(D.images[0], images[1]) for D in directions]
        )
        self._gram_linear = np.array([B.T @ D.move + D.move.T @ B for D in directions])
        self._quadratic = np.empty((n, n, len(x)))
        self._gram_quadratic = np.empty((n, n, *self._gram.shape))
        for i, D in enumerate(directions):
            for j, E in enumerate(directions):
                self._quadratic[i, j] = -_dots(D.images[0], E.images[1])
                self._gram_quadratic[i, j] = D.move.T @ E.move
        self._quadratic = (self._quadratic + self._quadratic.swapaxes(0, 1)) / 2
        self._gram_quadratic = (self._gram_quadratic + self._gram_quadratic.swapaxes(0, 1)) / 2

    def loss(self, t: np.ndarray) -> float:
        """Return the true objective at t."""
        x, gram = self._at(t)
        return float(np.maximum(x, 0.0).sum() + 0.5 * np.square(gram).sum())

    def combined(self, t: np.ndarray) -> _Direction:
        """Return Σ t_i D_i, computed in place of the first direction; invalidates the plane."""
        first, *others = self._directions
        move: np.ndarray = t[0] * first.move
        for c, D in zip(t[1:], others, strict=True):
            move = move + c * D.move
        for side, image in enumerate(first.images):
            image *= image.dtype.type(t[0])
            for c, D in zip(t[1:], others, strict=True):
                scaled = D.images[side]
                scaled *= scaled.dtype.type(c)
                image += scaled
        return _Direction(move, first.images)

    def minimum(self, width: float) -> np.ndarray:
        """Minimise the smoothed objective over t by Newton steps with backtracking."""
        t = np.zeros(len(self._directions))
        value, slope, curvature = self._model(t, width)
        for _ in range(_NEWTON_STEPS):
            k, Q = np.linalg.eigh(curvature)
            k = np.maximum(np.abs(k), 1e-8 * np.abs(k).max())
            if not k.min() > 0:
                break
            step = -Q @ ((Q.T @ slope) / k)
            promised = float(slope @ step)
            if -promised <= 1e-9 * value:
                break
            for _ in range(20):
                trial = self._model(t + step, width)
                if trial[0] <= value + 1e-4 * promised:
                    break
                step, promised = step / 2, promised / 2
            else:
                break
            t, (value, slope, curvature) = t + step, trial
        return t

    def _at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = self._x + t @ self._linear + np.einsum("i,j,ijm->m", t, t, self._quadratic)
        gram = (
            self._gram
            + np.einsum("i,ikl->kl", t, self._gram_linear)
            + np.einsum("i,j,ijkl->kl", t, t, self._gram_quadratic)
        )
        return x, gram

    def _model(self, t: np.ndarray, width: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the smoothed objective, its gradient and its Hessian at t."""
        x, gram = self._at(t)
        values, slopes = smoothed_hinge(x, width)
        dx = self._linear + 2 * np.einsum("j,ijm->im", t, self._quadratic)
        dgram = self._gram_linear + 2 * np.einsum("j,ijkl->ikl", t, self._gram_quadratic)
        bent = dx[:, (slopes > 0) & (slopes < 1)]
        value = float(values.sum() + 0.5 * np.square(gram).sum())
        gradient = dx @ slopes + np.einsum("ikl,kl->i", dgram, gram)
        hessian = (
            bent @ bent.T / width
            + 2 * self._quadratic @ slopes
            + np.einsum("ikl,jkl->ij", dgram, dgram)
            + 2 * np.einsum("ijkl,kl->ij", self._gram_quadratic, gram)
        )
        return value, gradient, hessian


def _towards(B: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the shortest move from B to a factor of goal goalᵀ, over all rotations."""
    with one_blas_thread():
        left, _, right = scipy.linalg.svd(goal.T @ B, check_finite=False)
    return goal @ (left @ right) - B


def _best_length(pulled: np.ndarray, margin: float, square: float) -> float:
    """Minimise Σ max(0, m − t p_i) + ½ t² ‖M‖², convex in the length t, over 0 … 1."""

    def slope(t: float) -> float:
        return t * square - float(pulled[margin - t * pulled > 0].sum())

    low, high = 0.0, 1.0
    # At the minimum one anchor often turns inactive. Stop a millionth above it, so that rounding
    # does not decide on which side that anchor is.
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high


def _images(
    anchors: np.ndarray, pulls: np.ndarray, B: np.ndarray, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    dtype = anchors.dtype
    return anchors @ B.astype(dtype), pulls @ (B / unit).astype(dtype)


def _dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("md,md->m", left, right).astype(np.float64)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2

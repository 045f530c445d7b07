"""Problems drawn at random, and a minimiser of FILM's objective that is written on its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from film.metric import anchor_sums, solve, triplets_from_labels

NEAR = 0.01
"""A solver may end this share above the best."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Anchors and pulls, (m, r) each, and what is asked of a map; objectives are in its units."""

    anchors: np.ndarray
    pulls: np.ndarray
    second_moment: np.ndarray
    d: int
    margin: float

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.anchors, self.pulls, self.second_moment, self.d

    def scaled(self) -> tuple[np.ndarray, float]:
        """Pulls and margin in units of the leading weight of the map of full activity."""
        K = self.pulls.T @ self.anchors
        k, P = np.linalg.eigh((K + K.T) / 2)
        k, P = k[::-1][: self.d] / k[-1], P[:, ::-1][:, : self.d]
        length = np.square(P).T @ self.second_moment @ np.maximum(k, 0)
        scale = float(np.linalg.eigvalsh((K + K.T) / 2)[-1])
        return self.pulls / scale, self.margin * float(length) / scale


def problem(number: int) -> Problem:
    """50 to 500 points of 5 to 60 dimensions in groups under noise, margins of .01 to 2."""
    rng = np.random.default_rng([43, number])
    n = round(float(np.exp(rng.uniform(np.log(50), np.log(500)))))
    r = int(rng.integers(5, min(60, n - 1) + 1))
    d = int(rng.integers(1, r + 1))
    margin = float(np.exp(rng.uniform(np.log(0.01), np.log(2))))
    groups, noise = int(rng.integers(2, 13)), rng.uniform(0.5, 3)
    labels = np.arange(n) % groups
    points = rng.standard_normal((groups, r))[labels] + noise * rng.standard_normal((n, r))
    V = np.linalg.svd(points, full_matrices=False)[0]
    triplets = triplets_from_labels(labels, n_random=3, random_state=number)
    anchors, pulls = anchor_sums(triplets, V)
    return Problem(V[anchors], pulls, np.square(V).mean(axis=0), d, margin)


def by_film(task: Problem, solver: str) -> tuple[float, bool]:
    """Objective by the defaults of `FILM`, and whether it says that it converged."""
    settings = {"max_iter": 100, "tol": 1e-2, "random_state": 0}
    found = solve(*task.arguments, margin=task.margin, solver=solver, **settings)
    return found.objective, found.reason.converged


def by_lbfgs(task: Problem) -> float:
    """Lowest objective of L-BFGS from three starts, its hinge rounded off less and less."""
    pulls, m = task.scaled()
    anchors, shape = task.anchors, (task.anchors.shape[1], task.d)

    def smooth(flat: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        L = flat.reshape(shape)
        left, right = anchors @ L, pulls @ L
        x = m - (left * right).sum(axis=1)
        active = np.clip(x / width + 0.5, 0, 1)
        value = np.where(active < 1, width / 2 * active**2, x).sum() + 0.5 * ((L.T @ L) ** 2).sum()
        pulled = pulls.T @ (active[:, None] * left) + anchors.T @ (active[:, None] * right)
        return float(value), (2 * L @ (L.T @ L) - pulled).ravel()

    def reached(seed: int) -> float:
        flat = np.random.default_rng(seed).standard_normal(shape[0] * shape[1])
        flat *= 1 / np.sqrt(shape[0])
        for share in (1.0, 0.1, 1e-2, 1e-3, 1e-4):
            flat = scipy.optimize.minimize(
                smooth, flat, (share * m,), "L-BFGS-B", True, options={"maxiter": 500}
            ).x
        return objective(task, flat.reshape(shape))

    return min(reached(seed) for seed in range(3))


def objective(task: Problem, L: np.ndarray) -> float:
    """Objective of the map L Lᵀ, (r, d) the shape of L."""
    pulls, m = task.scaled()
    x = m - ((task.anchors @ L) * (pulls @ L)).sum(axis=1)
    return float(np.maximum(x, 0).sum() + 0.5 * np.square(L.T @ L).sum())

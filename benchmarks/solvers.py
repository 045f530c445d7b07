"""FILM's solvers against other minimisers of its objective, on 200 problems drawn at random.

``python -m benchmarks.solvers``. Problems have 50 to 500 points of 5 to 60 dimensions, of which 1
to all are learned, and margins of .01 to 2. The best of a problem is the lowest objective of
"eigen", "cayley" and L-BFGS on the factor L from three random starts, written here on its own. A
claim is wrong where a solver says that it converged more than 1 % above the best. Seconds are of
one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from threadpoolctl import threadpool_limits

from benchmarks.support.run import Results
from film.metric import anchor_sums, solve, triplets_from_labels

N_PROBLEMS = 200
NEAR = 0.01
STARTS = 3
LBFGS = f"L-BFGS on the factor, best of {STARTS} starts"


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
        """What `film.metric.solve` takes."""
        return self.anchors, self.pulls, self.second_moment, self.d

    def scaled(self) -> tuple[np.ndarray, float]:
        """Give pulls and margin in units of the leading weight of the map of full activity."""
        K = self.pulls.T @ self.anchors
        k, P = np.linalg.eigh((K + K.T) / 2)
        k, P = k[::-1][: self.d] / k[-1], P[:, ::-1][:, : self.d]
        length = np.square(P).T @ self.second_moment @ np.maximum(k, 0)
        scale = float(np.linalg.eigvalsh((K + K.T) / 2)[-1])
        return self.pulls / scale, self.margin * float(length) / scale


@dataclass(frozen=True)
class Outcome:
    """The objective that a solver reached, whether it says so was the least, and its seconds."""

    objective: float
    converged: bool
    seconds: float


def problem(number: int, seed: int = 43) -> Problem:
    """Draw the problem of a number: groups of points under noise, in orthonormal coordinates."""
    rng = np.random.default_rng([seed, number])
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


def by_film(task: Problem, solver: str, max_iter: int = 100, tol: float = 1e-2) -> Outcome:
    """Solve with the defaults of `FILM`."""
    started = time.perf_counter()
    how: Any = {"solver": solver, "max_iter": max_iter, "tol": tol, "random_state": 0}
    found = solve(*task.arguments, margin=task.margin, **how)
    return Outcome(found.objective, found.reason.converged, time.perf_counter() - started)


def by_lbfgs(task: Problem) -> Outcome:
    """Take the lowest that L-BFGS reaches, its hinge rounded off less and less, from each start."""
    started = time.perf_counter()
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

    lowest = min(reached(seed) for seed in range(STARTS))
    return Outcome(lowest, False, time.perf_counter() - started)


def objective(task: Problem, L: np.ndarray) -> float:
    """Objective of the map L Lᵀ, (r, d) the shape of L."""
    pulls, m = task.scaled()
    x = m - ((task.anchors @ L) * (pulls @ L)).sum(axis=1)
    return float(np.maximum(x, 0).sum() + 0.5 * np.square(L.T @ L).sum())


def outcomes(task: Problem) -> dict[str, Outcome]:
    """Every solver's outcome."""
    found = {f"FILM {solver}": by_film(task, solver) for solver in ("eigen", "cayley")}
    return found | {LBFGS: by_lbfgs(task)}


def summary(found: list[dict[str, Outcome]], solver: str) -> dict[str, float]:
    """Shares and medians of a solver over problems, against the best of all solvers."""
    best = np.array([min(each.objective for each in row.values()) for row in found])
    rows = [row[solver] for row in found]
    above = np.array([row.objective for row in rows]) / best - 1
    claims = np.array([row.converged for row in rows])
    shown = {
        "near_percent": 100 * float((above <= NEAR).mean()),
        "worst_percent": 100 * float(above.max()),
        "median_seconds": float(np.median([row.seconds for row in rows])),
    }
    if solver.startswith("FILM"):
        shown |= {
            "claimed_percent": 100 * float(claims.mean()),
            "wrong_claims": int((claims & (above > NEAR)).sum()),
        }
    return {metric: round(value, 4) for metric, value in shown.items()}


def main(arguments: list[str] | None = None) -> int:
    """Solve all problems and record a row for each solver."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solvers", description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--problems", type=int, default=N_PROBLEMS)
    parser.add_argument("--seed", type=int, default=43, help="of the problems (default: 43)")
    parser.add_argument("--quick", action="store_true", help="two problems")
    parser.add_argument("--verbose", action="store_true", help="print each problem")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    options.problems = 2 if options.quick else options.problems
    found = []
    with threadpool_limits(1):
        for number in range(options.problems):
            found.append(outcomes(problem(number, options.seed)))
            if options.verbose:
                best = min(each.objective for each in found[-1].values())
                words = [
                    f"{name}: {each.objective / best - 1:.4f} {each.converged} {each.seconds:.2f}"
                    for name, each in found[-1].items()
                ]
                print(number, *words, sep="; ", flush=True)
    results = Results("solvers", options)
    for solver in found[0]:
        case = f"{len(found)} problems: {solver}"
        results.tell(case, summary(found, solver), seed=options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())

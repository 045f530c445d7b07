"""Exact transport between tokens by the network simplex of POT, in this process or in several."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from film.threads import one_blas_thread
from film.tokens.token_pairs import Advance, Floats, TokenPairs, masses

Weights = NDArray[np.float64] | None
Solver = Callable[[Floats, Weights, Weights], Floats]

SENT = 256
"""Pairs that one task of a worker process solves: 400 kB of cosines for texts of 20 tokens."""
MAX_ITERATIONS = 10_000_000
"""Pivots of the network simplex, far more than texts of some thousand tokens need."""


def check_solver() -> None:
    """Raise where POT is missing, without the seconds that importing it takes."""
    if importlib.util.find_spec("ot") is None:
        raise ImportError(
            "method='cmd' needs the exact solver of POT: pip install 'film-metric[transport]'."
        )


def exact_plan() -> Solver:
    """Make the map from cosines, shape (L1, L2), and weights to the plan of least cost."""
    check_solver()
    import ot

    def solve(S: Floats, weights1: Weights, weights2: Weights) -> Floats:
        mass1, mass2 = (
            np.full(length, 1 / length) if weights is None else masses(weights)
            for weights, length in zip((weights1, weights2), S.shape, strict=True)
        )
        if not (mass1.all() and mass2.all()):
            # POT would find such tokens as well, and then spend as long again on their duals.
            inside = np.ix_(mass1 > 0, mass2 > 0)
            plan = np.zeros(S.shape)
            plan[inside] = flow(S[inside], mass1[mass1 > 0], mass2[mass2 > 0])
            return plan
        return flow(S, mass1, mass2)

    def flow(S: Floats, mass1: Floats, mass2: Floats) -> Floats:
        # The masses are right by construction, and nobody reads the duals.
        plan, log = ot.emd(
            mass1,
            mass2,
            1 - np.ascontiguousarray(S, dtype=np.float64),
            numItermax=MAX_ITERATIONS,
            log=True,
            center_dual=False,
            check_marginals=False,
        )
        if log["warning"] is not None:
            raise RuntimeError(f"method='cmd' stopped before the optimum: {log['warning']}")
        return plan

    return solve


def exact_score(solve: Solver, S: Floats, weights1: Weights, weights2: Weights) -> float:
    """Similarity of one pair, from its cosines and weights."""
    # No product of BLAS, which sums in another order where it has more threads, as workers do.
    return float((solve(S, weights1, weights2) * S).sum(dtype=np.float64))


def scores_in_processes(
    walk: TokenPairs, n_jobs: int, advance: Advance | None
) -> NDArray[np.float64]:
    """Score pair after pair, the plans in worker processes."""
    # Cosines are formed here: they take a fifth of the time of the solver, and are some forty
    # times smaller to send than tokens. With tokens sent, two processes were slower than one.
    # Without a limit joblib would write larger blocks to files.
    run: Any = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=None)
    scores = np.empty(len(walk))
    done = 0
    for some in run(_tasks(walk)):
        scores[done : done + len(some)] = some
        done += len(some)
        if advance:
            advance(len(some))
    return scores


def _tasks(walk: TokenPairs) -> Iterator[Any]:
    pairs = iter(walk)
    while True:
        # As many threads as where this process does all: each number sums in an order of its own.
        with one_blas_thread():
            block = [
                (rows.x1 @ rows.x2.T, rows.weights1, rows.weights2) for rows in islice(pairs, SENT)
            ]
        if not block:
            return
        yield delayed(_solve_block)(block)


def _solve_block(block: list[tuple[Floats, Weights, Weights]]) -> NDArray[np.float64]:
    solve = exact_plan()
    return np.array([exact_score(solve, *pair) for pair in block])

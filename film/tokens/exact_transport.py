"""Exact optimal transport between tokens with POT's network simplex, optionally in parallel."""

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
"""Pairs per task of a worker process: 400 kB of cosines for texts of 20 tokens."""
MAX_ITERATIONS = 10_000_000
"""Maximum number of pivots; texts of several thousand tokens need far fewer."""


def check_solver() -> None:
    """Raise if POT is missing, without the slow import."""
    if importlib.util.find_spec("ot") is None:
        raise ImportError("method='cmd' needs POT: pip install 'film-metric[transport]'.")


def exact_plan() -> Solver:
    """Return a function from cosines, shape (L1, L2), and weights to the optimal plan."""
    check_solver()
    import ot

    def solve(S: Floats, weights1: Weights, weights2: Weights) -> Floats:
        mass1, mass2 = (
            np.full(length, 1 / length) if weights is None else masses(weights)
            for weights, length in zip((weights1, weights2), S.shape, strict=True)
        )
        if not (mass1.all() and mass2.all()):
            # POT handles zero masses too, but then spends as long again on their duals.
            inside = np.ix_(mass1 > 0, mass2 > 0)
            plan = np.zeros(S.shape)
            plan[inside] = flow(S[inside], mass1[mass1 > 0], mass2[mass2 > 0])
            return plan
        return flow(S, mass1, mass2)

    def flow(S: Floats, mass1: Floats, mass2: Floats) -> Floats:
        # The masses sum to 1 by construction, and the duals are not used.
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
    """Compute the similarity of one pair from its cosines and weights."""
    # No BLAS product: its summation order depends on the number of threads, which workers change.
    return float((solve(S, weights1, weights2) * S).sum(dtype=np.float64))


def scores_in_processes(
    walk: TokenPairs, n_jobs: int, advance: Advance | None
) -> NDArray[np.float64]:
    """Score pairs in order, with the plans solved in worker processes."""
    # Computing cosines here takes a fifth of the solver's time, and cosines are about forty times
    # smaller to send than tokens. Without max_nbytes=None joblib would write large blocks to disk.
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
        # The thread count affects rounding, so use the same count as the single-process path.
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

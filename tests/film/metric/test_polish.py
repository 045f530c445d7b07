"""L-BFGS on the factor, and solvers that end with it: none converges far from the best."""

from functools import cache

import numpy as np
import pytest

import film.metric.solver as solver_module
from benchmarks.solvers import NEAR, by_lbfgs, objective, problem
from film.metric.polish import polish
from film.metric.solver import solve
from film.metric.stopping import StopReason

SOLVERS = ["eigen", "cayley"]
# Rounds alone ended 49 and 730 % above the best of the first two, and 18 and 10 % above that of
# 30 and 50; under the margin of 62 the anchors' hinges all end at zero; a valley of 76 holds most
# starts.
QUICK = [0, 20, 62]
NUMBERS = [*QUICK, *(pytest.param(number, marks=pytest.mark.slow) for number in (30, 50, 76))]


@cache
def solved(number, solver, tol=1e-2):
    """The map by the settings of `FILM`."""
    task = problem(number)
    settings = {"margin": task.margin, "solver": solver, "max_iter": 100, "random_state": 0}
    return solve(*task.arguments, tol=tol, **settings)


def polished(task, B, steps=10_000, share=1):
    """Polish to 2e-4 of the minimum, which a rough run shows."""
    pulls, m = task.scaled()
    S_all = (pulls.T @ task.anchors + task.anchors.T @ pulls) / 2
    fixed = task.anchors, pulls, 1.0, S_all
    told = []
    rough = polish(*fixed, B, m, 1e-3 * objective(task, B), len(pulls), 10_000, told.append)
    told.clear()
    n_near = len(pulls) // share
    return polish(*fixed, B, m, 2e-4 * rough.loss, n_near, steps, told.append), told


@pytest.mark.parametrize("number", NUMBERS)
def test_no_solver_claims_convergence_above_the_best_and_none_ends_far_from_it(number):
    found = [solved(number, solver) for solver in SOLVERS]
    best = min(each.objective for each in (*found, by_lbfgs(problem(number))))
    for each in found:
        assert each.objective <= (1 + NEAR) * best or not each.reason.converged
    assert found[0].objective <= (1 + NEAR) * best


@pytest.mark.parametrize("number", NUMBERS)
def test_where_rank_has_no_limit_the_minimum_is_that_of_the_bound(number):
    task = problem(number)
    r = task.anchors.shape[1]
    at, told = polished(task, np.random.default_rng(0).standard_normal((r, r)) / r)
    assert at.loss == pytest.approx(objective(task, at.B), rel=1e-12)
    assert at.bound <= at.loss <= (1 + NEAR) * at.bound
    assert len(told) > 0


def test_a_polished_map_is_no_worse_and_takes_no_more_steps_than_it_may():
    task = problem(0)
    start = 0.3 * np.random.default_rng(0).standard_normal((task.anchors.shape[1], task.d))
    losses = []
    for steps in (1, 30, 1000):
        at, told = polished(task, start, steps)
        assert len(told) <= steps
        losses.append(at.loss)
    assert objective(task, start) > losses[0] > losses[1] > losses[2]


@pytest.mark.parametrize(("number", "share"), [(1, 2), (1, 4), (30, 2)])
def test_where_few_anchors_end_at_their_hinge_the_nearest_are_enough(number, share):
    """They start a few percent off the minimum, as after rounds."""
    task = problem(number)
    r = task.anchors.shape[1]
    minimum = polished(task, np.random.default_rng(0).standard_normal((r, r)) / r)[0]
    noise = np.random.default_rng(1).standard_normal((r, r))
    start = minimum.B + 0.03 * np.abs(minimum.B).max() * noise
    assert objective(task, start) > 1.001 * minimum.loss
    at = polished(task, start, share=share)[0]
    assert at.loss == pytest.approx(objective(task, at.B), rel=1e-12)
    assert at.bound <= minimum.loss * (1 + 1e-9)
    assert at.loss <= minimum.loss * (1 + NEAR / 2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_where_work_is_short_one_map_is_polished_and_only_the_bound_converges(solver, monkeypatch):
    reasons = []
    for number in QUICK[:2]:
        full = solved(number, solver)
        with monkeypatch.context() as patch:
            patch.setattr(solver_module, "_WORK", 0)
            short = solved.__wrapped__(number, solver)
        assert short.n_iter <= full.n_iter
        assert not short.reason.converged or short.reason is StopReason.BOUND
        assert not short.reason.converged or short.objective <= (1 + NEAR) * full.objective
        reasons.append(short.reason)
    assert StopReason.STALLED in reasons


def test_a_stall_says_so_and_its_remedy_works():
    stalled = solved(20, "eigen")
    assert stalled.reason is StopReason.STALLED
    assert "loosen tol" in stalled.reason.value
    assert solved(20, "eigen", tol=0.5).reason.converged

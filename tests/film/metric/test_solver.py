"""The full-batch solver against closed forms, an independent convex solver, and its laws."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

import film.metric.factor as factor_module
import film.metric.solver as solver_module
from film.metric.objective import (
    hinge_arguments,
    leading_eigenvectors,
    smooth_objective,
    true_objective,
)
from film.metric.stopping import StopReason
from film.metric.triplets import anchor_sums, triplets_from_labels
from tests.film.metric.manifold import on_manifold

SOLVERS = ["eigen", "cayley"]
solvers = pytest.mark.parametrize("solver", SOLVERS)
# A descent feeds each rounding error into its next step lengths; six rounds are some hundred steps.
ROUNDING = {"eigen": 1e-9, "cayley": 1e-4}
seeds = pytest.mark.parametrize("seed", range(3))


def solve(*args, **settings):
    usual = {"margin": 1.0, "solver": "eigen", "max_iter": 30, "tol": 1e-3}
    return solver_module.solve(*args, **(usual | settings))


def problem(seed=0, n=60, r=8, noise=2.0):
    """Orthonormal coordinates of noisy groups: anchors, pulls, second moments, all points."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 6
    points = rng.standard_normal((6, r))[labels] + noise * rng.standard_normal((n, r))
    V = np.linalg.svd(points, full_matrices=False)[0]
    triplets = triplets_from_labels(labels, n_random=3, random_state=seed)
    anchors, pulls = anchor_sums(triplets, V)
    return V[anchors], pulls, np.square(V).mean(axis=0), V


def symmetric(K):
    return (K + K.T) / 2


class ConvexOracle:
    """min over PSD M of Σ max(0, m − ⟨M, A_i⟩) + ½‖M‖², from its smooth dual by L-BFGS-B.

    In the units of the data; ``m`` is margin times the mean ‖y‖² of the all-active map.
    """

    def __init__(self, anchors, pulls, points, margin):
        self.A = np.array([symmetric(np.outer(a, v)) for a, v in zip(pulls, anchors, strict=True)])
        first = self._positive(self.A.sum(axis=0))
        self.unit = np.linalg.eigvalsh(first)[-1]
        self.m = margin * np.mean([v @ first @ v for v in points])
        self.first = first

    def solve(self):
        found = scipy.optimize.minimize(
            lambda weights: self._dual(weights),
            np.ones(len(self.A)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, 1)] * len(self.A),
            options={"maxiter": 5000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9},
        )
        self.M = self._positive(np.tensordot(found.x, self.A, 1))
        self.lower = -found.fun
        self.value = self.primal(self.M)
        return self

    def primal(self, M):
        hinge = sum(max(0.0, self.m - np.sum(M * A)) for A in self.A)
        return hinge + 0.5 * np.sum(M**2)

    def _positive(self, matrix):
        values, vectors = np.linalg.eigh(matrix)
        return (vectors * np.maximum(values, 0)) @ vectors.T

    def _dual(self, weights):
        M = self._positive(np.tensordot(weights, self.A, 1))
        slope = self.m - np.tensordot(self.A, M, 2)
        return -(self.m * weights.sum() - 0.5 * np.sum(M**2)), -slope


def matrix_of(solution):
    return solution.P @ np.diag(solution.s) @ solution.P.T


@seeds
def test_at_fixed_activity_the_descent_reaches_the_eigenvectors(seed):
    anchors, pulls, second, _ = problem(seed)
    # A margin nobody meets, so that K never changes.
    args = (anchors, pulls, second, 3)
    closed = solve(*args, margin=100)
    descended = solve(*args, margin=100, solver="cayley", max_iter=60, tol=1e-9, random_state=seed)
    assert closed.reason is StopReason.ALL_ACTIVE
    assert descended.reason is StopReason.BOUND
    assert closed.n_iter == 1
    # The bound of full activity is the minimum itself.
    assert closed.objective == pytest.approx(closed.lower_bound, rel=1e-12)
    # The objective is quadratic about the minimum, of which it is within 1e-9.
    assert np.allclose(descended.s, closed.s, atol=1e-4)
    assert np.allclose(descended.P, closed.P, atol=1e-2)


@pytest.mark.parametrize(("seed", "margin"), [(0, 0.1), (1, 0.3), (2, 1.0)])
def test_the_objective_reaches_the_minimum_of_the_convex_problem(seed, margin):
    anchors, pulls, second, points = problem(seed)
    oracle = ConvexOracle(anchors, pulls, points, margin).solve()
    assert oracle.value - oracle.lower < 1e-4 * oracle.value
    # tol below zero never stops the rounds.
    solution = solve(anchors, pulls, second, 8, margin=margin, max_iter=300, tol=-1.0)
    M = oracle.unit * matrix_of(solution)
    assert oracle.primal(M) == pytest.approx(oracle.unit**2 * solution.objective, rel=1e-9)
    # Every map is above the dual bound.
    rounds = oracle.unit**2 * solution.loss_curve
    assert (rounds >= oracle.lower * (1 - 1e-9)).all()
    assert oracle.unit**2 * solution.lower_bound <= oracle.value * (1 + 1e-9)
    assert oracle.primal(M) <= 1.01 * oracle.lower
    # ½‖M − M*‖² is at most the gap, for the objective is 1-strongly convex.
    assert 0.5 * np.sum((M - oracle.M) ** 2) <= 1.1 * (oracle.primal(M) - oracle.lower) + 1e-9
    assert oracle.primal(M) < 0.999 * oracle.primal(oracle.first)


def test_fewer_dimensions_cost_no_less_than_the_convex_minimum():
    anchors, pulls, second, points = problem(0)
    # The margin's unit, the first map, also has d dimensions only.
    full = solve(anchors, pulls, second, 8, margin=1e6)
    shares = [full.s[:d] @ (np.square(full.P[:, :d]).T @ second) for d in (2, 8)]
    solution = solve(anchors, pulls, second, 2, margin=1.0, max_iter=100, tol=1e-6)
    oracle = ConvexOracle(anchors, pulls, points, shares[0] / shares[1]).solve()
    assert oracle.primal(oracle.unit * matrix_of(solution)) == pytest.approx(
        oracle.unit**2 * solution.objective, rel=1e-9
    )
    assert oracle.unit**2 * solution.objective >= oracle.lower


@pytest.mark.parametrize(("seed", "margin"), [(0, 0.3), (1, 1.0)])
def test_the_descent_reaches_the_objective_of_the_closed_form(seed, margin):
    anchors, pulls, second, _ = problem(seed)
    settings = {"margin": margin, "max_iter": 40, "tol": -1.0}
    closed = solve(anchors, pulls, second, 8, **settings)
    descended = solve(anchors, pulls, second, 8, solver="cayley", random_state=0, **settings)
    assert descended.objective == pytest.approx(closed.objective, rel=0.005)
    # Both bound the same minimum from below, and the bounds are as near.
    assert descended.lower_bound <= closed.objective
    assert descended.lower_bound == pytest.approx(closed.objective, rel=0.005)


@seeds
@solvers
@pytest.mark.parametrize("margin", [0.1, 1.0])
def test_laws_of_a_solution(seed, solver, margin):
    anchors, pulls, second, _ = problem(seed)
    solution = solve(
        anchors, pulls, second, 4, margin=margin, solver=solver, max_iter=12, random_state=0
    )
    assert on_manifold(solution.P)
    assert (solution.P[np.abs(solution.P).argmax(axis=0), range(4)] > 0).all()
    assert (solution.s >= 0).all()
    assert (np.diff(solution.s) <= 0).all()
    assert solution.s[0] > 0
    assert solution.objective == solution.loss_curve.min()
    assert 1 <= solution.n_iter <= 12
    assert (np.diff(solution.loss_curve) <= 0).all()
    for curve in (solution.loss_curve, solution.gradient_norms, solution.active_shares):
        assert curve.shape == (solution.n_iter,)
        assert np.isfinite(curve).all()
    assert ((solution.active_shares >= 0) & (solution.active_shares <= 1)).all()


@solvers
def test_nothing_converges_to_a_tolerance_of_zero_but_the_minimum(solver):
    args = *problem(0)[:3], 2
    solution = solve(*args, margin=1.0, solver=solver, max_iter=30, tol=0, random_state=0)
    assert not solution.reason.converged
    assert solution.objective > solution.lower_bound


def test_the_first_round_is_as_defined():
    anchors, pulls, second, points = problem(0)
    scale, margin = np.linalg.eigvalsh(symmetric(pulls.T @ anchors))[-1], 0.5
    first = solve(anchors, pulls, second, 3, margin=margin, max_iter=1)
    assert first.s[0] == pytest.approx(1.0)
    Y = points @ first.P * np.sqrt(first.s)
    # The paper's condition in the map's own units: z_i + margin · mean‖y‖² > 0.
    z = hinge_arguments(first.P, first.s, anchors, pulls)
    m = margin * np.mean(np.sum(Y**2, axis=1))
    active = z + m > 0
    assert 0 < active.mean() < 1
    assert first.active_shares.tolist() == [active.mean()]
    assert first.objective == pytest.approx(true_objective(z / scale, first.s, m / scale))


@seeds
@pytest.mark.parametrize(("share", "unit"), [(0.47, 1.0), (0.47, 8.0), (0.7, 8.0)])
def test_activities_move_by_the_step_that_maximises_the_bound_of_the_dual(seed, share, unit):
    anchors, pulls, _, _ = problem(seed)
    rng = np.random.default_rng(seed)
    activity = rng.random(len(anchors))

    def pull(weights):
        return -(pulls * weights[:, None]).T @ anchors

    def dual(weights):
        values = np.linalg.eigvalsh(-symmetric(pull(weights)))
        return m * weights.sum() - 0.5 * np.sum(np.maximum(values, 0) ** 2)

    K = pull(activity)
    k, P = leading_eigenvectors(K, len(K))
    s = np.maximum(k, 0)
    z = hinge_arguments(P, s, anchors, pulls)
    m = -np.quantile(z, share)
    target = z + m > 0
    given = anchors, unit * pulls, np.float64(unit)
    K_new, new = solver_module._move_activity(
        K, pull(np.ones(len(anchors))), activity, target, given, P, s, m
    )
    line = target - activity
    slope = (dual(activity + 1e-6 * line) - dual(activity - 1e-6 * line)) / 2e-6
    curvature = np.sum(symmetric(pull(line)) ** 2)
    step = np.clip(slope / curvature, 0, 1)
    assert 0 < step < 1
    assert np.allclose(new, activity + step * line, atol=1e-7)
    assert np.allclose(K_new, pull(new), atol=1e-12)
    # A step that cannot overshoot gains half of what its slope promises, or more.
    assert dual(new) - dual(activity) >= 0.5 * step * slope * (1 - 1e-6)


def test_activities_go_no_farther_than_the_active_set():
    anchors, pulls, _, _ = problem(0)
    everyone = np.ones(len(anchors))
    K_all = -pulls.T @ anchors
    K = 0.1 * K_all
    k, P = leading_eigenvectors(K, len(K))
    given = anchors, pulls, np.float64(1)
    # A margin that promises far more than the curvature takes back.
    _, new = solver_module._move_activity(
        K, K_all, 0.1 * everyone, everyone > 0, given, P, np.maximum(k, 0), 1e3
    )
    assert np.array_equal(new, everyone)


@pytest.mark.parametrize("given", [0.5, 1.0])
def test_activities_of_pulls_that_cancel_go_all_the_way_or_stay(given):
    # The dual of an anchor without a pull is m λ: a line, which is highest at λ = 1.
    anchors, pulls = np.eye(3), np.diag([2.0, 1.0, 0.0])
    activity = np.array([1.0, 1.0, given])
    K = -np.diag([2.0, 1.0, 0.0])
    moments = anchors, pulls, np.float64(1)
    K_new, new = solver_module._move_activity(
        K, K, activity, np.ones(3, dtype=bool), moments, np.eye(3), np.array([2.0, 1.0, 0.0]), 0.25
    )
    assert new.tolist() == [1.0, 1.0, 1.0]
    assert np.array_equal(K_new, K)


def test_anchors_that_drop_out_on_the_way_come_back():
    # All are active at the minimum, and one is not where the descent is after its first round.
    anchors, pulls, second, _ = problem(3)
    closed = solve(anchors, pulls, second, 3, margin=2.0)
    assert closed.reason is StopReason.ALL_ACTIVE
    settings = {"solver": "cayley", "max_iter": 60, "tol": 1e-9, "random_state": 3}
    descended = solve(anchors, pulls, second, 3, margin=2.0, **settings)
    assert descended.active_shares[0] < 1 == descended.active_shares[-1]
    assert descended.reason is StopReason.BOUND
    assert descended.objective == pytest.approx(closed.objective, rel=1e-8)


@solvers
@pytest.mark.parametrize(("margin", "share"), [(1.0, 1 / 4), (0.0, 0.0)])
def test_an_anchor_that_just_meets_the_margin_is_not_active(solver, margin, share):
    # The first map is 1, with z of −1/8, −1/8, 0 and −6/8 where the margin is 1/8, or 0.
    anchors, pulls = np.ones((4, 1)), np.array([[1.0], [1.0], [0.0], [6.0]])
    settings = {"margin": margin, "solver": solver, "max_iter": 1, "random_state": 0}
    solution = solve(anchors, pulls, np.ones(1), 1, **settings)
    assert solution.active_shares.tolist() == [share]


def test_a_descent_from_a_direction_worth_nothing_finds_one(monkeypatch):
    # At the start the curvature is 0, and so is the gradient.
    monkeypatch.setattr(solver_module, "random_point", lambda *_: np.array([[0.0], [1.0]]))
    settings = {"margin": 1.0, "solver": "cayley", "max_iter": 1}
    solution = solve(np.eye(2), np.diag([1.0, 0.0]), np.full(2, 0.5), 1, **settings)
    assert solution.P.tolist() == [[1.0], [0.0]]
    assert solution.s.tolist() == [1.0]


@solvers
@pytest.mark.parametrize("unit", [64.0, 2.0**-40])
def test_units_of_coordinates_and_pulls_do_not_matter(solver, unit):
    anchors, pulls, second, _ = problem(0)
    settings = {"margin": 0.5, "solver": solver, "max_iter": 6, "random_state": 0}
    plain = solve(anchors, pulls, second, 3, **settings)
    # Powers of two, so that rounding is the same.
    scaled = solve(unit * anchors, unit * pulls, unit**2 * second, 3, **settings)
    assert np.allclose(scaled.P, plain.P, atol=1e-9)
    assert np.allclose(scaled.s, plain.s, atol=1e-9)
    assert np.allclose(scaled.loss_curve, plain.loss_curve, rtol=1e-9)
    assert np.array_equal(scaled.active_shares, plain.active_shares)


@solvers
@pytest.mark.parametrize("with_triplets", [True, False])
def test_twice_the_points_are_the_same_problem(solver, with_triplets):
    # Doubled rows have coordinates shorter by √2; with their triplets doubled, or left alone.
    anchors, pulls, second, _ = problem(0)
    settings = {"margin": 0.5, "solver": solver, "max_iter": 6, "random_state": 0}
    plain = solve(anchors, pulls, second, 3, **settings)
    repeat = 2 if with_triplets else 1
    doubled = solve(
        np.tile(anchors, (repeat, 1)) / np.sqrt(2),
        np.tile(pulls, (repeat, 1)) / np.sqrt(2),
        second / 2,
        3,
        **settings,
    )
    assert np.allclose(matrix_of(doubled), matrix_of(plain), atol=ROUNDING[solver])
    assert np.allclose(doubled.active_shares, plain.active_shares)


@solvers
def test_float32_stays_float32_and_near_float64(solver):
    args = problem(0)[:3]
    settings = {"margin": 0.5, "solver": solver, "max_iter": 5, "random_state": 0}
    double = solve(*args, 3, **settings)
    single = solve(*(a.astype(np.float32) for a in args), 3, **settings)
    assert single.P.dtype == single.s.dtype == np.float32
    assert on_manifold(single.P)
    # Descent from a rounded start follows a nearby path, to the same place.
    tolerance = 1e-4 if solver == "eigen" else 2e-2
    assert np.allclose(matrix_of(single), matrix_of(double), atol=tolerance)


@solvers
@pytest.mark.parametrize("sign", [0, -1])
def test_no_direction_gives_leading_directions_and_says_so(solver, sign):
    # Similar points opposite, or pulls that cancel: no direction is worth anything.
    anchors = np.random.default_rng(0).standard_normal((10, 4))
    solution = solve(anchors, sign * anchors, np.ones(4), 2, solver=solver)
    assert solution.reason is StopReason.NO_DIRECTION
    assert not solution.reason.converged
    assert "check the triplets" in solution.reason.value
    assert np.array_equal(solution.P, np.eye(4, 2))
    assert solution.s.tolist() == [1, 1]
    # That of the map kept, in the units of the data: ‖y‖² is 2, and so is ‖s‖².
    z = -sign * np.square(anchors[:, :2]).sum(axis=1)
    assert solution.objective == pytest.approx(np.maximum(z + 2, 0).sum() + 1)
    assert solution.lower_bound == 0.0
    assert solution.n_iter == len(solution.loss_curve) == 0
    nothing = solve(0 * anchors, 0 * anchors, np.zeros(4), 2, solver=solver)
    assert nothing.reason is StopReason.NO_DIRECTION


@solvers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pull", [0.0, 1.0])
def test_pulls_that_are_rounding_alone_are_no_direction(solver, dtype, pull):
    # Rows of copies differ by rounding after a decomposition, and pulls of two halves that cancel.
    rng = np.random.default_rng(0)
    eps = np.finfo(dtype).eps
    points = rng.standard_normal((2000, 5))
    halves = pull * rng.standard_normal((1000, 5))
    pulls = np.concatenate([halves, -halves]) + eps * points[rng.permutation(2000)]
    anchors = np.concatenate([points[:1000], points[:1000]])
    second = np.square(points).mean(axis=0)
    args = [array.astype(dtype) for array in (anchors, pulls, second)]
    assert solve(*args, 2, solver=solver).reason is StopReason.NO_DIRECTION
    # The least of agreement is enough.
    args[1] += (1e3 * eps * anchors).astype(dtype)
    assert solve(*args, 2, solver=solver).reason is not StopReason.NO_DIRECTION


@solvers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_grows_with_the_lengths_of_anchors_and_points(solver, dtype):
    # ‖V‖ = 2, and four points of mean square 9 have length 6: 4 eps · 2 · 6 is K of p = 12 eps.
    anchors, second = np.ones((4, 1), dtype), np.full(1, 9, dtype)
    for share, reached in ((11.5, False), (12.5, True)):
        pulls = np.full((4, 1), share * np.finfo(dtype).eps, dtype)
        solution = solve(anchors, pulls, second, 1, solver=solver, margin=1e-9)
        assert (solution.reason is not StopReason.NO_DIRECTION) is reached
    # Of long pulls that cancel their own length counts: 4 eps · 2 · (2e6 + 6) is more than K.
    opposed = np.array([[1e6], [-1e6], [1e6], [-1e6]], dtype)
    pulls = opposed + np.array([[0], [0], [0], [1e7 * np.finfo(dtype).eps]], dtype)
    solution = solve(anchors, pulls, second, 1, solver=solver)
    assert solution.reason is StopReason.NO_DIRECTION


@solvers
def test_a_map_of_zeros_is_never_kept(solver):
    # At margin 0 the minimum is M = 0, and there is nothing to find.
    anchors, pulls = np.array([[1.0], [1.0]]), np.array([[3.0], [-1.0]])
    solution = solve(anchors, pulls, np.ones(1), 1, margin=0.0, solver=solver, random_state=0)
    assert solution.reason is StopReason.NO_MARGIN
    assert not solution.reason.converged
    assert solution.s[0] > 0
    assert solution.objective == solution.loss_curve[0]
    assert solution.n_iter == 1


@seeds
def test_a_descent_that_starts_where_softplus_is_flat_still_finds_the_direction(seed):
    # One direction is worth keeping, and twenty are violated fifty times as much.
    anchors, pulls = np.eye(21), np.diag([1.0] + [-50.0] * 20)
    solution = solve(anchors, pulls, np.ones(21) / 21, 1, solver="cayley", random_state=seed)
    assert solution.s[0] > 0
    assert abs(solution.P[0, 0]) == pytest.approx(1.0)


@solvers
def test_rounds_end_with_a_reason_and_a_remedy(solver):
    args = (*problem(0)[:3], 3)
    unfinished = solve(*args, margin=0.3, solver=solver, max_iter=2, random_state=0)
    assert unfinished.reason is StopReason.MAX_ITER
    assert unfinished.n_iter == 2
    assert not unfinished.reason.converged
    assert "raise max_iter" in unfinished.reason.value
    settled = solve(*problem(1)[:3], 1, margin=0.3, solver=solver, max_iter=500, random_state=0)
    assert settled.reason is StopReason.AGREED
    assert settled.reason.converged
    assert settled.n_iter < 500
    bounded = solve(*problem(0)[:3], 8, margin=1.0, solver=solver, max_iter=500, tol=1e-2)
    assert bounded.reason is StopReason.BOUND
    assert bounded.objective - bounded.lower_bound <= 1e-2 * bounded.objective


@solvers
@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_keeps_the_best_map_and_says_so(solver, at):
    args = (*problem(0)[:3], 3)
    settings = {"margin": 0.3, "solver": solver, "random_state": 0}
    told = []

    def progress(text):
        told.append(text)
        if len(told) == at:
            raise KeyboardInterrupt

    solution = solve(*args, **settings, max_iter=50, progress=progress)
    assert solution.reason is StopReason.INTERRUPTED
    assert "interrupted from the keyboard" in solution.reason.value
    assert not solution.reason.converged
    assert solution.n_iter == at
    until_then = solve(*args, **settings, max_iter=at)
    assert np.array_equal(solution.P, until_then.P)
    assert np.array_equal(solution.s, until_then.s)
    assert solution.objective == until_then.objective
    assert all("loss" in text and "active" in text for text in told)


def interrupted(*args):
    raise KeyboardInterrupt


def interrupted_after(calls, monkeypatch):
    count = 0

    def objective(P, K):
        nonlocal count
        count += 1
        if count == calls:
            raise KeyboardInterrupt
        return smooth_objective(P, K)

    monkeypatch.setattr(solver_module, "smooth_objective", objective)


def test_an_interrupt_inside_the_descent_ends_the_rounds_too(monkeypatch):
    args = (*problem(0)[:3], 3)
    settings = {"margin": 0.3, "solver": "cayley", "random_state": 0, "max_iter": 50}
    rounds = solve(*args, **settings).n_iter
    assert rounds > 6
    # Some twenty objectives a round: the interrupt falls into the third or so.
    interrupted_after(60, monkeypatch)
    solution = solve(*args, **settings)
    assert solution.reason is StopReason.INTERRUPTED
    assert 1 <= solution.n_iter <= 4
    assert solution.objective == solution.loss_curve.min()


@solvers
def test_an_interrupt_before_the_first_map_is_passed_on(solver, monkeypatch):
    if solver == "cayley":
        interrupted_after(1, monkeypatch)
    else:
        monkeypatch.setattr(factor_module, "rank_bound", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(*problem(0)[:3], 3, solver=solver, random_state=0)


def ended_after(losses, ends=(), *, slack=0.0, bound=0.0, tol=0.1, nothing=100.0, max_iter=100):
    """Rounds of given losses, then polished maps of the losses ``ends``."""
    P, s = np.eye(2, 1), np.ones(1)

    def rounds(values):
        return (solver_module._Round(P, s, loss, bound, 0.0, 0.5, slack) for loss in values)

    return solver_module._best_of(
        rounds(losses), lambda *_: rounds(ends), max_iter, tol, nothing, None
    )


def test_four_rounds_without_a_gain_end_them_and_maps_are_polished():
    solution = ended_after([5.0] * 50)
    assert (solution.n_iter, solution.reason) == (5, StopReason.STALLED)
    # The fourth before last is compared with: a gain of 0.1 of the objective or less.
    assert ended_after([5.5, *[5.0] * 50]).n_iter == 5
    assert ended_after([5.51, *[5.0] * 50]).n_iter == 6
    # With no tolerance it takes rounds without any gain.
    assert ended_after([5.0] * 50, tol=0.0).n_iter == 5
    assert ended_after(np.arange(50.0, 0, -1), tol=0.0).n_iter == 50
    # How far the loss is smoothed may hide a gain.
    assert ended_after([5.0] * 50, slack=0.51).n_iter == 50
    # A map worse than none does not keep rounds from ending.
    assert ended_after([5.0] * 50, nothing=1.0).n_iter == 5


def test_polished_maps_converge_where_eight_agree_with_the_lowest():
    agreed = ended_after([5.0], [5.0] * 24)
    assert (agreed.n_iter, agreed.reason) == (9, StopReason.AGREED)
    # Half of 0.1 of the lowest.
    assert ended_after([5.0], [4.0] + [4.19] * 23).n_iter == 9
    assert ended_after([5.0], [4.0] + [4.21] * 23).reason is StopReason.STALLED
    # Just half of 0.25 of the lowest agrees.
    assert ended_after([8.0], [4.0] + [4.5] * 23, tol=0.25).n_iter == 9
    # With the lowest of the rounds, too.
    assert ended_after([4.0], [4.21] * 24).reason is StopReason.STALLED
    assert ended_after([5.0], [*[4.5] * 7, *[4.0] * 8]).n_iter == 16
    assert ended_after([5.0], [5.0] * 7).reason is StopReason.STALLED
    assert ended_after([5.0], [5.0] * 24, max_iter=5).reason is StopReason.MAX_ITER
    curve = ended_after([5.0, 4.0], [6.0, 3.0, 7.0]).loss_curve
    assert curve.tolist() == [5.0, 4.0, 4.0, 3.0, 3.0]


def polished_with(monkeypatch, n_rows, work, *, n_steps=1):
    """Arguments of `polish` for maps of one direction, each polished in ``n_steps`` steps."""
    asked, starts = [], []

    def one_map(anchors, pulls, scale, S_all, start, m, within, n_near, left, told):
        starts.append(start)
        asked.append({"within": within, "n_near": n_near, "left": left})
        for _ in range(min(left, n_steps)):
            told(1.0)
        hinge = np.array([0.0, 0.0, 0.0, 2.0])
        return SimpleNamespace(
            B=start, hinge=hinge, loss=1.0, bound=0.5, gradient_norm=0.0, smoothing=0.0
        )

    monkeypatch.setattr(solver_module, "polish", one_map)
    monkeypatch.setattr(solver_module, "_WORK", work)
    best = solver_module._Round(np.eye(2, 1), np.array([9.0]), 1.0, 0.0, 0.0, 0.5)
    rows, rng = np.ones((n_rows, 2)), np.random.default_rng(0)
    maps = solver_module._polished_rounds(rows, rows, 1.0, np.eye(2), best, 1.0, 0.5, 5, rng, None)
    assert [each.share for each in maps] == [0.25] * len(asked)
    # The best map first, then random ones of its size.
    assert starts[0].ravel().tolist() == [3.0, 0.0]
    np.testing.assert_allclose([np.linalg.norm(start) for start in starts], 3.0)
    return asked


def test_maps_are_polished_by_all_anchors_where_eight_of_them_are_little_work(monkeypatch):
    # A step is 4 m r d = 4 · 7 · 2 multiplications, and eight maps take 100 steps each.
    asked = polished_with(monkeypatch, 7, 56 * 800)
    assert len(asked) == 24
    assert asked[0] == {"within": 0.01, "n_near": 7, "left": 800}
    assert asked[1]["left"] == 799


def test_more_maps_are_polished_only_while_steps_are_left(monkeypatch):
    assert [each["left"] for each in polished_with(monkeypatch, 7, 56 * 800, n_steps=799)] == [
        800,
        1,
    ]
    assert len(polished_with(monkeypatch, 7, 56 * 800, n_steps=800)) == 1


def test_of_large_data_one_map_is_polished_by_a_sixth_of_the_anchors(monkeypatch):
    asked = polished_with(monkeypatch, 7, 56 * 799)
    assert asked == [{"within": 0.5, "n_near": 2, "left": 799}]
    # At least as many steps as the rounds, each of a sixth of the work.
    assert polished_with(monkeypatch, 7, 56 * 20)[0]["left"] == 30


def test_the_objective_is_converged_at_its_bound():
    at_bound = ended_after([5.0] * 3, bound=4.5)
    assert (at_bound.n_iter, at_bound.reason) == (1, StopReason.BOUND)
    assert ended_after([5.0] * 3, bound=4.4).n_iter == 3
    # A share of what the map lowers the objective by, where that is less: 0.1 · (10 − 9).
    assert ended_after([9.0] * 3, bound=8.8, nothing=10.0).n_iter == 3
    assert ended_after([9.0] * 3, bound=8.9, nothing=10.0).n_iter == 1
    assert ended_after([5.0, 4.0], bound=6.0).lower_bound == 5.0
    assert ended_after([5.0], [4.0], bound=3.6).reason is StopReason.BOUND


@solvers
def test_the_zero_map_costs_the_margin_of_every_anchor(solver, monkeypatch):
    anchors, pulls, moments, points = problem(0)
    oracle = ConvexOracle(anchors, pulls, points, 1.0)
    monkeypatch.setattr(solver_module, "_best_of", lambda *given: given[4])
    nothing = solve(anchors, pulls, moments, anchors.shape[1], solver=solver)
    assert nothing == pytest.approx(oracle.m * len(anchors) / oracle.unit**2)


@solvers
def test_the_objective_at_margin_0_is_in_units_of_the_map(solver):
    anchors, pulls, moments, _ = problem(0)
    settings = {"margin": 0.0, "solver": solver, "max_iter": 1, "random_state": 0}
    solution = solve(anchors, pulls, moments, 2, **settings)
    assert solution.reason is StopReason.NO_MARGIN
    assert solution.lower_bound == 0.0 == solution.gradient_norms[0] * (solver == "eigen")
    z = hinge_arguments(solution.P, solution.s, anchors, pulls)
    assert solution.active_shares.tolist() == [np.mean(z > 0)]
    larger = solve(anchors, 32 * pulls, moments, 2, **settings)
    assert larger.objective == pytest.approx(solution.objective, rel=ROUNDING[solver])


def test_every_reason_says_what_happened_and_what_to_do():
    for reason in StopReason:
        happened, _, remedy = reason.value.partition(";")
        assert happened.startswith("converged" if reason.converged else "not converged")
        assert remedy.strip()

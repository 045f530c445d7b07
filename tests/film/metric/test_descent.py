"""The minimiser on the Stiefel manifold against closed forms, and each way it can end."""

import dataclasses
from itertools import count

import numpy as np
import pytest
from scipy.linalg import eigh, svd

import film.metric.descent as descent
from film.metric.descent import minimize_on_stiefel
from film.metric.stiefel import random_point, tangent_gradient
from film.metric.stopping import StopReason
from tests.film.metric.manifold import on_manifold

SHAPES = [(2, 1), (12, 1), (12, 4), (12, 6), (12, 9), (8, 8)]
shapes = pytest.mark.parametrize(("r", "d"), SHAPES)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def brockett(r, d, seed=0, scale=1.0, dtype: type = np.float64):
    """Minimised by the leading eigenvectors of A in order, for weights that decrease."""
    rng = np.random.default_rng(seed)
    basis = random_point(r, r, rng)
    # Gaps between eigenvalues of at least 1 keep every eigenvector well determined.
    A = (basis * np.arange(1.0, r + 1)) @ basis.T
    A = ((A + A.T) / 2).astype(dtype)
    weights = np.arange(d, 0.0, -1).astype(dtype)

    def objective(P):
        gradient = -scale * (A @ P) * weights
        return 0.5 * float(np.sum(P * gradient)), gradient

    return objective, A, weights


def procrustes(r, d, seed=0):
    rng = np.random.default_rng(seed)
    M, B = rng.standard_normal((r, r)), rng.standard_normal((r, d))
    M += 3 * np.eye(r)

    def objective(P):
        rest = P - B
        return 0.5 * float(np.sum(rest**2)), rest

    return objective, B


@pytest.fixture
def steps(monkeypatch):
    """The point and length of every step that is taken."""
    taken = []
    search = descent._search

    def watched(*args):
        found, blocked = search(*args)
        if found is not None:
            taken.append((found[0].point, found[1]))
        return found, blocked

    monkeypatch.setattr(descent, "_search", watched)
    return taken


@shapes
def test_brockett_gives_the_eigenvectors(r, d):
    objective, A, weights = brockett(r, d)
    result = minimize_on_stiefel(objective, random_point(r, d, 1), gtol=1e-9, xtol=0, ftol=0)
    values, vectors = eigh(A)
    expected = vectors[:, ::-1][:, :d]
    signs = np.sign(np.sum(result.point * expected, axis=0))
    assert result.reason is StopReason.GRADIENT
    assert np.abs(result.point * signs - expected).max() < 1e-6
    assert result.value == pytest.approx(-0.5 * weights @ values[::-1][:d], rel=1e-12)


@shapes
def test_procrustes_gives_the_polar_factor(r, d):
    objective, B = procrustes(r, d)
    left, _, right = svd(B, full_matrices=False)
    start = random_point(r, d, 1)
    if r == d and np.linalg.det(start) * np.linalg.det(left @ right) < 0:
        # A Cayley step keeps the determinant, so begin in the solution's component.
        start[:, 0] *= -1
    result = minimize_on_stiefel(objective, start, gtol=1e-10, xtol=0, ftol=0)
    assert result.reason is StopReason.GRADIENT
    assert np.abs(result.point - left @ right).max() < 1e-6


@dtypes
@shapes
def test_every_point_is_on_the_manifold_in_the_dtype_of_the_start(r, d, dtype, steps):
    objective, _, _ = brockett(r, d, dtype=dtype)
    result = minimize_on_stiefel(objective, random_point(r, d, 1, dtype))
    assert len(steps) == result.n_iter > 1
    for point in [*(point for point, _ in steps), result.point]:
        assert point.dtype == dtype
        assert on_manifold(point)


def test_float32_reaches_what_float32_can():
    objective, A, _ = brockett(12, 4, dtype=np.float32)
    result = minimize_on_stiefel(
        objective, random_point(12, 4, 1, np.float32), gtol=0, xtol=0, ftol=0
    )
    assert result.reason.converged
    assert result.n_iter < 300
    expected = eigh(A.astype(np.float64))[1][:, ::-1][:, :4]
    overlap = np.abs(np.sum(result.point * expected, axis=0))
    # Error of a vector is about eps · ‖A‖ / gap, and enters the overlap squared.
    assert overlap == pytest.approx(np.ones(4), abs=1e-5)


def test_the_result_describes_its_own_point():
    objective, _, _ = brockett(12, 4)
    result = minimize_on_stiefel(objective, random_point(12, 4, 1))
    value, gradient = objective(result.point)
    assert result.value == value
    norm = np.linalg.norm(tangent_gradient(result.point, gradient))
    assert result.gradient_norm == pytest.approx(norm)
    assert len(result.values) == len(result.gradient_norms) == result.n_iter + 1
    assert result.gradient_norms[-1] < 1e-5 * result.gradient_norms[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 0.0  # type: ignore


@pytest.mark.parametrize("seed", range(5))
def test_values_fall_on_average_and_the_best_is_returned(seed):
    # A far first step and a long memory make single steps rise.
    objective, _, _ = brockett(20, 5, seed)
    result = minimize_on_stiefel(objective, random_point(20, 5, seed), max_iter=40, gtol=0)
    assert result.reason is StopReason.MAX_ITER
    assert result.value == result.values.min()
    decades = result.values[1:].reshape(4, 10).mean(axis=1)
    assert (np.diff(decades) < 0).all()


@pytest.mark.parametrize("decrease", [1e-4, 0.3, 0.6])
@pytest.mark.parametrize(("r", "d"), [(20, 5), (9, 9)])
def test_the_first_trial_under_zhang_and_hagers_reference_is_taken(r, d, decrease, monkeypatch):
    objective, _, _ = brockett(r, d)
    trials, outcomes = [], []

    def watched(P):
        value, gradient = objective(P)
        # Half the squared norm of A = G Pᵀ - P Gᵀ is the slope of the Cayley curve.
        A = gradient @ P.T - P @ gradient.T
        trials.append((value, np.sum(A * A) / 2))
        return value, gradient

    search = descent._search

    def accepted(*args):
        found, blocked = search(*args)
        outcomes.append((list(trials), found[1]))
        trials[:-1] = []
        return found, blocked

    monkeypatch.setattr(descent, "_search", accepted)
    monkeypatch.setattr(descent, "_DECREASE", decrease)
    # Stopped while decreases are far above rounding.
    minimize_on_stiefel(watched, random_point(r, d, 1), max_iter=40)
    reference, weight = outcomes[0][0][0][0], 1.0
    for (before, *tried), step in outcomes:
        lengths = step * 0.2 ** -np.arange(len(tried) - 1.0, -1, -1)
        passed = [
            value <= reference - decrease * length * before[1]
            for (value, _), length in zip(tried, lengths, strict=True)
        ]
        assert passed == [False] * (len(tried) - 1) + [True]
        reference = (0.85 * weight * reference + tried[-1][0]) / (0.85 * weight + 1)
        weight = 0.85 * weight + 1
    assert max(len(tried) for (_, *tried), _ in outcomes) > 1


def test_barzilai_borwein_lengths_alternate(steps, monkeypatch):
    objective, _, _ = brockett(12, 3)
    start = random_point(12, 3, 0)
    monkeypatch.setattr(descent, "_FIRST_MOVE", 1e-4)
    result = minimize_on_stiefel(objective, start, max_iter=8, gtol=0)
    points = [start, *(point for point, _ in steps)]
    tangents = [tangent_gradient(P, objective(P)[1]) for P in points]
    proposed = [*(step for _, step in steps[1:]), result.step]
    for k, step in enumerate(proposed):
        S, Y = points[k + 1] - points[k], tangents[k + 1] - tangents[k]
        cross = abs(np.sum(S * Y))
        ratio = np.sum(S * S) / cross if k % 2 == 0 else cross / np.sum(Y * Y)
        # What was taken is the ratio, or that shrunk a few times by 0.2.
        shrinks = np.log(step / ratio) / np.log(0.2)
        assert shrinks == pytest.approx(round(shrinks), abs=1e-6)
        assert 0 <= round(shrinks) <= 3


@pytest.mark.parametrize("exponent", [-60, -20, 20, 60])
def test_units_of_the_objective_change_nothing(exponent):
    start = random_point(12, 4, 1)
    plain = minimize_on_stiefel(brockett(12, 4)[0], start)
    # A power of two, so that the two descents round alike and agree to the bit.
    scaled = minimize_on_stiefel(brockett(12, 4, scale=2.0**exponent)[0], start)
    assert scaled.n_iter == plain.n_iter
    assert scaled.reason is plain.reason
    assert np.allclose(scaled.point, plain.point, atol=1e-9)


def test_arguments_and_reused_memory_are_safe():
    objective, _, _ = brockett(12, 4)
    buffer = np.empty((12, 4))

    def reusing(P):
        value, buffer[:] = objective(P)
        return value, buffer

    start = random_point(12, 4, 1)
    before = start.copy()
    result = minimize_on_stiefel(reusing, start)
    assert np.array_equal(start, before)
    assert np.array_equal(result.point, minimize_on_stiefel(objective, start).point)
    assert not np.shares_memory(minimize_on_stiefel(objective, start, max_iter=0).point, start)


def test_a_descent_goes_on_from_its_result(steps):
    objective, _, _ = brockett(20, 5)
    part = minimize_on_stiefel(objective, random_point(20, 5, 0), max_iter=20)
    assert part.reason is StopReason.MAX_ITER
    assert not part.reason.converged
    steps.clear()
    whole = minimize_on_stiefel(objective, part.point, initial_step=part.step)
    assert whole.reason is StopReason.GRADIENT
    assert whole.values[0] == part.value
    # The first step is the one handed over, or that shrunk by the line search.
    shrinks = np.log(steps[0][1] / part.step) / np.log(0.2)
    assert shrinks == pytest.approx(round(shrinks), abs=1e-9)


def test_a_swapped_objective_begins_with_its_own_reference():
    # The second objective lies far above the first: against the first's reference no step
    # would ever be accepted.
    first, _, _ = brockett(12, 4, seed=0)
    second, _, _ = brockett(12, 4, seed=1)
    result = minimize_on_stiefel(first, random_point(12, 4, 1), max_iter=15)

    def raised(P):
        value, gradient = second(P)
        return value + 1e4, gradient

    after = minimize_on_stiefel(raised, result.point, initial_step=result.step)
    assert after.reason.converged
    direct = minimize_on_stiefel(second, random_point(12, 4, 2))
    assert after.value - 1e4 == pytest.approx(direct.value, abs=1e-6)


def test_reason_gradient_at_a_critical_start():
    result = minimize_on_stiefel(lambda P: (3.0, np.zeros_like(P)), np.eye(4, 2))
    assert result.reason is StopReason.GRADIENT
    assert (result.n_iter, result.value, result.gradient_norm) == (0, 3.0, 0.0)
    assert np.array_equal(result.point, np.eye(4, 2))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_manifold_of_two_points_has_nowhere_to_go(sign):
    result = minimize_on_stiefel(lambda P: (float(P[0, 0]), np.ones((1, 1))), np.array([[sign]]))
    assert result.reason is StopReason.GRADIENT
    assert result.point[0, 0] == sign


def test_reason_change_where_the_gradient_cannot_fall_further():
    objective, _, _ = brockett(12, 4)
    result = minimize_on_stiefel(objective, random_point(12, 4, 1), gtol=0, xtol=1e-4, ftol=1e-4)
    assert result.reason is StopReason.STILL
    assert result.reason.converged
    # Five steps in a row, and both changes: the last five values agree to ftol.
    last = result.values[-6:]
    assert np.abs(np.diff(last)).max() <= 1e-4 * abs(last[-1])


@pytest.mark.parametrize(
    "tolerances", [{"xtol": 1.0, "ftol": 0.0}, {"xtol": 0.0, "ftol": 1.0}, {"ftol": 1.0}]
)
def test_change_needs_both_the_point_and_the_value(tolerances):
    objective, _, _ = brockett(12, 4)
    loose = minimize_on_stiefel(objective, random_point(12, 4, 1), gtol=0, xtol=1.0, ftol=1.0)
    assert loose.n_iter == 1 + 5
    result = minimize_on_stiefel(objective, random_point(12, 4, 1), gtol=0, **tolerances)
    assert result.n_iter > 20


@pytest.mark.parametrize("seed", range(5))
def test_change_needs_five_steps_in_a_row(seed):
    ftol = 1e-2
    objective, _, _ = brockett(12, 4, seed)
    result = minimize_on_stiefel(objective, random_point(12, 4, 1), gtol=0, xtol=9.0, ftol=ftol)
    values = result.values
    sizes = np.maximum(np.maximum(np.abs(values[1:]), np.abs(values[:-1])), abs(values[0]))
    still = np.abs(np.diff(values)) <= ftol * sizes
    still[0] = False
    runs = [k + 1 for k in range(len(still)) if k >= 4 and still[k - 4 : k + 1].all()]
    assert runs == [result.n_iter]


@pytest.mark.parametrize(
    ("ftol", "reason"), [(1e-4, StopReason.STILL), (0, StopReason.LINE_SEARCH)]
)
def test_a_line_search_stuck_where_less_than_ftol_is_to_gain_is_convergence(ftol, reason):
    objective, _, _ = brockett(12, 4)
    calls = []

    def creeping(P):
        # Each call costs a little more: at last no step can outweigh it.
        calls.append(1)
        value, gradient = objective(P)
        return value + 1e-2 * len(calls), gradient

    result = minimize_on_stiefel(creeping, random_point(12, 4, 1), gtol=0, xtol=0, ftol=ftol)
    assert result.reason is reason


@pytest.mark.parametrize("seed", range(8))
def test_the_gradient_is_trusted_where_values_drown_in_rounding(seed):
    objective, _, _ = brockett(12, 4, seed)

    calls = []

    def drowned(P):
        # The last bits of a value near 1e8, which is 1.5e-8 apart from the next, come and go.
        calls.append(1)
        value, gradient = objective(P)
        return value + 1e8 + 3e-8 * (len(calls) % 3), gradient

    result = minimize_on_stiefel(
        drowned, random_point(12, 4, 1), gtol=1e-9, xtol=0, ftol=0, max_iter=2000
    )
    assert result.reason is StopReason.GRADIENT
    # Of points whose values cannot be told apart, the one that met gtol is returned.
    assert result.gradient_norm == result.gradient_norms[-1]


@pytest.mark.parametrize("initial_step", [1e-300, 1e-20, 1e20, 1e300])
def test_an_absurd_first_step_is_outgrown(initial_step, monkeypatch):
    objective, _, _ = brockett(12, 4)
    # From 1e-30 it takes many steps that leave P as it is, which must not pass for convergence.
    monkeypatch.setattr(descent, "_MIN_MOVE", 1e-30)
    result = minimize_on_stiefel(objective, random_point(12, 4, 1), initial_step=initial_step)
    assert result.reason is StopReason.GRADIENT


@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_reason_max_iter_after_so_many_steps(max_iter):
    objective, _, _ = brockett(12, 4)
    result = minimize_on_stiefel(objective, random_point(12, 4, 1), max_iter=max_iter)
    assert result.reason is StopReason.MAX_ITER
    assert result.n_iter == max_iter


def test_reason_line_search_for_a_gradient_of_the_wrong_sign():
    objective, _, _ = brockett(12, 4)
    calls = []

    def wrong(P):
        value, gradient = objective(P)
        calls.append(value)
        return value, -gradient

    start = random_point(12, 4, 1)
    result = minimize_on_stiefel(wrong, start)
    assert result.reason is StopReason.LINE_SEARCH
    # The value rises along the step, until the step is so short that rounding decides: a sum of
    # 48 products may then come out an ulp or so lower, and such a step is taken. Whether it does
    # depends on the order in which a CPU's kernels add. What holds on all is that each search
    # gives up after 25 shrinks, and that the point has moved by no more than rounding.
    assert 1 + 1 + 25 <= len(calls) <= 1 + (1 + 25) * (1 + result.n_iter)
    assert np.allclose(result.point, start, rtol=0, atol=1e-13)
    value = objective(start)[0]
    assert abs(result.value - value) <= 20 * np.finfo(float).eps * abs(value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["value", "gradient", "entry"])
def test_reason_not_finite_keeps_the_last_good_point(bad, where):
    objective, _, _ = brockett(12, 4)
    calls = []

    def breaking(P):
        calls.append(1)
        value, gradient = objective(P)
        if len(calls) > 6:
            if where == "value":
                value = bad
            elif where == "gradient":
                gradient = np.full_like(gradient, bad)
            else:
                gradient[2, 1] = bad
        return value, gradient

    result = minimize_on_stiefel(breaking, random_point(12, 4, 1))
    assert result.reason is StopReason.NOT_FINITE
    assert not result.reason.converged
    assert 1 <= result.n_iter <= 5
    assert on_manifold(result.point)
    assert np.isfinite(result.values).all()
    assert np.isfinite([result.value, result.gradient_norm, result.step]).all()
    assert result.value == objective(result.point)[0]


def test_a_region_of_nan_is_stepped_around(steps):
    # NaN wherever a step goes far: the line search shrinks into the region where all is well.
    objective, A, _ = brockett(12, 4)
    seen = []
    start = random_point(12, 4, 1)

    def nasty(P):
        if np.linalg.norm(P - (steps[-1][0] if steps else start)) > 0.2:
            seen.append(1)
            return np.nan, np.full_like(P, np.nan)
        return objective(P)

    result = minimize_on_stiefel(nasty, start)
    assert seen
    assert result.reason is StopReason.GRADIENT
    expected = -0.5 * np.arange(4, 0, -1) @ eigh(A)[0][::-1][:4]
    assert result.value == pytest.approx(expected)


def test_a_gradient_too_large_for_float32_is_refused_quietly(recwarn):
    objective, _, _ = brockett(12, 4)
    calls = []

    def exploding(P):
        calls.append(1)
        value, gradient = objective(P.astype(np.float64))
        return value, gradient * (1e300 if len(calls) > 3 else 1.0)

    result = minimize_on_stiefel(exploding, random_point(12, 4, 1, np.float32))
    assert result.reason is StopReason.NOT_FINITE
    assert on_manifold(result.point)
    assert len(recwarn) == 0


def test_the_users_own_errors_come_through():
    def failing(P):
        raise StopIteration("mine")

    with pytest.raises(StopIteration, match="mine"):
        minimize_on_stiefel(failing, np.eye(3, 2))


def test_every_reason_says_what_happened_and_what_to_do():
    for reason in StopReason:
        happened, _, remedy = reason.value.partition(";")
        assert happened.startswith("converged" if reason.converged else "not converged")
        assert remedy.strip()


def test_a_bad_objective_is_named():
    with pytest.raises(ValueError, match="objective must be finite at P0"):
        minimize_on_stiefel(lambda P: (np.nan, P), np.eye(3, 2))


def test_a_start_that_drifted_is_put_right():
    objective, _, _ = brockett(12, 4)
    start = random_point(12, 4, 1) * (1 + 1e-10)
    result = minimize_on_stiefel(objective, start, max_iter=0)
    assert on_manifold(result.point)


def on_a_circle(value, slope=lambda call: 1 / (1 + call)):
    """Values and slopes by the number of the call, at points of a circle that is walked round."""
    calls = count()

    def objective(P):
        call = next(calls)
        return float(value(call)), slope(call) * np.array([[-P[1, 0]], [P[0, 0]]])

    return objective


def test_a_trial_just_at_its_bound_is_taken(monkeypatch):
    # ϕ(P(τ)) ≤ C − ρ τ ⟨G, F⟩ with C = 0 and ⟨G, F⟩ = 1, all of them powers of two.
    monkeypatch.setattr(descent, "_DECREASE", 0.25)
    values = [0.0, -0.125, -1.0]
    result = minimize_on_stiefel(
        on_a_circle(values.__getitem__, lambda call: 1.0),
        np.eye(2, 1),
        max_iter=1,
        initial_step=0.5,
    )
    assert result.values.tolist() == [0.0, -0.125]


def test_the_reference_of_the_second_step_weighs_the_first_two_values():
    # Zhang and Hager, 2004: Q₀ = 1, C₁ = (0.85 · 0 − 1) / 1.85 = −0.5405.
    for refused, taken in ((-0.5404, 1), (-0.5406, 0)):
        values = [0.0, -1.0, refused, -0.9]
        found = minimize_on_stiefel(
            on_a_circle(values.__getitem__, lambda call: 1e-3 / (1 + call)),
            np.eye(2, 1),
            max_iter=2,
        )
        assert found.values[-1] == values[2 + taken]


def test_an_earlier_point_of_a_lower_value_is_returned_where_a_later_one_met_gtol():
    values = [0.0, -1.0, -0.8]
    objective = on_a_circle(values.__getitem__, [1e-3, 5e-4, 0.0].__getitem__)
    result = minimize_on_stiefel(objective, np.eye(2, 1))
    assert result.reason is StopReason.GRADIENT
    assert (result.value, result.n_iter) == (-1.0, 2)


def test_five_steps_that_change_the_value_by_just_ftol_of_the_first_are_convergence():
    result = minimize_on_stiefel(
        on_a_circle(lambda call: 8 - call), np.eye(2, 1), gtol=0, xtol=9.0, ftol=0.125, max_iter=7
    )
    assert (result.reason, result.n_iter) == (StopReason.STILL, 1 + 5)


def test_a_step_that_moves_by_just_xtol_of_the_length_is_one_of_the_five():
    # Slopes 2 and 1 make steps 1 and 2, each of which turns a right angle, in whole numbers.
    objective = on_a_circle(lambda call: 8 - call, lambda call: 2.0 / (1 + call))
    result = minimize_on_stiefel(
        objective, np.eye(2, 1), gtol=0, xtol=np.sqrt(2), ftol=1.0, initial_step=1.0, max_iter=7
    )
    assert (result.reason, result.n_iter) == (StopReason.STILL, 1 + 5)


@pytest.mark.parametrize(("change", "n_iter"), [(20, 1 + 5), (21, 9)])
def test_tolerances_of_zero_are_twenty_eps(change, n_iter):
    eps = float(np.finfo(float).eps)
    objective = on_a_circle(lambda call: 1 - change * eps * call, lambda call: 1e-9 / (1 + call))
    result = minimize_on_stiefel(objective, np.eye(2, 1), gtol=0, xtol=9.0, ftol=0, max_iter=9)
    assert result.n_iter == n_iter


def test_a_stuck_search_with_just_ftol_to_gain_is_convergence():
    objective = on_a_circle(lambda call: 1 + (call > 0), lambda call: 1.0)
    result = minimize_on_stiefel(objective, np.eye(2, 1), ftol=0.25, initial_step=0.25)
    assert (result.reason, result.n_iter) == (StopReason.STILL, 0)


def test_a_thousand_steps_by_default():
    result = minimize_on_stiefel(on_a_circle(lambda call: -call), np.eye(2, 1), gtol=0)
    assert (result.reason, result.n_iter) == (StopReason.MAX_ITER, 1000)


@pytest.mark.parametrize(
    ("moved", "turned", "long", "ratio"),
    [
        (3.0, -4.0, True, 0.75),
        (3.0, -4.0, False, 0.75),
        (0.0, 1.0, True, None),
        (1.0, 0.0, True, None),
        (1.0, 1e-310, True, None),
        (1e-170, 1e154, False, None),
    ],
)
def test_a_barzilai_borwein_length_is_positive_and_finite_or_none(moved, turned, long, ratio):
    def at(point, tangent):
        P, G, F = (np.array([[value]]) for value in (point, 0.0, tangent))
        return descent._Place(P, 0.0, G, F, 0.0, 0.0, 0.0)

    found = descent._barzilai_borwein(at(0.0, 0.0), at(moved, turned), long=long)
    assert found == ratio

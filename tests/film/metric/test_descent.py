"""The minimiser on the Stiefel manifold against closed forms, and its line search step by step."""

from itertools import count

import numpy as np
import pytest
from scipy.linalg import eigh, svd

import film.metric.descent as descent
from film.metric.descent import minimize_on_stiefel
from film.metric.stiefel import random_point, tangent_gradient
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


def lowest(A):
    """The minimum of `brockett` with four columns."""
    return -0.5 * np.arange(4, 0, -1) @ eigh(A)[0][::-1][:4]


@pytest.fixture
def steps(monkeypatch):
    """The place and length of every step that is taken."""
    taken = []
    search = descent._search

    def watched(*args):
        found = search(*args)
        if found is not None:
            taken.append(found)
        return found

    monkeypatch.setattr(descent, "_search", watched)
    return taken


@shapes
def test_brockett_gives_the_eigenvectors(r, d):
    objective, A, weights = brockett(r, d)
    result = minimize_on_stiefel(objective, random_point(r, d, 1), max_iter=1000)
    values, vectors = eigh(A)
    expected = vectors[:, ::-1][:, :d]
    signs = np.sign(np.sum(result.point * expected, axis=0))
    # The gradient, of a norm of some hundred, is brought to a millionth; the gaps are at least 1.
    assert np.abs(result.point * signs - expected).max() < 1e-4
    assert result.value == pytest.approx(-0.5 * weights @ values[::-1][:d], rel=1e-10)


@shapes
def test_procrustes_gives_the_polar_factor(r, d):
    objective, B = procrustes(r, d)
    left, _, right = svd(B, full_matrices=False)
    start = random_point(r, d, 1)
    if r == d and np.linalg.det(start) * np.linalg.det(left @ right) < 0:
        # A Cayley step keeps the determinant, so begin in the solution's component.
        start[:, 0] *= -1
    result = minimize_on_stiefel(objective, start, max_iter=1000)
    assert np.abs(result.point - left @ right).max() < 1e-5


@dtypes
@shapes
def test_every_point_is_on_the_manifold_in_the_dtype_of_the_start(r, d, dtype, steps):
    objective, _, _ = brockett(r, d, dtype=dtype)
    result = minimize_on_stiefel(objective, random_point(r, d, 1, dtype), max_iter=100)
    assert len(steps) > 1
    for point in [*(there.point for there, _ in steps), result.point]:
        assert point.dtype == dtype
        assert on_manifold(point)


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
        found = search(*args)
        outcomes.append((list(trials), found[1]))
        trials[:-1] = []
        return found

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
    result = minimize_on_stiefel(objective, start, max_iter=8)
    points = [start, *(there.point for there, _ in steps)]
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
    plain = minimize_on_stiefel(brockett(12, 4)[0], start, max_iter=100)
    # A power of two, so that the two descents round alike and agree to the bit.
    scaled = minimize_on_stiefel(brockett(12, 4, scale=2.0**exponent)[0], start, max_iter=100)
    assert np.allclose(scaled.point, plain.point, atol=1e-9)


def test_arguments_and_reused_memory_are_safe():
    objective, _, _ = brockett(12, 4)
    buffer = np.empty((12, 4))

    def reusing(P):
        value, buffer[:] = objective(P)
        return value, buffer

    start = random_point(12, 4, 1)
    before = start.copy()
    result = minimize_on_stiefel(reusing, start, max_iter=9)
    assert np.array_equal(start, before)
    plain = minimize_on_stiefel(objective, start, max_iter=9)
    assert np.array_equal(result.point, plain.point)
    assert not np.shares_memory(minimize_on_stiefel(objective, start, max_iter=0).point, start)


def test_a_descent_goes_on_from_its_result(steps):
    objective, _, _ = brockett(20, 5)
    part = minimize_on_stiefel(objective, random_point(20, 5, 0), max_iter=20)
    assert len(steps) == 20
    assert part.value == min(there.value for there, _ in steps)
    steps.clear()
    whole = minimize_on_stiefel(objective, part.point, max_iter=1000, first_step=part.step)
    assert whole.value < part.value and len(steps) < 1000
    # The first step is the one handed over, or that shrunk by the line search.
    shrinks = np.log(steps[0][1] / part.step) / np.log(0.2)
    assert shrinks == pytest.approx(round(shrinks), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_gradient_is_trusted_where_values_drown_in_rounding(seed):
    objective, _, _ = brockett(12, 4, seed)

    calls = []

    def drowned(P):
        # The last bits of a value near 1e8, which is 1.5e-8 apart from the next, come and go.
        calls.append(1)
        value, gradient = objective(P)
        return value + 1e8 + 3e-8 * (len(calls) % 3), gradient

    result = minimize_on_stiefel(drowned, random_point(12, 4, 1), max_iter=2000)
    gradient = objective(result.point)[1]
    assert np.linalg.norm(tangent_gradient(result.point, gradient)) < 1e-3 * np.linalg.norm(
        gradient
    )


@pytest.mark.parametrize("first_step", [1e-300, 1e-20, 1e20, 1e300])
def test_an_absurd_first_step_is_outgrown(first_step):
    objective, A, _ = brockett(12, 4)
    start = random_point(12, 4, 1)
    result = minimize_on_stiefel(objective, start, max_iter=1000, first_step=first_step)
    assert result.value == pytest.approx(lowest(A))


def test_a_region_of_nan_is_stepped_around(steps):
    # NaN wherever a step goes far: the line search shrinks into the region where all is well.
    objective, A, _ = brockett(12, 4)
    seen = []
    start = random_point(12, 4, 1)

    def nasty(P):
        if np.linalg.norm(P - (steps[-1][0].point if steps else start)) > 0.2:
            seen.append(1)
            return np.nan, np.full_like(P, np.nan)
        return objective(P)

    result = minimize_on_stiefel(nasty, start, max_iter=1000)
    assert seen
    assert result.value == pytest.approx(lowest(A))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["value", "gradient", "entry"])
def test_where_the_objective_breaks_the_last_good_point_is_kept(bad, where):
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

    result = minimize_on_stiefel(breaking, random_point(12, 4, 1), max_iter=100)
    # One search of 26 trials is the last.
    assert len(calls) <= 6 + 26
    assert on_manifold(result.point) and np.isfinite(result.step)
    assert result.value == objective(result.point)[0]


def test_a_gradient_of_the_wrong_sign_moves_nothing():
    objective, _, _ = brockett(12, 4)
    start = random_point(12, 4, 1)

    def wrong(P):
        value, gradient = objective(P)
        return value, -gradient

    result = minimize_on_stiefel(wrong, start, max_iter=100)
    # Steps so short that rounding decides on the value may be taken.
    assert np.allclose(result.point, start, rtol=0, atol=1e-13)


def test_a_critical_start_is_returned():
    result = minimize_on_stiefel(lambda P: (3.0, np.zeros_like(P)), np.eye(4, 2), max_iter=9)
    assert result.value == 3.0
    assert np.array_equal(result.point, np.eye(4, 2))


def test_the_users_own_errors_come_through():
    def failing(P):
        raise StopIteration("mine")

    with pytest.raises(StopIteration, match="mine"):
        minimize_on_stiefel(failing, np.eye(3, 2), max_iter=1)


def test_a_bad_objective_is_named():
    with pytest.raises(ValueError, match="objective must be finite at P0"):
        minimize_on_stiefel(lambda P: (np.nan, P), np.eye(3, 2), max_iter=1)


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
        first_step=0.5,
    )
    assert result.value == -0.125


def test_the_reference_of_the_second_step_weighs_the_first_two_values(steps):
    # Zhang and Hager, 2004: Q₀ = 1, C₁ = (0.85 · 0 − 1) / 1.85 = −0.5405.
    for refused, taken in ((-0.5404, 1), (-0.5406, 0)):
        values = [0.0, -1.0, refused, -0.9]
        minimize_on_stiefel(
            on_a_circle(values.__getitem__, lambda call: 1e-3 / (1 + call)),
            np.eye(2, 1),
            max_iter=2,
        )
        assert steps[-1][0].value == values[2 + taken]


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

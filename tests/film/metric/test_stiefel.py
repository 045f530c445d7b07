"""Laws of the Stiefel geometry, over one table of shapes."""

import numpy as np
import pytest

from film.metric.stiefel import (
    _direct_move,
    _woodbury_move,
    cayley_curve,
    orthonormality_tolerance,
    polar_retraction,
    random_point,
    tangent_gradient,
    without_drift,
)
from tests.film.metric.manifold import on_manifold

# d = 1, 2d < r, 2d = r, 2d > r, d = r, and the smallest manifolds.
SHAPES = [(1, 1), (2, 1), (5, 1), (7, 3), (8, 4), (9, 6), (6, 6), (40, 15), (60, 50)]
# St(1, 1) is the two points ±1: nothing moves there.
MOVING_SHAPES = SHAPES[1:]
DTYPES = [np.float32, np.float64]

shapes = pytest.mark.parametrize(("r", "d"), SHAPES)
moving_shapes = pytest.mark.parametrize(("r", "d"), MOVING_SHAPES)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def make_pair(r, d, dtype: type = np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return random_point(r, d, rng, dtype), rng.standard_normal((r, d)).astype(dtype)


def cayley_step(P, G, step):
    return cayley_curve(P, G)(step)


def both_forms(P, G, step):
    """A step by the small system and by the large one, whichever is taken for the shape."""
    size = np.linalg.norm(G)
    moves = (prepare(P, G / size) for prepare in (_woodbury_move, _direct_move))
    return [without_drift(move(step * size)) for move in moves]


def identity_error(P):
    return np.abs(P.T.astype(float) @ P.astype(float) - np.eye(P.shape[1])).max()


@dtypes
@shapes
def test_random_point_is_on_the_manifold_in_the_asked_dtype(r, d, dtype):
    P = random_point(r, d, 3, dtype)
    assert P.dtype == dtype
    assert P.shape == (r, d)
    assert on_manifold(P)


def test_random_point_is_the_same_for_the_same_seed_only():
    point = random_point(6, 2, 7)
    assert np.array_equal(point, random_point(6, 2, np.random.default_rng(7)))
    assert not np.allclose(point, random_point(6, 2, 8))
    # float32 is the float64 point rounded, so that a change of dtype keeps the start.
    assert np.array_equal(random_point(6, 2, 7, np.float32), point.astype(np.float32))


def test_random_point_is_uniform():
    # Under Haar measure E[p pᵀ] = I/r for each column and no entry has a preferred sign. The mean
    # of n draws of an entry, whose variance is 1/r, lies within 5 standard errors.
    n, r = 4000, 4
    rng = np.random.default_rng(0)
    draws = np.array([random_point(r, 2, rng) for _ in range(n)])
    assert np.abs(draws.mean(axis=0)).max() < 5 / np.sqrt(n * r)
    # Var(p²) = 2(r - 1) / (r²(r + 2)) on the sphere.
    spread = np.sqrt(2 * (r - 1) / (r**2 * (r + 2)) / n)
    assert np.abs((draws**2).mean(axis=0) - 1 / r).max() < 5 * spread


@dtypes
@shapes
def test_polar_retraction_lands_on_the_manifold_and_is_idempotent(r, d, dtype):
    _, G = make_pair(r, d, dtype)
    once = polar_retraction(G)
    assert once.dtype == dtype
    assert on_manifold(once)
    twice = polar_retraction(once)
    assert np.abs(twice - once).max() <= orthonormality_tolerance(r, dtype)


@shapes
def test_polar_retraction_is_the_nearest_point(r, d):
    _, G = make_pair(r, d)
    nearest = np.linalg.norm(G - polar_retraction(G))
    rivals = [np.linalg.norm(G - random_point(r, d, seed)) for seed in range(30)]
    # QR's orthonormal factor is a near rival, equal only for one column.
    Q, R = np.linalg.qr(G)
    rivals.append(np.linalg.norm(G - Q * np.sign(np.diag(R))))
    assert nearest <= min(rivals) + 1e-12


def test_polar_retraction_of_a_rank_deficient_matrix_is_on_the_manifold():
    assert on_manifold(polar_retraction(np.zeros((4, 2))))
    assert on_manifold(polar_retraction(np.ones((4, 2))))


@dtypes
@shapes
def test_tangent_gradient_is_tangent(r, d, dtype):
    P, G = make_pair(r, d, dtype)
    Z = tangent_gradient(P, G)
    assert Z.dtype == dtype
    symmetric = P.T @ Z + Z.T @ P
    # Rounding of two products over r entries, in the size of G.
    assert np.abs(symmetric).max() <= 4 * orthonormality_tolerance(r, dtype) * np.linalg.norm(G)


@shapes
def test_tangent_gradient_vanishes_exactly_at_critical_points(r, d):
    P, G = make_pair(r, d)
    S = G[:d] + G[:d].T
    assert np.abs(tangent_gradient(P, P @ S)).max() < 1e-12 * max(1, np.linalg.norm(S))
    if r > 1:
        assert np.linalg.norm(tangent_gradient(P, G)) > 1e-3


@moving_shapes
def test_tangent_gradient_points_uphill(r, d):
    P, G = make_pair(r, d)
    Z = tangent_gradient(P, G)
    A = G @ P.T - P @ G.T
    assert np.allclose(A @ P, Z, atol=1e-12)
    assert np.sum(G * Z) == pytest.approx(np.sum(A * A) / 2)


@dtypes
@shapes
def test_every_cayley_step_of_a_walk_stays_on_the_manifold(r, d, dtype):
    P, _ = make_pair(r, d, dtype)
    rng = np.random.default_rng(1)
    for step in 10.0 ** rng.uniform(-6, 6, size=60):
        P = cayley_step(P, rng.standard_normal((r, d)).astype(dtype), step)
        assert P.dtype == dtype
        assert identity_error(P) <= 1.01 * orthonormality_tolerance(r, dtype)


@dtypes
@pytest.mark.parametrize("step", [1e-4, 0.1, 1.0, 30.0, -0.5])
@shapes
def test_woodbury_equals_direct(r, d, step, dtype):
    P, G = make_pair(r, d, dtype)
    small, large = both_forms(P, G, step)
    # The small system's condition grows with the square of the step in units of G.
    worst = 1 + (step * np.linalg.norm(G)) ** 2
    assert np.abs(small - large).max() <= orthonormality_tolerance(r, dtype) * worst


@pytest.mark.parametrize("step", [1e-3, 0.7, 20.0])
@shapes
def test_cayley_step_is_equation_24(r, d, step):
    P, G = make_pair(r, d)
    A = G @ P.T - P @ G.T
    identity = np.eye(r)
    expected = np.linalg.inv(identity + step / 2 * A) @ (identity - step / 2 * A) @ P
    assert np.allclose(cayley_step(P, G, step), expected, atol=1e-9)


@moving_shapes
def test_the_retraction_is_first_order(r, d):
    P, G = make_pair(r, d)
    G /= np.linalg.norm(G)
    Z = tangent_gradient(P, G)
    curve = cayley_curve(P, G)
    steps = np.array([1e-1, 1e-2, 1e-3])
    central = [(curve(t) - curve(-t)) / (2 * t) for t in steps]
    errors = [np.linalg.norm(slope + Z) for slope in central]
    # Central differences err by O(τ²): a hundredth as much for a tenth of the step.
    orders = np.diff(np.log10(errors)) / np.diff(np.log10(steps))
    assert errors[-1] < 1e-5
    assert orders == pytest.approx([2, 2], abs=0.1)
    # The curve leaves its tangent by O(τ²): a step of the wrong length would leave it by O(τ).
    apart = [np.linalg.norm(curve(t) - P + t * Z) for t in steps]
    assert np.diff(np.log10(apart)) / np.diff(np.log10(steps)) == pytest.approx([2, 2], abs=0.1)


@shapes
def test_step_zero_and_a_critical_point_stay(r, d):
    P, G = make_pair(r, d)
    assert np.allclose(cayley_step(P, G, 0.0), P, atol=1e-15)
    critical = P @ (G[:d] + G[:d].T)
    assert np.allclose(cayley_step(P, critical, 1.0), P, atol=1e-12)
    assert np.array_equal(cayley_step(P, np.zeros_like(P), 1.0), P)


@moving_shapes
def test_a_step_near_a_critical_point_keeps_its_digits(r, d):
    # G is 1e4 times its tangent part, as at the end of a descent; the step is long for the part.
    P = np.eye(r, d)
    rest = np.random.default_rng(0).standard_normal((r, d))
    G = 1e4 * P * np.arange(1, d + 1) + rest
    exact = cayley_step(P, G, 1.0)
    single = cayley_step(P.astype(np.float32), G.astype(np.float32), 1.0)
    # Entries of G carry eps · 1e4 · d at most, of which a step of 1 passes on as much.
    assert np.abs(single - exact).max() <= 1e4 * d * np.finfo(np.float32).eps


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
@dtypes
@moving_shapes
def test_units_of_the_gradient_cancel_against_the_step(r, d, dtype, scale):
    P, G = make_pair(r, d, dtype)
    plain = cayley_step(P, G, 0.3)
    scaled = cayley_step(P, (G * scale).astype(dtype), 0.3 / scale)
    limit = 10 * orthonormality_tolerance(r, dtype) * np.linalg.norm(G)
    assert np.abs(plain - scaled).max() <= limit


def test_drift_is_put_right_and_only_drift():
    P, G = make_pair(7, 3)
    drifted = P * (1 + 1e-6)
    assert identity_error(drifted) > 1e-7
    assert identity_error(cayley_step(drifted, G, 1e-3)) < 1e-14
    assert identity_error(without_drift(drifted)) < 1e-14
    assert without_drift(P) is P


@dtypes
@pytest.mark.parametrize("r", [1, 4, 64])
def test_an_entry_may_drift_by_just_the_tolerance(r, dtype):
    # Ten eps √r as written, where (1 + δ)² − 1 is 2δ but for eps²: one product, which rounds alike
    # however it is summed.
    eps, tolerance = np.finfo(dtype).eps, 10 * np.finfo(dtype).eps * np.sqrt(r)
    assert orthonormality_tolerance(r, dtype) == tolerance
    kept, mended = (
        np.eye(r, 1, dtype=dtype) * dtype(1 + d) for d in (tolerance / 2, tolerance / 2 + eps)
    )
    assert without_drift(kept) is kept
    assert np.array_equal(without_drift(mended), np.eye(r, 1))


@pytest.mark.parametrize(("r", "d"), MOVING_SHAPES)
def test_a_step_solves_the_smaller_of_both_systems(r, d, monkeypatch):
    sizes = []
    solve = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda A, b: sizes.append(len(A)) or solve(A, b))
    cayley_step(*make_pair(r, d), 0.1)
    assert sizes == [min(2 * d, r)]


def test_components_of_the_orthogonal_group_are_never_left():
    P, G = make_pair(6, 6)
    for step in (0.1, 1.0, 100.0):
        assert np.linalg.det(cayley_step(P, G, step)) == pytest.approx(np.linalg.det(P))


def test_no_argument_is_changed_or_kept():
    P, G = make_pair(7, 3)
    before = P.copy(), G.copy()
    curve = cayley_curve(P, G)
    expected = curve(0.5)
    assert np.array_equal(P, before[0])
    assert np.array_equal(G, before[1])
    P[:], G[:] = 0, 0
    assert np.array_equal(curve(0.5), expected)

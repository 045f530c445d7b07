"""FILM's objective against the paper's own n x n matrices and against finite differences."""

import tracemalloc

import numpy as np
import pytest

import film.metric.objective as objective
from film.metric.descent import minimize_on_stiefel
from film.metric.objective import (
    curvatures,
    hinge_arguments,
    leading_eigenvectors,
    pull_matrix,
    smooth_objective,
    true_objective,
)
from film.metric.stiefel import random_point, tangent_gradient
from film.metric.triplets import anchor_sums
from tests.film.metric.manifold import on_manifold

N, R, D = 12, 5, 3
seeds = pytest.mark.parametrize("seed", range(5))


class Paper:
    """Steps 1 to 4 as printed: explicit C, T and Λ, samples as columns."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.triplets = [tuple(rng.choice(N, 3, replace=False)) for _ in range(20)]
        self.V = np.linalg.qr(rng.standard_normal((N, R)))[0]
        self.P = random_point(R, D, rng)
        self.s = rng.uniform(0, 3, D)
        # Small against the hinge, so that some anchors are active and some are not.
        self.m = 0.02
        own = [[t for t in self.triplets if t[0] == i] for i in range(N)]
        self.C = np.zeros((N, N))
        for i, j, k in self.triplets:
            self.C[j, i] += 1
            self.C[k, i] -= 1
        self.T = np.diag([1 / (len(of_i) + 1) for of_i in own])
        self.own = own
        B = np.diag(np.sqrt(self.s)) @ self.P.T
        self.Y = B @ self.V.T
        self.z = np.diag(-self.Y.T @ self.Y @ self.C @ self.T)
        has = np.array([len(of_i) > 0 for of_i in own])
        self.active = (self.z + self.m > 0) & has
        self.Lambda = np.diag(self.active.astype(float))
        self.K = -self.V.T @ self.C @ self.T @ self.Lambda @ self.V
        self.anchors, self.pulls = anchor_sums(np.array(self.triplets), self.V)
        self.points = self.V[self.anchors]


@seeds
def test_hinge_arguments_are_average_similarity_differences(seed):
    paper = Paper(seed)
    z = hinge_arguments(paper.P, paper.s, paper.points, paper.pulls)
    assert np.allclose(z, paper.z[paper.anchors], atol=1e-14)
    # Eq. 4 and 8 once more, by a loop over triplets and Eq. 1.
    y = paper.Y.T
    for value, i in zip(z, paper.anchors, strict=True):
        total = sum(y[i] @ y[k] - y[i] @ y[j] for _, j, k in paper.own[i])
        assert value == pytest.approx(total / (len(paper.own[i]) + 1), abs=1e-14)


def test_an_ordered_triplet_has_a_negative_argument_and_a_violated_one_a_positive():
    P, s = np.eye(2), np.ones(2)
    v = np.array([[1.0, 0.0]])
    ordered, violated = (hinge_arguments(P, s, v, a * np.eye(1, 2))[0] for a in (1, -1))
    assert ordered < 0 < violated
    assert true_objective(np.array([ordered]), s, 0.5) < true_objective(
        np.array([violated]), s, 0.5
    )


@seeds
def test_the_pull_matrix_is_the_papers(seed):
    paper = Paper(seed)
    active = paper.active[paper.anchors]
    assert active.any()
    assert not active.all()
    K = pull_matrix(paper.points, paper.pulls, active)
    assert np.allclose(K, paper.K, atol=1e-15)
    z = hinge_arguments(paper.P, paper.s, paper.points, paper.pulls)
    assert np.array_equal(z + paper.m > 0, active)
    # Eq. 10 = Eq. 13: the sum of active arguments, without and with the trace trick.
    S = np.diag(paper.s)
    assert np.trace(paper.P @ S @ paper.P.T @ K) == pytest.approx(z[active].sum(), abs=1e-14)
    assert -curvatures(paper.P, K) @ paper.s == pytest.approx(z[active].sum(), abs=1e-14)


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_pull_matrix_takes_all_none_and_parts_of_activities(monkeypatch, rows):
    monkeypatch.setattr(objective, "_ROWS", rows)
    paper = Paper(0)
    rng = np.random.default_rng(0)
    m = len(paper.points)
    for activity in (
        np.ones(m, dtype=bool),
        np.ones(m),
        np.zeros(m, dtype=bool),
        np.zeros(m),
        rng.random(m),
        rng.random(m) * (rng.random(m) < 0.5),
        rng.random(m) < 0.5,
    ):
        wanted = np.zeros((R, R))
        for a, v, weight in zip(paper.pulls, paper.points, activity, strict=True):
            wanted -= weight * np.outer(a, v)
        assert np.allclose(pull_matrix(paper.points, paper.pulls, activity), wanted, atol=1e-15)


def test_an_updated_pull_matrix_copies_no_more_than_a_block_of_rows():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((100_000, 20)).astype("f4")
    activity = rng.random(len(points))
    tracemalloc.start()
    K = pull_matrix(points, points, activity)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Two copied blocks, the next one's first, and the row numbers; the points are five times that.
    assert peak < 3 * objective._ROWS * 20 * 4 + 100_000 * 8 + 1e6 < points.nbytes
    wanted = -(points.T.astype(float) * activity) @ points
    # Sums of 1e5 terms of size 1, by float32: eps √n of ‖·‖ in each entry.
    np.testing.assert_allclose(K, wanted, rtol=0, atol=100_000 * 1e-6)


def test_float32_stays_float32():
    paper = Paper(0)
    points, pulls = paper.points.astype("f4"), paper.pulls.astype("f4")
    P, s = paper.P.astype("f4"), paper.s.astype("f4")
    for activity in (np.ones(len(points), dtype=bool), np.full(len(points), 0.3)):
        K = pull_matrix(points, pulls, activity)
        assert K.dtype == np.float32
        assert smooth_objective(P, K)[1].dtype == np.float32
        assert curvatures(P, K).dtype == np.float32
    assert hinge_arguments(P, s, points, pulls).dtype == np.float32


@seeds
def test_curvatures_give_the_weights_that_minimise_the_regularised_objective(seed):
    paper = Paper(seed)
    rng = np.random.default_rng(seed)
    K = rng.standard_normal((R, R))
    k = curvatures(paper.P, K)
    for column, got in zip(paper.P.T, k, strict=True):
        assert got == pytest.approx(-column @ K @ column, abs=1e-14)

    def f0(s):
        # Eq. 14 with Λ constant and without M(Λ).
        return np.trace(paper.P @ np.diag(s) @ paper.P.T @ K) + 0.5 * np.sum(s**2)

    best = np.maximum(k, 0)
    # Eq. 16 is its value.
    assert f0(best) == pytest.approx(0.5 * np.sum(-k * np.maximum(0, k)), abs=1e-14)
    for _ in range(20):
        other = np.abs(best + 0.1 * rng.standard_normal(D))
        assert f0(other) > f0(best)


@seeds
@pytest.mark.parametrize(("r", "d"), [(6, 1), (7, 3), (5, 5)])
def test_the_gradient_is_that_of_finite_differences(seed, r, d):
    rng = np.random.default_rng(seed)
    # Neither symmetric nor of one sign, so that every k_l and both halves of K + Kᵀ matter.
    K = rng.standard_normal((r, r))
    P = random_point(r, d, rng)
    _, gradient = smooth_objective(P, K)
    step = 1e-6
    for entry in np.ndindex(r, d):
        move = np.zeros((r, d))
        move[entry] = step
        difference = smooth_objective(P + move, K)[0] - smooth_objective(P - move, K)[0]
        # Central differences: h² from the third derivative, eps/h from rounding.
        assert gradient[entry] == pytest.approx(difference / (2 * step), abs=1e-8)


@seeds
def test_the_smooth_objective_is_the_papers_sum(seed):
    rng = np.random.default_rng(seed)
    K, P = rng.standard_normal((R, R)), random_point(R, D, rng)
    total = 0.0
    for p in P.T:
        k = -p @ K @ p
        total += -0.5 * k * -np.log(1 / (1 + np.exp(k)))
    assert smooth_objective(P, K)[0] == pytest.approx(total, abs=1e-14)


def test_the_smooth_objective_nears_eq_16_for_a_large_k_and_does_not_overflow():
    P = np.eye(3, 2)
    for size in (50.0, 5000.0):
        # Softplus of 50 differs from 50 by e^-50; below zero both vanish.
        K = np.diag([-size, size, 0.0])
        value, gradient = smooth_objective(P, K)
        assert value == pytest.approx(-0.5 * size**2, rel=1e-12)
        assert np.allclose(gradient[:, 0], [-2 * size * size, 0, 0], rtol=1e-12)
        assert np.allclose(gradient[:, 1], 0, atol=1e-15)


@seeds
def test_the_true_objective_is_eq_5_with_the_penalty_by_a_loop_over_samples(seed):
    paper = Paper(seed)
    y = paper.Y.T
    total = 0.0
    for i in paper.anchors:
        average = sum(y[i] @ y[k] - y[i] @ y[j] for _, j, k in paper.own[i])
        total += max(0.0, average / (len(paper.own[i]) + 1) + paper.m)
    total += 0.5 * sum(weight**2 for weight in paper.s)
    z = hinge_arguments(paper.P, paper.s, paper.points, paper.pulls)
    assert true_objective(z, paper.s, paper.m) == pytest.approx(total, abs=1e-13)
    # ½‖M‖² of the matrix that the weights belong to.
    M = paper.P @ np.diag(paper.s) @ paper.P.T
    assert true_objective(z, paper.s, -9.0) == pytest.approx(0.5 * np.sum(M**2), abs=1e-13)


@seeds
def test_fixed_activities_bound_the_true_objective_from_below(seed):
    paper = Paper(seed)
    rng = np.random.default_rng(seed)
    z = hinge_arguments(paper.P, paper.s, paper.points, paper.pulls)
    true = true_objective(z, paper.s, paper.m)

    def bound(activity):
        K = pull_matrix(paper.points, paper.pulls, activity)
        linear = -curvatures(paper.P, K) @ paper.s + paper.m * activity.sum()
        return linear + 0.5 * np.sum(paper.s**2)

    for _ in range(10):
        assert bound(rng.random(len(z))) < true
    assert bound(z + paper.m > 0) == pytest.approx(true, abs=1e-14)


def test_the_true_objective_is_summed_in_float64():
    z = np.full(3_000_000, 0.1, dtype=np.float32)
    exact = 3_000_000 * (float(np.float32(0.1)) + 0.25) + 0.5
    assert true_objective(z, np.ones(1, dtype=np.float32), 0.25) == pytest.approx(exact, rel=1e-12)


@seeds
@pytest.mark.parametrize("d", [1, 3, 7])
def test_leading_eigenvectors_are_numpys(seed, d):
    K = np.random.default_rng(seed).standard_normal((7, 7))
    k, P = leading_eigenvectors(K, d)
    values, vectors = np.linalg.eigh(-(K + K.T) / 2)
    assert np.allclose(k, values[::-1][:d], atol=1e-13)
    assert np.allclose(np.abs(np.sum(P * vectors[:, ::-1][:, :d], axis=0)), 1)
    assert np.allclose(curvatures(P, K), k)
    assert on_manifold(P)
    assert (P[np.abs(P).argmax(axis=0), range(d)] > 0).all()


@seeds
def test_leading_eigenvectors_minimise_the_smooth_objective(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((9, 12))
    K = -(B @ B.T) / 10 + 0.3 * (lambda N: N - N.T)(rng.standard_normal((9, 9)))
    _, P = leading_eigenvectors(K, 3)
    value, gradient = smooth_objective(P, K)
    assert np.linalg.norm(tangent_gradient(P, gradient)) < 1e-12
    result = minimize_on_stiefel(
        lambda point: smooth_objective(point, K), random_point(9, 3, rng), max_iter=2000
    )
    assert result.value == pytest.approx(value, abs=1e-8)
    assert np.allclose(result.point @ result.point.T, P @ P.T, atol=1e-4)

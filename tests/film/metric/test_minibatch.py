"""The mini-batch step against a plain transcription of its description, and its laws."""

import numpy as np
import pytest
import scipy.sparse as sp

from film.metric.minibatch import batch_step, initial_components, retract_step
from film.metric.objective import smooth_objective
from film.metric.stiefel import random_point, tangent_gradient
from film.metric.svd import project
from film.metric.triplets import ordered_share, triplets_from_labels
from tests.film.metric.manifold import on_manifold

seeds = pytest.mark.parametrize("seed", range(4))


def batch(seed=0, n=14, D=9, d=3, noise=0.5):
    """Rows in noisy groups, their triplets, and a map to start from."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    X = rng.standard_normal((4, D))[labels] + noise * rng.standard_normal((n, D))
    triplets = triplets_from_labels(labels, n_random=2, random_state=seed)
    return rng.standard_normal((d, D)), X, triplets


def plain_step(L, X, triplets, J, margin, rank):
    """The same step, by loops and dense algebra; the new L, the loss and the active share."""
    d = len(L)
    V, sigma, Ut = np.linalg.svd(X, full_matrices=False)
    V, sigma, U = V[:, :rank], sigma[:rank], Ut[:rank].T
    r = len(sigma)
    # y = B v with B = L U Σ, and B = Q diag(√s) Pᵀ.
    B = L @ U @ np.diag(sigma)
    s, P = np.linalg.eigh(B.T @ B)
    s, P = s[::-1][:d], P[:, ::-1][:, :d]
    Q = B @ P / np.sqrt(s)

    anchors = sorted(set(triplets[:, 0].tolist()))
    pulls = {}
    for i in anchors:
        own = [(j, k) for a, j, k in triplets.tolist() if a == i]
        pulls[i] = sum(V[j] - V[k] for j, k in own) / (len(own) + 1)
    K_all = -sum(np.outer(pulls[i], V[i]) for i in anchors)
    scale = np.linalg.eigvalsh(-(K_all + K_all.T) / 2)[-1]

    Y = (B @ V.T).T
    m = margin * np.mean(np.sum(Y**2, axis=1))
    z = {i: -Y[i] @ (B @ pulls[i]) for i in anchors}
    active = [i for i in anchors if z[i] + m > 0]
    loss = sum(max(0, z[i] + m) for i in anchors) / (m / margin)
    K = -sum(np.outer(pulls[i], V[i]) for i in active) / scale

    G = np.zeros((r, d))
    for column in range(d):
        p = P[:, column]
        k = -p @ K @ p
        softplus, sigmoid = np.log1p(np.exp(k)), 1 / (1 + np.exp(-k))
        G[:, column] = 0.5 * (softplus + k * sigmoid) * (K + K.T) @ p
    F = G - P @ G.T @ P
    moved = P - np.sqrt(d) / np.sqrt(J) * F / np.linalg.norm(F)
    W, _, Zt = np.linalg.svd(moved, full_matrices=False)
    P = W @ Zt
    weights = np.array([max(0.0, -p @ K @ p) for p in P.T])
    new = L
    if weights.any():
        weights *= np.sum(s) / np.sum(weights)
        L_batch = Q @ np.diag(np.sqrt(weights)) @ P.T @ np.diag(1 / sigma) @ U.T
        mixed = L @ U @ U.T + (L_batch - L @ U @ U.T) / np.sqrt(J)
        # As long on the batch as the map was.
        mixed *= np.linalg.norm(B) / np.linalg.norm(mixed @ U * sigma)
        new = L - L @ U @ U.T + mixed
    return new, loss / len(anchors), len(active) / len(anchors)


@seeds
@pytest.mark.parametrize("J", [1, 4, 50])
@pytest.mark.parametrize("margin", [0.1, 1.0])
def test_a_step_is_as_described(seed, J, margin):
    L, X, triplets = batch(seed)
    new, loss, share = plain_step(L, X, triplets, J, margin, rank=9)
    step = batch_step(L, X, triplets, n_steps=J, margin=margin, rank=9, random_state=0)
    assert np.allclose(step.components, new, atol=1e-10)
    assert step.loss == pytest.approx(loss)
    assert step.active_share == share
    assert J > 1 or margin > 0.5 or share < 1


@seeds
def test_a_step_of_lower_rank_uses_leading_directions_only(seed):
    L, X, triplets = batch(seed)
    new, _, _ = plain_step(L, X, triplets, 2, 1.0, rank=5)
    step = batch_step(L, X, triplets, n_steps=2, margin=1.0, rank=5, random_state=0)
    assert np.allclose(step.components, new, atol=1e-10)


@seeds
def test_steps_on_one_batch_order_its_triplets(seed):
    L, X, triplets = batch(seed, n=40, D=30, noise=1.0)
    before = ordered_share(project(X, L), triplets)
    losses = []
    for J in range(1, 41):
        step = batch_step(L, X, triplets, n_steps=J, margin=0.5, rank=30)
        L = step.components
        losses.append(step.loss)
    after = ordered_share(project(X, L), triplets)
    assert after > max(0.95, before + 0.1)
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("n", [10, 60])
def test_sparse_rows_are_dense_rows(n):
    L, X, triplets = batch(0, n=n, D=40)
    X[np.abs(X) < 0.7] = 0
    dense, sparse = (
        batch_step(L, M, triplets, n_steps=2, margin=0.5, rank=12, random_state=0)
        for M in (X, sp.csr_array(X))
    )
    assert np.allclose(sparse.components, dense.components, atol=1e-6)


def test_float32_stays_float32():
    L, X, triplets = batch(0)
    double = batch_step(L, X, triplets, n_steps=2, margin=0.5, rank=9)
    single = batch_step(L.astype("f4"), X.astype("f4"), triplets, n_steps=2, margin=0.5, rank=9)
    assert single.components.dtype == np.float32
    assert np.allclose(single.components, double.components, atol=1e-3)


def test_more_dimensions_than_the_batch_has_directions():
    L, X, triplets = batch(0, n=5, D=9, d=7)
    step = batch_step(L, X, triplets, n_steps=1, margin=1.0, rank=9)
    assert step.components.shape == (7, 9)
    assert np.isfinite(step.components).all()
    assert not np.allclose(step.components, L)


def test_a_batch_without_a_direction_changes_nothing():
    # The dissimilar point is the anchor itself in other units, and the similar one its opposite.
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]])
    L = np.array([[1.0, 2.0]])
    step = batch_step(L, X, np.array([[0, 1, 2]]), n_steps=1, margin=1.0, rank=2)
    assert np.array_equal(step.components, L)
    # y = 1, -1, 1: z = ½ (y0 y2 - y0 y1) = 1, mean ‖y‖² = 1 and so m = 1.
    assert step.loss == pytest.approx(2.0)
    assert step.active_share == 1


@pytest.mark.parametrize("size", [3, 80])
def test_a_batch_of_zeros_changes_nothing(size):
    L = np.random.default_rng(0).standard_normal((2, size))
    step = batch_step(
        L, np.zeros((size, size)), np.array([[0, 1, 2]]), n_steps=1, margin=1.0, rank=3
    )
    assert np.array_equal(step.components, L)


def test_a_batch_in_which_all_is_well_changes_nothing():
    X = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.1]])
    L = np.eye(2)
    step = batch_step(L, X, np.array([[0, 1, 2]]), n_steps=1, margin=0.0, rank=2)
    assert np.array_equal(step.components, L)
    assert step.active_share == 0
    assert step.loss == 0


def test_arguments_are_not_changed():
    args = batch(0)
    kept = [a.copy() for a in args]
    batch_step(*args, n_steps=1, margin=1.0, rank=9)
    assert all(np.array_equal(a, b) for a, b in zip(args, kept, strict=True))


def test_the_first_map_is_a_random_projection_that_keeps_cosines():
    L = initial_components(400, 50, 0, np.dtype("f8"))
    # 20,000 normal entries: mean and variance within 5 standard errors.
    assert abs(L.mean()) < 5 * np.sqrt(1 / 400 / L.size)
    assert L.var() == pytest.approx(1 / 400, rel=5 * np.sqrt(2 / L.size))
    X = np.random.default_rng(1).standard_normal((2, 50))
    # A scalar product is off by some √(2/d) of the lengths.
    assert np.allclose(project(X, L) @ project(X, L).T, X @ X.T, atol=5 * 50 * np.sqrt(2 / 400))
    assert np.array_equal(L, initial_components(400, 50, np.random.default_rng(0), L.dtype))
    assert not np.array_equal(L, initial_components(400, 50, 1, L.dtype))
    assert initial_components(2, 3, 0, np.dtype("f4")).dtype == np.float32


@seeds
def test_a_step_descends_along_the_tangent_gradient_by_the_length_asked(seed):
    rng = np.random.default_rng(seed)
    K, P = rng.standard_normal((9, 9)), random_point(9, 3, rng)
    value, gradient = smooth_objective(P, K)
    direction = tangent_gradient(P, gradient)
    assert np.allclose(retract_step(P, K, 0.0), P, atol=1e-14)
    h = 1e-6
    velocity = (retract_step(P, K, h) - retract_step(P, K, -h)) / (2 * h)
    assert np.allclose(velocity, -np.sqrt(3) * direction / np.linalg.norm(direction), atol=1e-8)
    for step in (1e-3, 0.1, 1.0):
        moved = retract_step(P, K, step)
        assert on_manifold(moved)
        assert step > 0.1 or smooth_objective(moved, K)[0] < value


def test_a_step_from_a_critical_point_stays_and_float32_stays():
    P = np.eye(3, 1)
    assert np.array_equal(retract_step(P, np.diag([-1.0, 0.0, 0.0]), 0.5), P)
    P32 = random_point(6, 2, 0, np.float32)
    K = np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32)
    assert retract_step(P32, K, 0.3).dtype == np.float32

"""Pulls of pairs against a cosine, by loops."""

import numpy as np
import pytest

from film.metric import threshold_pulls


def unit_points(n=8, r=4, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, r))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def looped(triplets, points, threshold, similar_weight):
    rows = []
    for column, weight in ((1, similar_weight), (2, -1)):
        for i, other in sorted({(t[0], t[column]) for t in triplets.tolist()}):
            if points[i].any() and points[other].any():
                rows.append((i, weight * (points[other] - threshold * points[i])))
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    points = unit_points(seed=seed)
    points[3] = 0
    triplets = np.array([rng.choice(8, 3, replace=False) for _ in range(30)])
    anchors, pulls = threshold_pulls(triplets, points, 0.3, 0.7)
    expected = looped(triplets, points, 0.3, 0.7)
    assert anchors.tolist() == [i for i, _ in expected]
    np.testing.assert_allclose(pulls, [pull for _, pull in expected], rtol=0, atol=1e-15)


def test_a_pair_pulls_once_however_many_triplets_it_is_in():
    points = unit_points()
    one = threshold_pulls(np.array([[0, 1, 2]]), points, 0.5)
    many = threshold_pulls(np.array([[0, 1, 2], [0, 1, 2]]), points, 0.5)
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])
    assert threshold_pulls(np.array([[0, 1, 2], [0, 3, 2]]), points, 0.5)[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("threshold", [0.2, 0.9])
def test_the_sign_of_a_pull_is_that_of_the_side_a_pair_is_on(threshold):
    """z = −v_i · pull at the map of the identity is below 0 just where the pair is right."""
    points = unit_points(20, 3)
    triplets = np.array([[i, (i + 1) % 20, (i + 2) % 20] for i in range(20)])
    anchors, pulls = threshold_pulls(triplets, points, threshold)
    z = -np.einsum("nr,nr->n", points[anchors], pulls)
    similar = np.einsum("nr,nr->n", points[:20], np.roll(points, -1, axis=0))
    dissimilar = np.einsum("nr,nr->n", points[:20], np.roll(points, -2, axis=0))
    right = np.concatenate([similar > threshold, dissimilar < threshold])
    np.testing.assert_array_equal(z < 0, right)


def test_float32_stays():
    points = unit_points().astype(np.float32)
    assert threshold_pulls(np.array([[0, 1, 2]]), points, 0.5)[1].dtype == np.float32

"""Nearest dissimilar points against a loop over all points."""

import numpy as np
import pytest

from film.metric.neighbours import nearest_dissimilar


def brute(points, anchors, labels, count):
    found = np.full((len(anchors), count), -1)
    for row, anchor in enumerate(anchors):
        scored = []
        for other in range(len(points)):
            lengths = np.linalg.norm(points[anchor]) * np.linalg.norm(points[other])
            if labels[other] != labels[anchor] and np.any(points[other]):
                cosine = points[anchor] @ points[other] / lengths if lengths else 0.0
                scored.append((-cosine, other))
        nearest = [other for _, other in sorted(scored)[:count]]
        found[row, : len(nearest)] = nearest
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_those_of_a_loop(seed, dtype):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((40, 5)).astype(dtype)
    # Lengths must not matter.
    points *= rng.uniform(0.1, 10, (40, 1)).astype(dtype)
    labels = rng.integers(0, 6, 40)
    anchors = rng.permutation(40)[:15]
    found = nearest_dissimilar(points, anchors, labels, 7)
    assert found.dtype == np.intp
    assert np.array_equal(found, brute(points.astype(float), anchors, labels, 7))


def test_labels_may_be_of_any_order_and_gaps():
    points = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]])
    found = nearest_dissimilar(points, np.array([3, 0]), np.array([900, -5, 900, 7]), 2)
    assert found.tolist() == [[2, 1], [1, 3]]


def test_zero_rows_are_nobodys_neighbour():
    rng = np.random.default_rng(0)
    points = -np.abs(rng.standard_normal((9, 3)))
    points[0] *= -1
    points[[2, 5]] = 0
    # Every cosine with point 0 is negative, so that zero rows would come first as neighbours.
    found = nearest_dissimilar(points, np.array([0]), np.arange(9), 8)
    assert sorted(found[0].tolist()) == [-1, -1, 1, 3, 4, 6, 7, 8]
    assert found[0, -2:].tolist() == [-1, -1]


def test_missing_neighbours_are_minus_one_at_the_end():
    points = np.random.default_rng(0).standard_normal((4, 2))
    found = nearest_dissimilar(points, np.arange(4), np.array([0, 0, 0, 1]), 3)
    assert found[:3].tolist() == [[3, -1, -1]] * 3
    assert sorted(found[3].tolist()) == [0, 1, 2]
    assert (nearest_dissimilar(points, np.arange(4), np.zeros(4, dtype=int), 2) == -1).all()
    assert (nearest_dissimilar(points, np.arange(4), np.arange(4), 9)[:, 3:] == -1).all()


def test_only_zeros_leave_no_neighbour():
    assert nearest_dissimilar(np.zeros((3, 2)), np.array([0]), np.arange(3), 2).tolist() == [
        [-1, -1]
    ]


def test_an_anchor_of_zeros_gets_valid_neighbours():
    points = np.vstack([np.zeros((1, 2)), np.eye(2)])
    found = nearest_dissimilar(points, np.array([0]), np.array([0, 1, 2]), 2)
    assert sorted(found[0].tolist()) == [1, 2]


def test_blocks_of_anchors_change_nothing():
    # 32 million cosines are a block; the anchors on either side of its edge are compared.
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60_000, 3)).astype(np.float32)
    labels = rng.integers(0, 3, 60_000)
    edge = 32_000_000 // len(points)
    anchors = rng.permutation(60_000)[: edge + 3]
    whole = nearest_dissimilar(points, anchors, labels, 2)
    around = slice(edge - 3, edge + 3)
    assert np.array_equal(whole[around], nearest_dissimilar(points, anchors[around], labels, 2))
    assert (labels[whole] != labels[anchors][:, None]).all()


def test_points_are_not_changed():
    points = np.random.default_rng(0).standard_normal((6, 2))
    kept = points.copy()
    nearest_dissimilar(points, np.arange(6), np.arange(6), 2)
    assert np.array_equal(points, kept)

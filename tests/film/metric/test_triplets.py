"""Checking, mining and summing triplets, against loops over the definitions."""

import itertools
import re

import numpy as np
import pytest

import film.metric.triplets as triplets_module
from film.metric.triplets import (
    anchor_sums,
    check_triplets,
    ordered_share,
    triplets_from_labels,
    triplets_from_pairs,
)


def rows_of(triplets):
    return [tuple(row) for row in triplets.tolist()]


def closure(pairs, y, n_points):
    """Clusters of positive pairs by merging sets until nothing changes."""
    clusters = [{point} for point in range(n_points)]
    for (first, second), label in zip(pairs, y, strict=True):
        if label:
            a = next(c for c in clusters if first in c)
            b = next(c for c in clusters if second in c)
            if a is not b:
                clusters.remove(b)
                a |= b
    names = np.empty(n_points, dtype=int)
    for name, cluster in enumerate(clusters):
        names[list(cluster)] = name
    return names


def random_pairs(seed, n_points=30, n_pairs=40):
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(n_points, 2, replace=False) for _ in range(n_pairs)])
    return pairs, (rng.random(n_pairs) < 0.35).astype(int)


def every_triplet(clusters, dissimilar_of):
    """All (anchor, mate, dissimilar) with both mates of a cluster and listed dissimilar points."""
    points = range(len(clusters))
    return {
        (i, j, k)
        for i, j in itertools.permutations(points, 2)
        if clusters[i] == clusters[j]
        for k in dissimilar_of(i)
    }


@pytest.mark.parametrize("seed", range(5))
def test_labelled_negatives_alone_are_mined_as_a_loop_would(seed, monkeypatch):
    monkeypatch.setattr(triplets_module, "MAX_SIMILAR", 99)
    pairs, y = random_pairs(seed)
    clusters = closure(pairs, y, 30)

    def labelled(i):
        ends = [(a, b) for (a, b), label in zip(pairs.tolist(), y, strict=True) if not label]
        others = [b for a, b in ends if a == i] + [a for a, b in ends if b == i]
        # Negatives inside a cluster contradict the closure.
        return {k for k in others if clusters[k] != clusters[i]}

    mined = rows_of(triplets_from_pairs(pairs, y, 30, n_random=0))
    assert len(mined) == len(set(mined))
    assert set(mined) == every_triplet(clusters, labelled)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_random", [1, 3])
def test_laws_of_mining_from_pairs(seed, n_random):
    pairs, y = random_pairs(seed)
    clusters = closure(pairs, y, 30)
    triplets = triplets_from_pairs(pairs, y, 30, n_random=n_random, random_state=seed)
    anchor, similar, dissimilar = triplets.T
    assert triplets.dtype == np.intp
    check_triplets(triplets, 30)
    assert (clusters[anchor] == clusters[similar]).all()
    assert (clusters[anchor] != clusters[dissimilar]).all()
    mined = rows_of(triplets)
    assert len(mined) == len(set(mined))
    assert (np.diff(anchor) >= 0).all()
    # Both orders of every positive pair, and so every member of a cluster, are anchors.
    together = {
        (i, j) for i, j in itertools.permutations(range(30), 2) if clusters[i] == clusters[j]
    }
    assert {(i, j) for i, j, _ in mined} == together
    without = triplets_from_pairs(pairs, y, 30, n_random=0)
    assert set(rows_of(without)) < set(mined)
    for i in np.unique(anchor):
        drawn = {k for a, _, k in mined if a == i} - {k for a, _, k in rows_of(without) if a == i}
        assert len(drawn) <= n_random


def test_contradicted_negatives_are_left_out():
    pairs = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    mined = triplets_from_pairs(pairs, np.array([1, 1, 0, 0]), 4, n_random=0)
    assert rows_of(mined) == [(2, 0, 3), (2, 1, 3)]


def test_repeated_pairs_and_negatives_met_twice_give_no_repeats():
    pairs = np.array([[0, 1], [1, 0], [0, 1], [0, 2], [2, 0], [0, 2]])
    y = np.array([1, 1, 1, 0, 0, 0])
    # The only point outside the cluster is drawn at random as well as labelled.
    mined = triplets_from_pairs(pairs, y, 3, n_random=4, random_state=0)
    assert rows_of(mined) == [(0, 1, 2), (1, 0, 2)]


def test_nothing_to_mine_gives_an_empty_table():
    nothing_similar = triplets_from_pairs(
        np.array([[0, 1]]), np.array([0]), 3, n_random=1, random_state=0
    )
    nothing_outside = triplets_from_pairs(
        np.array([[0, 1]]), np.array([1]), 2, n_random=1, random_state=0
    )
    no_pairs = triplets_from_pairs(
        np.empty((0, 2), dtype=int), np.empty(0), 3, n_random=1, random_state=0
    )
    distinct = triplets_from_labels(np.arange(5), n_random=1, random_state=0)
    one = triplets_from_labels(np.zeros(5), n_random=1, random_state=0)
    for mined in (nothing_similar, nothing_outside, no_pairs, distinct, one):
        assert mined.shape == (0, 3)
        assert mined.dtype == np.intp


def test_mining_is_seeded(monkeypatch):
    monkeypatch.setattr(triplets_module, "MAX_SIMILAR", 3)
    labels = np.arange(60) % 4
    first = triplets_from_labels(labels, n_random=2, random_state=1)
    again = triplets_from_labels(labels, n_random=2, random_state=np.random.default_rng(1))
    other = triplets_from_labels(labels, n_random=2, random_state=2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    pairs, y = random_pairs(0)
    same = [triplets_from_pairs(pairs, y, 30, n_random=2, random_state=4) for _ in range(2)]
    assert np.array_equal(*same)
    assert not np.array_equal(
        same[0], triplets_from_pairs(pairs, y, 30, n_random=2, random_state=5)
    )


def test_a_large_cluster_costs_no_more_than_max_similar_an_anchor(monkeypatch):
    monkeypatch.setattr(triplets_module, "MAX_SIMILAR", 6)
    labels = np.repeat([0, 1, 2, 3], [40, 8, 7, 6])
    mined = triplets_from_labels(labels, n_random=1, random_state=0)
    mates = [set(mined[mined[:, 0] == i, 1].tolist()) for i in range(len(labels))]
    assert [len(found) for found in mates] == [6] * 55 + [5] * 6
    # As many meet a point as it meets, and it is not always its neighbours in order.
    met = np.bincount(mined[:, 1], minlength=len(labels))
    assert (met[:40] == 6).all()
    steps = {(j - i) % 40 for i in range(40) for j in mates[i]}
    assert len(steps) > 20


def test_random_dissimilar_points_are_uniform_outside_the_cluster():
    # Each of the 10 points outside {0, 1} is drawn alike.
    labels = np.array([3, 3, 0, 0, 0, 0, 0, 9, 1, 1, 5, 6])
    rng = np.random.default_rng(0)
    counts = np.zeros(12)
    n = 1000
    for _ in range(n):
        mined = triplets_from_labels(labels, n_random=1, random_state=rng)
        counts[mined[mined[:, 0] == 0, 2]] += 1
    assert counts[:2].tolist() == [0, 0]
    # Binomial(n, 1/10), within 5 standard deviations.
    assert np.abs(counts[2:] - n / 10).max() < 5 * np.sqrt(n * 0.1 * 0.9)


def test_labels_of_any_kind_mean_groups():
    numbers = np.array([1, 1, 0, 2, 2, 2])
    expected = triplets_from_labels(numbers, n_random=2, random_state=0)
    words = np.array(["b", "b", "a", "c", "c", "c"])
    assert np.array_equal(triplets_from_labels(words, n_random=2, random_state=0), expected)
    column = triplets_from_labels(10.5 * numbers[:, None], n_random=2, random_state=0)
    assert np.array_equal(column, expected)


def test_checked_triplets_are_kept():
    checked = check_triplets([[0, 1, 2], [2, 0, 1]], 3)
    assert checked.dtype == np.intp
    assert rows_of(checked) == [(0, 1, 2), (2, 0, 1)]
    assert check_triplets(np.array([[0, 1, 2]], dtype=np.uint8), 3).dtype == np.intp


@pytest.mark.parametrize(
    ("triplets", "message"),
    [
        ([[0, 1]], "triplets has shape (1, 2); it must be (n_triplets, 3)"),
        ([0, 1, 2], "triplets has shape (3,); it must be (n_triplets, 3)"),
        (np.empty((0, 3), dtype=int), "triplets is empty; give at least one"),
        ([[0.0, 1.0, 2.0]], "triplets has dtype float64; it must hold integer"),
        ([[True, False, True]], "triplets has dtype bool; it must hold integer"),
        ([[0, 1, 2], [0, 1, 5]], "triplets[1] = [0, 1, 5] points outside X, which has 5 rows"),
        ([[0, 1, 2], [0, -1, 2]], "triplets[1] = [0, -1, 2] points outside X"),
        ([[0, 1, 2], [3, 3, 2]], "triplets[1] = [3, 3, 2] names the same point as anchor and simi"),
        ([[0, 1, 2], [3, 2, 3]], "triplets[1] = [3, 2, 3] names the same point as anchor and diss"),
        ([[0, 1, 2], [3, 2, 2]], "triplets[1] = [3, 2, 2] names the same point as similar and dis"),
    ],
)
def test_bad_triplets_are_named_by_row_and_value(triplets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_triplets(triplets, 5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_anchor_sums_are_those_of_a_loop(seed, dtype):
    rng = np.random.default_rng(seed)
    triplets = np.array([rng.choice(9, 3, replace=False) for _ in range(25)])
    points = rng.standard_normal((12, 4)).astype(dtype)
    anchors, sums = anchor_sums(triplets, points)
    assert sums.dtype == dtype
    assert anchors.tolist() == sorted({int(i) for i in triplets[:, 0]})
    for i, got in zip(anchors, sums, strict=True):
        own = [(j, k) for a, j, k in triplets.tolist() if a == i]
        wanted = sum(points[j].astype(float) - points[k] for j, k in own) / (len(own) + 1)
        assert np.allclose(got, wanted, atol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_ordered_share_counts_by_cosine(monkeypatch, block):
    monkeypatch.setattr(triplets_module, "_TRIPLETS", block)
    rng = np.random.default_rng(0)
    points = rng.standard_normal((15, 3)) * rng.uniform(0.01, 100, (15, 1))
    triplets = np.array([rng.choice(15, 3, replace=False) for _ in range(80)])

    def cosine(a, b):
        return a @ b / np.sqrt((a @ a) * (b @ b))

    right = sum(cosine(points[i], points[j]) > cosine(points[i], points[k]) for i, j, k in triplets)
    assert ordered_share(points, triplets) == pytest.approx(right / 80)
    # A good map is worth more than a bad one, and mirrored triplets give the rest.
    assert ordered_share(points, triplets[:, [0, 2, 1]]) == pytest.approx(1 - right / 80)


def test_zero_rows_have_cosine_zero_and_ties_count_a_half():
    points = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 1.0]])
    assert ordered_share(points, np.array([[0, 1, 2]])) == 0.5
    assert ordered_share(points, np.array([[1, 0, 2]])) == 0.5
    assert ordered_share(points, np.array([[0, 1, 3]])) == 1.0
    assert ordered_share(points, np.array([[0, 1, 4]])) == 0.0


def one_sided(pairs, y, clusters, null):
    """Rows (end, null, other end) of the labelled negatives whose end is in no cluster of two."""
    sizes = np.bincount(clusters)
    return {
        (end, null, other)
        for pair, label in zip(pairs.tolist(), y, strict=True)
        for end, other in (pair, pair[::-1])
        if not label and clusters[end] != clusters[other] and sizes[clusters[end]] == 1
    }


@pytest.mark.parametrize("n_random", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_negatives_without_a_mate_name_the_null_point(seed, n_random):
    pairs, y = random_pairs(seed)
    clusters = closure(pairs, y, 31)
    plain = triplets_from_pairs(pairs, y, 31, n_random=n_random, random_state=seed)
    got = triplets_from_pairs(pairs, y, 31, n_random=n_random, null=30, random_state=seed)
    wanted = one_sided(pairs, y, clusters, 30)
    assert len(wanted) > 5
    # The others are untouched, even where a random dissimilar point happens to be the null one.
    assert sorted(rows_of(got)) == sorted([*rows_of(plain), *wanted])
    assert len(set(rows_of(got))) == len(got)
    assert np.all(np.diff(got[:, 0]) >= 0)
    assert got.dtype == plain.dtype
    check_triplets(got, 31)


@pytest.mark.parametrize(
    ("pairs", "y", "null", "rows"),
    [
        # Both ends of a one-sided negative are anchors, once however often it is met.
        ([[0, 1]], [0], 2, [(0, 2, 1), (1, 2, 0)]),
        ([[0, 1], [1, 0], [0, 1]], [0, 0, 0], 2, [(0, 2, 1), (1, 2, 0)]),
        # Only the end without a mate meets the null point.
        ([[0, 1], [1, 2]], [1, 0], 3, [(1, 0, 2), (2, 3, 1)]),
        # Contradicted negatives and those of a point with itself never do.
        ([[0, 1], [1, 0], [2, 2]], [1, 0, 0], 3, []),
        # Without a null point they are left out.
        ([[0, 1]], [0], None, []),
    ],
)
def test_who_meets_the_null_point(pairs, y, null, rows):
    got = triplets_from_pairs(np.array(pairs), np.array(y), 4, n_random=0, null=null)
    assert rows_of(got) == rows


def test_labels_of_pairs_other_than_0_and_1_are_refused():
    with pytest.raises(ValueError, match="similar"):
        triplets_from_pairs(np.array([[0, 1], [1, 2]]), np.array([1, -1]), 3, n_random=1)


@pytest.mark.parametrize("pair", [[1, 3], [-1, 2]])
def test_pairs_out_of_range_are_refused(pair):
    with pytest.raises(ValueError, match="between 0 and 2"):
        triplets_from_pairs(np.array([[0, 1], pair]), np.array([1, 0]), 3, n_random=1)


def test_pairs_of_one_point_are_in_range_and_mine_nothing():
    assert triplets_from_pairs(np.array([[1, 1]]), np.array([1]), 3, n_random=1).shape == (0, 3)

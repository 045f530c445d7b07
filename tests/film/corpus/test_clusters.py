import re

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from film.corpus import cut, link_scores, weakest_links
from film.corpus.groups import connected_groups

METHODS = ["average", "complete"]


def _graph(seed, n=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 16))
    dense = rng.random((n, n)) * (rng.random((n, n)) < rng.uniform(0.15, 1))
    pairs = np.argwhere(np.triu(dense, 1) > 0)
    return pairs, dense[pairs[:, 0], pairs[:, 1]], n


def _dense(pairs, scores, n):
    matrix = np.zeros((n, n))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = scores
    return matrix


def _scipy(pairs, scores, n, method):
    distances = 2 - _dense(pairs, scores, n)
    np.fill_diagonal(distances, 0)
    return linkage(squareform(distances), method)


def _same_groups(a, b):
    return np.array_equal(a[:, None] == a, b[:, None] == b)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(60))
def test_scipys_clustering_of_the_dense_matrix(seed, method):
    pairs, scores, n = _graph(seed)
    merges = link_scores(pairs, scores, n, method=method)
    oracle = _scipy(pairs, scores, n, method)
    expected = 2 - oracle[:, 2]
    # Scores are drawn from a continuum: none of them ties, and none is this close to 0.
    kept = expected > 1e-9
    np.testing.assert_allclose(merges[:, 2], expected[kept], rtol=0, atol=1e-12)
    # Nodes are named alike, since merges come in the same order.
    np.testing.assert_array_equal(merges[:, :2], oracle[kept, :2])
    for threshold in (0.05, 0.3, 0.6, 0.9):
        groups = fcluster(oracle, 2 - threshold, "distance")
        assert _same_groups(cut(merges, n, threshold), groups)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_every_score_is_the_link_of_the_two_groups(seed, method):
    # Few different scores: ties everywhere, where no order of merges is the only right one.
    pairs, scores, n = _graph(seed, n=40)
    scores = np.ceil(scores * 3) / 4
    dense = _dense(pairs, scores, n)
    merges = link_scores(pairs, scores, n, method=method)
    assert np.all(np.diff(merges[:, 2]) <= 0)
    assert np.all(merges[:, 2] > 0)
    members = [[i] for i in range(n)]
    for i, (a, b, score) in enumerate(merges):
        assert a < b < n + i
        block = dense[np.ix_(members[int(a)], members[int(b)])]
        assert score == pytest.approx(block.mean() if method == "average" else block.min())
        members.append(members[int(a)] + members[int(b)])
        members[int(a)] = members[int(b)] = []
    left = [group for group in members if group]
    assert sorted(point for group in left for point in group) == list(range(n))
    for i, one in enumerate(left):
        for other in left[:i]:
            block = dense[np.ix_(one, other)]
            assert (block.mean() if method == "average" else block.min()) == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_component_far_too_large_for_a_dense_matrix(method):
    n = 20_000
    pairs = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    merges = link_scores(pairs, np.linspace(0.5, 0.9, n - 1), n, method=method)
    assert len(merges) == (n - 1 if method == "average" else n // 2)
    assert merges[0].tolist() == [n - 2, n - 1, 0.9]


def test_rounding_does_not_put_a_parent_before_its_child():
    # (0.1 + 0.1 + 0.1) / 3 is more than (0.1 + 0.1) / 2.
    pairs = np.argwhere(np.triu(np.ones((4, 4)), 1))
    merges = link_scores(pairs, [0.9] + [0.1] * 5, 4)
    assert sorted(merges[:, :2].ravel()) == [0, 1, 2, 3, 4, 5]
    assert merges[:, 2].tolist() == [0.9, 0.1, 0.1]


def test_a_merge_at_the_threshold_is_done():
    assert link_scores([[0, 1]], [0.5], 2, threshold=0.5).tolist() == [[0, 1, 0.5]]


def test_nothing_to_merge():
    assert link_scores([], [], 3).shape == (0, 3)
    assert link_scores([[0, 1]], [0.0], 3).shape == (0, 3)
    assert cut(np.empty((0, 3)), 3, 0.5).tolist() == [0, 1, 2]


def test_a_cut_takes_merges_at_the_threshold():
    merges = link_scores([[2, 3], [0, 3]], [0.75, 0.5], 4)
    assert cut(merges, 4, 0.75).tolist() == [0, 1, 2, 2]
    assert cut(merges, 4, 0.25).tolist() == [0, 1, 0, 0]
    assert cut(merges, 4, 0.26).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("seed", range(10))
def test_weakest_links_are_those_of_a_loop(seed):
    pairs, scores, n = _graph(seed, n=25)
    scores = np.ceil(scores * 4) / 4
    labels = connected_groups(np.random.default_rng(seed).integers(0, n, (14, 2)), n)
    weakest = weakest_links(pairs, scores, labels)
    for group in range(labels.max() + 1):
        own = [i for i, (a, b) in enumerate(pairs) if labels[a] == labels[b] == group]
        size = int((labels == group).sum())
        assert weakest.n_unscored[group] == size * (size - 1) // 2 - len(own)
        if own:
            lowest = min(own, key=lambda i: (scores[i], i))
            assert weakest.pairs[group].tolist() == pairs[lowest].tolist()
            assert weakest.scores[group] == scores[lowest]
        else:
            assert weakest.pairs[group].tolist() == [-1, -1]
            assert np.isnan(weakest.scores[group])


def test_input_is_left_alone():
    pairs, scores, n = _graph(1)
    kept = pairs.copy(), scores.copy()
    merges = link_scores(pairs, scores, n)
    weakest_links(pairs, scores, cut(merges, n, 0.5))
    np.testing.assert_array_equal(pairs, kept[0])
    np.testing.assert_array_equal(scores, kept[1])


@pytest.mark.parametrize(
    ("pairs", "scores", "n", "error", "message"),
    [
        ([[0, 1]], [0.5, 0.6], 2, ValueError, "scores must have shape (1,), one per pair, got"),
        ([[0, 1], [1, 2]], [0.5, -0.1], 3, ValueError, "scores[1] is -0.1"),
        ([[0, 1]], [np.nan], 2, ValueError, "scores[0] is nan"),
        ([[0, 1]], [np.inf], 2, ValueError, "scores[0] is inf"),
        ([[0, 1], [2, 2]], [0.5, 0.5], 3, ValueError, "pairs row 1 is [2, 2], a point with itself"),
        ([[0, 1], [1, 2], [1, 0]], [0.5] * 3, 3, ValueError, "pairs row 2 is [1, 0], listed"),
        ([[0, 3]], [0.5], 3, ValueError, "pairs[0] is [0, 3]"),
        ([[0.0, 1.0]], [0.5], 3, TypeError, "integer"),
        ([[0, 1, 2]], [0.5], 3, ValueError, "shape (n, 2)"),
        ([], [], -1, ValueError, "n_points must be at least 0"),
    ],
)
def test_bad_input_is_named(pairs, scores, n, error, message):
    with pytest.raises(error, match=re.escape(message)):
        link_scores(pairs, scores, n)


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="method='single' must be 'average' or 'complete'"):
        link_scores([[0, 1]], [0.5], 2, method="single")  # type: ignore[arg-type]

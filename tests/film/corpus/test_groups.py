"""Connected groups against a plain union by hand, and its refusals."""

import numpy as np
import pytest

from film.corpus.groups import connected_groups, groups_for_folds


def groups_by_loop(links, n_points):
    """Spread the smallest label along links until nothing changes."""
    labels = list(range(n_points))
    changed = True
    while changed:
        changed = False
        for left, right in links:
            low = min(labels[left], labels[right])
            if labels[left] != low or labels[right] != low:
                labels[left] = labels[right] = low
                changed = True
    numbers = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


@pytest.mark.parametrize("seed", range(10))
def test_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    links = rng.integers(0, 40, size=(25, 2))
    assert connected_groups(links, 40).tolist() == groups_by_loop(links.tolist(), 40)


def test_no_link_leaves_every_point_alone():
    assert connected_groups([], 3).tolist() == [0, 1, 2]
    assert connected_groups(np.empty((0, 2), dtype=int), 2).tolist() == [0, 1]


def test_direction_order_and_repetition_do_not_matter():
    links = np.array([[5, 1], [1, 2], [4, 3]])
    expected = connected_groups(links, 6).tolist()
    assert expected == [0, 1, 1, 2, 2, 1]
    assert connected_groups(links[::-1, ::-1], 6).tolist() == expected
    # 256 repeats of a narrow integer link would sum to no link at all.
    assert connected_groups(np.repeat(links.astype(np.uint8), 256, axis=0), 6).tolist() == expected


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_numbered_by_first_point(seed):
    links = np.random.default_rng(seed).integers(0, 30, size=(12, 2))
    labels = connected_groups(links, 30)
    _, first = np.unique(labels, return_index=True)
    assert labels.dtype == np.intp
    assert (np.diff(first) > 0).all()


def test_links_are_not_changed():
    links = np.array([[0, 1], [2, 1]])
    connected_groups(links, 3)
    assert links.tolist() == [[0, 1], [2, 1]]


@pytest.mark.parametrize(
    ("links", "n_points", "error", "words"),
    [
        ([[0, 1], [1, 7]], 5, ValueError, r"index_pairs\[1\] is \[1, 7\].* 0 and 4"),
        ([[-1, 1]], 5, ValueError, r"index_pairs\[0\] is \[-1, 1\]"),
        ([[0.0, 1.0]], 5, TypeError, "float64"),
        ([[0, 1, 2]], 5, ValueError, r"shape \(1, 3\)"),
        ([0, 1], 5, ValueError, r"shape \(2,\)"),
        ([], -1, ValueError, "n_points must be at least 0, got -1"),
    ],
)
def test_bad_links_are_named(links, n_points, error, words):
    with pytest.raises(error, match=words):
        connected_groups(links, n_points)


def test_no_points_have_no_groups():
    assert connected_groups([], 0).tolist() == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_points", [30, 200])
def test_pairs_of_a_fold_share_points_or_duplicates(seed, n_points):
    rng = np.random.default_rng(seed)
    pairs, labels = rng.integers(0, n_points, (60, 2)), (rng.random(60) < 0.2).astype(int)
    groups = groups_for_folds(pairs, labels, n_points)
    linked = np.array(groups_by_loop(pairs.tolist(), n_points))[pairs[:, 0]]
    is_one = np.bincount(linked).max() > 30
    assert is_one == (n_points == 30)
    if is_one:
        duplicates = pairs[labels == 1].tolist()
        entity = np.array(groups_by_loop(duplicates, n_points))
        chosen = {}
        for group, pair, label in zip(groups.tolist(), pairs, labels, strict=True):
            mine = set(entity[pair].tolist())
            chosen[group] = chosen.get(group, mine) & mine
            assert not label or len(mine) == 1
        assert all(len(of_group) >= 1 for of_group in chosen.values())
        assert (groups == groups_for_folds(pairs[:, ::-1], labels, n_points)).all()
    else:
        assert len({*zip(groups.tolist(), linked.tolist(), strict=True)}) == groups.max() + 1
        assert len(np.unique(linked)) == groups.max() + 1

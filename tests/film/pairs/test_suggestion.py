import numpy as np
import pytest
from scipy.spatial.distance import cdist

from film.pairs.suggestion import BANDWIDTH, LARGEST, select_representative, standard_scores


def kernel(X):
    distances = cdist(X, X)
    above = distances[np.triu_indices(len(X), 1)]
    return np.exp(-distances / (BANDWIDTH * np.median(above[above > 0])))


def slow_selection(X, n, weights=None, known=(), barred=(), members=None):
    """The same choice, from the whole kernel and every mean anew."""
    K = kernel(X)
    w = np.ones(len(X)) if weights is None else weights
    target = K @ (w / w.sum())
    chosen = []
    while True:
        left = [row for row in range(len(X)) if row not in {*chosen, *known, *barred}]
        if len(chosen) == n or not left:
            return chosen
        if members is not None:
            used = {part for row in chosen for part in members[row]}
            left = [row for row in left if not used & set(members[row])] or left
        there = [*known, *chosen]
        gain = target - sum((K[row] for row in there), np.zeros(len(X))) / (len(there) + 1)
        chosen.append(max(left, key=gain.__getitem__))


def distance_of_means(K, rows):
    """Squared distance between the kernel means of some points and of all."""
    return K[np.ix_(rows, rows)].mean() - 2 * K[rows].mean() + K.mean()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("seed", range(6))
def test_choices_are_those_of_the_whole_kernel(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 4))
    arguments = {
        "weights": rng.random(24) ** 3 if seed % 2 else None,
        "known": rng.permutation(24)[:seed],
        "barred": rng.permutation(24)[: 2 * seed],
        "members": rng.integers(0, 15, (24, 2)) if seed > 2 else None,
    }
    found = select_representative(X, 9, **arguments)
    assert found.tolist() == slow_selection(X, 9, **arguments)


def test_chosen_points_stand_for_the_pool_better_than_random_ones(rng):
    """At the same number of points, and without one look at what is to be learned."""
    X = np.vstack([rng.standard_normal((300, 3)), rng.normal(4, 0.5, (60, 3))])
    K = kernel(X)
    chosen = select_representative(X, 36)
    draws = [rng.permutation(360)[:36] for _ in range(100)]
    assert distance_of_means(K, chosen) < min(distance_of_means(K, rows) for rows in draws)
    # A sixth of the pool is the small cluster; random shares vary by 0.06.
    assert abs((chosen >= 300).mean() - 1 / 6) < 0.03


def test_known_points_are_made_up_for(rng):
    X = np.vstack([rng.standard_normal((100, 2)), rng.normal(9, 1, (100, 2))])
    one_sided = np.arange(10)
    found = select_representative(X, 10, known=one_sided)
    assert (found >= 100).sum() >= 9
    assert not set(found) & set(one_sided)


def test_points_of_weight_zero_are_no_part_of_the_pool(rng):
    X = np.vstack([rng.standard_normal((30, 2)), rng.normal(9, 1, (30, 2))])
    weights = np.repeat([1.0, 0.0], 30)
    assert select_representative(X, 10, weights=weights).max() < 30
    found = select_representative(X, 8, weights=weights)
    assert found.tolist() == select_representative(X, 8, weights=1000 * weights).tolist()
    assert len(set(select_representative(X, 8, weights=np.zeros(60)).tolist())) == 8


def test_one_batch_is_two_halves_where_the_first_is_known(rng):
    X = rng.standard_normal((30, 5))
    whole = select_representative(X, 8)
    assert select_representative(X, 4, known=whole[:4]).tolist() == whole[4:].tolist()


def test_points_that_share_a_member_wait():
    X = np.array([[3.0, 0.0], [2.9, 0.0], [2.8, 0.1], [0.1, 0.1]])
    members = [[0, 1], [1, 2], [2, 0], [7, 8]]
    found = select_representative(X, 4, members=members)
    assert found[1] == 3 and sorted(found.tolist()) == [0, 1, 2, 3]


def test_a_pool_smaller_than_the_batch_is_given_whole(rng):
    assert sorted(select_representative(rng.standard_normal((3, 2)), 10).tolist()) == [0, 1, 2]
    assert len(select_representative(np.empty((0, 2)), 10)) == 0
    assert len(select_representative(np.eye(2), 1, known=[0], barred=[1])) == 0


def test_equal_points_are_chosen_once_each():
    assert select_representative(np.ones((4, 2)), 4).tolist() == [0, 1, 2, 3]


def test_blocks_change_nothing(rng, monkeypatch):
    X = rng.standard_normal((40, 3))
    whole = select_representative(X, 12)
    monkeypatch.setattr("film.pairs.suggestion._BLOCK", 7)
    assert select_representative(X, 12).tolist() == whole.tolist()


def test_arguments_are_not_changed(rng):
    X, weights, known = rng.standard_normal((9, 3)), rng.random(9), np.array([1, 2])
    before = X.copy(), weights.copy(), known.copy()
    select_representative(X, 5, weights=weights, known=known)
    standard_scores(X)
    for array, copy in zip((X, weights, known), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_standard_scores_are_cut_and_of_length_one(rng):
    pool = rng.normal(5, 3, (40, 3))
    pool[:, 2] = 0.1
    pool[2, :2] = 1e6, -1e6
    found = standard_scores(pool) * np.sqrt(3)
    scores = (pool[:2, :2] - pool[:, :2].mean(axis=0)) / pool[:, :2].std(axis=0)
    np.testing.assert_allclose(found[:2, :2], scores)
    np.testing.assert_allclose(found[2], [LARGEST, -LARGEST, 0])
    assert (found[:, 2] == 0).all()


def test_units_do_not_matter(rng):
    pool = rng.standard_normal((20, 4))
    found = standard_scores(pool)
    moved = pool * [10, 0.1, 3, 1] + 5
    np.testing.assert_allclose(standard_scores(moved), found, atol=1e-12)
    assert (found**2).sum(axis=1).mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"points": [1.0, 2.0]}, r"points must have shape \(n, d\), got \(2,\)"),
        ({"points": np.empty((3, 0))}, "points must have shape"),
        ({"points": [[np.nan, 1.0]] * 3}, "points must be finite"),
        ({"known": [3]}, r"known\[0\] is 3, but known must lie between 0 and 2"),
        ({"barred": [-1]}, "barred must lie between 0 and 2"),
        ({"known": [True, False, True]}, "known must hold integers, got dtype bool"),
        ({"known": [[1]]}, r"known must have shape \(n,\)"),
        ({"weights": [1.0, 1.0]}, r"weights must be 3 finite numbers.* got shape \(2,\)"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights must be 3 finite numbers, not negative"),
        ({"weights": [1.0, np.nan, 1.0]}, "weights must be 3 finite"),
        ({"members": [0, 1, 2]}, r"members must have shape \(3, c\), got \(3,\)"),
        ({"members": [[0], [1]]}, r"members must have shape \(3, c\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    given = {"points": np.eye(3)[:, :2], "n": 1} | arguments
    with pytest.raises(TypeError if "dtype" in message else ValueError, match=message):
        select_representative(given.pop("points"), given.pop("n"), **given)

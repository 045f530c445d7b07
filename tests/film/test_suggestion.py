import numpy as np
import pytest

from film.suggestion import LARGEST, design_rows, select_informative


def slow_selection(X, n, known=None, weights=None, members=None):
    """The same choice from scratch: every candidate is added and the posterior inverted anew."""
    m, d = X.shape
    weights = np.ones(m) if weights is None else weights
    seen = [] if known is None else list(known)
    chosen = []
    while len(chosen) < min(n, m):
        costs = {}
        for row in range(m):
            if row in chosen:
                continue
            Z = np.array([*seen, X[row]])
            P = np.linalg.inv(np.eye(d) + Z.T @ Z)
            costs[row] = sum(w * x @ P @ x for w, x in zip(weights, X, strict=True))
        if members is not None:
            used = {part for row in chosen for part in members[row]}
            apart = {r: c for r, c in costs.items() if not used & set(members[r])}
            costs = apart or costs
        best = min(costs, key=costs.__getitem__)
        chosen.append(best)
        seen.append(X[best])
    return chosen


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("seed", range(6))
def test_choices_are_those_of_inverting_anew(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 4))
    known = rng.standard_normal((seed, 4)) if seed else None
    weights = rng.random(14) ** 3 if seed % 2 else None
    members = rng.integers(0, 9, (14, 2)) if seed > 2 else None
    found = select_informative(X, 9, known=known, weights=weights, members=members)
    assert found.tolist() == slow_selection(X, 9, known, weights, members)


def test_only_ratios_of_weights_matter(rng):
    X, weights = rng.standard_normal((30, 3)), rng.random(30)
    found = select_informative(X, 8, weights=weights)
    assert found.tolist() == select_informative(X, 8, weights=1000 * weights).tolist()
    assert found.tolist() != select_informative(X, 8).tolist()


def test_one_batch_is_two_halves_where_the_first_is_known(rng):
    X = rng.standard_normal((30, 5))
    whole = select_informative(X, 8)
    rest = np.setdiff1d(np.arange(30), whole[:4])
    # Variance of the chosen points counts as well: they stay in the pool, at no chance to be asked.
    weights = np.append(np.ones(26), np.ones(4))
    pool = np.vstack([X[rest], X[whole[:4]]])
    members = np.append(np.arange(26), [99] * 4)[:, None]
    again = select_informative(pool, 4, known=X[whole[:4]], weights=weights, members=members)
    assert rest[again].tolist() == whole[4:].tolist()


def test_points_that_share_a_member_wait():
    X = np.array([[3.0, 0.0], [2.9, 0.0], [2.8, 0.1], [0.1, 0.1]])
    members = [[0, 1], [1, 2], [2, 0], [7, 8]]
    found = select_informative(X, 4, members=members)
    assert found[:2].tolist() == [0, 3]
    assert sorted(found.tolist()) == [0, 1, 2, 3]


def test_a_pool_smaller_than_the_batch_is_given_whole(rng):
    assert sorted(select_informative(rng.standard_normal((3, 2)), 10).tolist()) == [0, 1, 2]
    assert len(select_informative(np.empty((0, 2)), 10)) == 0


def test_equal_points_are_chosen_once_each():
    assert select_informative(np.ones((4, 2)), 4).tolist() == [0, 1, 2, 3]


def test_zero_weights_still_give_distinct_points(rng):
    found = select_informative(rng.standard_normal((6, 2)), 4, weights=np.zeros(6))
    assert len(set(found.tolist())) == 4


def test_arguments_are_not_changed(rng):
    X, known, weights = rng.standard_normal((9, 3)), rng.standard_normal((2, 3)), rng.random(9)
    before = X.copy(), known.copy(), weights.copy()
    select_informative(X, 5, known=known, weights=weights)
    design_rows(X, known)
    for array, copy in zip((X, known, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_design_rows_are_cut_standard_scores_by_root_importance(rng):
    pool = rng.normal(5, 3, (40, 3))
    pool[:, 2] = 7
    share = np.array([0.16, 0.64, 0.2])
    far = np.vstack([pool[:2], [1e6, -1e6, 1e6]])
    found = design_rows(far, pool, share)
    scores = (far[:2, :2] - pool[:, :2].mean(axis=0)) / pool[:, :2].std(axis=0)
    np.testing.assert_allclose(found[:2, 1:3], scores * [0.4, 0.8])
    np.testing.assert_allclose(found[2], [1, 0.4 * LARGEST, -0.8 * LARGEST, 0])
    assert (found[:, 0] == 1).all() and (found[:, 3] == 0).all()


def test_equal_importance_is_the_default_and_units_do_not_matter(rng):
    pool = rng.standard_normal((20, 4))
    found = design_rows(pool, pool)
    np.testing.assert_allclose(found, design_rows(pool, pool, [0.25] * 4))
    moved = pool * [10, 0.1, 3, 1] + 5
    np.testing.assert_allclose(design_rows(moved, moved), found, atol=1e-12)
    assert (found**2).sum(axis=1).mean() == pytest.approx(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"rows": [1.0, 2.0]}, r"rows must have shape \(n, d\), got \(2,\)"),
        ({"rows": np.empty((3, 0))}, "rows must have shape"),
        ({"rows": [[np.nan, 1.0]] * 3}, "rows must be finite"),
        ({"known": [[1.0]]}, r"known must have shape \(n, 2\), got \(1, 1\)"),
        ({"known": [[np.inf, 1.0]]}, "known must be finite"),
        ({"weights": [1.0, 1.0]}, r"weights must be 3 finite numbers.* got shape \(2,\)"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights must be 3 finite numbers, not negative"),
        ({"weights": [1.0, np.nan, 1.0]}, "weights must be 3 finite"),
        ({"members": [0, 1, 2]}, r"members must have shape \(3, c\), got \(3,\)"),
        ({"members": [[0], [1]]}, r"members must have shape \(3, c\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    given = {"rows": np.eye(3)[:, :2], "n": 1} | arguments
    with pytest.raises(ValueError, match=message):
        select_informative(given.pop("rows"), given.pop("n"), **given)


@pytest.mark.parametrize("share", [[1.0], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]])
def test_importance_must_be_shares(share):
    with pytest.raises(ValueError, match="importance must be 2 numbers"):
        design_rows(np.eye(2), np.eye(2), share)


def test_features_must_fit_the_pool():
    with pytest.raises(ValueError, match=r"features must have shape \(n, 2\), got \(3, 3\)"):
        design_rows(np.eye(3), np.eye(2))

from itertools import permutations

import numpy as np
import pytest

from film.pairs.attribution import left_out_contributions, shapley_effects

GROUPS = [[0, 2], [1], [3], [4]]


def bent(X):
    """A model in which every input meets every other."""
    return np.tanh(X[:, 0] * X[:, 1] - X[:, 2]) + X[:, 3] * X[:, 1] ** 2 + np.sin(X.sum(axis=1))


def brute_force(model, row, baseline, groups):
    """Shapley values by a loop over every order."""
    effects = np.zeros(len(groups))
    orders = list(permutations(range(len(groups))))
    for order in orders:
        point = baseline.copy()
        for group in order:
            before = model(point[None])[0]
            point[groups[group]] = row[groups[group]]
            effects[group] += (model(point[None])[0] - before) / len(orders)
    return effects


@pytest.mark.parametrize("seed", range(5))
def test_effects_sum_to_the_change(seed, monkeypatch):
    monkeypatch.setattr("film.pairs.attribution.N_ORDERS", 2)
    rng = np.random.default_rng(seed)
    X, baseline = rng.normal(size=(7, 5)), rng.normal(size=5)
    effects = shapley_effects(bent, X, baseline, GROUPS)
    np.testing.assert_allclose(effects.sum(axis=1), bent(X) - bent(baseline[None]), atol=1e-12)


def test_many_orders_give_the_shapley_values(monkeypatch):
    rng = np.random.default_rng(0)
    X, baseline = rng.normal(size=(3, 5)), rng.normal(size=5)
    exact = np.array([brute_force(bent, row, baseline, GROUPS) for row in X])
    errors = []
    for n in (2, 2000):
        monkeypatch.setattr("film.pairs.attribution.N_ORDERS", n)
        errors.append(np.abs(shapley_effects(bent, X, baseline, GROUPS) - exact).max())
    # The mean of 1,000 independent pairs of orders, each within a few units of the truth.
    assert errors[1] < 0.05 < errors[0]


def test_a_linear_model_needs_two_orders(monkeypatch):
    monkeypatch.setattr("film.pairs.attribution.N_ORDERS", 2)
    rng = np.random.default_rng(1)
    X, baseline, weights = rng.normal(size=(4, 5)), rng.normal(size=5), rng.normal(size=5)
    effects = shapley_effects(lambda Z: Z @ weights + 3, X, baseline, GROUPS)
    shares = (X - baseline) * weights
    expected = np.column_stack([shares[:, group].sum(axis=1) for group in GROUPS])
    np.testing.assert_allclose(effects, expected, atol=1e-12)


def test_rows_do_not_depend_on_each_other(monkeypatch):
    X, baseline = np.random.default_rng(2).normal(size=(9, 5)), np.zeros(5)
    together = shapley_effects(bent, X, baseline, GROUPS)
    monkeypatch.setattr("film.pairs.attribution.BATCH_ROWS", 1)
    np.testing.assert_array_equal(together, shapley_effects(bent, X, baseline, GROUPS))
    alone = [shapley_effects(bent, row[None], baseline, GROUPS)[0] for row in X]
    np.testing.assert_array_equal(together, alone)


def test_inputs_as_in_the_baseline_add_nothing():
    X = np.random.default_rng(3).normal(size=(2, 5))
    X[:, 1] = 0.5
    assert (shapley_effects(bent, X, np.full(5, 0.5), GROUPS)[:, 1] == 0).all()


def test_one_group_takes_all_and_none_gives_none():
    X = np.ones((2, 5))
    effects = shapley_effects(bent, X, np.zeros(5), [range(5)])
    np.testing.assert_allclose(effects[:, 0], bent(X) - bent(np.zeros((1, 5))))
    assert shapley_effects(bent, X[:0], np.zeros(5), GROUPS).shape == (0, 4)


@pytest.mark.parametrize("groups", [[[0, 1]], [[0, 1, 2, 3], [3]], [[0, 1, 2, 3, 4], [0]]])
def test_groups_must_hold_each_column_once(groups):
    with pytest.raises(ValueError, match="each of the 5 columns once"):
        shapley_effects(bent, np.ones((1, 5)), np.zeros(5), groups)


def test_words_of_a_sum_over_pairs_have_their_own_terms():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(4, 3))
    alone = S.sum() - S.sum(axis=1), S.sum() - S.sum(axis=0)
    both = S.sum() - S.sum(axis=1)[:, None] - S.sum(axis=0) + S
    found = left_out_contributions(S.sum(), *alone, both)
    np.testing.assert_allclose(found[1:, 1:], S, atol=1e-12)
    np.testing.assert_allclose(found[0], 0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0], 0, atol=1e-12)


def test_left_out_words_sum_to_the_score_and_to_what_each_costs():
    rng = np.random.default_rng(1)
    whole, f1, f2, both = 3.0, rng.normal(size=4), rng.normal(size=3), rng.normal(size=(4, 3))
    both[2] = np.nan
    found = left_out_contributions(whole, f1, f2, both)
    np.testing.assert_allclose(found.sum(), whole)
    np.testing.assert_allclose(found[1:].sum(axis=1), whole - f1)
    np.testing.assert_allclose(found[:, 1:].sum(axis=0), whole - f2)
    assert found[2, 3] == pytest.approx(whole - f1[1] - f2[2] + both[1, 2])
    assert not found[3, 1:].any()
    assert left_out_contributions(2.0, [], [], np.empty((0, 0))).tolist() == [[2.0]]

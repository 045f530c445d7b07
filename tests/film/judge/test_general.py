"""The general formula: its features, weights and fit, and the kinds of pairs."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from film.compare import DIFFERENCES, PAIR_FEATURES
from film.judge import (
    GENERAL_FEATURES,
    GeneralWeights,
    fit_general,
    general_features,
    general_weights,
    pair_kinds,
)

NAMES = list(GENERAL_FEATURES)
SIGNS = np.array(list(GENERAL_FEATURES.values()))


def pair_row(**values):
    """Features of texts alone, 0 but for those given (with _ for spaces)."""
    named = {name.replace("_", " "): value for name, value in values.items()}
    assert set(named) <= set(PAIR_FEATURES)
    return [float(named.get(name, 0)) for name in PAIR_FEATURES]


def test_the_weights_have_their_signs():
    weights = general_weights()
    assert weights.weights.shape == (len(NAMES),) and np.isfinite(weights.intercept)
    assert (weights.weights * SIGNS > 0).all()
    assert general_weights() is weights


def slow_general(row, cosine, rank, margin, share):
    """The features of one pair, written out."""
    x = dict(zip(PAIR_FEATURES, row, strict=True))
    numeric = min(max((share - 0.03) / 0.1, 0), 1)
    longer, number = x["coverage of the longer"], x["number differs"]
    margin = max(-0.5, min(0.5, margin))
    others = [x[f"{name} differs"] for name in DIFFERENCES if name != "number"]
    return {
        "coverage of the longer": longer,
        "coverage of the shorter": x["coverage of the shorter"],
        "cosine": cosine,
        "replaced": x["replaced"],
        "doubtful spelling": min(5 * x["doubtful spelling"], 1),
        "rank, with numbers": rank / np.log(6) * numeric,
        "margin, with numbers": margin * numeric,
        "number shared": x["number shared"],
        "code shared": x["code shared"],
        "number missing": x["number missing"] * (1 - numeric),
        "number differs": number * (1 - numeric),
        **{f"{name} differs": x[f"{name} differs"] for name in DIFFERENCES if name != "number"},
        "number differs, with numbers": number * numeric,
        "any difference, by coverage": max(number * (1 - numeric), *others) * longer * longer,
    }


@pytest.mark.parametrize("share", [0, 0.1, 0.25, 0.9])
def test_features_and_log_odds_by_hand(share):
    rng = np.random.default_rng(0)
    pairs = rng.random((50, len(PAIR_FEATURES)))
    pairs[:, 4:] = pairs[:, 4:] < 0.3
    pairs[:10, :2] /= 10
    cosines, near = rng.random(50) ** 3, rng.random((50, 2)) * 2 - 0.8
    found = general_features(pairs, cosines, near, share)
    weights = general_weights()
    odds = weights.log_odds(found)
    for row, odd, pair, cosine, (rank, margin) in zip(
        found, odds, pairs, cosines, near, strict=True
    ):
        expected = slow_general(pair, cosine, rank, margin, share)
        assert set(expected) == set(NAMES)
        np.testing.assert_allclose(row, [expected[name] for name in NAMES], atol=1e-12)
        total = weights.intercept
        for name, weight in zip(NAMES, weights.weights, strict=True):
            total += weight * expected[name]
        shared = max(pair[0], cosine)
        total -= 4 * (1 - shared / 0.15) if shared < 0.15 else 0
        assert odd == pytest.approx(total)


def test_nothing_shared_lowers_the_odds_by_up_to_four():
    zero = GeneralWeights(np.zeros(len(NAMES)), 0.0)
    rows = np.zeros((4, len(NAMES)))
    rows[1, NAMES.index("cosine")] = 0.075
    rows[2, NAMES.index("coverage of the longer")] = 0.15
    rows[3, NAMES.index("cosine")] = 0.9
    np.testing.assert_allclose(zero.log_odds(rows), [-4, -2, 0, 0], atol=1e-12)


def random_set(n, seed, intercept=0.0, right=True):
    """Features and labels that follow a formula of the right signs, or of the wrong ones."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, len(NAMES)))
    truth = SIGNS * rng.uniform(1, 3, len(NAMES)) * (1 if right else -1)
    z = (X - 0.5) @ truth + intercept
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int), rng.uniform(0.5, 2, n)


def test_a_fit_of_right_signs_is_logistic_regression():
    """No bound is active, so scikit-learn finds the same weights."""
    X, y, weights = random_set(4000, seed=0)
    fitted = fit_general([(X, y, weights)], penalty=0.002)
    w = weights / weights.sum()
    model = LogisticRegression(C=1 / 0.002, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=w)
    assert (fitted * SIGNS > 0).all()
    np.testing.assert_allclose(fitted, model.coef_[0], atol=2e-3)


def test_weights_keep_their_signs_on_misleading_labels():
    X, y, weights = random_set(500, seed=1, right=False)
    fitted = fit_general([(X, y, weights)])
    assert (fitted * SIGNS >= 0).all() and np.abs(fitted).max() < 0.1
    X, y, weights = random_set(500, seed=2)
    X[:, 0] = 1 - X[:, 0]
    fitted = fit_general([(X, y, weights)])
    assert fitted[0] == 0 and (fitted * SIGNS >= 0).all() and (fitted != 0).sum() > 15


def objective(beta, intercepts, sets, penalty):
    total = sum(weights.sum() for _, _, weights in sets)
    loss = penalty / 2 * (beta @ beta)
    for (X, y, weights), intercept in zip(sets, intercepts, strict=True):
        z = X @ beta + intercept
        loss += weights @ (np.log1p(np.exp(-np.where(y == 1, z, -z)))) / total
    return loss


def test_no_small_step_within_the_signs_lowers_the_loss():
    sets = [random_set(300, seed=3), random_set(500, seed=4, intercept=2), random_set(90, seed=5)]
    beta = fit_general(sets, penalty=0.01)

    def best(beta):
        """The loss with the best intercept of each set, by bisection of its slope."""
        intercepts = []
        for X, y, weights in sets:
            low, high = -50.0, 50.0
            for _ in range(80):
                middle = (low + high) / 2
                too_high = weights @ (1 / (1 + np.exp(-(X @ beta + middle))) - y) > 0
                low, high = (low, middle) if too_high else (middle, high)
            intercepts.append(low)
        return objective(beta, intercepts, sets, 0.01)

    least = best(beta)
    for place in range(len(beta)):
        for step in (-0.05, 0.05):
            moved = beta.copy()
            moved[place] += step
            if moved[place] * SIGNS[place] >= 0:
                assert best(moved) > least


def test_what_is_common_to_a_set_does_not_matter():
    """A constant that is added to the features of a set goes into its intercept."""
    one, (X, y, weights) = random_set(300, seed=6), random_set(400, seed=7, intercept=1)
    constant = np.random.default_rng(0).normal(size=len(NAMES))
    plain, shifted = (
        fit_general([one, (moved, y, weights)], penalty=0.01) for moved in (X, X + constant)
    )
    np.testing.assert_allclose(shifted, plain, atol=2e-3)


def test_sets_of_one_label_teach_nothing():
    X, y, weights = random_set(800, seed=8)
    other = np.random.default_rng(0).random((400, len(NAMES)))
    alone = fit_general([(X, y, weights)], penalty=0.002)
    for label in (0, 1):
        labels = np.full(400, label)
        share = weights.sum() / (weights.sum() + 400)
        both = fit_general([(X, y, weights), (other, labels, np.ones(400))], penalty=0.002 * share)
        np.testing.assert_allclose(both, alone, atol=0.02)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "similar"),
        ({"coverage_of_the_longer": 1}, "spelling"),
        ({"coverage_of_the_longer": 0.89}, "similar"),
        ({"coverage_of_the_longer": 0.95, "replaced": 0.01}, "similar"),
        *(
            ({"coverage_of_the_longer": 0.7, f"{name}_differs": 1}, f"differs in {name}")
            for name in DIFFERENCES
            if name != "antonym"
        ),
        ({"coverage_of_the_longer": 0.7, "antonym_differs": 1}, "differs in opposite"),
        ({"coverage_of_the_longer": 0.6, "number_differs": 1}, "similar"),
        ({"coverage_of_the_longer": 1, "order_differs": 1}, "differs in order"),
        (
            {"coverage_of_the_longer": 0.8, "order_differs": 1, "number_differs": 1},
            "differs in number",
        ),
        (
            {"coverage_of_the_longer": 0.8, "unit_differs": 1, "choice_differs": 1},
            "differs in unit",
        ),
    ],
)
def test_kinds_of_pairs(values, expected):
    found = pair_kinds(np.array([pair_row(**values), pair_row()]))
    assert found.tolist() == [expected, "similar"]

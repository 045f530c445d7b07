"""The general formula: its features, weights and fit, and the kinds of pairs."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from film.compare import DIFFERENCES, PAIR_FEATURES, record_share
from film.judge import (
    GENERAL_FEATURES,
    MEANING_FEATURES,
    NOTHING_SHARED,
    fit_general,
    general_features,
    general_log_odds,
    general_weights,
    meaning_features,
    pair_kinds,
)

NAMES = list(GENERAL_FEATURES)
SIGNS = np.array(list(GENERAL_FEATURES.values()))
FITTED = np.array([name != "nothing shared" for name in NAMES])

FOR_DUPLICATES = {
    *("coverage of the longer", "coverage of the shorter", "cosine", "margin, with numbers"),
    *("number shared", "code shared", "meaning", "meaning or coverage"),
}


def pair_row(**values):
    """Features of texts alone, 0 but for those given (with _ for spaces)."""
    named = {name.replace("_", " "): value for name, value in values.items()}
    assert set(named) <= set(PAIR_FEATURES)
    return [float(named.get(name, 0)) for name in PAIR_FEATURES]


@pytest.mark.parametrize("names", [GENERAL_FEATURES, MEANING_FEATURES])
def test_the_weights_have_their_signs(names):
    meaning = names is MEANING_FEATURES
    weights = general_weights(meaning)
    assert weights.weights.shape == (len(names),) and np.isfinite(weights.intercept)
    signed = weights.weights * np.array(list(names.values()))
    assert (signed >= 0).all() and (meaning or (signed > 0).all())
    assert weights.weights[list(names).index("nothing shared")] == NOTHING_SHARED
    assert general_weights(meaning) is weights
    for name, sign in names.items():
        assert sign == (1 if name in FOR_DUPLICATES else -1), name


def slow_general(row, cosine, rank, margin, share):
    """The features of one pair, written out."""
    x = dict(zip(PAIR_FEATURES, row, strict=True))
    numeric = min(max((share - 0.03) / 0.1, 0), 1)
    apart, number = x["coverage apart"], x["number differs"]
    margin = max(-0.5, min(0.5, margin))
    if x["coverage of the longer"] == 1 and not any(x[f"{name} differs"] for name in DIFFERENCES):
        rank, margin = min(rank, 0), max(margin, 0)
    others = [x[f"{name} differs"] for name in DIFFERENCES if name != "number"]
    shared = max(x["coverage of the longer"], cosine)
    return {
        "coverage of the longer": x["coverage of the longer"],
        "coverage of the shorter": x["coverage of the shorter"],
        "cosine": cosine,
        "replaced": x["replaced"],
        "only one replaced": x["only one replaced"],
        "doubtful spelling": min(5 * x["doubtful spelling"], 1),
        "rank, with numbers": rank / np.log(6) * numeric,
        "margin, with numbers": margin * numeric,
        "number shared": x["number shared"],
        "code shared": x["code shared"],
        "number missing": x["number missing"] * (1 - numeric),
        "number differs": number * (1 - numeric),
        **{f"{name} differs": x[f"{name} differs"] for name in DIFFERENCES if name != "number"},
        "number differs, with numbers": number * numeric,
        "any difference, by coverage": max(number * (1 - numeric), *others) * apart * apart,
        "nothing shared": 1 - shared / 0.15 if shared < 0.15 else 0,
    }


def slow_meaning(row, cosine, meaning):
    """The features of one pair with an encoder, written out."""
    x = dict(zip(PAIR_FEATURES, row, strict=True))
    x["doubtful spelling"] = min(5 * x["doubtful spelling"], 1)
    longer, apart = x["coverage of the longer"], x["coverage apart"]
    differs = [f"{name} differs" for name in DIFFERENCES]
    shared = max(longer, cosine, meaning)
    return {
        "meaning": meaning,
        "meaning or coverage": max(meaning, longer**1.25),
        "only one replaced": x["only one replaced"],
        **{
            f"{name}, by coverage": apart**4 * x[name]
            for name in (
                "doubtful spelling",
                "negation differs",
                "antonym differs",
                "choice differs",
                "order differs",
            )
        },
        "any difference, by coverage": apart**4 * max(x[name] for name in differs),
        "nothing shared": 1 - shared / 0.15 if shared < 0.15 else 0,
    }


def weighted(values, meaning):
    """The log-odds of one pair, written out."""
    weights = general_weights(meaning)
    names = MEANING_FEATURES if meaning else GENERAL_FEATURES
    assert set(values) == set(names)
    total = weights.intercept
    for name, weight in zip(names, weights.weights, strict=True):
        total += weight * values[name]
    return total


@pytest.mark.parametrize("share", [0, 0.1, 0.25, 0.9])
def test_features_and_log_odds_by_hand(share):
    rng = np.random.default_rng(0)
    pairs = rng.random((50, len(PAIR_FEATURES)))
    pairs[:, 6:] = pairs[:, 6:] < 0.3
    pairs[:10, :2] /= 10
    # The same words: no neighbour makes them less alike, unless they differ in a number.
    pairs[30:, PAIR_FEATURES.index("coverage of the longer")] = 1
    pairs[40:, [PAIR_FEATURES.index(f"{name} differs") for name in DIFFERENCES]] = 0
    cosines, near = rng.random(50) ** 3, rng.random((50, 2)) * 2 - 0.8
    meanings = rng.random(50) ** 3
    plain = general_features(pairs, cosines, near, share)
    meant = meaning_features(pairs, cosines, meanings)
    odds = general_log_odds(pairs, cosines, near, share)
    both = general_log_odds(pairs, cosines, near, share, meanings)
    records = min(max((share - 0.03) / 0.1, 0), 1)
    assert record_share(share) == pytest.approx(records)
    for i, (rank, margin) in enumerate(near):
        spelled = slow_general(pairs[i], cosines[i], rank, margin, share)
        meaning = slow_meaning(pairs[i], cosines[i], meanings[i])
        np.testing.assert_allclose(plain[i], [spelled[n] for n in GENERAL_FEATURES], atol=1e-12)
        np.testing.assert_allclose(meant[i], [meaning[n] for n in MEANING_FEATURES], atol=1e-12)
        assert odds[i] == pytest.approx(weighted(spelled, False))
        expected = records * odds[i] + (1 - records) * weighted(meaning, True)
        assert both[i] == pytest.approx(expected)


def random_set(n, seed, intercept=0.0, right=True):
    """Features and labels that follow a formula of the right signs, or of the wrong ones."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, len(NAMES))) * FITTED
    truth = SIGNS * rng.uniform(1, 3, len(NAMES)) * (1 if right else -1)
    z = (X - 0.5) @ truth + intercept
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int), rng.uniform(0.5, 2, n)


def test_a_fit_of_right_signs_is_logistic_regression():
    """No bound is active, so scikit-learn finds the same weights."""
    X, y, weights = random_set(4000, seed=0)
    fitted = fit_general([(X, y, weights)])
    w = weights / weights.sum()
    model = LogisticRegression(C=1 / 0.002, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=w)
    assert (fitted * SIGNS > 0).all() and (fitted[~FITTED] == NOTHING_SHARED).all()
    np.testing.assert_allclose(fitted[FITTED], model.coef_[0][FITTED], atol=2e-3)


def test_weights_keep_their_signs_on_misleading_labels():
    X, y, weights = random_set(500, seed=1, right=False)
    fitted = fit_general([(X, y, weights)])
    assert (fitted * SIGNS >= 0).all() and np.abs(fitted[FITTED]).max() < 0.1
    X, y, weights = random_set(500, seed=2)
    X[:, 0] = 1 - X[:, 0]
    fitted = fit_general([(X, y, weights)])
    assert fitted[0] == 0 and (fitted * SIGNS >= 0).all() and (fitted != 0).sum() > 15


def test_what_is_not_fitted_does_not_matter():
    X, y, weights = random_set(400, seed=9)
    plain = fit_general([(X, y, weights)])
    X[:, ~FITTED] = 1 - y[:, None]
    np.testing.assert_allclose(fit_general([(X, y, weights)]), plain, atol=2e-3)


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
    for place in np.flatnonzero(FITTED):
        for step in (-0.05, 0.05):
            moved = beta.copy()
            moved[place] += step
            if moved[place] * SIGNS[place] >= 0:
                assert best(moved) > least


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "similar"),
        ({"coverage_of_the_longer": 1}, "spelling"),
        ({"coverage_of_the_longer": 0.9}, "spelling"),
        ({"coverage_of_the_longer": 0.89}, "similar"),
        ({"coverage_of_the_longer": 0.95, "replaced": 0.01}, "similar"),
        ({"coverage_of_the_longer": 0.95, "doubtful_spelling": 0.1}, "similar"),
        *(
            ({"coverage_apart": 0.7, f"{name}_differs": 1}, f"differs in {name}")
            for name in DIFFERENCES
            if name != "antonym"
        ),
        ({"coverage_apart": 0.7, "antonym_differs": 1}, "differs in opposite"),
        ({"coverage_apart": 2 / 3, "number_differs": 1}, "differs in number"),
        ({"coverage_apart": 0.66, "number_differs": 1}, "similar"),
        ({"coverage_apart": 1, "order_differs": 1}, "differs in order"),
        ({"coverage_apart": 0.8, "order_differs": 1, "number_differs": 1}, "differs in number"),
        ({"coverage_apart": 0.8, "unit_differs": 1, "choice_differs": 1}, "differs in unit"),
    ],
)
def test_kinds_of_pairs(values, expected):
    found = pair_kinds(np.array([pair_row(**values), pair_row()]))
    assert found.tolist() == [expected, "similar"]

"""Weights of columns, against loops and against tables of known weights."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from film.compare import LEVELS_OF_SIMILARITY, N_LEVELS
from film.judge import (
    ColumnWeights,
    effects_with_columns,
    em_column_weights,
    fit_column_weights,
    log_odds_with_columns,
    separating_column_weights,
    uninformative_columns,
)


def pooled(values, weights):
    """Pool adjacent violators, one at a time."""
    blocks = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            b, a = blocks.pop(), blocks.pop()
            total = a[1] + b[1]
            blocks.append([(a[0] * a[1] + b[0] * b[1]) / total, total, a[2] + b[2]])
    return [value for value, _, n in blocks for _ in range(n)]


def slow_weights(levels, chances):
    ratios = []
    for column in range(levels.shape[1]):
        m = [
            sum(c for of, c in zip(levels[:, column], chances, strict=True) if of == k)
            for k in range(N_LEVELS)
        ]
        n = [int((levels[:, column] == k).sum()) for k in range(N_LEVELS)]
        share = sum(chances) / len(chances)
        posterior = [(a + 10 * share) / (b + 10) for a, b in zip(m, n, strict=True)]
        ratio = [np.log(q / (1 - q)) - np.log(share / (1 - share)) for q in posterior]
        for first in range(2, N_LEVELS, LEVELS_OF_SIMILARITY):
            some = slice(first, first + LEVELS_OF_SIMILARITY)
            ratio[some] = pooled(ratio[some], [each + 1e-9 for each in n[some]])
        ratios.append(ratio)
    sums = np.array([sum(ratios[c][k] for c, k in enumerate(row)) for row in levels])

    def loss(at):
        odds = at[0] + at[1] * sums
        return -np.mean(chances * np.log(expit(odds)) + (1 - chances) * np.log(expit(-odds)))

    best = minimize(loss, [0.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    return best.x[0] - logit(chances.mean()), np.array(ratios), best.x[1]


def test_weights_are_log_ratios_calibrated_on_the_chances():
    rng = np.random.default_rng(0)
    chances = rng.beta(0.3, 0.9, 600)
    levels = np.column_stack(
        [
            np.clip(rng.normal(3 + 12 * chances, 6).astype(int), 0, N_LEVELS - 1),
            rng.integers(0, 10, 600),
            # The same twice: the evidence must not count twice.
            *[np.clip(rng.normal(2 + 5 * chances, 2).astype(int), 0, 9)] * 2,
        ]
    )
    found = fit_column_weights(levels, chances)
    start, ratios, slope = slow_weights(levels, chances)
    assert 0.2 < slope < 0.95
    np.testing.assert_allclose(found.start, start, atol=1e-3)
    np.testing.assert_allclose(found.weights, slope * ratios, atol=2e-3)
    np.testing.assert_allclose(
        found.log_odds(levels),
        [found.start + sum(found.weights[c, k] for c, k in enumerate(row)) for row in levels],
    )


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_weights_of_independent_columns_are_those_of_the_table(share):
    rng = np.random.default_rng(1)
    n = 40_000
    same = rng.random(n) < share
    of_duplicates, of_others = [0.1, 0.1, 0.2, 0.6], [0.4, 0.4, 0.15, 0.05]
    levels = np.empty((n, 2), dtype=int)
    for column in range(2):
        levels[same, column] = 2 + rng.choice(4, same.sum(), p=of_duplicates)
        levels[~same, column] = 2 + rng.choice(4, (~same).sum(), p=of_others)
    # The other evidence is calibrated, and mostly certain.
    x = rng.normal(np.where(same, 3, -3), 1)
    chances = expit(6 * x + logit(share))
    weights = fit_column_weights(levels, chances).weights[:, 2:6]
    true = np.log(np.array(of_duplicates) / of_others)
    np.testing.assert_allclose(weights, np.tile(true, (2, 1)), atol=0.25)


def test_more_similar_cells_never_weigh_less():
    rng = np.random.default_rng(2)
    levels = rng.integers(0, N_LEVELS, (500, 3))
    weights = fit_column_weights(levels, rng.random(500)).weights
    for first in range(2, N_LEVELS, LEVELS_OF_SIMILARITY):
        assert (np.diff(weights[:, first : first + LEVELS_OF_SIMILARITY], axis=1) >= 0).all()


def test_columns_that_say_nothing_weigh_nothing():
    levels = np.random.default_rng(3).integers(0, 9, (300, 2))
    found = fit_column_weights(levels, np.full(300, 0.2))
    np.testing.assert_allclose(found.weights, 0, atol=1e-6)
    np.testing.assert_allclose(found.log_odds(levels), 0, atol=1e-4)


def test_log_odds_count_the_same_cells_by_seven_tenths():
    weights = ColumnWeights(0.5, np.array([[1.0, 2.0], [3.0, 4.0]]))
    levels, general = np.array([[0, 1], [1, 0]]), np.array([2.0, -1.0])
    assert weights.effects(levels).tolist() == [[1.0, 4.0], [2.0, 3.0]]
    assert weights.log_odds(levels).tolist() == [5.5, 5.5]
    np.testing.assert_allclose(log_odds_with_columns(general, weights, levels), [5.25, 3.15])
    alone = ColumnWeights(0.5, weights.weights, alone=True)
    np.testing.assert_allclose(log_odds_with_columns(general, alone, levels), [5.5, 5.5])
    for each in (weights, alone):
        start, effects = effects_with_columns(0.5, general[:, None] - 0.5, each, levels)
        np.testing.assert_allclose(
            start + effects.sum(axis=1), log_odds_with_columns(general, each, levels)
        )


def clear_table(rng, n=4000, share=0.1, n_columns=5):
    same = rng.random(n) < share
    agree = np.where(
        same[:, None], rng.random((n, n_columns)) < 0.95, rng.random((n, n_columns)) < 0.05
    )
    return np.where(agree, 9, 2), same


def test_em_repeats_the_step_before_calibration():
    rng = np.random.default_rng(6)
    levels, start = rng.integers(0, 9, (300, 2)), rng.random(300)
    chances = start
    for _ in range(3):
        found = em_column_weights(levels, chances, n_steps=1)
        np.testing.assert_allclose(found.weights, slow_weights(levels, chances)[1], atol=1e-9)
        np.testing.assert_allclose(found.start, logit(chances.mean()))
        chances = expit(found.start + found.effects(levels).sum(axis=1))
    np.testing.assert_allclose(em_column_weights(levels, start, n_steps=3).weights, found.weights)


def test_columns_that_separate_decide_alone_even_from_cautious_chances():
    levels, same = clear_table(np.random.default_rng(4))
    cautious = np.where(same, 0.3, 0.02)
    chances = np.where(same & (levels[:, 0] == 9), 0.6, cautious)
    weights = separating_column_weights(levels, chances, two_tables=True)
    assert weights is not None and weights.alone
    assert ((weights.log_odds(levels) > 0) == same).mean() > 0.99
    expected = 0.3 * 2 * np.log(19)
    np.testing.assert_allclose(weights.weights[:, 9] - weights.weights[:, 2], expected, rtol=0.1)
    np.testing.assert_allclose(weights.start, 0.3 * logit(same.mean()), rtol=0.1)


@pytest.mark.parametrize(
    ("n_columns", "two_tables", "share", "alone"),
    [
        (5, False, 0.95, False),
        (6, False, 0.95, True),
        (4, True, 0.95, True),
        (6, False, 0.82, True),
        (6, True, 0.82, False),
        (6, False, 0.65, False),
    ],
)
def test_columns_decide_alone_if_they_are_many_and_certain(n_columns, two_tables, share, alone):
    rng = np.random.default_rng(9)
    same = rng.random(4000) < 0.2
    agree = rng.random((4000, n_columns)) < np.where(same, share, 1 - share)[:, None]
    levels = np.where(agree, 9, 2)
    clear = same & (agree.sum(axis=1) > n_columns / 2)
    chances = np.where(clear, 0.9, np.where(same, 0.4, 0.05))
    weights = separating_column_weights(levels, chances, two_tables=two_tables)
    assert (weights is not None) == alone


def test_columns_that_do_not_separate_leave_it_to_the_general_formula():
    rng = np.random.default_rng(5)
    levels, same = clear_table(rng)
    # Too few columns.
    assert separating_column_weights(levels[:, :1], np.where(same, 0.9, 0.1)) is None
    # What columns tell apart are not the pairs that the general formula calls duplicates.
    others = np.where(same, 0.3, 0.02)
    others[np.flatnonzero(~same)[:200]] = 0.9
    assert separating_column_weights(levels, others) is None
    # No pair is likely.
    assert separating_column_weights(levels, np.where(same, 0.3, 0.02)) is None


def test_columns_do_not_decide_alone_if_differences_in_one_count_for_duplicates():
    rng = np.random.default_rng(5)
    same = rng.random(4000) < 0.2
    agree = rng.random((4000, 7)) < np.where(same, 0.95, 0.05)[:, None]
    levels = np.where(agree, 9, 2)
    chances = np.where(same, 0.9, 0.02)
    for share_of_others, alone in ((0.5, True), (0.8, False)):
        # Equal words of this column are rare, and so on another scale than different ones.
        equal = rng.random(4000) < np.where(same, 0.5, share_of_others)
        levels[:, 6] = np.where(equal, 17, 2)
        assert (separating_column_weights(levels, chances) is not None) == alone


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("as drawn", [False, True, False]),
        ("half of the noise is missing on one side", [False, False, False]),
        ("no duplicates", [False, False, False]),
        ("a weak column", [False, True, False]),
        ("nine duplicates", [False, False, False]),
    ],
)
def test_columns_that_tell_nothing_are_found(case, expected):
    """Against the divergence of the levels, computed from its definition."""
    rng = np.random.default_rng(7)
    same = rng.random(20_000) < 0.1
    chances = np.where(same, 0.95, 0.02)
    noise = rng.choice([2, 5, 9], len(same))
    strong = np.where(rng.random(len(same)) < 0.95, np.where(same, 9, 2), 5)
    weak = np.where(rng.random(len(same)) < 0.3, np.where(same, 9, 2), 5)
    if case == "no duplicates":
        chances = np.full(len(same), 0.02)
    if case == "nine duplicates":
        chances[np.flatnonzero(same)[9:]] = 0.02
    if case == "half of the noise is missing on one side":
        noise[rng.random(len(same)) < 0.6] = 1
    levels = np.column_stack([strong, noise, weak])
    if case == "a weak column":
        levels = levels[:, [0, 1, 0]]
        levels[:, 2] = np.where(rng.random(len(same)) < 0.15, strong, noise)
    assert uninformative_columns(levels, chances).tolist() == expected
    information = []
    for column in levels.T:
        m = np.array([chances[column == level].sum() for level in np.unique(column)])
        u = np.array([(1 - chances)[column == level].sum() for level in np.unique(column)])
        m, u = m / m.sum(), u / u.sum()
        information.append(m @ np.log(m / u) - (len(m) - 1) / 2 / chances.sum())
    little = np.array(information) < max(0.01, 0.005 * sum(information))
    given = (levels >= 2).mean(axis=0) >= 0.5
    is_known = sum(information) >= 1 and (chances > 0.5).sum() >= 10
    assert (little & given & is_known).tolist() == expected

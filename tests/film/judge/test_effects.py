"""What each kind of evidence adds to the general score."""

import numpy as np
import pytest

from film.compare import PAIR_FEATURES, WordRarity, comparable_tokens, pair_features
from film.judge import EVIDENCE, general_effects, general_log_odds

NAMES = dict(zip(EVIDENCE, range(len(EVIDENCE)), strict=True))


def random_parts(n, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.random((n, len(PAIR_FEATURES)))
    pairs[:, 6:] = pairs[:, 6:] < 0.3
    return pairs, rng.random(n), np.column_stack([rng.random(n), rng.normal(size=n)])


@pytest.mark.parametrize("number_share", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("by_meaning", [False, True])
def test_effects_sum_to_the_log_odds(number_share, by_meaning):
    parts = random_parts(200, 0)
    meanings = np.random.default_rng(1).random(200) if by_meaning else None
    start, effects = general_effects(*parts, number_share, meanings)
    expected = general_log_odds(*parts, number_share, meanings)
    np.testing.assert_allclose(start + effects.sum(axis=1), expected, atol=1e-12)


TEXTS = [
    "the invoice for 20 lamps is paid",
    "the invoice for 30 lamps is paid",
    "the invoice for 20 lamps is not paid",
    "the invoice for 20 lamps was payed",
    "the invoice for 20 sofas is paid",
]


@pytest.mark.parametrize(
    ("other", "group"), [(1, "numbers and codes"), (2, "negation and order"), (4, "wording")]
)
@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_difference_lowers_its_own_group_most(other, group, by_meaning):
    rarity = WordRarity(map(comparable_tokens, TEXTS))
    same, changed = (
        general_effects(
            pair_features([TEXTS[0]], [TEXTS[row]], rarity),
            np.array([0.8]),
            np.zeros((1, 2)),
            0.0,
            np.array([0.8]) if by_meaning else None,
        )[1][0]
        for row in (0, other)
    )
    lost = same - changed
    unequal = {name: lost[place] for name, place in NAMES.items() if name != "meaning"}
    assert max(unequal, key=unequal.__getitem__) == group
    assert lost[NAMES[group]] > 0.5


@pytest.mark.parametrize("number_share", [0.0, 0.5])
def test_groups_see_what_they_are_named_for(number_share):
    """Each feature moves one group alone."""
    parts = random_parts(50, 2)
    base = general_effects(*parts, number_share, parts[1])[1]
    moved = {
        "number shared": "numbers and codes",
        "code differs": "numbers and codes",
        "antonym differs": "negation and order",
        "replaced": "wording",
    }
    for name, group in moved.items():
        pairs = parts[0].copy()
        column = PAIR_FEATURES.index(name)
        # Pairs with a number that differs keep the group of their difference.
        pairs[:, PAIR_FEATURES.index("coverage apart")] = 0
        base = general_effects(pairs, *parts[1:], number_share, parts[1])[1]
        pairs[:, column] = 1 - pairs[:, column]
        after = general_effects(pairs, *parts[1:], number_share, parts[1])[1]
        others = [place for other, place in NAMES.items() if other != group]
        np.testing.assert_allclose(after[:, others], base[:, others], atol=1e-12)
    near = parts[2] + 0.1
    after = general_effects(parts[0], parts[1], near, number_share, parts[1])[1]
    base = general_effects(*parts, number_share, parts[1])[1]
    np.testing.assert_allclose(after[:, :4], base[:, :4], atol=1e-12)
    assert (number_share == 0) == np.allclose(after[:, 4], base[:, 4])

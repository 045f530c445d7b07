import random
from itertools import pairwise

import numpy as np
import pytest

from film.judge import AdjacentWords

TEXTS = [
    ["how", "do", "i", "bake", "bread"],
    ["how", "do", "i", "bake", "cake"],
    ["where", "do", "i", "sing"],
    ["how", "how", "how"],
    [],
]
ASKED = [["how", "do", "they", "sing"], ["bake", "how"], ["ein", "hund"], [], TEXTS[0]]
ASKED += [["how"], ["ein", "how"], ["how", "how", "how"], ["how", "do", "how", "how", "i"]]


def slow_rarity(text, texts, own=()):
    """The definition, with sets and loops; `own` are the numbers of the texts of its group."""

    def pairs(tokens):
        return set(pairwise(["", *tokens, ""]))

    def rarity(n_with):
        return np.log((len(texts) + 1) / (n_with + 1))

    if not any(word in other for word in text for other in texts):
        return np.inf
    others = [other for number, other in enumerate(texts) if number not in own]
    values = []
    for pair in pairs(text):
        n_with = sum(pair in pairs(other) for other in others)
        value = rarity(n_with)
        if not n_with:
            value += 0.1 * np.mean(
                [rarity(sum(word in ["", *other] for other in others)) for word in pair]
            )
        values.append(value)
    return np.mean(values)


def random_texts(seed):
    draw = random.Random(seed)
    return [draw.choices("abcd", k=draw.randrange(6)) for _ in range(12)]


@pytest.mark.parametrize("texts", [TEXTS, *map(random_texts, range(3))])
def test_rarities_are_those_of_the_definition(texts):
    found = AdjacentWords.of_texts(texts).rarities([*ASKED, *texts])
    expected = [slow_rarity(text, texts) for text in [*ASKED, *texts]]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alone", [TEXTS, *map(random_texts, range(3))])
def test_the_rarities_of_others_are_those_of_the_definition(alone):
    """Groups are copies of a text; how they are numbered does not matter."""
    texts = [*alone, *alone[2:4], alone[2]]
    groups = np.array([*range(len(alone)), 2, 3, 2])
    expected = [
        slow_rarity(t, texts, np.flatnonzero(groups == g))
        for t, g in zip(texts, groups, strict=True)
    ]
    known = AdjacentWords.of_texts(texts)
    for factor in range(1, 60):
        found = known.rarities(texts, groups * factor)
        assert found == pytest.approx(expected, abs=1e-12)


def test_what_is_asked_together_changes_nothing():
    known = AdjacentWords.of_texts(TEXTS)
    alone = [known.rarities([text])[0] for text in ASKED]
    assert known.rarities(ASKED).tolist() == alone
    assert known.rarities([]).tolist() == []

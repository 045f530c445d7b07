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


def slow_rarity(text, known):
    """The definition, with sets and loops."""

    def pairs(tokens):
        words = ["", *tokens, ""]
        return set(pairwise(words))

    def rarity(n_with):
        return np.log((len(TEXTS) + 1) / (n_with + 1))

    if not any(word in other for word in text for other in TEXTS):
        return np.inf
    values = []
    for pair in pairs(text):
        n_with = sum(pair in pairs(other) for other in known)
        value = rarity(n_with)
        if not n_with:
            of_words = [
                len(TEXTS) if word == "" else sum(word in other for other in TEXTS) for word in pair
            ]
            value += 0.1 * np.mean([rarity(n) for n in of_words])
        values.append(value)
    return np.mean(values)


def test_rarities_are_those_of_the_definition():
    found = AdjacentWords.of_texts(TEXTS).rarities(ASKED)
    assert found == pytest.approx([slow_rarity(text, TEXTS) for text in ASKED], abs=1e-12)
    assert np.isinf(found).tolist() == [False, False, True, True, False]


def test_the_own_group_of_a_text_is_not_counted():
    known = AdjacentWords.of_texts(TEXTS)
    alone = known.rarities(TEXTS, np.arange(len(TEXTS)))
    both = known.rarities(TEXTS, [0, 0, 1, 2, 3])
    assert (alone[:4] > known.rarities(TEXTS)[:4]).all()
    assert (both[:2] > alone[:2]).all()
    assert both[2:4].tolist() == alone[2:4].tolist()


def test_what_is_asked_together_changes_nothing():
    known = AdjacentWords.of_texts(TEXTS)
    alone = [known.rarities([text])[0] for text in ASKED]
    assert known.rarities(ASKED).tolist() == alone
    assert known.rarities([]).tolist() == []


def test_the_order_of_words_counts():
    known = AdjacentWords.of_texts(TEXTS)
    usual, turned = known.rarities([["how", "do", "i"], ["i", "do", "how"]])
    assert usual < turned

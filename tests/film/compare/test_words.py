"""Words spelled alike, and weights of words, by loops and by hand."""

import functools
import itertools
import math
import random

import numpy as np
import pytest

from film.compare import WordRarity, spelling_similarity
from film.compare import words as _words
from film.compare.words import common_words, is_stop_word

ENDINGS = ["", *"s es ed d ing er ers ly n e en y ies ied ion ions al".split()]


def same_stem(a, b):
    """Whether the longest common beginning is most of both words, and the rest two endings."""
    n = next((n for n in range(min(len(a), len(b)), 0, -1) if a[:n] == b[:n]), 0)
    most = n >= 3 and n >= 0.6 * max(len(a), len(b))
    return most and a[n:] in ENDINGS and b[n:] in ENDINGS


def edits_by_hand(a, b):
    """The least number of edits, where no letter is edited twice, by recursion."""

    @functools.cache
    def least(i, j):
        if not i or not j:
            return i + j
        found = [
            least(i - 1, j) + 1,
            least(i, j - 1) + 1,
            least(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        ]
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            found.append(least(i - 2, j - 2) + 1)
        return min(found)

    return least(len(a), len(b))


def similarity_by_hand(a, b, n_known):
    edits = edits_by_hand(a, b)
    length, same_start = max(len(a), len(b)), a[0] == b[0]
    if same_stem(a, b):
        return 0.95
    if n_known == 1:
        if length >= 10:
            most = 3
        elif length >= 6 or (length == 5 and same_start):
            most = 2
        else:
            shorter = min(len(a), len(b))
            most = int(shorter >= 4 or shorter < length or (shorter == 3 and same_start))
        return 1 - 0.03 * edits if edits <= most else 0
    if min(len(a), len(b)) < 4 or (length < 6 and not same_start):
        return 0
    return 0.95 - 0.05 * edits if edits <= 1 + (n_known == 0 and length >= 8) else 0


def random_words(n, seed):
    """Words of few letters, and copies with an edit or another ending."""
    draw = random.Random(seed)
    words = []
    while len(words) < n:
        word = "".join(draw.choice("abcdeé") for _ in range(draw.randint(2, 11)))
        place = draw.randrange(len(word) - 1)
        words += [
            word,
            word[:place] + word[place + 1] + word[place] + word[place + 2 :],
            word[:place] + draw.choice("abcde1") + word[place + draw.randrange(2) :],
            word + draw.choice(ENDINGS),
            word[:-1] + draw.choice(ENDINGS),
        ]
    return list(dict.fromkeys(words))


@pytest.mark.parametrize("seed", range(3))
def test_similarity_of_spelling_is_that_by_hand(seed):
    words = [word for word in random_words(100, seed) if word.isalpha()]
    pairs = list(itertools.combinations(words, 2))
    n_known = np.random.default_rng(seed).integers(3, size=len(pairs))
    found = spelling_similarity([a for a, _ in pairs], [b for _, b in pairs], n_known)
    expected = [similarity_by_hand(a, b, n) for (a, b), n in zip(pairs, n_known, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert {round(value, 2) for value in expected} == {0, 0.85, 0.9, 0.91, 0.94, 0.95, 0.97}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("recieve", "receive", 0.9),
        ("acount", "account", 0.9),
        ("stain", "stains", 0.95),
        ("create", "creating", 0.95),
        ("try", "tries", 0),
        ("paris", "rome", 0),
        ("cat", "dog", 0),
        ("cat", "car", 0),
        ("cat", "cats", 0.95),
        ("bear", "pear", 0),
        ("better", "letter", 0.9),
        ("blue", "blur", 0.9),
        ("restaraunts", "restaurants", 0.85),
        ("austria", "australia", 0.85),
        ("rcieve", "receive", 0),
        ("teapot", "tea", 0),
        ("colours", "colors", 0.97),
        ("organisation", "organization", 0.97),
        ("theatre", "theater", 0.97),
        ("travelled", "traveled", 0.97),
        ("analyse", "analyze", 0.97),
        ("defence", "defense", 0.97),
        ("dialogue", "dialog", 0.97),
        ("aeroplanes", "airplanes", 0.97),
        ("four", "for", 0),
        ("filled", "filed", 0.9),
        ("rise", "rize", 0.9),
    ],
)
def test_similarity_of_spelling_by_example(a, b, expected):
    for first, second in ([a], [b]), ([b], [a]):
        assert spelling_similarity(first, second, np.array([0]))[0] == pytest.approx(expected)
    if expected == 0.85:
        assert spelling_similarity([a], [b], np.array([2])).tolist() == [0]


@pytest.mark.parametrize(
    ("known", "other", "expected"),
    [
        ("the", "hte", 0),
        ("the", "te", 0.97),
        ("eat", "emt", 0.97),
        ("eat", "oat", 0),
        ("gain", "dain", 0.97),
        ("fair", "fwr", 0),
        ("korea", "kqora", 0.94),
        ("every", "zvrgy", 0),
        ("india", "inxya", 0.94),
        ("morning", "mrobning", 0.94),
        ("university", "unkversty", 0.94),
        ("possibility", "poksibiljitp", 0.91),
        ("possible", "poksbljle", 0),
    ],
)
def test_more_edits_count_if_one_word_is_known(known, other, expected):
    for first, second in ([known], [other]), ([other], [known]):
        assert spelling_similarity(first, second, np.array([1]))[0] == pytest.approx(expected)


def test_no_words_have_no_similarity():
    assert spelling_similarity([], [], np.empty(0, dtype=int)).shape == (0,)


TEXTS = [["the", "red", "sofa"], ["the", "blue", "sofa", "sofa"], ["the", "zzyzx"], []]


@pytest.mark.parametrize("n_numbers", [0, 4, 20])
def test_weights_follow_the_formula(n_numbers):
    rarity = WordRarity([*TEXTS[:3], [f"#{number}" for number in range(n_numbers)]])
    # The other texts have eight words.
    records = min(max(((n_numbers + 2) / (108 + n_numbers) - 0.03) / 0.1, 0), 1)
    words = ["the", "sofa", "red", "zzyzx", "qwxqwx", "please", "kindly"]
    n_with = {"the": 3, "sofa": 2, "red": 1, "zzyzx": 1}
    expected = []
    for word in words:
        rank = common_words().get(word)
        share = 0 if rank is None else min(0.6 / (1 + rank / 8), 0.5)
        weight = math.log((4 + 500 + 1) / (n_with.get(word, 0) + 500 * share + 1))
        weight = records * weight + (1 - records) * min(weight, math.log(150))
        expected.append(weight / 4 if word in ("the", "please", "kindly") else weight)
    np.testing.assert_allclose(rarity.weights(words), expected, rtol=1e-12)


def test_weights_are_never_negative():
    everywhere = WordRarity([["lamp", "the", "#5"]] * 10_000)
    assert (everywhere.weights(["lamp", "the", "#5"]) >= 0).all()
    assert WordRarity([]).weights([]).shape == (0,)


def test_a_rarity_of_known_counts_is_that_of_the_texts():
    rarity = WordRarity(iter(TEXTS))
    other = WordRarity.from_counts(4, {"the": 3, "red": 1, "sofa": 2, "blue": 1, "zzyzx": 1})
    words = ["the", "sofa", "red", "zzyzx", "none"]
    assert rarity.counts == other.counts and rarity.n_texts == other.n_texts
    assert rarity.weights(words).tolist() == other.weights(words).tolist()
    assert rarity.number_share == other.number_share == 2 / 108


def test_the_share_of_numbers_counts_codes_too():
    rarity = WordRarity([["#5", "lamp"], ["m404dn", "lamp"], ["@15:00", "red", "sofa", "%kg"]])
    # A hundred words of sentences have two numbers.
    assert rarity.number_share == (3 + 2) / (8 + 100)
    assert WordRarity([]).number_share == 0.02
    assert WordRarity([["#5"]] * 400).number_share == 402 / 500


def test_known_words_are_common_or_in_five_texts():
    rarity = WordRarity([["grommelin"]] * 5 + [["teh"]] * 4)
    assert rarity.are_words(["receive", "grommelin", "teh", "recieve"]).tolist() == [
        *(True, True, False, False)
    ]


def test_stop_words_are_the_most_frequent_and_the_polite():
    words = sorted(common_words(), key=common_words().__getitem__)
    assert all(map(is_stop_word, words[:150])) and is_stop_word("kindly")
    frequent = [word for word in words[150:400] if is_stop_word(word)]
    assert set(frequent) <= _words.POLITE

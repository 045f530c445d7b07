"""Words spelled alike, and weights of words, by loops and by hand."""

import itertools
import math
import random

import numpy as np
import pytest

from film.compare import WordRarity, near_words
from film.compare import words as _words
from film.compare.words import common_words, is_stop_word

ENDINGS = ["", *"s es ed d ing er ers ly n e en y ies ied ion ions al".split()]


def damerau(a, b):
    """Edits that turn a into b: insert, delete, replace, or exchange two neighbours."""
    table = {(i, -1): i + 1 for i in range(-1, len(a))}
    table |= {(-1, j): j + 1 for j in range(-1, len(b))}
    for i, j in itertools.product(range(len(a)), range(len(b))):
        costs = [
            table[i - 1, j] + 1,
            table[i, j - 1] + 1,
            table[i - 1, j - 1] + (a[i] != b[j]),
        ]
        if min(i, j) > 0 and a[i - 1 : i + 1] == b[j - 1 : j + 1][::-1]:
            costs.append(table[i - 2, j - 2] + 1)
        table[i, j] = min(costs)
    return table[len(a) - 1, len(b) - 1]


def same_stem(a, b):
    """Whether the longest common beginning is most of both words, and the rest two endings."""
    n = next((n for n in range(min(len(a), len(b)), 0, -1) if a[:n] == b[:n]), 0)
    most = n >= 3 and n >= 0.6 * max(len(a), len(b))
    return most and a[n:] in ENDINGS and b[n:] in ENDINGS


def near_by_a_loop(words):
    found = {}
    fit = [i for i, word in enumerate(words) if 4 <= len(word) <= 40 and word.isalpha()]
    for i, j in itertools.combinations(fit, 2):
        a, b = words[i], words[j]
        if same_stem(a, b):
            found[i, j] = 0.95
        elif damerau(a, b) <= 1 and (max(len(a), len(b)) >= 6 or a[0] == b[0]):
            found[i, j] = 0.9
    return found


def random_words(n, seed):
    """Words of few letters, and copies with an edit or another ending."""
    draw = random.Random(seed)
    words = []
    while len(words) < n:
        word = "".join(draw.choice("abcdeé") for _ in range(draw.randint(3, 9)))
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
def test_near_words_are_those_of_a_loop(seed):
    words = random_words(200, seed)
    first, second, similarity = near_words(words)
    found = dict(zip(zip(first.tolist(), second.tolist(), strict=True), similarity, strict=True))
    expected = near_by_a_loop(words)
    assert {0.9, 0.95} == set(expected.values()) and len(expected) > 60
    assert len(found) == len(first)
    assert found == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("recieve", "receive", 0.9),
        ("acount", "account", 0.9),
        ("stain", "stains", 0.95),
        ("create", "creating", 0.95),
        ("try", "tries", None),
        ("paris", "rome", None),
        ("cat", "car", None),
        ("bear", "pear", None),
        ("better", "letter", 0.9),
        ("blue", "blur", 0.9),
        ("m404dn", "m404dw", None),
        ("teapot", "tea", None),
        ("abcdef", "acbdfe", None),
        ("x" * 41, "x" * 42, None),
    ],
)
def test_near_words_by_example(a, b, expected):
    assert near_words([a, b])[2].tolist() == ([] if expected is None else [expected])


@pytest.mark.parametrize("words", [[], ["lamp"], ["12345", "12346"]])
def test_no_near_words(words):
    first, second, similarity = near_words(words)
    assert len(first) == len(second) == len(similarity) == 0


def test_too_many_words_alike_are_not_compared():
    letters = [chr(ord("a") + n) for n in range(26)]
    words = [f"word{a}{b}" for a, b in itertools.product(letters, letters[:4])]
    first, second, _ = near_words(words)
    found = set(zip(first.tolist(), second.tolist(), strict=True))
    assert found <= set(near_by_a_loop(words))
    assert _words._LARGEST_FAMILY < len(words)


TEXTS = [["the", "red", "sofa"], ["the", "blue", "sofa", "sofa"], ["the", "zzyzx"], []]


def test_weights_follow_the_formula():
    words = ["the", "sofa", "red", "zzyzx", "qwxqwx", "please", "kindly"]
    n_with = {"the": 3, "sofa": 2, "red": 1, "zzyzx": 1}
    expected = []
    for word in words:
        rank = common_words().get(word)
        share = 0 if rank is None else min(0.6 / (1 + rank / 8), 0.5)
        weight = math.log((4 + 500 + 1) / (n_with.get(word, 0) + 500 * share + 1))
        expected.append(weight / 4 if word in ("the", "please", "kindly") else weight)
    np.testing.assert_allclose(WordRarity(TEXTS).weights(words), expected, rtol=1e-12)


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
    assert rarity.number_share == other.number_share == 0


def test_the_share_of_numbers_counts_codes_too():
    rarity = WordRarity([["#5", "lamp"], ["m404dn", "lamp"], ["@15:00", "red", "sofa", "%kg"]])
    assert rarity.number_share == 3 / 8
    assert WordRarity([]).number_share == 0


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

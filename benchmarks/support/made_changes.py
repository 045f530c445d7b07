"""Pairs of a text and the same text after a small change, which keeps its meaning or not."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import cdist

from film.compare import ANTONYMS, CLOSED_SETS, common_words, is_stop_word, spelling_similarity

FEWEST, MOST = 3, 30
"""Words of the shortest and the longest text that is changed."""
BOTH = 0.3, 0.25
"""Shares of pairs, of another and of the same meaning, with a further change that keeps it."""

Change = Callable[[str, np.random.Generator, Sequence[str]], str | None]
"""Changes a text, given words of other texts; None where it does not apply."""

_GREETINGS = (
    *("hello, ", "hi, ", "please ", "hi team, ", "could you please ", "dear team, ", "kindly "),
    *("thanks, ", "good morning, ", "hey, ", "I would like to ask: ", "quick question: "),
)
_FAREWELLS = ("", "", " thanks", " please", " thank you", " asap")
_MATTER = frozenset("not no in on from to up out off over first before after more".split())
_VERBS = "is are can do does will was has should have did".split()
_NOT = (" not", " not", "n't")
_BETWEEN = frozenset("to than into from beats versus over".split())
_COMMON = 15_000
"""Number of frequent words among which words of similar spelling are looked up."""


class MadePairs(NamedTuple):
    """Pairs of texts, whether they mean the same, and the name of each pair's first change."""

    pairs: np.ndarray
    same: np.ndarray
    kinds: np.ndarray


def made_changes(texts: Sequence[str], n: int, seed: int) -> MadePairs:
    """Make n pairs, half of which mean the same on average, from texts of 3 to 30 words."""
    rng = np.random.default_rng(seed)
    texts = [text for text in texts if FEWEST <= len(text.split()) <= MOST]
    words = [word for text in texts for word in text.split() if len(word) >= 4 and _is_word(word)]
    pairs, same, kinds = [], [], []
    while len(pairs) < n:
        text, keeps = _one_of(texts, rng), rng.random() < 0.5
        change = _one_of(KEEPING if keeps else CHANGING, rng)
        made = change(text, rng, words)
        if made and rng.random() < BOTH[0 if keeps else 1]:
            made = _one_of(KEEPING, rng)(made, rng, words) or made
        if made and made != text:
            pairs.append((text, made))
            same.append(keeps)
            kinds.append(change.__name__)
    return MadePairs(np.array(pairs, dtype=object), np.array(same, dtype=int), np.array(kinds))


def _one_of(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _is_word(word: str) -> bool:
    return word.isalpha() and not is_stop_word(word.lower())


def misspelling(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Mistype one or two words."""
    made = text.split()
    places = [i for i, word in enumerate(made) if len(word) >= 5 and word.isalpha()]
    for place in rng.permutation(places)[: rng.integers(1, 3)].astype(int):
        word, i = made[place], int(rng.integers(1, len(made[place]) - 1))
        letter = _one_of(string.ascii_lowercase, rng)
        exchanged = word[i + 1] + word[i] + word[i + 2 :]
        ends = (word[i + 1 :], exchanged, letter + word[i:], letter + word[i + 1 :])
        made[place] = word[:i] + _one_of(ends, rng)
    return " ".join(made) if places else None


def politeness(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Add a greeting and perhaps a farewell."""
    return _one_of(_GREETINGS, rng) + text[:1].lower() + text[1:] + _one_of(_FAREWELLS, rng)


def plural(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Add an s to a common word, or remove it."""
    return _replaced(
        text,
        rng,
        lambda word: (
            len(word) >= 4 and word.islower() and _is_word(word) and word in common_words()
        ),
        lambda word: word[:-1] if word.endswith("s") else f"{word}s",
    )


def missing_words(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Remove one or two frequent words that say little."""
    made = text.split()
    places = [
        i for i, word in enumerate(made)
        if is_stop_word(word.lower()) and word.lower() not in _MATTER
    ]  # fmt: skip
    if not places or len(made) < 5:
        return None
    gone = rng.permutation(places)[: rng.integers(1, 3)]
    return " ".join(word for i, word in enumerate(made) if i not in gone)


def joined_words(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Write two words as one."""
    made = text.split()
    long = [len(word) >= 3 and _is_word(word) for word in made]
    places = [i for i in range(len(made) - 1) if long[i] and long[i + 1]]
    if not places:
        return None
    i = _one_of(places, rng)
    return " ".join([*made[:i], made[i] + made[i + 1], *made[i + 2 :]])


def shuffled_list(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Write a few words without stop words as a list in another order."""
    made = text.replace(",", " ").split()
    if not 3 <= len(made) <= 7 or any(is_stop_word(word.lower()) for word in made):
        return None
    return ", ".join(made[i] for i in rng.permutation(len(made)))


def number(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Exchange two digits of a number, or replace one."""
    found = list(re.finditer(r"\d+", text))
    if not found:
        return None
    place = _one_of(found, rng)
    digits = list(place.group())
    if len(digits) > 1 and rng.random() < 0.4:
        i = int(rng.integers(len(digits) - 1))
        digits[i], digits[i + 1] = digits[i + 1], digits[i]
    else:
        i = int(rng.integers(len(digits)))
        digits[i] = _one_of([digit for digit in "123456789" if digit != digits[i]], rng)
    return text[: place.start()] + "".join(digits) + text[place.end() :]


def negation(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Deny a text."""
    denied = {f" {verb} ": f" {verb}{_one_of(_NOT, rng)} " for verb in _VERBS}
    denied |= {" to ": " not to ", " with ": " without "}
    there = [old for old in denied if old in text]
    if not there:
        return None
    old = _one_of(there, rng)
    return text.replace(old, denied[old], 1)


def antonym(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Replace a word by its opposite."""
    return _exchanged(text, rng, _antonyms())


def choice(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Replace a day, month, direction, season or time of day by another one."""
    return _exchanged(text, rng, _choices())


def order(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Exchange the two sides of a comparison or a way."""
    made = text.split()
    for i in range(1, len(made) - 1):
        sides = [made[i - 1], made[i + 1].strip("?.")]
        long = all(len(side) > 2 and not is_stop_word(side.lower()) for side in sides)
        if long and made[i].lower() in _BETWEEN:
            made[i - 1], made[i + 1] = made[i + 1], made[i - 1]
            return " ".join(made)
    return None


def another_word(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Replace a word by one of another text."""
    return _replaced(
        text, rng, lambda word: len(word) >= 4 and _is_word(word), lambda word: _one_of(words, rng)
    )


def near_word(text: str, rng: np.random.Generator, words: Sequence[str]) -> str | None:
    """Replace a word by another one of similar spelling."""
    return _exchanged(text, rng, _similar_words())


KEEPING: tuple[Change, ...] = (
    *(misspelling,) * 3,
    *(politeness, plural, missing_words, joined_words, shuffled_list),
)
CHANGING: tuple[Change, ...] = (
    *(number, number, negation, antonym, choice, order),
    *(another_word, another_word, near_word),
)


def _exchanged(text: str, rng: np.random.Generator, others: dict[str, list[str]]) -> str | None:
    def other(word: str) -> str:
        known = word.lower().strip("?.,")
        return word.lower().replace(known, _one_of(others[known], rng))

    return _replaced(text, rng, lambda word: word.lower().strip("?.,") in others, other)


def _replaced(
    text: str,
    rng: np.random.Generator,
    may: Callable[[str], bool],
    other: Callable[[str], str],
) -> str | None:
    made = text.split()
    places = [i for i, word in enumerate(made) if may(word)]
    if not places:
        return None
    place = _one_of(places, rng)
    made[place] = other(made[place])
    return " ".join(made)


@functools.cache
def _antonyms() -> dict[str, list[str]]:
    others: dict[str, list[str]] = {}
    for first, second in ANTONYMS:
        others.setdefault(first, [second])
        others.setdefault(second, [first])
    return others


@functools.cache
def _choices() -> dict[str, list[str]]:
    kept = [words for words in CLOSED_SETS if not {"red", "small"} & set(words)]
    return {word: [other for other in words if other != word] for words in kept for word in words}


@functools.cache
def _similar_words() -> dict[str, list[str]]:
    words = [word for word in common_words() if len(word) >= 4 and word.isalpha()][:_COMMON]
    others: dict[str, list[str]] = {}
    for letter in string.ascii_lowercase:
        some = [word for word in words if word[0] == letter]
        near = cdist(some, some, scorer=DamerauLevenshtein.distance, score_cutoff=1) == 1
        first, second = ([some[i] for i in places] for places in np.nonzero(near))
        similarity = spelling_similarity(first, second, np.zeros(len(first), dtype=bool))
        for word, other, value in zip(first, second, similarity, strict=True):
            # Words of the same stem are more similar than .93 and mean nearly the same.
            if 0 < value < 0.93:
                others.setdefault(word, []).append(other)
    return others

"""Detect changes of word order that change the meaning of a text."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence

from film.compare.words import is_stop_word

__all__ = ["sides_differ"]

MOST_WORDS = 100
"""Words of the longest texts whose parts are compared: longer ones say much in any order."""

_ARTICLES = frozenset("a an the my your our his her its".split())
_DIRECTIONS = frozenset(
    "from to into onto than before after by over under versus "
    "von nach vom zum zur als durch vor de vers par avant apres que desde hasta hacia por".split()
)
"""English, German, French and Spanish, without accents."""
_JOINING = frozenset("and or with & plus vs versus und oder et ou y o e".split())


def sides_differ(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two texts have the same words in an order that changes the meaning.

    Parameters
    ----------
    first, second : sequence of str
        Tokens from `comparable_tokens`, nearly the same ones.

    Returns
    -------
    differ : bool
        True if a preposition of direction ("from", "than" ...) has another word after it that is
        elsewhere in the other text; if day and month changed places after the year; or if two parts
        changed places around a third one that does not just join them ("Anna calls Peter"), in a
        text with a frequent word, or if there is a verb. Parts that follow one another may change
        places, and so may the words of a list.

    Examples
    --------
    >>> from film.compare import sides_differ
    >>> there = "a train from vienna to prague".split()
    >>> sides_differ(there, "a train from prague to vienna".split())
    True
    >>> sides_differ(there, "a train to prague from vienna".split())
    False
    """
    a, b = ([word for word in text if word not in _ARTICLES] for text in (first, second))
    if a == b:
        return False
    if _has_other_date(a, b):
        return True
    after = _after_directions(a), _after_directions(b)
    for word in after[0].keys() & after[1].keys():
        gone, new = after[0][word] - after[1][word], after[1][word] - after[0][word]
        if gone and new and gone & set(b) and new & set(a):
            return True
    return max(len(a), len(b)) <= MOST_WORDS and sorted(a) == sorted(b) and _exchanged(a, b)


def _has_other_date(a: list[str], b: list[str]) -> bool:
    """Whether day and month of a date that begins with the year changed places."""
    dates = [
        {
            (year, x, y)
            for year, x, y in zip(words, words[1:], words[2:], strict=False)
            if re.fullmatch(r"#\d{4}", year) and all(re.fullmatch(r"#\d\d?", n) for n in (x, y))
        }
        for words in (a, b)
    ]
    return any(
        x != y and (year, x, y) not in dates[1] and (year, y, x) in dates[1]
        for year, x, y in dates[0]
    )


def _after_directions(words: Sequence[str]) -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for word, after in itertools.pairwise(words):
        if word in _DIRECTIONS:
            found[word].add(after)
    return found


def _exchanged(a: list[str], b: list[str]) -> bool:
    """Whether b is a with two parts exchanged around a third one."""
    is_sentence = any(map(is_stop_word, a))
    start = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
    stop = next(i for i, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=True)) if x != y)
    a, b = (words[start : len(words) - stop] for words in (a, b))
    for n_last in range(1, len(a)):
        if b[:n_last] != a[-n_last:]:
            continue
        for n_first in range(1, len(a) - n_last):
            middle = a[n_first:-n_last]
            if b[-n_first:] == a[:n_first] and b[n_last:-n_first] == middle:
                words = [word for word in middle if word not in _JOINING and word[0] not in "#@%"]
                is_verb = len(words) == 1 and words[0].endswith(("s", "ed"))
                return bool(words) and (is_sentence or is_verb)
    return False

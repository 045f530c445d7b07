"""Describe in one line how two texts differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from film.compare import WordRarity, comparable_tokens, is_stop_word, pair_features
from film.judge.general import pair_kinds

__all__ = ["describe_differences", "differing_spans", "without_differences"]

_SHOWN = 5
"""Words of a text that are shown."""

_WORD = re.compile(r"\S+")

_MARKS = ".,;:!?\"'()[]{}"


def describe_differences(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Describe how the texts of each pair differ, and by which words.

    Parameters
    ----------
    first, second : sequence of str
        The texts of each pair.

    Returns
    -------
    lines : list of str
        One per pair, with words of the texts; frequent ones are left out if there are others.

    Examples
    --------
    >>> from film.judge import describe_differences
    >>> describe_differences(["a 128 GB phone", "my acount"], ["a 256gb phone", "my account"])
    ['differs in number: 128 / 256gb', 'differs in spelling: acount / account']
    """
    kinds = pair_kinds(pair_features(first, second, WordRarity([])))
    lines = []
    for a, b, kind in zip(first, second, kinds.tolist(), strict=True):
        only = _differing_words(a, b)
        name = {"similar": "differs in words", "spelling": "differs in spelling"}.get(kind, kind)
        if not any(only):
            lines.append(name if name == kind else "the words are the same")
        else:
            lines.append(f"{name}: {' / '.join(map(_shown, only))}")
    return lines


def without_differences(a: str, b: str) -> tuple[str, str, str]:
    """Leave out of two texts the words that `describe_differences` shows.

    Parameters
    ----------
    a, b : str
        The texts.

    Returns
    -------
    a, b : str
        The texts without these words; unchanged if nothing differs, or if a text would become
        empty.
    words : str
        The words left out; an empty string if no word was left out.

    Examples
    --------
    >>> from film.judge import without_differences
    >>> without_differences("a 128 GB phone", "a 256gb phone")
    ('a GB phone', 'a phone', '128 / 256gb')
    """
    left = []
    for text, spans in zip((a, b), differing_spans(a, b), strict=True):
        gone = {start for start, _ in spans}
        words = (found for found in _WORD.finditer(text) if found.start() not in gone)
        left.append(" ".join(found.group() for found in words))
    only = _differing_words(a, b)
    if not any(only) or not all(left):
        return a, b, ""
    return left[0], left[1], " / ".join(map(_shown, only))


def differing_spans(a: str, b: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Find the words that `without_differences` leaves out.

    Parameters
    ----------
    a, b : str
        The texts.

    Returns
    -------
    spans : (list of (int, int), list of (int, int))
        For each text, the first character of each word and the character after its last.

    Examples
    --------
    >>> from film.judge import differing_spans
    >>> differing_spans("a 128 GB phone", "a 256gb phone")
    ([(2, 5)], [(2, 7)])
    """
    first, second = map(_spans_of, (a, b), _differing_words(a, b))
    return first, second


def _spans_of(text: str, words: list[str]) -> list[tuple[int, int]]:
    gone, spans = Counter(words), []
    for found in _WORD.finditer(text):
        bare = found.group().strip(_MARKS)
        if gone[bare]:
            gone[bare] -= 1
            spans.append(found.span())
    return spans


def _differing_words(a: str, b: str) -> tuple[list[str], list[str]]:
    sides = Counter(comparable_tokens(a)), Counter(comparable_tokens(b))
    return _own_words(a, sides[0] - sides[1]), _own_words(b, sides[1] - sides[0])


def _own_words(text: str, tokens: Counter[str]) -> list[str]:
    """Return the words of a text that have these tokens, or the tokens if words do not."""
    words, found = [], Counter[str]()
    for word in text.split():
        wanted = Counter(comparable_tokens(word)) & (tokens - found)
        if wanted:
            words.append(word.strip(_MARKS))
            found += wanted
    if found != tokens:
        return [token.lstrip("#@%!") or token for token in tokens.elements()]
    return [word for word in words if len(word) > 1 and not is_stop_word(word.lower())] or words


def _shown(words: list[str]) -> str:
    return ", ".join(words[:_SHOWN] + ["..."] * (len(words) > _SHOWN)) or "nothing"

"""Detect changes of word order that change the meaning of a text."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence

from rapidfuzz.distance import Prefix

from film.compare.normalize import NEGATION
from film.compare.words import common_words, is_stop_word

__all__ = ["sides_differ"]

MOST_WORDS = 100
"""Words of the longest texts whose parts are compared: longer ones say much in any order."""

_ARTICLES = frozenset("a an the my your our his her its".split())
_OTHER_ARTICLES = frozenset(
    "der die das den dem des le la les une el los las il lo gli o os um uma het een το ο η".split()
)
_DIRECTIONS = frozenset(
    "from to into onto than before after by over under versus "
    "von nach vom zum zur als durch vor de vers par avant apres que desde hasta hacia por".split()
)
"""English, German, French and Spanish, without accents."""
_JOINING = frozenset(
    "and or with & plus vs versus und oder mit et ou avec y o e u con ed com en met och eller og "
    "med i oraz lub nebo ili и или с та ve veya ja tai es si sau cu dan va και و 和 与 跟 及 と "
    "や".split()
)
_IN_SENTENCES = frozenset("ist est je po в не на по".split())
"""Frequent words of other languages, which records seldom have."""
_BETWEEN = frozenset(
    "van da dal al till til fran fra z ze za na ke din la tu para pe per su "
    "到 至 往 飞 飛 比 被 把 给 給 对 對 爱 愛 借 发 発 は が を に へ で の か ら よ り ま".split()
) | {NEGATION}
"""Words of other languages that tell what comes before and after them; English has some of them."""
_OTHER_WORDS = _OTHER_ARTICLES | _IN_SENTENCES
_SHORT = 4
"""Letters of words of other languages that are likely such words."""
_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]")
_STEM, _STEM_SHARE = 3, 0.6
"""Letters that two forms of one word share, and their share of the longer one."""


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
        text with a frequent word, or if there is a verb, or if the third one is like a preposition
        of any language and another word stays in its place. Such a one has up to four letters and
        is no common English word, or is in a short list. Parts that follow one another may change
        places, and so may the words of a list. Forms of one word are the same.

    Examples
    --------
    >>> from film.compare import sides_differ
    >>> there = "a train from vienna to prague".split()
    >>> sides_differ(there, "a train from prague to vienna".split())
    True
    >>> sides_differ(there, "a train to prague from vienna".split())
    False
    """
    if len(second) <= MOST_WORDS:
        second = _in_forms_of(first, second)
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
    if max(len(a), len(b)) > MOST_WORDS or sorted(a) != sorted(b):
        return False
    # In Italian and Spanish, "a" is no article.
    return _exchanged(a, b) or (sorted(first) == sorted(second) and _exchanged(first, second))


def _in_forms_of(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Write others that are forms of words, such as "Москву" for "Москвы", as these."""
    forms = [word for word in words if word not in others]
    found = []
    for other in others:
        stems = (word for word in forms if _is_form(word, other))
        word = other if other in words else next(stems, other)
        if word != other:
            forms.remove(word)
        found.append(word)
    return found


def _is_form(word: str, other: str) -> bool:
    n_alike = Prefix.similarity(word, other)
    return word.isalpha() and n_alike >= max(_STEM, _STEM_SHARE * max(len(word), len(other)))


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


def _exchanged(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether b is a with two parts exchanged around a third one."""
    n_words = len(a)
    is_sentence = any(is_stop_word(word) or word in _OTHER_WORDS for word in a)
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
                if len(words) < len(middle):
                    words = [word for word in words if word not in _OTHER_ARTICLES]
                is_verb = len(words) == 1 and words[0].endswith(("s", "ed"))
                # "Lee Ann Roe" may be Roe, Ann Lee: no other word stays in its place.
                is_between = n_words - n_first - n_last > 1 and all(map(_is_between, words))
                return bool(words) and (is_sentence or is_verb or is_between)
    return False


def _is_between(word: str) -> bool:
    if word in _BETWEEN:
        return True
    is_short = word.isalpha() and len(word) <= _SHORT and not _WITHOUT_SPACES.search(word)
    return is_short and word not in common_words()

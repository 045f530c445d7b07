"""Split a text into words and the spans that belong to them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_JOINERS = "'’\u200c\u200d"
_IDEOGRAPHIC = (
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True)
class Word:
    """One token of a text.

    Attributes
    ----------
    start, end : int
        Characters of the word itself, which displays show.
    whole_start, whole_end : int
        Span of the word with the punctuation around it. The spans of all words cover everything
        except white space.
    """

    start: int
    end: int
    whole_start: int
    whole_end: int


def split_words(text: str) -> list[Word]:
    """Split a text into words, spelled as written.

    Text is split at white space. In each part, a word is a sequence of letters, digits, combining
    marks and underscores, with apostrophes or joiners allowed inside; each ideograph or kana is a
    separate word. Other characters belong to the preceding word, or to the first word of the part
    if nothing precedes. A part without words, such as a dash or an emoji, is one token.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    words : list of Word
        In order; empty for blank text.

    Notes
    -----
    Takes linear time in the length of the text.

    Examples
    --------
    >>> from estimators.inspection import split_words
    >>> text = "Don't (machine-)learn: C++ & 東京!"
    >>> [text[word.start : word.end] for word in split_words(text)]
    ["Don't", 'machine', 'learn', 'C', '&', '東', '京']
    >>> [text[word.whole_start : word.whole_end] for word in split_words(text)]
    ["Don't", '(machine-)', 'learn:', 'C++', '&', '東', '京!']
    """
    words: list[Word] = []
    start = 0
    while start < len(text):
        if text[start].isspace():
            start += 1
            continue
        end = start
        while end < len(text) and not text[end].isspace():
            end += 1
        words += _words_of_part(text, start, end)
        start = end
    return words


def joined_words(words: list[Word], most: int) -> list[Word]:
    """Join neighbouring words into equally long groups, until at most `most` are left.

    Examples
    --------
    >>> words = split_words("to be or not")
    >>> [(word.start, word.end) for word in joined_words(words, 2)]
    [(0, 5), (6, 12)]
    """
    size = -(-len(words) // most)
    if size <= 1:
        return words
    runs = [words[first : first + size] for first in range(0, len(words), size)]
    return [Word(run[0].start, run[-1].end, run[0].whole_start, run[-1].whole_end) for run in runs]


def _words_of_part(text: str, start: int, end: int) -> list[Word]:
    spans: list[tuple[int, int]] = []
    open_word = False
    for i in range(start, end):
        character = text[i]
        if _ideographic(character):
            spans.append((i, i + 1))
            open_word = False
        elif character.isalnum() or character == "_":
            begin = spans.pop()[0] if open_word else i
            spans.append((begin, i + 1))
            open_word = True
        elif spans and spans[-1][1] == i and unicodedata.category(character)[0] == "M":
            spans[-1] = (spans[-1][0], i + 1)
        else:
            followed = i + 1 < end and text[i + 1].isalnum()
            open_word = open_word and character in _JOINERS and followed
    if not spans:
        return [Word(start, end, start, end)]
    starts = [start] + [span[0] for span in spans[1:]]
    ends = [*starts[1:], end]
    return [
        Word(*span, *whole)
        for span, whole in zip(spans, zip(starts, ends, strict=True), strict=True)
    ]


def _ideographic(character: str) -> bool:
    code = ord(character)
    return (
        code >= _IDEOGRAPHIC[0][0]
        and character.isalnum()
        and any(low <= code <= high for low, high in _IDEOGRAPHIC)
    )

"""Read a line of bracketed chunks and map it to the words of its sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PIECE = re.compile(r"\S+", re.ASCII)
# Characters that editors and tokenizers replace with one another.
_SPELLINGS = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "`": "'", "´": "'", "–": "-", "—": "-"}
)
_BLANKS = re.compile(r"[\s\u200b\ufeff]+")


def read_chunk_line(
    line: str, words: Sequence[str]
) -> tuple[tuple[tuple[int, ...], ...], list[str]]:
    """Return the chunks of a sentence from a line such as ``[ A cat ] [ sat ]``.

    Parameters
    ----------
    line : str
        Words in square brackets. Every bracket is a chunk boundary, even without a partner. Words
        outside brackets form a chunk.
    words : sequence of str
        The words of the sentence; their spelling takes precedence over that of the line.

    Returns
    -------
    chunks : tuple of tuple of int
        Positions of the words of each chunk, covering all of them.
    repairs : list of str
        Deviations from the format that were read because they have only one interpretation.

    Raises
    ------
    ValueError
        If letters or digits differ from those of the sentence, a word is split between two chunks,
        or the chunk of a word is not clear.

    Examples
    --------
    >>> read_chunk_line("[A cat ] [ sat ]", ("A", "cat", "sat."))
    (((0, 1), (2,)), ['brackets without a blank', "'sat' for 'sat.'"])
    """
    repairs = _bracket_repairs(line)
    exact = _pieces(line)
    if tuple(word for word, _ in exact) == tuple(words):
        return _grouped([chunk for _, chunk in exact]), repairs
    apart = _pieces(line.replace("[", " [ ").replace("]", " ] "))
    if apart != exact:
        repairs.append("brackets without a blank")
        if tuple(word for word, _ in apart) == tuple(words):
            return _grouped([chunk for _, chunk in apart]), repairs
    return _grouped(_placed(apart, words)), repairs + _spelled_otherwise(apart, words)


def _pieces(line: str) -> list[tuple[str, int]]:
    """Return words with the number of brackets before each."""
    found, chunk = [], 0
    for piece in _PIECE.findall(line):
        if piece in ("[", "]"):
            chunk += 1
        else:
            found.append((piece, chunk))
    return found


def _bracket_repairs(line: str) -> list[str]:
    depth, repairs, before = 0, [], ""
    for piece in _PIECE.findall(line.replace("[", " [ ").replace("]", " ] ")):
        if piece == "[":
            if depth:
                repairs.append("a bracket inside of brackets")
            depth = 1
        elif piece == "]":
            if not depth:
                repairs.append("a bracket that closes nothing")
            elif before == "[":
                repairs.append("empty brackets")
            depth = 0
        elif not depth and before in ("", "]"):
            repairs.append("words outside of brackets")
        before = piece
    return repairs + (["a bracket that is not closed"] if depth else [])


def _placed(pieces: list[tuple[str, int]], words: Sequence[str]) -> list[int]:
    """Return the chunk of each word; letters and digits must match, punctuation need not."""
    given = [(sign, chunk) for word, chunk in pieces for sign in _signs(word)]
    wanted = [(sign, place) for place, word in enumerate(words) for sign in _signs(word)]
    letters: list[set[int]] = [set() for _ in words]
    marks: list[set[int]] = [set() for _ in words]
    i = j = 0
    while i < len(wanted) or j < len(given):
        sign, place = wanted[i] if i < len(wanted) else ("", -1)
        other, chunk = given[j] if j < len(given) else ("", -1)
        if sign == other:
            (letters if sign.isalnum() else marks)[place].add(chunk)
            i, j = i + 1, j + 1
        elif sign and not sign.isalnum():
            i += 1
        elif other and not other.isalnum():
            j += 1
        else:
            raise ValueError("the words in brackets are not those of the sentence")
    found: list[int | None] = []
    for word, of_letters, of_marks in zip(words, letters, marks, strict=True):
        # Punctuation split from its word does not move the word to another chunk.
        chunks = of_letters or of_marks
        if len(chunks) > 1:
            raise ValueError(f"the word {word!r} is split between two chunks")
        found.append(next(iter(chunks), None))
    for place, chunk in enumerate(found):
        if chunk is None:
            before = found[place - 1] if place else None
            after = next((later for later in found[place + 1 :] if later is not None), None)
            if before is None or before != after:
                raise ValueError(f"the chunk of the word {words[place]!r} is not clear")
            found[place] = before
    return [chunk for chunk in found if chunk is not None]


def _signs(word: str) -> str:
    # The Penn Treebank writes a quotation mark as two such characters.
    return _BLANKS.sub("", word.replace("``", '"').replace("''", '"').translate(_SPELLINGS))


def _grouped(chunk_of: list[int]) -> tuple[tuple[int, ...], ...]:
    chunks: dict[int, list[int]] = {}
    for place, chunk in enumerate(chunk_of):
        chunks.setdefault(chunk, []).append(place)
    return tuple(tuple(chunk) for chunk in chunks.values())


def _spelled_otherwise(pieces: list[tuple[str, int]], words: Sequence[str]) -> list[str]:
    spelled = [word for word, _ in pieces]
    head = 0
    while head < min(len(spelled), len(words)) and spelled[head] == words[head]:
        head += 1
    tail = 0
    while tail < min(len(spelled), len(words)) - head and spelled[-1 - tail] == words[-1 - tail]:
        tail += 1
    given = " ".join(spelled[head : len(spelled) - tail])
    return [f"{given!r} for {' '.join(words[head : len(words) - tail])!r}"]

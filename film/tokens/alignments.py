"""Sentence pairs with chunks and alignments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

_NOTHING = "-not aligned-"
_WORD = re.compile(r"\S+", re.ASCII)


@dataclass(frozen=True)
class Alignment:
    """An alignment between words of two sentences, or words that align to nothing.

    Parameters
    ----------
    positions1, positions2 : tuple of int
        Positions of the words in their sentences, from 0. One side is empty if the words align to
        nothing.
    type : str
        A label (EQUI, OPPO, SPE1, SPE2, SIMI, REL, NOALI, ALIC), followed by any tags (FACT, POL),
        joined by "_".
    score : float or None
        Similarity from 0 to 5; None is NIL, usually for words that align to nothing.
    comment : str, default=""
        One line of free text; the official files spell out both chunks.

    Raises
    ------
    ValueError
        If both sides are empty, a position is negative or repeated, type is blank or contains
        whitespace or "//", score is not a number from 0 to 5, or comment has several lines or
        surrounding whitespace.

    Examples
    --------
    >>> Alignment((0, 1), (0,), "SPE1_FACT", 3.0).score
    3.0
    """

    positions1: tuple[int, ...]
    positions2: tuple[int, ...]
    type: str
    score: float | None
    comment: str = ""

    def __post_init__(self) -> None:
        """Reject values that the file format cannot hold."""
        if not self.positions1 and not self.positions2:
            raise ValueError("positions1 and positions2 are both empty; at least one needs words")
        for name, places in (("positions1", self.positions1), ("positions2", self.positions2)):
            if any(place < 0 for place in places) or len(set(places)) < len(places):
                raise ValueError(f"{name} must be distinct and at least 0, got {places}")
        if not _WORD.fullmatch(self.type) or "//" in self.type:
            raise ValueError(f"type must be a label such as EQUI or SPE1_FACT, got {self.type!r}")
        if self.score is not None and not 0 <= self.score <= 5:
            raise ValueError(f"score must be a number from 0 to 5 or None, got {self.score}")
        if not re.fullmatch(r"(\S(.*\S)?)?", self.comment, re.ASCII):
            raise ValueError(
                f"comment must be one line without surrounding whitespace, got {self.comment!r}"
            )


@dataclass(frozen=True)
class AlignedPair:
    """Two tokenised sentences with their chunks and alignments.

    Parameters
    ----------
    id : str
        Name of the pair in the file.
    words1, words2 : tuple of str
        The words of each sentence; ``" ".join(words1)`` is the sentence.
    chunks1, chunks2 : tuple of tuple of int
        Positions of the words of each chunk, from 0; empty if the chunks are unknown.
    alignments : tuple of Alignment
        In file order. A word may be in several alignments, and an alignment need not cover whole
        chunks.
    repairs : tuple of str
        Errors that the reader corrected in the pair's lines, with file and line. Ignored when pairs
        are compared.

    Raises
    ------
    ValueError
        If the id is blank or contains a quotation mark, a sentence has no words, a word contains
        whitespace, a chunk is empty, a word is in two chunks, or a position is out of range.

    Examples
    --------
    >>> same = Alignment((0, 1), (0, 1), "EQUI", 5.0)
    >>> AlignedPair("1", ("A", "cat"), ("A", "feline"), alignments=(same,)).alignments[0].type
    'EQUI'
    """

    id: str
    words1: tuple[str, ...]
    words2: tuple[str, ...]
    chunks1: tuple[tuple[int, ...], ...] = ()
    chunks2: tuple[tuple[int, ...], ...] = ()
    alignments: tuple[Alignment, ...] = ()
    repairs: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Reject chunks and alignments that do not fit the sentences."""
        if not re.fullmatch(r'[^"\n]+', self.id):
            raise ValueError(f"id must be text without quotation marks, got {self.id!r}")
        sides = (("1", self.words1, self.chunks1), ("2", self.words2, self.chunks2))
        for side, words, chunks in sides:
            if not words or not all(_WORD.fullmatch(word) for word in words):
                raise ValueError(
                    f"pair {self.id}: words{side} must be words without whitespace, got {words}"
                )
            used = [place for chunk in chunks for place in chunk]
            outside = any(not 0 <= place < len(words) for place in used)
            if not all(chunks) or len(set(used)) < len(used) or outside:
                raise ValueError(
                    f"pair {self.id}: chunks{side} must be groups of positions from 0 to "
                    f"{len(words) - 1}, each position at most once, got {chunks}"
                )
        for alignment in self.alignments:
            if fault := misplaced(alignment, self.words1, self.words2):
                raise ValueError(f"pair {self.id}: {fault}")


def align_chunks(pair: AlignedPair, aligned: Sequence[tuple[int, int]]) -> AlignedPair:
    """Set the alignments of a pair from aligned chunks.

    Parameters
    ----------
    pair : AlignedPair
        Must have chunks; its alignments are replaced.
    aligned : sequence of (int, int)
        Chunk numbers in the first and second sentence, from 0, such as the result of
        `film.tokens.mutual_maxima`.

    Returns
    -------
    pair : AlignedPair
        Aligned chunks get type EQUI and score 5, as CLRCMD writes them; all other chunks get NOALI.

    Raises
    ------
    ValueError
        If `aligned` names a chunk that does not exist.

    Examples
    --------
    >>> pair = AlignedPair("1", ("A", "cat"), ("It",), ((0, 1),), ((0,),))
    >>> align_chunks(pair, []).alignments[0].comment
    'A cat <==> -not aligned-'
    """
    for first, second in aligned:
        if not (0 <= first < len(pair.chunks1) and 0 <= second < len(pair.chunks2)):
            raise ValueError(
                f"aligned names chunks ({first}, {second}), but pair {pair.id} has "
                f"{len(pair.chunks1)} and {len(pair.chunks2)} chunks"
            )
    used1, used2 = {first for first, _ in aligned}, {second for _, second in aligned}
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        (pair.chunks1[first], pair.chunks2[second]) for first, second in aligned
    ]
    sides += [(chunk, ()) for i, chunk in enumerate(pair.chunks1) if i not in used1]
    sides += [((), chunk) for j, chunk in enumerate(pair.chunks2) if j not in used2]
    alignments = []
    for places1, places2 in sides:
        spelled = f"{_spelled(pair.words1, places1)} <==> {_spelled(pair.words2, places2)}"
        label, score = ("EQUI", 5.0) if places1 and places2 else ("NOALI", None)
        alignments.append(Alignment(places1, places2, label, score, spelled))
    return replace(pair, alignments=tuple(alignments))


def misplaced(alignment: Alignment, words1: Sequence[str], words2: Sequence[str]) -> str:
    """Return an error message if a position is out of range, else the empty string."""
    for places, words in ((alignment.positions1, words1), (alignment.positions2, words2)):
        if places and max(places) >= len(words):
            return f"an alignment names word {max(places) + 1} of a sentence of {len(words)} words"
    return ""


def _spelled(words: Sequence[str], places: Sequence[int]) -> str:
    return " ".join(words[place] for place in places) or _NOTHING

"""Sentence pairs with chunks and the alignments between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

_NOTHING = "-not aligned-"
_WORD = re.compile(r"\S+", re.ASCII)


@dataclass(frozen=True)
class Alignment:
    """Words of one sentence that stand for words of the other, or for nothing.

    Parameters
    ----------
    positions1, positions2 : tuple of int
        Positions of the words in their sentences, from 0; empty on the side where nothing
        corresponds.
    type : str
        A label (EQUI, OPPO, SPE1, SPE2, SIMI, REL, NOALI, ALIC), further tags (FACT, POL) joined to
        it by "_".
    score : float or None
        Similarity from 0 to 5; None is NIL, as a rule where nothing corresponds.
    comment : str, default=""
        Free text of one line; in the official files both chunks spelled out.

    Raises
    ------
    ValueError
        When both sides are empty, a position is negative or comes twice, type is blank or holds
        blanks or "//", score is no number from 0 to 5, or comment has several lines or blanks
        around it.

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
        """Refuse what no line of a file can say."""
        if not self.positions1 and not self.positions2:
            raise ValueError("positions1 and positions2 are both empty; give words on one side")
        for name, places in (("positions1", self.positions1), ("positions2", self.positions2)):
            if any(place < 0 for place in places) or len(set(places)) < len(places):
                raise ValueError(f"{name} must be distinct and at least 0, got {places}")
        if not _WORD.fullmatch(self.type) or "//" in self.type:
            raise ValueError(f"type must be a label such as EQUI or SPE1_FACT, got {self.type!r}")
        if self.score is not None and not 0 <= self.score <= 5:
            raise ValueError(f"score must be a number from 0 to 5 or None, got {self.score}")
        if not re.fullmatch(r"(\S(.*\S)?)?", self.comment, re.ASCII):
            raise ValueError(
                f"comment must be one line without blanks around it, got {self.comment!r}"
            )


@dataclass(frozen=True)
class AlignedPair:
    """Two tokenised sentences, their chunks, and which words correspond.

    Parameters
    ----------
    id : str
        Name of the pair in its file.
    words1, words2 : tuple of str
        The words of both sentences; ``" ".join(words1)`` is the sentence.
    chunks1, chunks2 : tuple of tuple of int
        Positions of the words of each chunk, from 0; empty where no chunks are known.
    alignments : tuple of Alignment
        In the order of the file. A word may stand in several, and need not be a whole chunk.
    repairs : tuple of str
        What a reader put right in the pair's lines, with file and line. Two pairs that differ in
        nothing else are equal.

    Raises
    ------
    ValueError
        When the id is blank or holds a quotation mark, a sentence has no words or a word holds
        blanks, a chunk is empty, a word is in two chunks, or a position is beyond the sentence.

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
        """Refuse chunks and alignments that do not fit the sentences."""
        if not re.fullmatch(r'[^"\n]+', self.id):
            raise ValueError(f"id must be text without quotation marks, got {self.id!r}")
        sides = (("1", self.words1, self.chunks1), ("2", self.words2, self.chunks2))
        for side, words, chunks in sides:
            if not words or not all(_WORD.fullmatch(word) for word in words):
                raise ValueError(
                    f"pair {self.id}: words{side} must be words without blanks, got {words}"
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
    """Give a pair the alignments of a system that says only which chunks belong together.

    Parameters
    ----------
    pair : AlignedPair
        With chunks; its alignments are replaced.
    aligned : sequence of (int, int)
        Which chunk of the first sentence goes with which of the second, from 0, as of
        `film.tokens.mutual_maxima`.

    Returns
    -------
    pair : AlignedPair
        Each of `aligned` as EQUI with score 5, as CLRCMD writes them, then every chunk left over
        as NOALI.

    Raises
    ------
    ValueError
        When `aligned` names a chunk that the pair does not have.

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
    """Say which word an alignment names beyond its sentence, or return the empty string."""
    for places, words in ((alignment.positions1, words1), (alignment.positions2, words2)):
        if places and max(places) >= len(words):
            return f"an alignment names word {max(places) + 1} of a sentence of {len(words)} words"
    return ""


def _spelled(words: Sequence[str], places: Sequence[int]) -> str:
    return " ".join(words[place] for place in places) or _NOTHING

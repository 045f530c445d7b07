"""Sentence pairs with chunks and alignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


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

    Examples
    --------
    >>> Alignment((0, 1), (0,), "SPE1_FACT", 3.0).score
    3.0
    """

    positions1: tuple[int, ...]
    positions2: tuple[int, ...]
    type: str
    score: float | None


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

    Examples
    --------
    >>> pair = AlignedPair("1", ("A", "cat"), ("It",), ((0, 1),), ((0,),))
    >>> align_chunks(pair, []).alignments[0].type
    'NOALI'
    """
    used1, used2 = {first for first, _ in aligned}, {second for _, second in aligned}
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        (pair.chunks1[first], pair.chunks2[second]) for first, second in aligned
    ]
    sides += [(chunk, ()) for i, chunk in enumerate(pair.chunks1) if i not in used1]
    sides += [((), chunk) for j, chunk in enumerate(pair.chunks2) if j not in used2]
    alignments = []
    for places1, places2 in sides:
        label, score = ("EQUI", 5.0) if places1 and places2 else ("NOALI", None)
        alignments.append(Alignment(places1, places2, label, score))
    return replace(pair, alignments=tuple(alignments))

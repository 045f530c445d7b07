"""Alignments of iSTS, and the task's measure of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


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


_PUNCTUATION = frozenset(".,:'`?;\"-")
_LEAST_CLRCMD_SCORE = 3

Protocol = Literal["official", "clrcmd"]
_Link = tuple[int, int]


class AlignmentMeasure(NamedTuple):
    """Precision, recall and F1; a measure whose denominator is 0 is 0."""

    precision: float
    recall: float
    f1: float


def score_alignments(
    gold: Sequence[AlignedPair],
    system: Sequence[AlignedPair],
    protocol: Protocol = "official",
) -> AlignmentMeasure:
    """Compare alignments with the gold standard, word by word.

    An alignment links each of its words on one side to each of its words on the other.
    Single-character punctuation, one of ``. , : ' ` ? ; " -``, and unaligned words are ignored. A
    link has weight 1 / max(number of partners of its two words), counted over the system's links
    for precision and over the gold links for recall. Precision is the weight of the system's links
    that are also in the gold, divided by the weight of all the system's links; recall is computed
    in the same way from the gold links. Both are summed over all pairs, so long sentences count
    for more.

    Parameters
    ----------
    gold, system : sequence of AlignedPair, the same length
        The same pairs in the same order; only their alignments may differ. A system without
        alignments for a pair passes the pair with none.
    protocol : {"official", "clrcmd"}, default="official"
        "official" uses all gold alignments; "clrcmd" uses only those with a score of at least 3,
        like the evaluation code released with the CLRCMD paper.

    Returns
    -------
    measure : AlignmentMeasure
        The task's "F1 Ali": types and scores of links are ignored.

    Notes
    -----
    The weights follow Melamed, *Manual annotation of translational equivalence*, 1998, equation 4.
    Time is linear in the number of links.

    References
    ----------
    E. Agirre et al. "SemEval-2016 Task 2: Interpretable Semantic Textual Similarity." SemEval 2016.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from benchmarks.data.alignments import AlignedPair, Alignment
    >>> one_to_two = Alignment((0,), (0, 1), "EQUI", 5.0)
    >>> gold = AlignedPair("1", ("cats",), ("the", "cats"), alignments=(one_to_two,))
    >>> system = replace(gold, alignments=(Alignment((0,), (1,), "SPE2", 4.0),))
    >>> score_alignments([gold], [system])
    AlignmentMeasure(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    links, found, known, covered = link_weights(gold, system, protocol).sum(axis=0).tolist()
    precision = found / links if links else 0.0
    recall = covered / known if known else 0.0
    total = precision + recall
    return AlignmentMeasure(precision, recall, 2 * precision * recall / total if total else 0.0)


def link_weights(
    gold: Sequence[AlignedPair], system: Sequence[AlignedPair], protocol: Protocol = "official"
) -> NDArray[np.float64]:
    """Return the terms that each pair adds to the sums of `score_alignments`.

    With the columns summed over pairs, precision is column 1 / column 0 and recall is column 3 /
    column 2. This lets a bootstrap resample pairs without comparing the alignments again.

    Parameters
    ----------
    gold, system, protocol
        As in `score_alignments`.

    Returns
    -------
    weights : ndarray of float64, shape (n_pairs, 4)
        Weight of the system's links; of the system's links that are also in the gold; of the gold
        links; and of the gold links that the system also has.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from benchmarks.data.alignments import AlignedPair, Alignment, link_weights
    >>> one_to_two = Alignment((0,), (0, 1), "EQUI", 5.0)
    >>> gold = AlignedPair("1", ("cats",), ("the", "cats"), alignments=(one_to_two,))
    >>> system = replace(gold, alignments=(Alignment((0,), (1,), "SPE2", 4.0),))
    >>> link_weights([gold], [system])
    array([[1. , 1. , 1. , 0.5]])
    """
    found = np.zeros((len(gold), 4))
    for row, right, ours in zip(found, gold, system, strict=True):
        kept = (each for each in right.alignments if protocol == "official" or _is_close(each))
        links = _links(ours, ours.alignments), _links(right, kept)
        row[:2], row[2:] = _weights(*links), _weights(*links[::-1])
    return found


def _is_close(alignment: Alignment) -> bool:
    return alignment.score is not None and alignment.score >= _LEAST_CLRCMD_SCORE


def _links(pair: AlignedPair, alignments: Iterable[Alignment]) -> set[_Link]:
    """Return the linked words of a pair, without punctuation."""
    return {
        (first, second)
        for alignment in alignments
        for first in alignment.positions1
        for second in alignment.positions2
        if not {pair.words1[first], pair.words2[second]} & _PUNCTUATION
    }


def _weights(own: set[_Link], other: set[_Link]) -> tuple[float, float]:
    """Return the weight of links, and of those that are also among others."""
    partners1, partners2 = (Counter(link[side] for link in own) for side in (0, 1))
    # In order, so that the sums do not depend on hashes.
    weights = {each: 1 / max(partners1[each[0]], partners2[each[1]]) for each in sorted(own)}
    return sum(weights.values()), sum(w for link, w in weights.items() if link in other)

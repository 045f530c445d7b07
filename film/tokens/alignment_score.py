"""F1 scores of word alignments, as in SemEval-2016 task 2 (interpretable similarity)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from film.tokens.alignments import AlignedPair, Alignment

_PUNCTUATION = frozenset(".,:'`?;\"-")
_RELATED = frozenset(("spe1", "spe2", "simi", "rel"))
_NEARLY_EQUAL = _RELATED - {"rel"}
_LEAST_CLRCMD_SCORE = 3

Protocol = Literal["official", "clrcmd"]
_Link = tuple[int, int]


class AlignmentMeasure(NamedTuple):
    """Precision, recall and F1; a measure whose denominator is 0 is 0."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class AlignmentScores:
    """Alignment scores over all pairs.

    Parameters
    ----------
    alignment : AlignmentMeasure
        Links only; types and scores are ignored ("F1 Ali").
    type : AlignmentMeasure
        Each link is weighted by the agreement of the types ("F1 Type").
    score : AlignmentMeasure
        Each link is weighted by the agreement of the scores ("F1 Score").
    both : AlignmentMeasure
        Weighted by both, with similar types forgiven ("F1 Typ+Sco" as documented).
    both_strict : AlignmentMeasure
        Weighted by both, with no type forgiven ("F1 Typ+Sco" of the task's other script).
    """

    alignment: AlignmentMeasure
    type: AlignmentMeasure
    score: AlignmentMeasure
    both: AlignmentMeasure
    both_strict: AlignmentMeasure


@dataclass(frozen=True)
class _Label:
    main: str
    tags: frozenset[str]
    score: float


def score_alignments(
    gold: Sequence[AlignedPair],
    system: Sequence[AlignedPair],
    protocol: Protocol = "official",
) -> AlignmentScores:
    """Compare alignments with the gold standard, word by word.

    An alignment links each of its words on one side to each of its words on the other.
    Single-character punctuation, one of ``. , : ' ` ? ; " -``, and unaligned words are ignored. A
    link has weight 1 / max(number of partners of its two words), counted over the system's links
    for precision and over the gold links for recall. Precision is the weight of the system's links
    that are also in the gold, divided by the weight of all the system's links; recall is computed
    in the same way from the gold links. Both are summed over all pairs, so long sentences count
    for more.

    The agreement of two types is the Jaccard index of their labels and tags, ignoring case. The
    agreement of two scores is 1 − |difference| / 5. "both" treats two different labels as equal
    if one is EQUI and the other SIMI, SPE1 or SPE2 with a score of at least 4, or if both are
    among SPE1, SPE2, SIMI and REL with scores below 3.

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
    scores : AlignmentScores

    Notes
    -----
    The weights follow Melamed, *Manual annotation of translational equivalence*, 1998, equation 4.
    As in the task's evalF1.pl, two words linked twice in one pair get the type and score of the
    later alignment, and NIL between words counts as score 0. Two versions of that script are in
    use; they differ only in "both".

    Time is linear in the number of links.

    References
    ----------
    E. Agirre et al. "SemEval-2016 Task 2: Interpretable Semantic Textual Similarity." SemEval 2016.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from film.tokens import AlignedPair, Alignment
    >>> one_to_two = Alignment((0,), (0, 1), "EQUI", 5.0)
    >>> gold = AlignedPair("1", ("cats",), ("the", "cats"), alignments=(one_to_two,))
    >>> system = replace(gold, alignments=(Alignment((0,), (1,), "SPE2", 4.0),))
    >>> scores = score_alignments([gold], [system])
    >>> scores.alignment
    AlignmentMeasure(precision=1.0, recall=0.5, f1=0.6666666666666666)
    >>> scores.score.precision, scores.both.precision, scores.both_strict.precision
    (0.8, 0.8, 0.0)
    """
    gold_links, system_links = _links_of_both(gold, system, protocol)

    def measure(agreement: Callable[[_Label, _Label], float]) -> AlignmentMeasure:
        precision = _share(_weights(system_links, gold_links, agreement))
        recall = _share(_weights(gold_links, system_links, agreement))
        total = precision + recall
        f1 = 2 * precision * recall / total if total else 0.0
        return AlignmentMeasure(precision, recall, f1)

    return AlignmentScores(
        alignment=measure(lambda a, b: 1.0),
        type=measure(_type_agreement),
        score=measure(_score_agreement),
        both=measure(lambda a, b: _forgiving_type_agreement(a, b) * _score_agreement(a, b)),
        both_strict=measure(lambda a, b: _type_agreement(a, b) * _score_agreement(a, b)),
    )


def link_weights(
    gold: Sequence[AlignedPair], system: Sequence[AlignedPair], protocol: Protocol = "official"
) -> NDArray[np.float64]:
    """Return the terms that each pair adds to the sums of `AlignmentScores.alignment`.

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
    >>> from film.tokens import AlignedPair, Alignment, link_weights
    >>> one_to_two = Alignment((0,), (0, 1), "EQUI", 5.0)
    >>> gold = AlignedPair("1", ("cats",), ("the", "cats"), alignments=(one_to_two,))
    >>> system = replace(gold, alignments=(Alignment((0,), (1,), "SPE2", 4.0),))
    >>> link_weights([gold], [system])
    array([[1. , 1. , 1. , 0.5]])
    """
    gold_links, system_links = _links_of_both(gold, system, protocol)

    def alike(a: _Label, b: _Label) -> float:
        return 1.0

    sides = (system_links, gold_links), (gold_links, system_links)
    return np.hstack([_weights(own, other, alike) for own, other in sides])


def _links_of_both(
    gold: Sequence[AlignedPair], system: Sequence[AlignedPair], protocol: Protocol
) -> tuple[list[dict[_Link, _Label]], list[dict[_Link, _Label]]]:
    """Return the links of each pair."""
    gold_links, system_links = [], []
    for right, found in zip(gold, system, strict=True):
        kept = (each for each in right.alignments if protocol == "official" or _is_close(each))
        gold_links.append(_links(right, kept))
        system_links.append(_links(found, found.alignments))
    return gold_links, system_links


def _is_close(alignment: Alignment) -> bool:
    return alignment.score is not None and alignment.score >= _LEAST_CLRCMD_SCORE


def _links(pair: AlignedPair, alignments: Iterable[Alignment]) -> dict[_Link, _Label]:
    links = {}
    for alignment in alignments:
        main, *tags = alignment.type.lower().split("_")
        label = _Label(main, frozenset(tags), alignment.score or 0.0)
        for first in alignment.positions1:
            for second in alignment.positions2:
                if not {pair.words1[first], pair.words2[second]} & _PUNCTUATION:
                    links[first, second] = label
    return links


def _weights(
    own: Sequence[dict[_Link, _Label]],
    other: Sequence[dict[_Link, _Label]],
    agreement: Callable[[_Label, _Label], float],
) -> NDArray[np.float64]:
    """Sum the weights of a pair's links, and of the shared links scaled by agreement.

    Shape (n_pairs, 2).
    """
    found = np.zeros((len(own), 2))
    for row, links, others in zip(found, own, other, strict=True):
        partners1 = Counter(first for first, _ in links)
        partners2 = Counter(second for _, second in links)
        for (first, second), label in links.items():
            weight = 1 / max(partners1[first], partners2[second])
            row[0] += weight
            if (first, second) in others:
                row[1] += weight * agreement(label, others[first, second])
    return found


def _share(weights: NDArray[np.float64]) -> float:
    total, shared = weights.sum(axis=0)
    return float(shared / total) if total else 0.0


def _type_agreement(a: _Label, b: _Label) -> float:
    kinds_a, kinds_b = a.tags | {a.main}, b.tags | {b.main}
    return len(kinds_a & kinds_b) / len(kinds_a | kinds_b)


def _score_agreement(a: _Label, b: _Label) -> float:
    return 1 - abs(a.score - b.score) / 5


def _forgiving_type_agreement(a: _Label, b: _Label) -> float:
    nearly_equal = any(
        x.main == "equi" and y.main in _NEARLY_EQUAL and y.score >= 4 for x, y in ((a, b), (b, a))
    )
    loosely_related = all(x.main in _RELATED and x.score < 3 for x in (a, b))
    if not (nearly_equal or loosely_related):
        return _type_agreement(a, b)
    return (1 + len(a.tags & b.tags)) / (1 + len(a.tags | b.tags))

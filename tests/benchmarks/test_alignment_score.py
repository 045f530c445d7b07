from dataclasses import replace

import pytest

from benchmarks.data.alignments import (
    AlignedPair,
    Alignment,
    align_chunks,
    link_weights,
    score_alignments,
)

WORDS1 = ("the", "black", "cat", "sat", ".")
WORDS2 = ("a", "cat", "was", "sitting", "down", ".")


def pair(*alignments: Alignment, id: str = "1") -> AlignedPair:
    return AlignedPair(id, WORDS1, WORDS2, alignments=alignments)


def link(places1, places2, label="EQUI", score: float | None = 5.0):
    return Alignment(tuple(places1), tuple(places2), label, score)


def scores(gold, system, **options):
    return score_alignments([gold], [system], **options)


NOTHING = [link([0, 1], [], "NOALI", None), link([], [0], "ALIC", 0.0)]
CASES = {
    # System: 2 links of weight 1, one of them in the gold. Gold: 3 links of weight 1, one found.
    "one to one": (
        [link([0], [0]), link([2], [1]), link([3], [3])],
        [link([2], [1]), link([1], [0])],
        (1 / 2, 1 / 3, 2 / 5),
    ),
    # Gold sat–{was, sitting, down}: 3 links of weight 1/3. System sat–{was, sitting}: 2 of 1/2.
    "one to several": ([link([3], [2, 3, 4])], [link([3], [2, 3])], (1, 2 / 3, 4 / 5)),
    # Gold {the, black, cat}–{a, cat}: 6 links, each word of the left has 2 partners, of the right
    # 3: weight 1/3 each, 2 in all. System cat–cat of weight 1 and sat–sitting of weight 1.
    "several to several": (
        [link([0, 1, 2], [0, 1])],
        [link([2], [1]), link([3], [3])],
        (1 / 2, 1 / 6, 1 / 4),
    ),
    # {the, black, cat}–cat: 3 links of weight 1/3; sat–sitting: 1.
    "several to one": ([link([0, 1, 2], [1]), link([3], [3])], [link([3], [3])], (1, 1 / 2, 2 / 3)),
    # Gold cat–a and cat–cat in two alignments: cat has 2 partners, each link weighs 1/2.
    "partners of all alignments": (
        [link([2], [0]), link([2], [1])],
        [link([2], [1])],
        (1, 1 / 2, 2 / 3),
    ),
    "what corresponds to nothing": ([link([2], [1]), *NOTHING], [link([2], [1])], (1, 1, 1)),
    # {sat, .}–{down, .} is sat–down alone; .–. is no link at all, and sat–. neither.
    "punctuation": ([link([3, 4], [4, 5])], [link([3], [4]), link([4], [5])], (1, 1, 1)),
    "a word and punctuation": ([link([3, 4], [4, 5])], [link([3], [4, 5])], (1, 1, 1)),
    "nothing to align": ([], [], (0, 0, 0)),
    "punctuation alone": ([link([4], [5])], [link([4], [5])], (0, 0, 0)),
    "nothing found": ([link([0], [0])], [], (0, 0, 0)),
}


@pytest.mark.parametrize(("gold", "system", "expected"), CASES.values(), ids=CASES)
def test_alignments_weigh_by_their_partners(gold, system, expected):
    assert scores(pair(*gold), pair(*system)) == pytest.approx(expected)
    precision, recall, f1 = expected
    turned = scores(pair(*system), pair(*gold))
    assert turned == pytest.approx((recall, precision, f1))


@pytest.mark.parametrize(
    ("word", "recall"),
    [
        *((mark, 1) for mark in ".,:'`?;\"-"),
        *((sign, 0.5) for sign in ("!", "--", "...", "''", "&", "(", "’", "/")),
    ],
)
def test_marks_of_punctuation_are_no_words(word, recall):
    gold = AlignedPair("1", (word, "x"), (word, "x"), alignments=(link([0], [0]), link([1], [1])))
    assert scores(gold, replace(gold, alignments=(link([1], [1]),))).recall == recall


def test_all_pairs_are_counted_at_once():
    # System: 1 + 3 links of weight 1, all right but one: precision 3/4. Gold: 1 + 2, all found:
    # recall 1. F1 = 2 · 3/4 / (7/4) = 6/7, where the mean of the two pairs' would be 9/10.
    gold = [pair(link([0], [0])), pair(link([2], [1]), link([3], [3]), id="2")]
    found = [gold[0], pair(link([2], [1]), link([3], [3]), link([0], [0]), id="2")]
    assert score_alignments(gold, found) == pytest.approx((3 / 4, 1, 6 / 7))
    assert score_alignments([], []) == (0, 0, 0)


def test_words_linked_twice_are_one_link():
    # Twice the same link is one partner, so its weight is 1.
    gold = pair(link([2], [1], "EQUI", 5.0), link([2], [1], "REL", 2.0))
    result = scores(gold, pair(link([2], [1], "REL", 2.0)))
    assert result == (1, 1, 1)


def test_the_clrcmd_protocol_keeps_gold_scores_of_three_or_more():
    # Gold of 3 and 5 stay, 2.9 and NIL go, and with them their share in the partners of "cat":
    # gold weights 1 + 1, both found: recall 1. System: cat–{a, cat} of weight 1/2 and sat–sitting
    # of 1; cat–a is not in the gold any more: precision (1/2 + 1) / 2 = 3/4.
    gold = pair(
        link([2], [1], score=3.0),
        link([2], [0], score=2.9),
        link([3], [3], score=5.0),
        link([0], [2], score=None),
    )
    system = pair(link([2], [0, 1], score=1.0), link([3], [3], score=None))
    result = scores(gold, system, protocol="clrcmd")
    assert result == pytest.approx((3 / 4, 1, 6 / 7))
    # A score of just 3 counts where it is missed, too: recall 1/2.
    assert scores(gold, pair(link([3], [3])), protocol="clrcmd").recall == 1 / 2
    # Officially all stay: cat has 2 partners, so 1/2 + 1/2 + 1 of 3 are found, and precision is 1.
    assert scores(gold, system) == pytest.approx((1, 2 / 3, 4 / 5))


def test_chunks_that_are_not_aligned_align_to_nothing():
    given = AlignedPair("1", ("A", "cat", "sat"), ("It", "sat"), ((0, 1), (2,)), ((0,), (1,)))
    found = align_chunks(given, [(1, 1)])
    sides = [(each.positions1, each.positions2) for each in found.alignments]
    assert sides == [((2,), (1,)), ((0, 1), ()), ((), (0,))]
    assert [each.score for each in found.alignments] == [5.0, None, None]


def test_weights_of_links_add_up_to_precision_and_recall():
    gold = [pair(link((0,), (0, 1))), pair(link((1, 2), (2,)), link((3,), (3,), score=2.0), id="2")]
    system = [pair(link((0,), (1,))), pair(link((1,), (2,)), link((0,), (3,)), id="2")]
    for protocol in ("official", "clrcmd"):
        weights = link_weights(gold, system, protocol)
        for row, one, other in zip(weights, gold, system, strict=True):
            alone = score_alignments([one], [other], protocol)
            assert row[1] / row[0] == pytest.approx(alone.precision)
            assert row[3] / row[2] == pytest.approx(alone.recall)
        links, found, known, covered = weights.sum(axis=0)
        both = score_alignments(gold, system, protocol)
        assert (found / links, covered / known) == pytest.approx(both[:2])

from dataclasses import replace

import pytest

from film.tokens.alignment_score import link_weights, score_alignments
from film.tokens.alignments import AlignedPair, Alignment, align_chunks

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
    "several to one": (
        [link([0, 1, 2], [1]), link([3], [3])],
        [link([3], [3])],
        (1, 1 / 2, 2 / 3),
    ),
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
    assert scores(pair(*gold), pair(*system)).alignment == pytest.approx(expected)
    precision, recall, f1 = expected
    turned = scores(pair(*system), pair(*gold)).alignment
    assert turned == pytest.approx((recall, precision, f1))


@pytest.mark.parametrize(
    ("first", "second", "measure", "expected"),
    [
        # EQUI_FACT against EQUI: 1 of 2 kinds. REL against OPPO: none. Tags have no order or case.
        (("EQUI_FACT", 5.0), ("EQUI", 5.0), "type", 1 / 2),
        (("REL", 5.0), ("OPPO", 5.0), "type", 0),
        (("EQUI_FACT", 5.0), ("fact_equi", 5.0), "type", 1),
        # 1 − |5 − 3| / 5; NIL counts as 0.
        (("EQUI", 5.0), ("REL", 3.0), "score", 3 / 5),
        (("EQUI", 2.0), ("EQUI", 2.5), "score", 9 / 10),
        (("EQUI", 4.0), ("EQUI", None), "score", 1 / 5),
        # Kinds {rel} and {rel, pol}: 1/2; scores 4 and 3: 4/5.
        (("REL", 4.0), ("REL_POL", 3.0), "both", 2 / 5),
        (("REL", 4.0), ("REL_POL", 3.0), "both_strict", 2 / 5),
    ],
)
def test_types_and_scores_agree_in_part(first, second, measure, expected):
    gold, system = pair(link([2], [1], *first)), pair(link([2], [1], *second))
    result = scores(gold, system)
    assert getattr(result, measure) == pytest.approx([expected] * 3)
    assert result.alignment == (1, 1, 1)
    # A link that is not in the gold halves the precision alone.
    more = scores(gold, pair(link([2], [1], *second), link([0], [0])))
    found = getattr(more, measure)
    assert (found.precision, found.recall) == pytest.approx((expected / 2, expected))


@pytest.mark.parametrize(
    ("word", "recall"),
    [
        *((mark, 1) for mark in ".,:'`?;\"-"),
        *((sign, 0.5) for sign in ("!", "--", "...", "''", "&", "(", "’", "/")),
    ],
)
def test_marks_of_punctuation_are_no_words(word, recall):
    gold = AlignedPair("1", (word, "x"), (word, "x"), alignments=(link([0], [0]), link([1], [1])))
    assert scores(gold, replace(gold, alignments=(link([1], [1]),))).alignment.recall == recall


def test_all_pairs_are_counted_at_once():
    # System: 1 + 3 links of weight 1, all right but one: precision 3/4. Gold: 1 + 2, all found:
    # recall 1. F1 = 2 · 3/4 / (7/4) = 6/7, where the mean of the two pairs' would be 9/10.
    gold = [pair(link([0], [0])), pair(link([2], [1]), link([3], [3]), id="2")]
    found = [gold[0], pair(link([2], [1]), link([3], [3]), link([0], [0]), id="2")]
    assert score_alignments(gold, found).alignment == pytest.approx((3 / 4, 1, 6 / 7))
    assert score_alignments([], []).both == (0, 0, 0)


@pytest.mark.parametrize(
    ("first", "second", "factor"),
    [
        # Equal but for a detail, and scored nearly equal: 4 or more on the other label's side.
        (("EQUI", 5.0), ("SIMI", 4.0), 1),
        (("EQUI", 5.0), ("SPE1", 4.0), 1),
        (("EQUI", 2.0), ("SPE2", 4.5), 1),
        (("EQUI", 5.0), ("SIMI", 3.9), 0),
        (("EQUI", 5.0), ("REL", 4.0), 0),
        (("EQUI", 5.0), ("OPPO", 4.0), 0),
        # Loosely related, and both scored below 3.
        (("SPE1", 2.0), ("SPE2", 2.9), 1),
        (("REL", 1.0), ("SIMI", 0.0), 1),
        (("REL", 2.0), ("SIMI", 3.0), 0),
        (("REL", 2.0), ("OPPO", 2.0), 0),
        (("EQUI", 2.0), ("SIMI", 2.0), 0),
        # With tags: the two labels count as one. {fact} of {·, fact}: 1/2; all of {·, fact}: 1.
        (("EQUI_FACT", 5.0), ("SIMI", 4.0), 1 / 2),
        (("EQUI_FACT", 5.0), ("SIMI_FACT", 4.0), 1),
        (("EQUI_FACT", 5.0), ("SIMI_POL", 4.0), 1 / 3),
        # The same label is not forgiven anything: {rel} of {rel, fact}.
        (("REL", 2.0), ("REL_FACT", 2.0), 1 / 2),
    ],
)
def test_near_types_are_forgiven_in_both_alone(first, second, factor):
    gold, system = pair(link([2], [1], *first)), pair(link([2], [1], *second))
    near = 1 - abs(first[1] - second[1]) / 5
    for result in (scores(gold, system), scores(system, gold)):
        assert result.both == pytest.approx([factor * near] * 3)
        assert result.both_strict == pytest.approx([result.type.f1 * near] * 3)
    different = first[0].split("_")[0] != second[0].split("_")[0]
    assert (result.type.f1 < 0.5) == different


def test_words_linked_twice_have_the_later_type_and_score():
    # cat–cat is REL 2 at last; twice the same link is one partner, so its weight is 1.
    gold = pair(link([2], [1], "EQUI", 5.0), link([2], [1], "REL", 2.0))
    result = scores(gold, pair(link([2], [1], "REL", 2.0)))
    assert result.alignment == result.type == result.score == (1, 1, 1)


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
    assert result.alignment == pytest.approx((3 / 4, 1, 6 / 7))
    # A score of just 3 counts where it is missed, too: recall 1/2.
    assert scores(gold, pair(link([3], [3])), protocol="clrcmd").alignment.recall == 1 / 2
    # Officially all stay: cat has 2 partners, so 1/2 + 1/2 + 1 of 3 are found, and precision is 1.
    assert scores(gold, system).alignment == pytest.approx((1, 2 / 3, 4 / 5))


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
            alone = score_alignments([one], [other], protocol).alignment
            assert row[1] / row[0] == pytest.approx(alone.precision)
            assert row[3] / row[2] == pytest.approx(alone.recall)
        links, found, known, covered = weights.sum(axis=0)
        both = score_alignments(gold, system, protocol).alignment
        assert (found / links, covered / known) == pytest.approx(both[:2])

import copy
import json
import re
from typing import Any

import numpy as np
import pytest

from estimators.inspection import ChunkAlignment, Explanation


def words_of(text):
    """Tokens and offsets: words as a tokeniser with special tokens gives them."""
    found = [(match.group(), match.span()) for match in re.finditer(r"\S+", text)]
    return ["[CLS]", *(word for word, _ in found)], [(0, 0), *(span for _, span in found)]


def explained(text1, text2, seed=0, **changes):
    (tokens1, offsets1), (tokens2, offsets2) = words_of(text1), words_of(text2)
    shape = (len(changes.get("tokens1", tokens1)), len(changes.get("tokens2", tokens2)))
    contributions = np.random.default_rng(seed).normal(size=shape)
    given: dict[str, Any] = {
        "text1": text1,
        "text2": text2,
        "tokens1": tokens1,
        "tokens2": tokens2,
        "offsets1": offsets1,
        "offsets2": offsets2,
        "contributions": contributions,
        "similarity": contributions.sum(),
        "special1": np.arange(shape[0]) == 0,
        "special2": np.arange(shape[1]) == 0,
    }
    return Explanation(**(given | changes))


def chunk_tokens(told, chunks):
    """Tokens of the first text in each chunk, told by a second text of one token."""
    scores = np.array(
        [
            Explanation(
                text1=told.text1,
                text2="x",
                tokens1=told.tokens1,
                tokens2=["x"],
                offsets1=told.offsets1,
                offsets2=[(0, 1)],
                contributions=(np.arange(len(told.tokens1)) == t).astype(float)[:, None],
                similarity=1.0,
                special1=told.special1,
            )
            .chunks(chunks, ["x"], pooling="sum")
            .scores[:, 0]
            for t in range(len(told.tokens1))
        ]
    )
    return [np.flatnonzero(column).tolist() for column in scores.T]


@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_ranges_and_strings_name_the_same_chunks(kind):
    told = explained("gave the game up", "lost")
    given = told.chunks([["gave", "up"], "the game"], ["lost"])
    ranged = told.chunks([kind([(0, 4), (14, 16)]), kind((5, 13))], [kind((0, 4))])
    assert given.to_dict() == ranged.to_dict()
    assert given.chunks1 == ["gave … up", "the game"]
    block = told.contributions[[1, 4], 1]
    assert given.scores[0, 0] == pytest.approx(block.mean())
    assert told.chunks(np.array([(0, 4), (5, 13)]), ["lost"]).chunks1 == ["gave", "the game"]


@pytest.mark.parametrize(
    ("text", "chunks", "tokens"),
    [
        # The second time a string comes it is its next occurrence.
        ("a man sees a man", ["a man", "sees", "a man"], [[1, 2], [3], [4, 5]]),
        ("a man sees a man", ["sees", "a man"], [[3], [4, 5]]),
        # Not the letter inside a word.
        ("that cat at a mat", ["at", "a"], [[3], [4]]),
        ("that cat at a mat", ["a"], [[4]]),
        # A chunk may begin inside the gap of the one before, but takes no word of it.
        ("pick it up up", [["pick", "up"], "it", "up"], [[1, 3], [2], [4]]),
        ("b a b", [["b", "b"], "a"], [[1, 3], [2]]),
        ("b b c", [["b", "b"], "c"], [[1, 2], [3]]),
        ("up I give up", [["give", "up"]], [[3, 4]]),
        ("b b b", [(0, 1), "b b"], [[1], [2, 3]]),
        # Ranges may overlap, strings after them do not.
        ("a a a", [(0, 3), (2, 5)], [[1, 2], [2, 3]]),
        ("a a a", [(0, 1), "a", "a"], [[1], [2], [3]]),
        ("a a a", [(0, 3), "a"], [[1, 2], [3]]),
        # What a regular expression would take for signs.
        ("what? (yes.) +", ["(yes.)", "+"], [[2], [3]]),
        ("what? (yes.) +", ["(yes", ".)"], [[2], [2]]),
        ("cat, dog", ["cat", ",", "dog"], [[1], [1], [2]]),
    ],
)
def test_strings_are_found_in_the_order_of_the_text(text, chunks, tokens):
    assert chunk_tokens(explained(text, "x"), chunks) == tokens


SUBWORDS = [(0, 0), (0, 2), (2, 7), (8, 12)]


@pytest.mark.parametrize(
    ("text", "offsets", "special", "chunks", "tokens"),
    [
        ("unhappy cats", SUBWORDS, [0], ["unhappy", "cats"], [[1, 2], [3]]),
        # A part of a word is found where it cuts no token, and after whole words.
        ("unhappy cats", SUBWORDS, [0], ["un", "happy"], [[1], [2]]),
        ("another an", [(0, 2), (2, 7), (8, 10)], [], ["an"], [[2]]),
        ("我的猫睡了", [(i, i + 1) for i in range(5)], [], ["我的猫", "睡了"], [[0, 1, 2], [3, 4]]),
        # Blanks inside tokens part no word.
        ("我 猫狗", [(0, 1), (1, 3), (3, 4)], [], ["我", "猫", "狗"], [[0], [1], [2]]),
        # Special tokens belong to no chunk, and do not say where a string may stand.
        ("cat", [(0, 0), (0, 3), (0, 3)], [0, 2], ["cat"], [[1]]),
        ("catdog", [(0, 3), (3, 6), (0, 6)], [2], ["cat", "dog"], [[0], [1]]),
    ],
)
def test_chunks_hold_whole_tokens(text, offsets, special, chunks, tokens):
    side = {
        "tokens1": [text[start:end] for start, end in offsets],
        "offsets1": offsets,
        "special1": [number in special for number in range(len(offsets))],
    }
    told = explained(text, "x", **side)
    assert chunk_tokens(told, chunks) == tokens
    turned = {f"{name[:-1]}2": value for name, value in side.items()}
    other = explained("x", text, contributions=told.contributions.T, **turned)
    scores = told.chunks(chunks, ["x"]).scores
    np.testing.assert_allclose(other.chunks(["x"], chunks).scores, scores.T)


@pytest.mark.parametrize("part", ["unh", "ppy"])
def test_a_part_that_cuts_a_token_is_refused(part):
    tokens = ["[CLS]", "un", "##happy", "cats"]
    told = explained("unhappy cats", "x", tokens1=tokens, offsets1=SUBWORDS, special1=None)
    with pytest.raises(ValueError, match=rf"chunks1\[0\] has '{part}'"):
        told.chunks([part], ["x"])


def test_chunks_behind_the_cut_of_a_long_text_score_nothing():
    told = explained("cats sleep", "x", tokens1=["cats"], offsets1=[(0, 4)], special1=None).chunks(
        ["cats", "sleep"], ["x"]
    )
    assert told.scores[1, 0] == 0 != told.scores[0, 0]


def test_no_chunks_and_no_pooling_that_is_known():
    told = explained("cats sleep", "x")
    for chunks1, chunks2 in (([], ["x"]), (["cats"], []), ([], [])):
        aligned = told.chunks(chunks1, chunks2)
        assert aligned.scores.shape == (len(chunks1), len(chunks2)) and aligned.pairs == []
        again = ChunkAlignment(chunks1=chunks1, chunks2=chunks2, scores=aligned.scores.tolist())
        assert again.to_dict() == aligned.to_dict()
    assert str(told.chunks([], [])) == ""
    with pytest.raises(ValueError, match="pooling must be 'mean' or 'sum', got 'max'"):
        told.chunks(["cats"], ["x"], pooling="max")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chunks", "error", "message"),
    [
        (["cats", "dogs"], ValueError, r"chunks2\[1\] has 'dogs', which is not .* character 4"),
        (["sleep", "cats"], ValueError, r"chunks2\[1\] has 'cats'.*character 10.*order"),
        (["cats", "cats"], ValueError, r"chunks2\[1\] has 'cats'"),
        (["slee"], ValueError, r"chunks2\[0\] has 'slee'.*'cats sleep'.*made of whole words"),
        (["Cats"], ValueError, r"chunks2\[0\] has 'Cats'"),
        ([["cats", "dogs"]], ValueError, r"chunks2\[0\] has 'dogs'"),
        ([""], ValueError, r"chunks2\[0\] has '', which is blank"),
        ([" "], ValueError, r"chunks2\[0\] has ' ', which is blank"),
        ([(0, 4), (5, 11)], ValueError, r"chunks2\[1\] has \(5, 11\), but .* 10 characters"),
        ([(-1, 4)], ValueError, r"chunks2\[0\] has \(-1, 4\)"),
        ([(4, 4)], ValueError, r"chunks2\[0\] has \(4, 4\)"),
        ([[(0, 4), (4, 3)]], ValueError, r"chunks2\[0\] has \(4, 3\)"),
        ("cats", TypeError, "chunks2 is one string"),
        (["cats", None], TypeError, r"chunks2\[1\] is None; give a string"),
        ([(0.0, 4.0)], TypeError, r"chunks2\[0\] is \(0.0, 4.0\)"),
        ([(0, 4.0)], TypeError, r"chunks2\[0\] is \(0, 4.0\)"),
        ([(0, 1, 2)], TypeError, r"chunks2\[0\] is \(0, 1, 2\)"),
        ([["cats", 3]], TypeError, r"chunks2\[0\] is \['cats', 3\]"),
        ([[]], TypeError, r"chunks2\[0\] is \[\]"),
    ],
)
def test_wrong_chunks_are_named(chunks, error, message):
    with pytest.raises(error, match=message):
        explained("x", "cats sleep").chunks(["x"], chunks)


ALIGNED = ChunkAlignment(
    chunks1=["A man", "is playing", "a\nguitar\x1b"],
    chunks2=["Someone", "music"],
    scores=[[0.4, 0.1], [0.3, -0.3], [0.0, 0.25]],
)


def test_it_reads_well_in_a_terminal():
    assert ALIGNED.pairs == [(0, 0), (2, 1)]
    assert str(ALIGNED).splitlines() == [
        "+0.4000  A man ~ Someone",
        "+0.2500  a guitar\\x1b ~ music",
        "not aligned in 1: is playing",
    ]
    nothing = ChunkAlignment(chunks1=["a", "b"], chunks2=["c"], scores=[[0], [-1]])
    assert str(nothing) == "not aligned in 1: a | b\nnot aligned in 2: c"


def test_joined_pairs_are_among_the_pairs():
    told = ChunkAlignment(
        chunks1=ALIGNED.chunks1, chunks2=ALIGNED.chunks2, scores=ALIGNED.scores, joined=[(1, 0)]
    )
    assert told.pairs == [(0, 0), (1, 0), (2, 1)]
    assert str(told).splitlines()[1] == "+0.3000  is playing ~ Someone"
    assert "not aligned" not in str(told)
    assert told.to_dict()["pairs"] == [[0, 0], [1, 0], [2, 1]]
    assert ALIGNED.joined == []


def test_dictionaries_go_through_json():
    data = ALIGNED.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data == {
        "chunks1": ALIGNED.chunks1,
        "chunks2": ["Someone", "music"],
        "scores": [[0.4, 0.1], [0.3, -0.3], [0.0, 0.25]],
        "pairs": [[0, 0], [2, 1]],
    }
    assert copy.deepcopy(ALIGNED).to_dict() == ALIGNED.to_dict()
    with pytest.raises(AttributeError):
        setattr(ALIGNED, "scores", 1)  # noqa: B010


@pytest.mark.parametrize(
    "wrong",
    [
        *({"scores": wrong} for wrong in ([], [0.1], [[1, 2]], [[np.nan], [0]], [[np.inf], [0]])),
        *({"joined": [pair]} for pair in ((2, 0), (0, 1), (-1, 0), (0, -1))),
    ],
)
def test_scores_and_pairs_of_other_chunks_are_refused(wrong):
    told = r"scores must be finite and have shape \(2, 1\)|joined .* positions of 2 and 1 chunks"
    with pytest.raises(ValueError, match=told):
        ChunkAlignment(chunks1=["a", "b"], chunks2=["c"], **{"scores": [[0.1], [0.2]]} | wrong)

import json
import re
from typing import Any

import numpy as np
import pytest

from estimators.inspection import Explanation

GIVEN: dict[str, Any] = {
    "text1": "Hi you",
    "text2": "Hello",
    "tokens1": ["[CLS]", "Hi", "you"],
    "tokens2": ["[CLS]", "Hello"],
    "offsets1": [(0, 0), (0, 2), (3, 6)],
    "offsets2": [(0, 0), (0, 5)],
    "contributions": [[0.1, 0.01], [0.03, 0.5], [0.0, -0.2]],
    "similarity": 0.44,
    "special1": [True, False, False],
    "special2": [True, False],
    "title": "RCMD",
}


def explanation(**changes):
    return Explanation(**(GIVEN | changes))


def random_explanation(seed, t1=5, t2=7, **changes):
    rng = np.random.default_rng(seed)
    contributions = np.round(rng.normal(size=(t1, t2)), 1)
    words: dict[str, Any] = {
        f"{what}{side}": value
        for side, t in (("1", t1), ("2", t2))
        for what, value in (
            ("text", " ".join("abcdefgh"[:t])),
            ("tokens", list("abcdefgh"[:t])),
            ("offsets", [(2 * i, 2 * i + 1) for i in range(t)]),
        )
    }
    given = words | {"contributions": contributions, "similarity": contributions.sum()}
    return Explanation(**(given | changes))


def test_dictionaries_go_through_json_and_back():
    told = explanation()
    data = told.to_dict()
    assert data["offsets1"] == [[0, 0], [0, 2], [3, 6]]
    assert data["special2"] == [True, False]
    assert data["contributions"] == GIVEN["contributions"]
    assert set(data) == {*GIVEN, "n_rest", "totals1", "totals2", "unknown1", "unknown2"}
    assert data["n_rest"] == 0 and data["totals2"] == pytest.approx([0.13, 0.31])
    again = Explanation(**json.loads(json.dumps(data)))
    assert again.to_dict() == data
    sides: dict[str, Any] = {"text": "", "tokens": [], "offsets": []}
    nothing: dict[str, Any] = {f"{a}{b}": value for a, value in sides.items() for b in "12"}
    empty = Explanation(**nothing, contributions=[], similarity=0)
    assert Explanation(**json.loads(json.dumps(empty.to_dict()))).contributions.size == 0
    assert "similarity 0.0000" in str(empty)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_texts_without_tokens(shape):
    told = random_explanation(0, *shape)
    assert told.contributions.shape == shape and told.top() == []
    again = Explanation(**json.loads(json.dumps(told.to_dict())))
    assert again.contributions.shape == shape


@pytest.mark.parametrize("seed", range(5))
def test_top_is_a_sorted_list(seed):
    special = {"special1": np.arange(5) == 1, "special2": np.arange(7) == 6}
    told = random_explanation(seed, **special)
    pairs = [
        (told.tokens1[i], told.tokens2[j], told.contributions[i, j])
        for i in range(5)
        for j in range(7)
        if i != 1 and j != 6 and told.contributions[i, j] != 0
    ]
    pairs.sort(key=lambda pair: -abs(pair[2]))
    for n in (1, 4, 1000):
        assert told.top(n) == pairs[:n]
    outside = told.contributions.sum() - sum(value for *_, value in pairs)
    assert told.special_contribution == pytest.approx(outside, abs=1e-12)


def test_it_reads_well_in_a_terminal():
    assert str(explanation()).splitlines() == [
        "RCMD: similarity 0.4400",
        "1: Hi you",
        "2: Hello",
        "  +0.5000  Hi ~ Hello",
        "  -0.2000  you ~ Hello",
        "  +0.1400  special tokens",
    ]
    assert repr(explanation()) == (
        "<Explanation similarity=0.4400, 3 x 2 tokens, text1='Hi you', text2='Hello'>"
    )


@pytest.mark.parametrize("seed", range(3))
def test_printed_numbers_sum_to_the_similarity(seed):
    told = random_explanation(seed, special1=np.arange(5) == 0)
    numbers = [float(n) for n in re.findall(r"^  ([+-]\d\.\d{4})  ", str(told), re.MULTILINE)]
    assert len(numbers) == 12
    assert sum(numbers) == pytest.approx(told.similarity, abs=12 * 0.00005)
    shown = np.count_nonzero(told.contributions[1:])
    assert f"  {shown - 10} other pairs\n" in str(told)


def test_texts_cannot_steer_a_terminal():
    hostile = "\x1b[2J\rtwo\nlines\u202e" + "x" * 500
    told = explanation(text1=hostile, tokens1=["[CLS]", "\x1b[0m", hostile], title="\x07")
    for shown in (str(told), repr(told)):
        assert not set(shown) & set("\x1b\r\u202e\x07")
        assert "…" in shown
    assert len(str(told).splitlines()) == 6


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"contributions": [[1.0]]}, ValueError, r"shape \(3, 2\), got .* \(1, 1\)"),
        ({"contributions": np.zeros((2, 3))}, ValueError, r"contributions .* got .* \(2, 3\)"),
        ({"contributions": []}, ValueError, r"contributions .* got shape \(0,\)"),
        ({"contributions": np.full((3, 2), np.nan)}, ValueError, "must be finite"),
        ({"similarity": np.inf}, ValueError, "must be finite"),
        ({"similarity": 0.440002}, ValueError, "sum to 0.44, but similarity is 0.440002"),
        ({"special1": [True]}, ValueError, r"special1 .* shape \(3,\), got .* \(1,\)"),
        ({"offsets1": [(0, 0), (0, 2)]}, ValueError, r"offsets1 .* got shape \(2, 2\)"),
        ({"offsets1": []}, ValueError, r"offsets1 .* got shape \(0,\)"),
    ],
)
def test_bad_input_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        explanation(**changes)


def test_tolerance_of_the_sum_grows_with_the_similarity():
    large = np.array(GIVEN["contributions"]) * 1e6
    assert explanation(contributions=large, similarity=0.44e6 + 0.4).similarity == 440000.4
    with pytest.raises(ValueError, match="contributions sum to"):
        explanation(contributions=large, similarity=0.44e6 + 0.5)
    assert explanation(similarity=0.4400009).similarity == 0.4400009


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (2.0, TypeError)])
def test_top_checks_its_number(n, error):
    with pytest.raises(error, match="n="):
        explanation().top(n)

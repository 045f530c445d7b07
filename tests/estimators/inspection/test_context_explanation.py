import dataclasses
import json

import numpy as np
import pytest

from estimators.inspection import ContextExplanation

HOSTILE = '<script>alert("x")</script> & </table> \x1b[2J'


def make(n=3, **changes):
    rng = np.random.default_rng(0)
    contributions = rng.normal(size=n)
    given = {
        "text1": "He sang.",
        "text2": "He slept.",
        "contexts": [(f"Before {i}.", f"After {i}.") for i in range(n)],
        "rows": np.arange(n) + 5,
        "chosen1": np.arange(n) % 2 == 0,
        "chosen2": np.arange(n) % 3 == 0,
        "terms1": -rng.random((n, 4)),
        "terms2": -rng.random((n, 4)),
        "weights": [1.0, 0.5, 2.0, 0.0],
        "contributions": contributions,
        "similarity": contributions.sum(),
    }
    return ContextExplanation(**given | changes)


def test_scores_are_weighted_sums_of_the_terms():
    explanation = make()
    np.testing.assert_allclose(explanation.scores1, explanation.terms1 @ [1, 0.5, 2, 0], rtol=1e-12)
    for record in explanation.records():
        for side in record["sides"]:
            assert sum(side["terms"].values()) == pytest.approx(side["score"])


def test_the_largest_come_first():
    explanation = make(20)
    top = explanation.top(6)
    sizes = sorted(np.abs(explanation.contributions), reverse=True)
    assert [abs(value) for *_, value in top] == sizes[:6]
    assert [(r["left"], r["right"], r["contribution"]) for r in explanation.records(6)] == top
    assert len(explanation.records()) == 20
    with pytest.raises(ValueError, match="n=0"):
        explanation.top(0)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"similarity": 5.0}, ValueError, "contributions and rest sum to"),
        ({"rest": float("nan")}, ValueError, "contributions and rest sum to nan"),
        ({"similarity": float("nan")}, ValueError, "similarity must be finite"),
        ({"contexts": [("a", "b"), ("a",), ("a", "b")]}, ValueError, "unpack"),
        ({"rows": [1, 2]}, ValueError, r"rows must .* have shape \(3,\)"),
        ({"terms1": np.zeros((3, 3))}, ValueError, r"terms1 must .* shape \(3, 4\), got"),
        ({"terms2": np.full((3, 4), np.inf)}, ValueError, "terms2 must be finite"),
        ({"chosen2": [True]}, ValueError, r"chosen2 must .* have shape \(3,\)"),
        ({"n_rest": -1}, ValueError, "n_rest=-1"),
    ],
)
def test_what_does_not_fit_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        make(**changes)


def test_it_goes_through_json():
    explanation = make(4, title="contexts")
    data = json.loads(json.dumps(explanation.to_dict()))
    again = ContextExplanation(**data)
    assert again.to_dict() == data and str(again) == str(explanation)
    assert again.contexts == explanation.contexts


def test_what_is_left_out_is_said():
    explanation = make(7)
    kept = dataclasses.replace(
        explanation,
        contexts=explanation.contexts[:2],
        n_rest=5,
        rest=explanation.similarity - explanation.contributions[:2].sum(),
        **{
            name: getattr(explanation, name)[:2]
            for name in ("rows", "chosen1", "chosen2", "terms1", "terms2", "contributions")
        },
    )
    assert "Only the 2 of 7 contexts" in kept.truncation
    assert "5 other contexts" in str(kept) and kept.truncation in kept.to_html()
    assert explanation.truncation == "" and "2 other contexts" in str(explanation)


@pytest.mark.parametrize(
    ("text2", "similarity", "said"),
    [("He sang.", 1.0, "The texts are equal"), ("zzz", 0.0, "no context for either text")],
)
def test_pairs_without_contexts(text2, similarity, said):
    nothing = make(0, text2=text2, similarity=similarity, rest=similarity)
    assert nothing.terms1.shape == (0, 4) and nothing.top() == []
    assert said in str(nothing) and said in nothing.to_html() and "<table" not in nothing.to_html()
    again = ContextExplanation(**json.loads(json.dumps(nothing.to_dict())))
    assert again.to_dict() == nothing.to_dict()


def test_texts_and_contexts_are_escaped():
    explanation = make(
        12, text1=HOSTILE, text2=HOSTILE, title=HOSTILE, contexts=[(HOSTILE, HOSTILE)] * 12
    )
    page = explanation.to_html(standalone=True)
    for html in (explanation.to_html(), page):
        assert "<script" not in html and "&lt;script&gt;" in html and "://" not in html
        assert html.count("<table") == html.count("</table>") == 2
        assert "2 more contexts" in html
    assert "\x1b" not in str(explanation) and "\x1b" not in repr(explanation)
    assert explanation._repr_html_() == explanation.to_html()
    assert "default-src 'none'" in page and "script-src" not in page


def test_a_line_of_the_terminal_holds_the_numbers():
    explanation = make(1, similarity=make(1).similarity)
    text = str(explanation)
    (record,) = explanation.records()
    assert f"{record['contribution']:+.4f}  Before 0. [...] After 0." in text
    for side, scored in enumerate(record["sides"], start=1):
        first = scored["terms"]["discriminator"]
        assert f"{side}: {scored['score']:7.2f} = discriminator {first:.2f}, sentence" in text
    assert text.count("(its own)") == 2

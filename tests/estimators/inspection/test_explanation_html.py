import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from estimators.inspection import Explanation
from tests.estimators.inspection.documents import Document

SIGNED = [[0, 0, 0], [0.5, 0, 0], [0.125, 0, 0], [-0.25, 0, 0]]


def pair_of(page):
    """What the script of a fragment shows."""
    (box,) = [e for e in page.elements if "data-pair" in e]
    return json.loads(box["data-pair"])


def told(**changes):
    given: dict[str, Any] = {
        "text1": "Hi, you there",
        "text2": "Hello you",
        "tokens1": ["[CLS]", "Hi", "you", "there"],
        "tokens2": ["Hello", "you", "[SEP]"],
        "offsets1": [(0, 0), (0, 2), (4, 7), (8, 13)],
        "offsets2": [(0, 5), (6, 9), (0, 0)],
        "contributions": [[0, 0, 0.25], [0.5, 0, 0], [0, 0.125, 0], [-0.25, 0, 0]],
        "similarity": 0.625,
        "special1": [True, False, False, False],
        "special2": [False, False, True],
    }
    return Explanation(**(given | changes))


def test_lines_are_the_texts_and_words_their_tokens():
    page = Document(told().to_html())
    assert [e["text"] for e in page.of_class("sentence")] == ["Hi, you there", "Hello you"]
    words = ["Hi", "you", "there", "Hello", "you"]
    assert [e["text"] for e in page.of_class("word")] == words
    (box,) = page.of_class("explanation")
    pair = pair_of(page)
    assert pair["links"] == [0, 0, 0.5, 1, 1, 0.125, 2, 0, -0.25]
    assert (pair["text1"], pair["words2"]) == ("Hi, you there", [[0, 5], [6, 9]])
    assert (pair["sums1"], pair["sums2"]) == ([0.5, 0.125, -0.25], [0.25, 0.125])
    assert "similarity 0.6250" in box["text"]
    assert "Special tokens, not shown, add +0.2500." in box["text"]


def test_words_are_shaded_by_what_they_add_and_name_their_partners():
    words = Document(told().to_html()).of_class("word")
    # The largest sum of both texts, 0.5, has the full strength, and the least a fifth of it.
    strengths = [float(word["style"].rpartition(",")[2][:-1]) / 0.58 for word in words]
    assert strengths == pytest.approx([1, 0.4, 0.6, 0.6, 0.4], abs=1e-3)
    assert words[0]["style"] == "background-color:rgba(37,117,235,0.580)"
    assert words[2]["style"] == "background-color:rgba(224,86,32,0.348)"
    assert words[0]["title"] == "Hello +0.5"
    assert words[3]["title"] == "Hi +0.5, there -0.25"
    silent = told(contributions=np.zeros((4, 3)), similarity=0)
    for word in Document(silent.to_html()).of_class("word"):
        assert "title" not in word and "style" not in word


def test_without_special_tokens_none_are_mentioned():
    plain = told(special1=None, special2=None, offsets1=[(0, 1), (1, 2), (4, 7), (8, 13)])
    plain = replace(plain, offsets2=[(0, 5), (6, 8), (8, 9)])
    assert "Special tokens" not in plain.to_html()
    assert len(Document(plain.to_html()).of_class("word")) == 7


def test_tokens_of_the_same_characters_share_a_word():
    pieces = told(
        text1="a🎸b",
        offsets1=[(0, 1), (1, 2), (1, 2), (2, 3)],
        special1=None,
        tokens1=["a", "Ġ1", "Ġ2", "b"],
    )
    page = Document(pieces.to_html())
    words = page.of_class("word")
    assert [word["text"] for word in words[:3]] == ["a", "🎸", "b"]
    assert pair_of(page)["links"] == [1, 0, 0.5, 1, 1, 0.125, 2, 0, -0.25]


def test_a_token_inside_another_shares_its_word():
    nested = told(offsets1=[(0, 0), (0, 7), (4, 5), (8, 13)])
    words = Document(nested.to_html()).of_class("word")
    assert [word["text"] for word in words[:2]] == ["Hi, you", "there"]


def test_partners_are_named_by_size_of_either_sign():
    page = Document(told(contributions=SIGNED, similarity=0.375).to_html())
    assert page.of_class("word")[3]["title"] == "Hi +0.5, there -0.25, you +0.12"


def test_tokens_without_characters_count_as_not_shown():
    page = told(offsets1=[(0, 0), (0, 2), (4, 4), (8, 13)]).to_html()
    assert "Special tokens, not shown, add +0.3750." in page
    assert [w["text"] for w in Document(page).of_class("word")][:2] == ["Hi", "there"]


def test_tokens_may_come_in_any_order():
    turned = told(offsets1=[(0, 0), (8, 13), (4, 7), (0, 2)])
    page = Document(turned.to_html())
    assert page.of_class("sentence")[0]["text"] == "Hi, you there"
    assert pair_of(page)["links"] == [0, 0, -0.25, 1, 1, 0.125, 2, 0, 0.5]


HOSTILE = (
    "<script>alert(1)</script>",
    "\"' onmouseover='alert(1)' x=\"",
    "</p></div><img src=x onerror=alert(1)>",
    "<!-- <style>*{display:none}",
    "]]>&lt;b&gt;&amp;{body}{title}%s",
    "\u202eevil \x00 \ud800 🎸",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("standalone", [False, True])
def test_everything_from_the_texts_is_escaped(text, standalone):
    one = {"tokens1": [text], "offsets1": [(0, len(text))], "special1": None}
    hostile = told(
        text1=text, title=text, contributions=[[0.25, 0.125, 0.25]], similarity=0.625, **one
    )
    html = hostile.to_html(standalone)
    html.encode("utf-8")
    page = Document(html)
    readable = text.replace("\ud800", "\ufffd").replace("\0", "\ufffd")
    assert page.of_class("sentence")[0]["text"] == readable
    assert page.of_class("word")[0]["text"] == readable
    assert page.of_class("word")[1]["title"] == f"{readable} +0.25".replace("\u202e", "\ufffd")
    assert {e["tag"] for e in page.elements} == {
        *("div", "style", "p", "strong", "span", "script"),
        *(("html", "head", "meta", "title", "body", "main", "h1") if standalone else ()),
    }
    assert not any(name.startswith("on") for e in page.elements for name in e)
    assert html.count("<script") == 1


def test_a_page_is_whole_and_a_notebook_gets_the_fragment():
    page = told(title="RCMD").to_html(standalone=True)
    assert page.startswith("<!doctype html>") and told()._repr_html_() == told().to_html()
    elements = Document(page).elements
    assert next(e for e in elements if e["tag"] == "title")["text"] == "RCMD"
    assert {"tag": "meta", "text": "", "charset": "utf-8"} in elements
    assert "color-scheme: light dark" in page
    untitled = Document(told().to_html(standalone=True)).elements
    assert next(e for e in untitled if e["tag"] == "title")["text"] == "Explanation"


def test_texts_without_tokens():
    nothing = told(tokens1=[], offsets1=[], special1=None, text1="", contributions=[], similarity=0)
    page = Document(nothing.to_html())
    assert [word["text"] for word in page.of_class("word")] == ["Hello", "you"]
    assert pair_of(page)["links"] == []


def test_pointing_at_a_word_highlights_its_partners(browser):
    hostile = told(title=HOSTILE[0])
    signed = told(contributions=SIGNED, similarity=0.375)
    body = told().to_html() + told().to_html() + signed.to_html() + hostile.to_html()
    browser.open(f"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'>{body}")
    boxes = browser.all(".explanation")
    assert len(boxes) == len(browser.all(".readout")) == 4
    # Each box is started once, though every fragment brings the script.
    assert browser.all("[data-pair]") == []

    def words(box):
        return browser.all(".word", boxes[box])

    def note(box):
        return browser.one(".readout", boxes[box]).text

    resting, first = note(0), browser.marks(boxes[0])
    assert resting == "Strongest: Hi with Hello +0.500"
    assert first == [
        *(["Hi", "+", 100], ["you", "+", 40], ["there", "-", 60]),
        *(["Hello", "+", 60], ["you", "+", 40]),
    ]
    colour = "return getComputedStyle(arguments[0]).backgroundColor"
    # Browsers write 0.58 or, rounded to a byte, 0.580392.
    alpha = re.split(r"[,/ ]+", browser.run(colour, words(0)[0]).rstrip(")"))[-1]
    assert float(alpha) == pytest.approx(0.58, abs=1e-3)
    browser.point_at(words(1)[3])
    assert note(1) == "Hello: Hi +0.500, there \u22120.250; all together +0.250"
    assert browser.marks(boxes[1]) == [["Hi", "+", 100], ["there", "-", 60]]
    assert "chosen" in words(1)[3].get_attribute("class")
    assert note(0) == note(2) == resting and browser.marks(boxes[0]) == first
    browser.point_at(words(2)[1])
    assert note(2) == "you: Hello +0.125; all together +0.125"
    assert note(1) == resting and browser.marks(boxes[1]) == first
    assert "chosen" not in words(1)[3].get_attribute("class")
    assert not any(word.get_attribute("title") for word in words(1))
    browser.point_at(words(3)[3])
    assert note(3) == "Hello: Hi +0.500, there \u22120.250; all together +0.250"
    browser.press(words(0)[0], "<ARROW_RIGHT>")
    assert note(0) == "you: you +0.125; all together +0.125"


def test_a_page_of_its_own_runs_its_script_and_no_other(browser):
    browser.open(told(title=HOSTILE[0]).to_html(standalone=True))
    assert browser.one("h1").text == HOSTILE[0]
    browser.point_at(browser.all(".word")[0])
    assert browser.texts(".readout") == ["Hi: Hello +0.500; all together +0.500"]
    assert browser.requests() == [(browser.folder / "page.html").as_uri()]


def test_where_no_script_runs_words_are_shaded_and_named(browser):
    browser.open(re.sub("<script>.*?</script>", "", told().to_html(standalone=True), flags=re.S))
    colour = "return getComputedStyle(arguments[0]).backgroundColor"
    assert browser.run(colour, browser.all(".word")[2]) == "rgba(224, 86, 32, 0.35)"
    assert browser.all(".word")[3].get_attribute("title") == "Hi +0.5, there -0.25"

"""Pages of duplicates and of explanations as text: escaping, policy, checks of the data."""

import base64
import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest

from estimators.inspection import Evidence, Explanation, Verdict
from estimators.inspection.pages.page import duplicates_page, explanations_page, write_page
from tests.estimators.inspection.documents import Document

HOSTILE = [
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "<!--<script>",
    "]]>",
    "javascript:window.hacked=1",
    "\"'`&amp;&lt;\\u003c",
    "a\u2028b\u2029c",
    "\u202egnp.exe",
    "nul\0here",
    "lone \ud800 surrogate",
]


def duplicates(**changes):
    data = {
        "score_name": "similarity",
        "threshold": 0.8,
        "lowest": 0.5,
        "texts": [{"id": str(i), "text": text, "copies": []} for i, text in enumerate("abc")],
        "merges": [(0, 1, 0.9), (2, 3, 0.6)],
        "pairs": [(0, 1, 0.9), (2, 1, 0.6)],
        "alignments": {"0,1": [(0, 0, 0.9)]},
        "tokens": {0: [[0, 1]], 1: [[0, 1]]},
        "notes": ["note"],
    }
    return data | changes


def explanation(**changes):
    pair = {
        "text1": "a cat",
        "text2": "cats",
        "tokens1": ["[CLS]", "a", "cat"],
        "tokens2": ["cats"],
        "offsets1": [[0, 0], [0, 1], [2, 5]],
        "offsets2": [[0, 4]],
        "contributions": [[0.1], [-0.2], [0.7]],
        "special1": [True, False, False],
        "special2": [False],
        "similarity": 0.6,
        "title": "matching",
    }
    return Explanation(**(pair | changes))


def one_word(text, **changes):
    side = {"tokens": [text], "offsets": [[0, len(text)]], "special": [False], "text": text}
    sides = {f"{name}{number}": value for name, value in side.items() for number in "12"}
    return explanation(**sides, contributions=[[0.6]], **changes)


def verdict(name="overlap", value: Any = 0.5, words=None, **changes: Any):
    said = {
        "text1": "a cat",
        "text2": "cats",
        "probability": 0.7,
        "baseline": 0.75,
        "members": [],
        "features": [Evidence(name, value, -0.25, 0.25)],
        "words": {} if words is None else {name: words},
        "terms": {},
    }
    return Verdict(**(said | changes))


def content(html):
    return json.loads(next(e for e in Document(html).elements if e.get("id") == "data")["text"])


def hostile_pages():
    texts = [{"id": text, "text": text, "copies": [text]} for text in HOSTILE]
    data = duplicates(texts=texts, merges=[], pairs=[], tokens={}, alignments={}, notes=HOSTILE)
    pairs = [
        verdict(text, words=one_word(text, title=text), text1=text, text2=text, unseen=text)
        for text in HOSTILE
    ]
    title = "".join(HOSTILE)
    return [duplicates_page(data, title=title), explanations_page(pairs, title=title)]


@pytest.mark.parametrize("page", [0, 1])
def test_hostile_texts_add_no_element(page):
    harmless = [duplicates_page(duplicates()), explanations_page([explanation()])][page]
    hostile = hostile_pages()[page]
    of_hostile, of_harmless = (
        [e["tag"] for e in Document(p).elements] for p in (hostile, harmless)
    )
    assert of_hostile == of_harmless
    hostile.encode("utf-8")


def test_data_survive_the_escaping():
    html = hostile_pages()[0]
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert block is not None
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff\0]", block.group(1))
    expected = [text.replace("\ud800", "\ufffd") for text in HOSTILE]
    found = json.loads(block.group(1))
    assert [text["text"] for text in found["texts"]] == expected
    assert [text["id"] for text in found["texts"]] == expected
    assert found["notes"] == expected


@pytest.mark.parametrize("html", [duplicates_page(duplicates()), explanations_page([])])
def test_policy_names_each_script_and_style_by_hash(html):
    elements = Document(html).elements
    policy = next(
        e["content"] for e in elements if e.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    for rule, tag in [("script-src", "script"), ("style-src", "style")]:
        (own,) = [e for e in elements if e["tag"] == tag and "id" not in e]
        digest = hashlib.sha256(own["text"].encode()).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"


@pytest.mark.parametrize("html", [duplicates_page(duplicates()), explanations_page([])])
def test_page_loads_nothing_and_has_no_inline_handler(html):
    for element in Document(html).elements:
        names = element.keys() - {"tag", "text"}
        assert not [name for name in names if name.startswith("on") or name == "style"]
        assert not {"src", "href", "action"} & names
    assert "//" not in re.sub(r"^\s*//.*$", "", html, flags=re.M)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|sendBeacon|WebSocket", html)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", html)


def test_an_entry_holds_the_steps_of_its_verdict():
    entry = content(explanations_page([verdict("n", 3, baseline=0.5)]))
    assert entry["pairs"][0]["verdict"] == {
        "probability": 0.7,
        "baseline": 0.5,
        "steps": [{"kind": "feature", "name": "n", "value": 3, "typical": 0.25, "effect": -0.25}],
        "sameness": None,
        "difference": "",
        "unseen": "",
        "familiarity": "",
    }


@pytest.mark.parametrize(("familiarity", "warns"), [(0.5, False), (0.49, True), (0.0, True)])
def test_a_page_tells_familiarity_and_warns_where_texts_are_not_familiar(familiarity, warns):
    told = verdict("n", 3, baseline=0.5, familiarity=familiarity, familiarity_limit=0.49)
    line = content(explanations_page([told]))["pairs"][0]["verdict"]["familiarity"]
    assert line.startswith(f"familiarity {familiarity:.2f}")
    assert ("unlike the training texts" in line) == warns
    assert (line in str(told)) == warns and line in told._repr_html_()


def test_words_are_shown_without_special_tokens():
    matrix = np.array([[0.1], [-0.2], [0.70000000001]])
    (pair,) = content(explanations_page([explanation(contributions=matrix)]))["pairs"]
    assert pair["words1"] == [[0, 1], [2, 5]] and pair["words2"] == [[0, 4]]
    assert pair["links"] == [0, 0, -0.2, 1, 0, 0.7]
    assert (pair["sums1"], pair["sums2"]) == ([-0.2, 0.7], [0.5])
    assert pair["hidden"] == pytest.approx(0.1, abs=1e-9)
    assert "verdict" not in pair


def test_verdicts_bring_their_first_words_and_sorted_steps():
    evidence = [Evidence("weak", 1.0, 0.1, 0.0), Evidence("strong", 1.0, -2.0, 0.0)]
    member = [Evidence("middle", 1.0, 1.5, 0.0)]
    with_words = verdict(words=explanation(), members=member, features=evidence)
    first, second = content(explanations_page([with_words, verdict()]))["pairs"]
    assert first["similarity"] == 0.6 and "links" not in second
    assert [(step["kind"], step["name"]) for step in first["verdict"]["steps"]] == [
        ("feature", "strong"),
        ("member", "middle"),
        ("feature", "weak"),
    ]


def test_missing_optional_parts_are_empty():
    data = duplicates()
    for name in ("alignments", "tokens", "notes"):
        del data[name]
    found = content(duplicates_page(data))
    assert (found["alignments"], found["tokens"], found["notes"]) == ({}, {}, [])
    assert content(explanations_page([])) == {"pairs": []}
    nothing = duplicates(texts=[], merges=[], pairs=[], alignments={}, tokens={})
    assert content(duplicates_page(nothing))["texts"] == []


def test_explanations_without_tokens():
    for side in "12":
        none = {f"{name}{side}": [] for name in ("tokens", "offsets", "special")}
        bare = explanation(**none, **{f"text{side}": ""}, contributions=[], similarity=0)
        (pair,) = content(explanations_page([bare]))["pairs"]
        assert pair["links"] == pair[f"words{side}"] == []


@pytest.mark.parametrize("change", [{"threshold": np.nan}, {"merges": [(0, 1, np.inf)]}])
def test_numbers_that_json_lacks_are_refused(change):
    with pytest.raises(ValueError, match="Out of range float values"):
        duplicates_page(duplicates(**change))


def test_written_page_has_one_kind_of_line_ends(tmp_path):
    path = tmp_path / "page.html"
    html = hostile_pages()[0]
    write_page(html, path)
    assert path.read_bytes() == html.encode("utf-8")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_page(html, tmp_path / "missing" / "page.html")


def _colours(style):
    dark = style.index("prefers-color-scheme: dark")
    parts = style[:dark], style[dark:]
    return [dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", part)) for part in parts]


def _luminance(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_stands_out_from_every_ground(scheme):
    elements = Document(duplicates_page(duplicates())).elements
    style = next(e for e in elements if e["tag"] == "style")["text"]
    colours = _colours(style)[scheme]
    grounds = {
        "text": ["ground", "surface", "positive", "negative"],
        "quiet": ["ground", "surface"],
        "accent": ["ground", "surface"],
    }
    for ink, on in grounds.items():
        for ground in on:
            light, dark = sorted((_luminance(colours[ink]), _luminance(colours[ground])))[::-1]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)

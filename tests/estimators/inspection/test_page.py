"""Pages of duplicates and of explanations as text: escaping, policy, checks of the data."""

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from estimators.inspection.page import duplicates_page, explanations_page, write_page

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


class Elements(HTMLParser):
    """Tags in their order, and the text that directly follows the start of some."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.contents, self.inside = [], {}, None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id", tag)

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside is not None:
            self.contents[self.inside] = self.contents.get(self.inside, "") + data


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
    return pair | changes


def verdict(**changes):
    feature = {"name": "overlap", "value": 0.5, "effect": -0.25}
    return {"probability": 0.7, "members": [], "features": [feature]} | changes


def content(html):
    return json.loads(Elements(html).contents["data"])


def hostile_pages():
    texts = [{"id": text, "text": text, "copies": [text]} for text in HOSTILE]
    data = duplicates(texts=texts, merges=[], pairs=[], tokens={}, alignments={}, notes=HOSTILE)
    pairs = [
        explanation(
            text1=text, text2=text, title=text, contributions=[[]], offsets1=[[0, 1]], special1=[0],
            offsets2=[], special2=[],
        )
        for text in HOSTILE
    ]  # fmt: skip
    verdicts = [verdict(members=[{"name": text, "value": text, "effect": 1}]) for text in HOSTILE]
    title = "".join(HOSTILE)
    return [
        duplicates_page(data, title=title),
        explanations_page(pairs, title=title, verdicts=verdicts),
    ]


@pytest.mark.parametrize("page", [0, 1])
def test_hostile_texts_add_no_element(page):
    harmless = [duplicates_page(duplicates()), explanations_page([explanation()])][page]
    hostile = hostile_pages()[page]
    assert [tag for tag, _ in Elements(hostile).tags] == [tag for tag, _ in Elements(harmless).tags]
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


def test_title_is_escaped_in_both_places():
    elements = Elements(duplicates_page(duplicates(), title="<b>&\0\ud800'"))
    assert elements.contents["title"] == elements.contents["h1"].strip() == "<b>&\ufffd\ufffd'"


@pytest.mark.parametrize("html", [duplicates_page(duplicates()), explanations_page([])])
def test_policy_names_each_script_and_style_by_hash(html):
    elements = Elements(html)
    policy = next(
        tag["content"]
        for name, tag in elements.tags
        if name == "meta" and tag.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    for rule, tag in [("script-src", "script"), ("style-src", "style")]:
        digest = hashlib.sha256(elements.contents[tag].encode()).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"


@pytest.mark.parametrize("html", [duplicates_page(duplicates()), explanations_page([])])
def test_page_loads_nothing_and_has_no_inline_handler(html):
    for _, attributes in Elements(html).tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert not {"src", "href", "action"} & set(attributes)
    assert "//" not in re.sub(r"^\s*//.*$", "", html, flags=re.M)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|sendBeacon|WebSocket", html)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", html)


def test_numbers_of_numpy_are_numbers():
    plain = duplicates(alignments={}, tokens={})
    arrays = plain | {
        "threshold": np.float32(0.75),
        "merges": np.array(plain["merges"]),
        "pairs": np.array(plain["pairs"]),
    }
    assert content(duplicates_page(arrays)) == content(duplicates_page(plain | {"threshold": 0.75}))
    said = verdict(features=[{"name": "n", "value": np.int64(3), "effect": np.float64(0.5)}])
    found = content(explanations_page([explanation()], verdicts=[said]))
    assert found["verdicts"][0]["features"] == [{"name": "n", "value": 3, "effect": 0.5}]
    matrix = np.array([[0.1], [-0.2], [0.70000000001]])
    found = content(explanations_page([explanation(contributions=matrix)]))
    assert found["pairs"][0]["contributions"] == [[0.1], [-0.2], [0.7]]


def test_missing_optional_parts_are_empty():
    data = duplicates()
    for name in ("alignments", "tokens", "notes"):
        del data[name]
    found = content(duplicates_page(data))
    assert (found["alignments"], found["tokens"], found["notes"]) == ({}, {}, [])
    assert content(explanations_page([])) == {"pairs": [], "verdicts": None}
    nothing = duplicates(texts=[], merges=[], pairs=[], alignments={}, tokens={})
    assert content(duplicates_page(nothing))["texts"] == []


def test_merges_of_equal_score_are_in_order():
    tied = duplicates(merges=[(0, 1, 0.9), (2, 3, 0.9)])
    assert content(duplicates_page(tied))["merges"] == [[0, 1, 0.9], [2, 3, 0.9]]


def test_explanations_without_tokens():
    bare = explanation(text1="", offsets1=[], special1=[], contributions=[])
    assert content(explanations_page([bare]))["pairs"][0]["contributions"] == []
    bare = explanation(text2="", offsets2=[], special2=[], contributions=[])
    assert content(explanations_page([bare]))["pairs"][0]["contributions"] == [[], [], []]


def test_arguments_are_left_alone():
    data, pairs, verdicts = duplicates(), [explanation()], [verdict()]
    before = copy.deepcopy((data, pairs, verdicts))
    duplicates_page(data)
    explanations_page(pairs, verdicts=verdicts)
    assert (data, pairs, verdicts) == before


TEXT = {"id": "1", "text": "a", "copies": []}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"score_name": "odds"}, ValueError, "must be 'probability' or 'similarity', got 'odds'"),
        ({"threshold": 0.4}, ValueError, "must be at least data.'lowest'. = 0.5, got 0.4"),
        ({"threshold": np.nan}, ValueError, "data.'threshold'. must be finite"),
        ({"lowest": -np.inf}, ValueError, "data.'lowest'. must be finite"),
        ({"texts": [{"id": "1", "text": "a"}]}, ValueError, r"'texts'.\[0\] lacks \['copies'\]"),
        ({"texts": [TEXT | {"id": 1}]}, TypeError, r"\[0\]\['id'\] must be a string, got 1"),
        ({"texts": [TEXT | {"text": None}]}, TypeError, "'text'. must be a string, got None"),
        ({"texts": [TEXT | {"copies": [2]}]}, TypeError, "'copies'. must be a string, got 2"),
        ({"merges": [(0, 3, 0.9)]}, ValueError, r"'merges'.\[0\] joins \[0, 3\].* from 0 to 2"),
        ({"merges": [(-1, 1, 0.9)]}, ValueError, r"joins \[-1, 1\]"),
        ({"merges": [(0, 1, 0.9), (1, 2, 0.8)]}, ValueError, "joins node 1 more than once"),
        ({"merges": [(0, 1, 0.6), (2, 3, 0.7)]}, ValueError, "falling score, got 0.6 before 0.7"),
        ({"merges": [(0, 1, np.nan)]}, ValueError, "two whole numbers and a finite one"),
        ({"merges": [(0, 1)]}, ValueError, r"must have shape \(n, 3\), got \(1, 2\)"),
        ({"merges": [(0, 1, 2), (1,)]}, ValueError, "'merges'. must be a table of numbers"),
        ({"pairs": [(0, 3, 0.9)]}, ValueError, r"'pairs'.\[0\] is \[0, 3\]"),
        ({"pairs": [(0, -1, 0.9)]}, ValueError, r"'pairs'.\[0\] is \[0, -1\]"),
        ({"pairs": [(1, 1, 0.9)]}, ValueError, "two different of 3 texts"),
        ({"pairs": [(0, 1, 0.9), (1, 0, 0.9)]}, ValueError, r"has \[0, 1\] twice"),
        ({"pairs": [(0, 0.5, 0.9)]}, ValueError, "two whole numbers"),
        ({"pairs": [(0, np.inf, 0.9)]}, ValueError, "two whole numbers"),
        ({"alignments": {"0,2": []}}, ValueError, "both of them in data.'tokens'"),
        ({"alignments": {"0": []}}, ValueError, "its key must be 'i,j'"),
        ({"alignments": {"0,1": [(0, 1, 0.1)]}}, ValueError, r"tokens below \[1, 1\]"),
        ({"alignments": {"0,1": [(-1, 0, 0.1)]}}, ValueError, r"tokens below \[1, 1\]"),
        ({"tokens": {3: []}}, ValueError, "names text 3; there are 3"),
        ({"tokens": {-1: []}}, ValueError, "names text -1"),
        ({"tokens": {0: [[0, 2]]}}, ValueError, r"\[0\] is \[0, 2\].* within the 1 characters"),
        ({"tokens": {0: [[1, 0]]}}, ValueError, r"\[0\] is \[1, 0\]"),
        ({"tokens": {0: [[-1, 0]]}}, ValueError, r"\[0\] is \[-1, 0\]"),
        ({"tokens": {0: [[0.0, 1.0]]}}, ValueError, r"whole numbers of shape \(n, 2\)"),
        ({"tokens": {0: [0, 1]}}, ValueError, r"shape \(n, 2\), got shape \(2,\)"),
    ],
)
def test_bad_duplicates_are_named(changes, error, message):
    with pytest.raises(error, match=message):
        duplicates_page(duplicates(**changes))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"text1": 3}, TypeError, r"explanations\[1\]\['text1'\] must be a string, got 3"),
        ({"similarity": np.nan}, ValueError, r"\[1\]\['similarity'\] must be finite"),
        ({"offsets2": [[0, 5]]}, ValueError, r"'offsets2'\]\[0\] is \[0, 5\]"),
        ({"special1": [True]}, ValueError, r"'special1'\] must have one entry a token, 3"),
        ({"contributions": [[0.1, 0.2, 0.3]]}, ValueError, r"\(3, 1\); got shape \(1, 3\)"),
        ({"contributions": []}, ValueError, r"\(3, 1\); got shape \(0,\)"),
        ({"contributions": [[0.1], [np.inf], [0]]}, ValueError, "must be finite"),
        ({"contributions": [[0.1], [], [0]]}, ValueError, "must be a table of numbers"),
    ],
)
def test_bad_explanations_are_named(changes, error, message):
    with pytest.raises(error, match=message):
        explanations_page([explanation(), explanation(**changes)])


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ([], "one entry an explanation, got 0 for 1"),
        ([verdict(probability=1.5)], r"verdicts\[0\]\['probability'\] must be in \[0, 1\]"),
        ([verdict(probability=-0.1)], r"must be in \[0, 1\], got -0.1"),
        ([verdict(probability=np.nan)], "must be finite"),
        ([{"probability": 0.5}], r"verdicts\[0\] lacks \['members', 'features'\]"),
        ([verdict(members=[{"name": "m", "value": 1}])], r"'members'\] lacks \['effect'\]"),
        ([verdict(features=[{"name": "n", "value": 1, "effect": np.inf}])], "effect of 'n'"),
        ([verdict(members=[{"name": "m", "value": np.nan, "effect": 1}])], "must be finite"),
    ],
)
def test_bad_verdicts_are_named(verdicts, message):
    with pytest.raises(ValueError, match=message):
        explanations_page([explanation()], verdicts=verdicts)


def test_values_that_are_no_text_or_number_are_refused():
    said = verdict(members=[{"name": "m", "value": {1}, "effect": 1}])
    with pytest.raises(TypeError, match=r"must be numbers or text, got \{1\}"):
        explanations_page([explanation()], verdicts=[said])


@pytest.mark.parametrize("make", [lambda t: duplicates_page(duplicates(), title=t)])
def test_title_must_be_a_string(make):
    with pytest.raises(TypeError, match="title must be a string, got 3"):
        make(3)


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
    colours = _colours(Elements(duplicates_page(duplicates())).contents["style"])[scheme]
    grounds = {
        "text": ["ground", "surface", "positive", "negative"],
        "quiet": ["ground", "surface"],
        "accent": ["ground", "surface"],
    }
    for ink, on in grounds.items():
        for ground in on:
            light, dark = sorted((_luminance(colours[ink]), _luminance(colours[ground])))[::-1]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)

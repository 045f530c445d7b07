"""The page of explanations in a real browser, opened from disk."""

import re
from itertools import pairwise

import numpy as np
import pytest

from estimators.inspection.page import explanations_page


def pairs(n=4):
    """Pairs with special tokens, one of them over a word, overlapping tokens, and an emoji."""
    made = []
    for i in range(n):
        first, second = f"😀 Cat{i} runs", "dogs walk"
        contributions = np.array(
            [[0.05, 0, 0], [0.02, 0.3, -0.1], [0, 0.1, 0], [0, 0, 0.2]]
        ) * (1 + (i * 3) % n)  # fmt: skip
        made.append(
            {
                "text1": first,
                "text2": second,
                "offsets1": [[0, 0], [2, 5], [4, 6], [7, 11]],
                "offsets2": [[0, 4], [0, 4], [5, 9]],
                "contributions": contributions.tolist(),
                "special1": [True, False, False, False],
                "special2": [True, False, False],
                "similarity": float(contributions.sum()),
                "title": "matching",
            }
        )
    return made


def verdicts(n=4):
    features = [
        {"name": f"feature {i}", "value": i, "effect": round(0.1 * (i - 5), 2)} for i in range(10)
    ]
    return [
        {
            "probability": round(0.9 - 0.2 * i, 2),
            "members": [{"name": "film", "value": 0.25, "effect": 0.45}],
            "features": features,
        }
        for i in range(n)
    ]


def test_words_shade_their_partners(browser):
    browser.open(explanations_page(pairs(1)))
    one, two = browser.all(".sentence")
    assert [s.text for s in (one, two)] == ["😀 Cat0 runs", "dogs walk"]
    assert [w.text for w in browser.all(".word")] == ["Cat0", "runs", "dogs", "walk"]
    # The largest sum, 0.4 of "dogs", has the full strength.
    rest = [[["Cat0", "+", 80], ["runs", "+", 60]], [["dogs", "+", 100], ["walk", "+", 40]]]
    assert [browser.marks(one), browser.marks(two)] == rest
    assert browser.texts(".readout") == ["Strongest: Cat0 with dogs +0.400"]
    assert "add +0.070" in browser.texts(".rest")[0]
    cat, runs, dogs, _ = browser.all(".word")
    by_cat = [["dogs", "+", 100], ["walk", "-", 40]]
    browser.point_at(cat)
    assert (browser.marks(one), browser.marks(two)) == ([], by_cat)
    assert browser.texts(".readout") == ["Cat0: dogs +0.400, walk \u22120.100; all together +0.300"]
    browser.point_at(dogs)
    assert (browser.marks(one), browser.marks(two)) == ([["Cat0", "+", 100]], [])
    browser.point_at(browser.one("h1"))
    assert [browser.marks(one), browser.marks(two)] == rest
    # One stop for Tab in each sentence, arrows within.
    browser.keys("#search", "<TAB>")
    assert browser.run("return document.activeElement === arguments[0]", cat)
    assert browser.marks(two) == by_cat
    browser.press(cat, "<ARROW_RIGHT>")
    assert browser.run("return document.activeElement === arguments[0]", runs)
    assert (browser.marks(one), browser.marks(two)) == ([], [["walk", "+", 60]])
    stops = [word.get_attribute("tabindex") for word in browser.all(".word")]
    assert stops == ["-1", "0", "0", "-1"]
    # The page must not scroll with the arrows, nor lose the keys that are its own.
    pressed = "return arguments[0].dispatchEvent(new KeyboardEvent('keydown', arguments[1]))"
    for key, left_to_page in [("ArrowRight", False), ("End", False), ("a", True)]:
        event = {"key": key, "bubbles": True, "cancelable": True}
        assert browser.run(pressed, runs, event) is left_to_page
    browser.press(runs, "<ARROW_RIGHT>")
    assert browser.run("return document.activeElement === arguments[0]", runs)
    browser.press(runs, "<HOME>")
    assert browser.run("return document.activeElement === arguments[0]", cat)
    browser.point_at(dogs)
    browser.point_at(browser.one("h1"))
    assert browser.marks(two) == by_cat
    browser.press(cat, "<TAB>")
    assert browser.run("return document.activeElement === arguments[0]", dogs)
    browser.run("document.activeElement.blur()")
    assert [browser.marks(one), browser.marks(two)] == rest


def test_folded_words_are_shaded_once_they_show(browser):
    words = [[5 * i, 5 * i + 4] for i in range(200)]
    long = pairs(1)[0] | {
        "text1": "word " * 200,
        "offsets1": words,
        "special1": [False] * 200,
        "text2": "word",
        "offsets2": [[0, 4]],
        "special2": [False],
        "contributions": [[0.001]] * 200,
    }
    browser.open(explanations_page([long]))
    assert len(browser.all(".word")) == 121
    one = browser.one(".sentence")
    browser.press(browser.one(".more"), "<ENTER>")
    assert browser.texts(".sentence") == ["word " * 200, "word"]
    assert len(browser.marks(one)) == 200
    browser.click("button[aria-expanded]")
    assert len(browser.all(".heat tbody tr")) == 200


def test_vast_heat_maps_are_refused_in_words(browser):
    words = [[2 * i, 2 * i + 1] for i in range(101)]
    sides = {f"text{side}": "a " * 101 for side in (1, 2)}
    sides |= {f"offsets{side}": words for side in (1, 2)}
    sides |= {f"special{side}": [False] * 101 for side in (1, 2)}
    browser.open(explanations_page([pairs(1)[0] | sides | {"contributions": np.eye(101)}]))
    browser.click("button[aria-expanded]")
    assert browser.texts(".heat") == ["Too large to show: 101 by 101 words."]


def test_heat_map_is_shown_on_demand(browser):
    browser.open(explanations_page(pairs(1)))
    button = browser.one("button[aria-expanded]")
    assert browser.all("table") == []
    browser.press(button, "<ENTER>")
    assert button.get_attribute("aria-expanded") == "true"
    assert browser.texts(".heat th") == ["dogs", "walk", "Cat0", "runs"]
    assert browser.texts(".heat tbody td") == ["0.40", "\u22120.10", "", "0.20"]
    table = browser.one(".heat table")
    assert browser.marks(table) == [["0.40", "+", 100], ["\u22120.10", "-", 40], ["0.20", "+", 60]]
    browser.press(button, "<ENTER>")
    assert button.get_attribute("aria-expanded") == "false"
    assert not table.is_displayed()


def test_verdict_bars_are_sorted_by_size(browser):
    browser.open(explanations_page(pairs(1), verdicts=verdicts(1)))
    rows = browser.texts(".verdict tbody th")
    assert rows[:4] == ["feature 0", "filmmember", "feature 1", "feature 9"]
    assert len(rows) == 8
    browser.click(".pair .actions button")
    assert len(browser.texts(".verdict tbody th")) == 11
    effects = browser.texts(".verdict tbody td:last-child")
    assert effects[:4] == ["\u22120.500", "+0.450", "\u22120.400", "+0.400"]
    sizes = [abs(float(effect.replace("\u2212", "-"))) for effect in effects]
    assert sizes == sorted(sizes, reverse=True)
    widths = [bar.size["width"] for bar in browser.all(".bar")]
    assert all(a >= b for a, b in pairwise(widths))
    assert widths[0] > 50
    assert widths[2] / widths[0] == pytest.approx(0.4 / 0.5, rel=0.02)
    left, right = (bar.location["x"] for bar in browser.all(".bar")[:2])
    assert left + widths[0] == pytest.approx(right, abs=1)
    assert browser.texts(".verdict tbody td:nth-child(2)")[:2] == ["0", "0.250"]


def test_pairs_sort_and_search(browser):
    browser.open(explanations_page(pairs(), verdicts=verdicts()))
    listed = lambda: [int(n) for n in re.findall(r"Cat(\d)", " ".join(browser.texts(".sentence")))]  # noqa: E731
    assert listed() == [0, 1, 2, 3]
    for name, expected in [
        ("similarity-down", [1, 2, 3, 0]),
        ("similarity-up", [0, 3, 2, 1]),
        ("probability-down", [0, 1, 2, 3]),
        ("probability-up", [3, 2, 1, 0]),
        ("given", [0, 1, 2, 3]),
    ]:
        browser.order(name)
        assert listed() == expected
    browser.keys("#search", "cAT2")
    assert listed() == [2]
    browser.keys("#search", "x")
    assert browser.texts("#range") == ["No pair holds what you search for."]
    browser.open(explanations_page(pairs(30)))
    assert len(browser.all(".pair")) == 25
    assert browser.all("#order option[value^=probability]") == []


def test_hostile_explanations_show_as_texts(browser, hostile_texts):
    hostile, said = [], []
    for text in hostile_texts[:-1]:
        span, name = [[0, len(text)]], {"name": text, "value": text, "effect": 1.0}
        hostile.append(
            pairs(1)[0]
            | {"text1": text, "text2": text, "offsets1": span, "offsets2": span, "title": text}
            | {"special1": [False], "special2": [False], "contributions": [[1.0]]}
        )
        said.append({"probability": 0.5, "members": [name], "features": [name]})
    browser.open(explanations_page(hostile, verdicts=said, title=hostile_texts[1]))
    assert browser.one("h1").text == hostile_texts[1]
    for button in browser.all("button[aria-expanded]"):
        button.click()
    for word in browser.all(".word"):
        browser.point_at(word)
    assert browser.texts(".sentence")[: 2 * (len(hostile_texts) - 2) : 2] == hostile_texts[:-2]
    assert not browser.all("main img, main a, main script")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_empty_page_says_so(browser):
    browser.open(explanations_page([]))
    assert browser.texts("#range") == ["There is no pair."]


def test_page_makes_no_request(browser):
    browser.open(explanations_page(pairs()))
    browser.settle()
    assert browser.requests() == [(browser.folder / "page.html").as_uri()]
    assert browser.run("return performance.getEntriesByType('resource')") == []


def test_page_fits_a_phone(browser):
    browser.open(explanations_page(pairs(), verdicts=verdicts()))
    browser.narrow(360)
    browser.run(
        "for (const e of document.querySelectorAll('summary, button[aria-expanded]')) e.click()"
    )
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") == 360

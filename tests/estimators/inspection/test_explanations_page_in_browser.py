"""The page of explanations in a real browser, opened from disk."""

import re
from dataclasses import replace

import numpy as np
import pytest

from estimators.inspection import Evidence, Explanation, Verdict, WordEffect
from estimators.inspection.pages.page import explanations_page


def pairs(n=4):
    """Pairs with special tokens, one of them over a word, overlapping tokens, and an emoji."""
    made = []
    for i in range(n):
        first, second = f"😀 Cat{i} runs", "dogs walk"
        contributions = np.array(
            [[0.05, 0, 0], [0.02, 0.3, -0.1], [0, 0.1, 0], [0, 0, 0.2]]
        ) * (1 + (i * 3) % n)  # fmt: skip
        made.append(
            Explanation(
                text1=first,
                text2=second,
                tokens1=["[CLS]", "Cat", "at", "runs"],
                tokens2=["[CLS]", "dogs", "walk"],
                offsets1=[[0, 0], [2, 5], [4, 6], [7, 11]],
                offsets2=[[0, 4], [0, 4], [5, 9]],
                contributions=contributions,
                special1=[True, False, False, False],
                special2=[True, False, False],
                similarity=float(contributions.sum()),
                title="matching",
            )
        )
    return made


def texts_of_words(word, n, **changes):
    side = {
        "text": f"{word} " * n,
        "tokens": [word] * n,
        "offsets": [[(len(word) + 1) * i, (len(word) + 1) * i + len(word)] for i in range(n)],
    }
    return {f"{name}{number}": value for name, value in side.items() for number in "12"} | changes


def judged(explanation, probability=0.2):
    """A verdict of 11 inputs, whose effects lead from one half to the probability."""
    effects = [0.1 * (i - 5) for i in range(10)]
    effects.append(float(np.log(probability / (1 - probability))) - sum(effects))
    features = [Evidence(f"feature {i}", i, e, 0.5) for i, e in enumerate(effects[:10])]
    return Verdict(
        text1=explanation.text1,
        text2=explanation.text2,
        probability=probability,
        baseline=0.5,
        members=[Evidence("film", 0.25, effects[10], 0.125)],
        features=features,
        words={"film": explanation},
        terms={},
        unseen="A note for people.",
    )


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
    browser.keys("summary", "<TAB>")
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


def test_what_words_add_shades_them(browser):
    (explanation,) = pairs(1)
    spans = [(1, 2, 6, "Cat0", -2.0), (1, 7, 11, "runs", 1.0)]
    spans += [(2, 0, 4, "dogs", 0.5), (2, 5, 9, "walk", 0.0)]
    by_word = [WordEffect(*span) for span in spans]
    browser.open(explanations_page([replace(judged(explanation), by_word=by_word)]))
    one, two = browser.all(".sentence")
    assert browser.marks(one) == [["Cat0", "-", 100], ["runs", "+", 60]]
    assert browser.marks(two) == [["dogs", "+", 40]]
    browser.point_at(browser.all(".word")[0])
    assert browser.texts(".readout")[0].endswith(
        "+0.300; adds \u22122.000 to the log-odds of a duplicate"
    )


def test_folded_words_are_shaded_once_they_show(browser):
    one_word = {"text2": "word", "tokens2": ["word"], "offsets2": [[0, 4]]}
    sides = texts_of_words("word", 200, **one_word)
    long = Explanation(**sides, contributions=np.full((200, 1), 0.001), similarity=0.2)
    browser.open(explanations_page([long]))
    assert len(browser.all(".word")) == 121
    one = browser.one(".sentence")
    browser.press(browser.one(".more"), "<ENTER>")
    assert browser.texts(".sentence") == ["word " * 200, "word"]
    assert len(browser.marks(one)) == 200
    browser.click("button[aria-expanded]")
    assert len(browser.all(".heat tbody tr")) == 40


def test_of_long_texts_the_heat_map_shows_the_strongest_words(browser):
    weights = np.arange(101) / 5050
    sides = texts_of_words("a", 101)
    browser.open(
        explanations_page([Explanation(**sides, contributions=np.diag(weights), similarity=1)])
    )
    browser.click("button[aria-expanded]")
    assert browser.texts(".heat p") == [
        "The words with the largest contributions: 40 of 101 of the first text, 40 of 101 of the "
        "second."
    ]
    assert len(browser.all(".heat tbody tr")) == 40
    cells = [cell for cell in browser.texts(".heat tbody td") if cell]
    assert cells == [f"{weight:.2f}" for weight in weights[61:]]


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


def test_bars_lead_from_the_typical_pair_to_this_one(browser):
    (explanation,) = pairs(1)
    browser.open(explanations_page([judged(explanation, 0.2)]))
    names = browser.texts(".verdict tbody th")
    # The member: logit(.2) - sum of the features' effects, -1.386 + .5.
    assert names[:4] == ["A typical pair", "filmmember", "feature 0", "feature 1"]
    assert names[-2:] == ["3 other inputs", "This pair"] and len(names) == 11
    assert browser.texts(".note") == ["A note for people."]
    results = browser.texts(".verdict tbody .result")
    assert (results[0], results[-1], results[-2]) == ("50.0%", "20.0%", "20.0%")
    ends = lambda box: (box.rect["x"], box.rect["x"] + box.rect["width"])  # noqa: E731
    place = ends(browser.all(".point")[0])[0] + 1.5
    for bar in browser.all(".bar"):
        left, right = ends(bar)
        falls = bar.get_attribute("data-sign") == "-"
        assert (right if falls else left) == pytest.approx(place, abs=1.5)
        place = left if falls else right
    assert ends(browser.all(".point")[1])[0] + 1.5 == pytest.approx(place, abs=1.5)
    # A third of the way is in a third of the log-odds.
    widths = [bar.rect["width"] for bar in browser.all(".bar")]
    assert widths[2] / widths[1] == pytest.approx(0.4 / 0.5, abs=0.02)
    assert browser.texts(".verdict tbody tr:nth-child(2) td.number")[:2] == ["0.25", "0.125"]
    browser.click(".waterfall .more")
    # An effect of 0 has a line, and no bar.
    assert len(browser.texts(".verdict tbody th")) == 13
    assert len(browser.all(".bar")) == 10
    assert browser.texts(".verdict tbody .result")[-1] == "20.0%"
    copies = replace(
        judged(explanation, 0.2), sameness=Evidence("copies", 1, 4, 0), probability=0.9
    )
    browser.open(explanations_page([copies]))
    assert browser.texts(".verdict tbody th")[-2:] == ["copies", "This pair"]
    # 1 / (1 + 4 exp(-4)), which the verdict of the test rounds.
    assert browser.texts(".verdict tbody .result")[-3:] == ["20.0%", "93.2%", "90.0%"]


def test_pairs_sort_and_search(browser):
    browser.open(explanations_page([judged(p, 0.9 - 0.2 * i) for i, p in enumerate(pairs())]))
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
    assert browser.texts("#range") == ["No pair matches your search."]
    browser.open(explanations_page(pairs(30)))
    assert len(browser.all(".pair")) == 25
    assert browser.all("#order option[value^=probability]") == []
    assert browser.all(".of-verdict") == []


def test_page_fits_a_phone(browser):
    browser.open(explanations_page([judged(pair) for pair in pairs()]))
    browser.narrow(360)
    browser.run(
        "for (const e of document.querySelectorAll("
        "'summary, button[aria-expanded], .waterfall .more')) e.click()"
    )
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") == 360

"""The page of duplicates in a real browser, opened from disk."""

import csv
from io import StringIO
from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from estimators.inspection.pages.page import duplicates_page

WORDS = "how can i learn to cook read swim fast well at home alone in a week".split()


def corpus(seed=0, n=60):
    rng = np.random.default_rng(seed)
    texts = [
        {"id": f"t{i}", "text": " ".join(rng.choice(WORDS, 5)), "copies": []} for i in range(n)
    ]
    texts[3]["copies"], texts[n - 1]["copies"] = ["t3b", "t3c"], ["last copy"]
    meaning = rng.integers(n // 3, size=n)
    scores = {
        (i, j): round(float(rng.uniform(0, 0.7) + 0.3 * (meaning[i] == meaning[j])), 3)
        for i, j in combinations(range(n), 2)
    }
    tree = linkage([1 - score for score in scores.values()], "average")
    merges = [(int(a), int(b), round(1 - height, 6)) for a, b, height, _ in tree]
    kept = [(a, b, s) for a, b, s in merges if s >= 0.45]
    # A third of the pairs was not compared.
    pairs = [(i, j, s) for (i, j), s in scores.items() if (i + 2 * j) % 3]
    return {
        "score_name": "probability",
        "threshold": 0.71234,
        "lowest": 0.45,
        "texts": texts,
        "merges": kept,
        "pairs": pairs,
    }


def cut(data, threshold):
    """Groups of text numbers at a threshold, and the score of each, merge by merge."""
    parts = {i: ([i], None) for i in range(len(data["texts"]))}
    n = len(parts)
    for k, (a, b, score) in enumerate(data["merges"]):
        if score >= threshold:
            parts[n + k] = (sorted(parts.pop(a)[0] + parts.pop(b)[0]), score)
    found = [p for p in parts.values() if len(p[0]) > 1 or data["texts"][p[0][0]]["copies"]]
    return sorted(found)


def size(data, members):
    return sum(1 + len(data["texts"][i]["copies"]) for i in members)


def expected_counts(data, threshold):
    sizes = [size(data, members) for members, _ in cut(data, threshold)]
    total = size(data, range(len(data["texts"])))
    return [total, len(sizes), sum(sizes) - len(sizes)]


def ids(data, groups):
    return sorted([data["texts"][i]["id"] for i in members] for members, _ in groups)


def weakest(data, members):
    direct = {frozenset(pair[:2]): pair[2] for pair in data["pairs"]}
    if len(members) == 1:
        return np.inf
    return min(direct.get(frozenset(pair), -np.inf) for pair in combinations(members, 2))


def test_slider_regroups_as_a_cut_of_the_merges(browser):
    data = corpus()
    browser.open(duplicates_page(data))
    assert browser.counts() == expected_counts(data, 0.71234)
    assert sorted(browser.groups()) == ids(data, cut(data, 0.71234))
    assert browser.one("#threshold").get_property("value") == "0.7123"
    seen = set()
    for key, threshold in [
        ("<ARROW_RIGHT>", 0.72),
        ("<END>", 1.0),
        ("<HOME>", 0.45),
        ("<ARROW_RIGHT>", 0.46),
    ]:
        browser.keys("#slider", key)
        assert float(browser.one("#threshold").get_property("value")) == threshold
        assert browser.one("#slider").get_attribute("aria-valuetext") == f"{threshold:g}"
        assert browser.counts() == expected_counts(data, threshold)
        assert sorted(browser.groups()) == ids(data, cut(data, threshold))
        seen.add(tuple(browser.counts()))
    assert len(seen) > 2
    browser.click("#reset")
    assert browser.counts() == expected_counts(data, 0.71234)


def test_threshold_can_be_typed_and_is_kept_within_bounds(browser):
    data = corpus()
    browser.open(duplicates_page(data))
    exact = data["merges"][4][2]
    field = "#threshold"
    browser.keys(field, "<CONTROL>", "a", "<NULL>", f"{exact}")
    # A merge at the threshold itself stays.
    assert browser.counts() == expected_counts(data, exact)
    assert browser.counts() != expected_counts(data, np.nextafter(exact, 2))
    browser.keys(field, "<CONTROL>", "a", "<NULL>", "0.1")
    assert browser.counts() == expected_counts(data, exact)
    browser.keys(field, "<TAB>")
    assert browser.one(field).get_property("value") == "0.45"
    assert browser.counts() == expected_counts(data, 0.45)
    assert browser.run("return document.activeElement.id") == "reset"


def test_groups_sort(browser):
    data = corpus(1) | {"threshold": 0.6}
    browser.open(duplicates_page(data))
    groups = cut(data, 0.6)
    for name, value in {
        "size": lambda g: size(data, g[0]),
        "score": lambda g: np.inf if g[1] is None else g[1],
        "weakest": lambda g: weakest(data, g[0]),
        "text": lambda g: data["texts"][g[0][0]]["text"],
    }.items():
        assert len({value(group) for group in groups}) > 2
        for direction in ("up", "down"):
            browser.order(f"{name}-{direction}")
            ordered = sorted(groups, key=value, reverse=direction == "down")
            assert browser.groups() == [[data["texts"][i]["id"] for i in m] for m, _ in ordered]


def test_each_group_tells_its_numbers_and_weakest_link(browser):
    data = corpus(2)
    browser.open(duplicates_page(data))
    browser.order("text-up")
    direct = {frozenset(pair[:2]): pair[2] for pair in data["pairs"]}
    groups = sorted(cut(data, data["threshold"]), key=lambda g: data["texts"][g[0][0]]["text"])
    browser.click("#open-all")
    cells, lines = browser.texts(".group .cell"), browser.texts("p.weakest")
    kinds = set()
    for (members, score), line, *three in zip(
        groups, lines, cells[::3], cells[1::3], cells[2::3], strict=True
    ):
        low = weakest(data, members)
        word = {np.inf: "exact", -np.inf: "not compared"}.get(low, f"{low:.3f}")
        assert three == [
            f"Texts{size(data, members)}",
            "Score" + ("exact" if score is None else f"{score:.3f}"),
            f"Weakest link{word}",
        ]
        kinds.add(word if np.isinf(low) else "scored")
        if score is None:
            assert line == "All are exact copies of one text."
            continue
        link = next(p for p in combinations(members, 2) if direct.get(frozenset(p), -np.inf) == low)
        one, other = (data["texts"][i]["text"] for i in link)
        assert f"Weakest link: {word}, {one} and {other}" in line
        if low == -np.inf:
            pairs = list(combinations(members, 2))
            scored = [direct[frozenset(p)] for p in pairs if frozenset(p) in direct]
            assert f"({len(pairs) - len(scored)} of {len(pairs)} pair" in line
            assert (f"lowest score of the others is {min(scored, default=0):.3f}" in line) == bool(
                scored
            )
    assert kinds == {"exact", "not compared", "scored"}


def test_search_finds_texts_ids_and_copies(browser):
    data = corpus()
    data["texts"][5]["text"] = "Ünïque <b>needle</b>"
    browser.open(duplicates_page(data | {"threshold": 0.45}))
    groups = cut(data, 0.45)
    for query, wanted in [("NEEDLE</b", 5), ("ünÏque", 5), ("t3c", 3), ("LAST copy", 59)]:
        browser.one("#search").clear()
        browser.keys("#search", query)
        holding = [g for g in groups if wanted in g[0]]
        assert len(holding) == 1
        assert browser.groups() == ids(data, holding)
        assert data["texts"][wanted]["text"] in browser.texts(".preview .line")
    browser.keys("#search", "nowhere")
    assert browser.texts("#range") == ["No group matches your search."]
    assert not browser.one("#download").is_enabled()
    # Counts are of the whole corpus, not of what the search lists.
    assert browser.counts() == expected_counts(data, 0.45)


def test_download_holds_the_listed_groups(browser):
    data = corpus()
    for i, text in enumerate(
        ['say "hi", you', "two\r\nlines", "old\rmac", " edge ", "=1+1", "ünï, 😀", ""]
    ):
        data["texts"][i]["text"] = text
    data["threshold"] = 0.45
    browser.open(duplicates_page(data))
    browser.order("size-down")
    browser.click("#escape")
    text = browser.download_text()
    header, *rows = csv.reader(StringIO(text, newline=""), strict=True)
    assert header == ["group", "id", "text", "score"]
    direct = {frozenset(pair[:2]): str(pair[2]) for pair in data["pairs"]}
    expected = []
    ordered = sorted(cut(data, 0.45), key=lambda g: -size(data, g[0]))
    for number, (members, _) in enumerate(ordered, start=1):
        for i in members:
            entry = data["texts"][i]
            score = direct.get(frozenset((members[0], i)), "")
            for name in [entry["id"], *entry["copies"]]:
                expected.append([str(number), name, entry["text"], score])
    assert rows == expected
    assert text.count("\r\n") == len(rows) + 1 + sum("\r\n" in row[2] for row in rows)
    browser.keys("#search", "last copy")
    shorter = list(csv.reader(StringIO(browser.download_text(), newline="")))
    assert 1 < len(shorter) < len(rows)
    assert "last copy" in [row[1] for row in shorter]


def test_hovering_or_focusing_a_text_shades_what_aligns(browser):
    first, second = "😀 big cat", "a small 😀 dog here"
    data = corpus() | {
        "texts": [{"id": str(i), "text": t, "copies": []} for i, t in enumerate([second, first])],
        "merges": [(0, 1, 0.9)],
        "pairs": [(0, 1, 0.9)],
        # Given the other way round: text 1 first.
        "alignments": {"1,0": [(1, 1, 0.2), (2, 3, 0.3), (2, 2, 0.1), (0, 4, -0.1)]},
        "tokens": {0: [[0, 1], [2, 7], [8, 9], [10, 13], [14, 18]], 1: [[0, 1], [2, 5], [6, 9]]},
    }
    browser.open(duplicates_page(data))
    browser.click(".group summary")
    reference, member = browser.all(".member")
    # Strength runs from 20 % to 100 % at the largest of a text.
    expected_first = [
        ["small", "+", 73.3],
        ["😀", "+", 46.7],
        ["dog", "+", 100],
        ["here", "-", 46.7],
    ]
    expected_member = [["😀", "-", 40], ["big", "+", 60], ["cat", "+", 100]]
    browser.point_at(member)
    assert browser.marks(reference) == expected_first
    assert browser.marks(member) == expected_member
    browser.point_at(browser.one("h1"))
    assert browser.marks(reference) == browser.marks(member) == []
    browser.keys(".group summary", "<TAB>")
    assert browser.run("return document.activeElement === arguments[0]", member)
    assert browser.marks(reference) == expected_first
    assert browser.marks(member) == expected_member
    browser.run("document.activeElement.blur()")
    assert browser.marks(reference) == browser.marks(member) == []
    assert [block.text for block in browser.all(".text")] == [second, first]


def test_words_in_common_are_shaded_without_alignments(browser):
    texts = ["Don’t feed the Cats, please!", "cats don't need food: the end"]
    data = corpus() | {
        "texts": [{"id": str(i), "text": t, "copies": []} for i, t in enumerate(texts)],
        "merges": [(0, 1, 0.9)],
        "pairs": [],
    }
    browser.open(duplicates_page(data))
    browser.click(".group summary")
    reference, member = browser.all(".member")
    assert browser.all(".score", member)[0].text == "not compared"
    browser.point_at(member)
    assert browser.marks(reference) == [["Don’t", "+", 100], ["the", "+", 100], ["Cats", "+", 100]]
    assert browser.marks(member) == [["cats", "+", 100], ["don't", "+", 100], ["the", "+", 100]]


def chained(texts, copies=()):
    n = len(texts)
    return {
        "score_name": "similarity",
        "threshold": 0.5,
        "lowest": 0.5,
        "texts": [{"id": t[:300], "text": t, "copies": list(copies)} for t in texts],
        "merges": [(0 if i == 1 else n + i - 2, i, 0.9) for i in range(1, n)],
        "pairs": [(i, i + 1, 0.9) for i in range(n - 1)],
        "notes": list(texts),
    }


def test_hostile_texts_show_as_texts(browser, hostile_texts):
    browser.open(duplicates_page(chained(hostile_texts, hostile_texts[:4]), title=hostile_texts[0]))
    assert browser.driver.title == browser.one("h1").text == hostile_texts[0]
    browser.click(".group summary")
    for summary in browser.all(".copies summary"):
        summary.click()
    for member in browser.all(".member[tabindex]"):
        browser.point_at(member)
    shown = browser.texts(".member .text")
    assert shown[:-2] == hostile_texts[:-2]
    assert [len(text) for text in shown[-2:]] == [601, 601]
    assert not browser.all("main img, main a, main script")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.all(".member .more")[-1].click()
    assert browser.texts(".member .text")[-1] == hostile_texts[-1]
    assert len(browser.all(".member .more")) == 1
    assert browser.one(".notes").is_displayed()


def records(rows, columns, **more):
    """Records of one group, in which each is paired with the first; effects by place."""
    return {
        "score_name": "score",
        "threshold": 0.5,
        "lowest": 0.5,
        "columns": columns,
        "texts": [{"id": f"r{i}", "cells": row, "copies": []} for i, row in enumerate(rows)],
        "merges": [(0 if i == 1 else len(rows) + i - 2, i, 0.9) for i in range(1, len(rows))],
        "pairs": [(0, i, 0.9, "", i - 1) for i in range(1, len(rows))],
    } | more


def table_of(browser, member):
    """Cells of a table of two records: text, sign, strength and whether both are the same."""
    return browser.run(
        "return [...arguments[0].querySelectorAll('tr')].map((row) => [...row.children].map((cell)"
        " => [cell.textContent, cell.dataset.sign ?? '',"
        " parseFloat(cell.style.getPropertyValue('--strength')) || 0, cell.className]))",
        member,
    )


def test_records_show_side_by_side_with_what_each_column_adds(browser):
    rows = [["Ann Lee", "1980", "Ulm"], ["Lee, Ann", "1980", ""], ["Ann Leeds", "1981", "Ulm"]]
    effects = [[1.5, 3.0, 0.0], [-0.6, -1.2, 0.3]]
    browser.open(duplicates_page(records(rows, ["name", "born", "town"], effects=effects)))
    browser.click(".group summary")
    first, second, third = browser.all(".member")
    assert browser.one(".text", first).text == "Ann Lee 1980 Ulm"
    assert not browser.all("table", first)
    head, *shown = table_of(browser, second)
    assert [cell[0] for cell in head] == ["", "r0", "r1", "Adds"]
    # Values that differ come first; 3 is the largest effect, whose strength is 100 %.
    assert shown == [
        [
            ["name", "+", 60, ""],
            ["Ann Lee", "", 0, ""],
            ["Lee, Ann", "", 0, ""],
            ["+1.500", "+", 60, "score"],
        ],
        [["town", "", 0, ""], ["Ulm", "", 0, ""], ["", "", 0, ""], ["0.000", "", 0, "score"]],
        [
            ["born", "+", 100, ""],
            ["1980", "", 0, "same"],
            ["1980", "", 0, "same"],
            ["+3.000", "+", 100, "score"],
        ],
    ]
    _, *shown = table_of(browser, third)
    assert [row[0][:3] for row in shown] == [
        ["name", "-", 36],
        ["born", "-", 52],
        ["town", "+", 28],
    ]
    assert shown[1][3][0] == "\u22121.200"
    browser.all(".compare")[0].click()
    shown = table_of(browser, browser.all(".member")[2])
    # These two were not compared.
    assert {cell[1] for row in shown for cell in row} == {""} and shown[0][3][0] == ""
    reader = csv.reader(StringIO(browser.download_text()))
    assert list(reader)[:3] == [
        ["group", "id", "name", "born", "town", "score"],
        ["1", "r0", *rows[0], ""],
        ["1", "r1", *rows[1], "0.9"],
    ]


def test_hostile_records_show_as_texts(browser, hostile_texts):
    hostile = hostile_texts[:-1]
    page = records([hostile, hostile[::-1]], hostile, effects=[[0.1] * len(hostile)])
    browser.open(duplicates_page(page))
    browser.click(".group summary")
    shown = [[cell[0] for cell in row] for row in table_of(browser, browser.one("table"))[1:]]
    assert {name: cell for name, cell, *_ in shown[:-1]}.items() >= {
        name: name for name in hostile[:-1]
    }.items()
    assert not browser.all("main img, main a, main script")
    browser.narrow(390)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_what_has_no_shape_is_replaced(browser):
    browser.open(duplicates_page(chained(["nul\0here \x1b[31m", "lone \ud83d and \udc00"])))
    browser.click(".group summary")
    assert browser.texts(".member .text") == ["nul\ufffdhere \ufffd[31m", "lone \ufffd and \ufffd"]


@pytest.mark.parametrize(("before", "cut_word"), [("", "wor"), ("abc ", "word")])
def test_folded_text_is_shaded_as_far_as_it_shows(browser, before, cut_word):
    """The fold of 600 UTF-16 units falls into a word, or into the middle of an emoji."""
    long = before + "😀word " * 300 + "tail"
    browser.open(duplicates_page(chained([long, long + " other"])))
    browser.click(".group summary")
    member = browser.all(".member")[1]
    browser.point_at(member)
    block = browser.texts(".member .text")[1]
    assert block[-1] == "…" and long.startswith(block[:-1])
    folded = browser.marks(member)
    assert folded[-1][0] == cut_word
    browser.one(".more", member).click()
    browser.point_at(browser.one("h1"))
    browser.point_at(member)
    assert 50 < len(folded) < len(browser.marks(member)) == 301 + bool(before)
    assert browser.texts(".member .text")[1] == long + " other"


def test_large_corpora_are_shown_a_page_at_a_time(browser):
    n = 20_000
    texts = [{"id": str(i), "text": f"text {i} of many", "copies": []} for i in range(n)]
    merges = [(4 * g, 4 * g + 1, 0.9) for g in range(n // 4)]
    merges += [(n + g, 4 * g + 2, 0.8) for g in range(n // 4)]
    merges += [(n + n // 4 + g, 4 * g + 3, 0.7) for g in range(n // 4)]
    data = corpus() | {"texts": texts, "merges": merges, "threshold": 0.5}
    data["pairs"] = [(i, i + 1, 0.9) for i in range(n - 1)]
    browser.open(duplicates_page(data))
    assert browser.counts() == [20_000, 5_000, 15_000]
    assert len(browser.all(".group")) == 100
    assert browser.all(".member") == []
    assert browser.texts("#range") == ["Groups 1 to 100 of 5,000"]
    browser.keys("#next", "<ENTER>")
    assert browser.texts("#range") == ["Groups 101 to 200 of 5,000"]
    assert browser.texts(".line")[0] == "text 400 of many"
    browser.keys("#previous", "<ENTER>")
    assert browser.texts(".line")[0] == "text 0 of many"
    assert not browser.one("#previous").is_enabled()
    browser.click("#next")
    browser.order("text-down")
    assert browser.texts("#range") == ["Groups 1 to 100 of 5,000"]
    browser.keys("#search", "text 19999")
    assert browser.texts("#range") == ["Groups 1 to 1 of 1"]
    assert browser.texts(".line") == ["text 19996 of many", "text 19999 of many"]


def test_large_groups_show_some_members_first(browser):
    browser.open(duplicates_page(chained([f"text {i}" for i in range(250)])))
    browser.click(".group summary")
    for count in (100, 200, 250):
        assert len(browser.all(".member")) == count
        if count < 250:
            browser.click(".more")
    assert browser.all(".more") == []
    assert browser.texts(".member .text") == [f"text {i}" for i in range(250)]


def test_open_groups_stay_open_while_the_threshold_moves(browser):
    data = corpus()
    browser.open(duplicates_page(data))
    browser.keys(".group summary", "<ENTER>")
    assert len(browser.all(".group[open]")) == 1
    name = browser.texts(".group[open] .member > .id")[0]
    browser.keys("#slider", "<ARROW_LEFT>")
    assert browser.texts(".group[open] .member > .id")[0] == name
    assert browser.run("return document.activeElement.id") == "slider"
    browser.click("#close-all")
    browser.keys("#slider", "<ARROW_LEFT>")
    assert browser.all(".group[open]") == []


def test_empty_pages_say_so(browser):
    browser.open(duplicates_page(chained(["alone"])))
    assert browser.counts() == [1, 0, 0]
    assert browser.texts("#range") == ["No groups at this threshold; lower it to join more texts."]


def test_page_fits_a_phone(browser, hostile_texts):
    browser.open(duplicates_page(chained(hostile_texts)))
    browser.narrow(360)
    browser.run(
        "for (const e of document.querySelectorAll('summary, button[aria-expanded]')) e.click()"
    )
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") == 360


def test_policy_stops_what_slips_through(unchecked_browser):
    from selenium.common.exceptions import JavascriptException

    browser = unchecked_browser
    slip = '<script>window.hacked=1</script><img src="x" onerror="window.hacked=1"></main>'
    browser.open(duplicates_page(corpus()).replace("</main>", slip))
    assert browser.run("return window.hacked") is None
    assert len(browser.groups()) > 1
    with pytest.raises(JavascriptException, match="TrustedHTML"):
        browser.run("document.body.innerHTML = '<b>markup</b>'")
    fetched = browser.driver.execute_async_script(
        "fetch('data:,x').then(() => arguments[0]('sent'), () => arguments[0]('stopped'))"
    )
    assert fetched == "stopped"
    # The log that the other tests find empty does hold violations.
    assert len(browser.driver.get_log("browser")) >= 3


def test_what_sets_two_texts_apart_is_shown(browser):
    data = corpus() | {
        "texts": [{"id": str(i), "text": f"a phone {i}", "copies": []} for i in range(3)],
        "merges": [(0, 1, 0.9), (3, 2, 0.8)],
        "pairs": [(1, 0, 0.9, "differs in number"), (0, 2, 0.85), (1, 2, 0.8)],
        "threshold": 0.5,
    }
    browser.open(duplicates_page(data))
    browser.click(".group summary")
    _, second, third = browser.all(".member")
    assert "0.9" in second.text and "differs in number" in second.text
    assert "0.85" in third.text and "differs" not in third.text

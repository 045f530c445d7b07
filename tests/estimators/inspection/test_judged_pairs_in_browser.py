"""Pairs that are accepted and rejected on the page of duplicates, in a real browser."""

import csv
import json
from contextlib import contextmanager
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from estimators import DuplicateFinder
from estimators.cli.duplicates.page import match_data
from estimators.inspection.pages.page import duplicates_page
from tests.estimators.cli.commands import run, write_csv


def data():
    texts = ["=reset my password", "reset, the password", "I forgot it", "my order", "an order"]
    return {
        "score_name": "similarity",
        "threshold": 0.5,
        "lowest": 0.4,
        "texts": [{"id": f"t{i}", "text": text, "copies": []} for i, text in enumerate(texts)],
        "merges": [(0, 1, 0.9), (3, 4, 0.8), (5, 2, 0.6)],
        "pairs": [(0, 1, 0.9), (0, 2, 0.6), (3, 4, 0.8)],
        "n_rows": 120,
    }


@contextmanager
def before_each_page(browser, source):
    """Run a script in every page that is opened, ahead of the page's own."""
    browser.driver.execute_cdp_cmd("Page.enable", {})
    added = browser.driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": source}
    )
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def reload(browser):
    """Load the page again beside what it has stored.

    Chromium on a busy machine loses the storage of local files now and then (two of its
    processes, each with a copy of its own); what the page stores and reads back is tested here.
    """
    kept = json.dumps(browser.run("return {...localStorage}"))
    with before_each_page(browser, f"Object.assign(localStorage, {kept});"):
        browser.driver.refresh()


def judge(browser, place, label):
    browser.run(
        "document.querySelectorAll('.judge')[arguments[0]]"
        ".querySelector(`[data-label='${arguments[1]}']`).click()",
        place,
        label,
    )


def test_17_pairs_are_accepted_and_rejected_exported_and_kept(browser, tmp_path):
    browser.open(duplicates_page(data()))
    assert browser.counts() == [120, 2, 3]
    assert not browser.one("#labels").is_enabled()
    browser.click("#open-all")
    assert len(browser.all(".judge")) == 3
    judge(browser, 0, 1)
    judge(browser, 1, 0)
    judge(browser, 2, 1)
    judge(browser, 2, 1)
    assert "1 accepted, 1 rejected" in browser.texts("#judged")[0]
    # Another text to compare with reaches the pairs that do not hold the first.
    browser.run("document.querySelector('.compare').click()")
    pressed = "return document.querySelectorAll('.judge [aria-pressed=true]').length"
    assert browser.run(pressed) == 1
    judge(browser, 1, 0)
    path = browser.download("#labels", "labels.csv")
    rows = list(csv.reader(StringIO(path.read_text(encoding="utf-8"), newline="")))
    assert rows == [
        ["id1", "id2", "text1", "text2", "label"],
        ["t0", "t1", "=reset my password", "reset, the password", "1"],
        ["t0", "t2", "=reset my password", "I forgot it", "0"],
        ["t1", "t2", "reset, the password", "I forgot it", "0"],
    ]
    table = write_csv(
        tmp_path / "t.csv", ["id", "text"], [[x["id"], x["text"]] for x in data()["texts"]]
    )
    ran = run("duplicates", table, "--groups", "--threshold", 0.99, "--not-same", path)
    assert [row["id"] for row in ran.rows] == ["t0", "t1"], ran.err
    reload(browser)
    assert "1 accepted, 2 rejected" in browser.texts("#judged")[0]
    other = data()
    other["texts"][4]["text"] = "another order"
    browser.open(duplicates_page(other))
    assert "No pair reviewed yet" in browser.texts("#judged")[0]
    assert all(url.startswith(("file:", "blob:")) for url in browser.requests())


def test_17_hostile_texts_are_exported_as_texts(browser):
    hostile = ['</script><img src=x onerror=alert(1)>"', "two\r\nlines, \u2028 and \U0001f600"]
    content = data()
    content["texts"] = [{"id": '"<b>', "text": text, "copies": []} for text in hostile]
    content |= {"merges": [(0, 1, 0.9)], "pairs": [(0, 1, 0.9)]}
    browser.open(duplicates_page(content))
    browser.click("#open-all")
    judge(browser, 0, 1)
    path = browser.download("#labels", "labels.csv")
    with open(path, encoding="utf-8", newline="") as handle:
        assert list(csv.reader(handle))[1] == ['"<b>', '"<b>', *hostile, "1"]
    assert not browser.all("main img, main script")


def test_17_judgements_last_where_the_browser_keeps_nothing(browser):
    source = "Storage.prototype.setItem = () => { throw new Error('full'); };"
    with before_each_page(browser, source):
        browser.open(duplicates_page(data()))
        browser.click("#open-all")
        judge(browser, 0, 1)
        assert "lost when you close this page, unless downloaded" in browser.texts("#judged")[0]
        assert browser.download("#labels", "labels.csv").exists()


def test_13_the_page_of_two_tables_shows_each_new_row_with_its_matches(browser):
    finder = DuplicateFinder().fit(["red tea cup", "red tea cups", "lamp"], ["a", "b", "c"])
    found = finder.match(["red tea cup!", "stone", "Lamp"], ["x", "y", "z"], threshold=0.3)
    browser.open(duplicates_page(match_data(found, 0.3, 3)))
    assert sorted(browser.groups()) == [["x", "a", "b"], ["z", "c"]]
    assert browser.counts() == [3, 2, 3]
    assert "not compared" not in "".join(browser.texts(".group"))


@pytest.fixture(autouse=True)
def nothing_stored(browser):
    browser.open(duplicates_page(data()))
    browser.run("localStorage.clear()")


def test_decisions_on_records_are_labels_by_column(browser, tmp_path):
    names = ["anna adler", "ben graf", "carla jung", "dora lang"]
    rows = [[f"p{i}", name, 1980 + i % 4] for i, name in enumerate(names)]
    rows += [[f"q{i}", name.replace("a", "e", 1), 1980 + i % 4] for i, name in enumerate(names)]
    (tmp_path / "tables").mkdir()
    table = write_csv(tmp_path / "tables" / "people.csv", ["id", "name", "born"], rows)
    page = tmp_path / "people.html"
    ran = run("duplicates", table, "--threshold", 0.1, "--html", page)
    assert ran.code == 0, ran.err
    browser.driver.get(page.as_uri())
    browser.settle()
    browser.click("#open-all")
    assert browser.texts("table.columns tr:nth-child(2) th")[0] == "name"
    judge(browser, 0, 0)
    file = browser.download("#labels", "labels.csv")
    (row,) = csv.DictReader(file.read_text("utf-8").splitlines())
    sides = ["left_name", "right_name", "left_born", "right_born"]
    assert list(row) == ["id1", "id2", *sides, "label"]
    given = {cells[0]: cells for cells in rows}
    assert [row[name] for name in sides[::2]] == [str(cell) for cell in given[row["id1"]][1:]]
    before = run("duplicates", table, "--threshold", 0.1)
    after = run("duplicates", table, "--threshold", 0.1, "--not-same", file)
    pairs = [{(each["id1"], each["id2"]) for each in ran.rows} for ran in (before, after)]
    assert pairs[0] - pairs[1] == {(row["id1"], row["id2"])}


def test_matches_of_records_show_by_column(browser):
    old = pd.DataFrame({"name": ["Ann Lee", "Bo Li", "Cy Ho"], "born": ["1980", "1975", "1966"]})
    new = pd.DataFrame({"name": ["Lee, Ann"], "born": ["1980"]})
    found = DuplicateFinder().fit(old, beside=new).match(new, budget=1)
    data = match_data(found, 0.1, 1)
    assert data["columns"] == ["name", "born"] and "alignments" not in data
    (pair,), effects = data["pairs"], found.records.effects()
    np.testing.assert_allclose(
        data["effects"][pair[4]], [effects["name"][0], effects["born"][0]], atol=0.001
    )
    browser.open(duplicates_page(data))
    browser.click(".group summary")
    assert browser.texts("table.columns tr:nth-child(2) .text") == ["Lee, Ann", "Ann Lee"]

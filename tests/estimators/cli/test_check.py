import pytest

from estimators.cli.commands import check as _check
from estimators.cli.tables import read_table
from estimators.pairs import SuspiciousLabels
from tests.estimators.cli.commands import refused, run, write_csv

HOSTILE = "<script>alert(1)</script>"
ROWS = [["a b", "b c", 1], ["x", "y", ""], [HOSTILE, "b c", 1], ["a b", HOSTILE, 0], ["p", "q", 0]]


@pytest.fixture
def pairs(tmp_path):
    return write_csv(tmp_path / "pairs.csv", ["text1", "text2", "label"], ROWS)


@pytest.fixture
def found(monkeypatch):
    """The third label is suspicious, by two others, and the last by the model alone."""
    np = pytest.importorskip("numpy")
    given = []

    def suspicious(pairs, y, *, random_state):
        given.append((pairs.tolist(), y.tolist(), random_state))
        floats = np.array([0.9, 0.8]), np.array([0.1, 0.7])
        return SuspiciousLabels(np.array([2, 3]), *floats, [[0, 1], []])

    monkeypatch.setattr(_check, "suspicious_labels", suspicious)
    return given


def test_the_table_names_lines_and_those_that_contradict_them(pairs, found, tmp_path):
    out = tmp_path / "out.csv"
    ran = run("check", pairs, "--out", out, "--seed", 3)
    assert ran.code == 0 and "2 of 4 labels are suspicious" in ran.err
    table = read_table(out)
    assert table.columns == _check.COLUMNS
    # Row 1 has no label: lines are those of the file.
    assert table.rows[0] == ["5", "0", "0.1", "0.9", "2 4", "a b", HOSTILE]
    assert table.rows[1] == ["6", "0", "0.7", "0.8", "", "p", "q"]
    kept = [row[:2] for row in ROWS if row[2] != ""]
    assert found == [(kept, [1, 1, 0, 0], 3)]


def test_a_page_escapes_its_texts(pairs, found, tmp_path):
    page = tmp_path / "page.html"
    ran = run("check", pairs, "--html", page)
    assert (ran.code, ran.out) == (0, "")
    html = page.read_text(encoding="utf-8")
    assert HOSTILE not in html and "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "1. line 5" in html and "contradicted by" in html and "(line 2)" in html
    assert "suspicion 0.90" in html and "script-src" not in html


def test_so_many_are_listed(pairs, found):
    assert len(run("check", pairs, "-n", 1).out.splitlines()) == 2


def test_what_cannot_be_checked(tmp_path):
    one = write_csv(tmp_path / "one.csv", ["text1", "text2", "label"], [["a", "b", 1]])
    assert "film check needs duplicates and others" in refused("check", one)
    assert "--html - cannot be standard output" in refused("check", one, "--html", "-")
    assert "would overwrite" in refused("check", one, "--html", one)


def test_labels_of_a_table_are_checked(shelf, tmp_path):
    ran = run("check", shelf / "dev.csv", "-n", 5)
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) <= 6

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from benchmarks import tables
from benchmarks.support import records
from benchmarks.support.picks import Pick


def test_readme_tables_are_those_of_the_result_files():
    assert tables.main(["--check"]) == 0


def test_a_later_result_takes_the_place_of_an_earlier_one(tmp_path, monkeypatch):
    records.record("bench", "ours", "accuracy", 0.5, folder=tmp_path)
    records.record("bench", "theirs", "accuracy", 0.75, folder=tmp_path)
    records.record("bench", "ours", "accuracy", 0.625, folder=tmp_path)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    shown = tables.table("bench")
    assert "| ours | 0.6250 |" in shown
    assert "0.5000" not in shown
    assert shown.index("ours") < shown.index("theirs")


def test_a_table_may_show_the_cases_of_one_part(tmp_path, monkeypatch):
    for case in ("5.4: random", "5: theirs", "5.4: ours"):
        records.record("bench", case, "accuracy", 0.5, folder=tmp_path)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    shown = tables.table("bench__5_4")
    assert [line.split("|")[1].strip() for line in shown.splitlines()[2:4]] == ["random", "ours"]
    assert "| theirs |" in tables.table("bench__5") and "theirs" not in shown
    assert tables.table("bench__9") == "not measured\n"


def test_a_table_names_every_machine_and_the_days(tmp_path, monkeypatch):
    days = ("2026-02-03", "2026-01-02", "2026-02-03")
    for case, machine, day in zip(("one", "two", "three"), ("A", "B", "A"), days, strict=True):
        records.record("bench", case, "accuracy", 0.5, folder=tmp_path)
        path = tmp_path / "bench.jsonl"
        *before, last = map(json.loads, path.read_text().splitlines())
        rows = [*before, last | {"hardware": machine, "date": day}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    footer = tables.table("bench").splitlines()[-1]
    assert footer.startswith("A and B; python ")
    assert "; 2026-01-02 to 2026-02-03; commit " in footer


@pytest.mark.parametrize(("less_is_better", "bold"), [(False, "**2.0000**"), (True, "**1.0000**")])
def test_the_better_side_of_a_headline_is_bold(less_is_better, bold, tmp_path, monkeypatch):
    records.record("bench", "ours", "seconds", 1.0, folder=tmp_path)
    records.record("bench", "theirs", "seconds", 2.0, folder=tmp_path)
    row = tables.Headline(
        "A task", "bench", ("seconds",), ("`us`", "ours"), ("them", "theirs"), less_is_better
    )
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr(tables, "HEADLINES", (row,))
    shown = tables.table("headlines")
    assert "| A task | seconds | " in shown
    assert shown.count("**") == 2 and bold in shown


def test_every_picked_result_and_every_figure_beside_a_paper_was_measured():
    for name, picks in tables.PICKS.items():
        for pick in picks:
            row = tables.newest(pick.bench).get(pick.case, {})
            assert {*pick.metrics.values()} <= {*row}, (name, pick.name)
    for paper, pieces in tables.PAPERS.items():
        assert "not measured" not in tables.table(paper)
        assert all(piece.ours or piece.why or not piece.how for piece in pieces)


def test_figures_of_alignments_name_the_files_that_they_are_of():
    # The test files of the task are not read; limits were chosen on those of training.
    headings = {name: title for name, title in tables.HEADINGS.items() if name.startswith("f1_")}
    assert {"f1_clrcmd", "f1_official", "f1_images", "f1_chunks_headlines"} <= set(headings)
    beside = [ours.name for each in tables.PAPERS["papers_clrcmd"] for ours in each.ours]
    aligned = [name for name in beside if "images" in name or "headlines" in name]
    assert len(aligned) == 4
    assert all("train" in title for title in [*headings.values(), *aligned])


def test_a_picked_table_joins_benchmarks_under_its_own_headings(tmp_path, monkeypatch):
    records.record("first", "a", "accuracy", 0.5, folder=tmp_path)
    records.record("second", "b", "rule_accuracy", 0.25, folder=tmp_path)
    picks = (
        Pick("ours", "first", "a", {"accuracy": "accuracy"}),
        Pick("theirs", "second", "b", {"accuracy": "rule_accuracy"}),
    )
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr(tables, "PICKS", {"both": picks})
    assert tables.table("both").splitlines()[2:4] == ["| ours | 0.5000 |", "| theirs | 0.2500 |"]


def test_a_figure_in_a_sentence_is_filled_from_its_record(tmp_path, monkeypatch):
    records.record("bench", "ours: all", "accuracy", 0.8125, folder=tmp_path)
    page = tmp_path / "page.md"
    page.write_text("At <!-- figure bench | ours: all | accuracy | .0% -->?<!-- end -->, say.")
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    monkeypatch.setattr(tables, "documents", lambda: [page])
    assert tables.main(["--check"]) == 1
    assert tables.main([]) == tables.main(["--check"]) == 0
    assert page.read_text().endswith("-->81%<!-- end -->, say.")
    assert tables.figure("bench", "ours: all", "accuracy") == "0.8125"


def test_a_table_shows_the_rows_and_columns_of_its_marker_and_folds_the_rest(tmp_path, monkeypatch):
    for case in (f"{kind} {number}" for number in range(9) for kind in ("a", "b")):
        records.record("bench", case, "accuracy", 0.5, folder=tmp_path)
        records.record("bench", case, "seconds", 2.0, folder=tmp_path)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    for rows, n_shown in (("", tables.IN_SIGHT), ("^b", 9), ("b [12]", 2)):
        shown, folded = tables.table("bench", rows, "seconds").split("<details>")
        assert shown.splitlines()[0] == "|  | seconds |"
        assert len(re.findall(r"^\| [ab] \d \| 2.0000 \|$", shown, re.MULTILINE)) == n_shown
        assert len(re.findall(r"^\| [ab] \d ", folded, re.MULTILINE)) == 18 - n_shown
        assert f"{18 - n_shown} more" in folded


def test_a_table_shows_intervals_versions_rivals_and_how_it_was_measured(tmp_path, monkeypatch):
    told = {"folder": tmp_path, "rival": "theirs", "rival_value": 3.0}
    for metric, value in (("sample", 50.5), ("sample_low", 40.5), ("sample_high", 60.5)):
        records.record("bench", "ours", metric, value, **told)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    row = tables.table("bench", "", "sample, rival, numpy").splitlines()[2]
    assert row.startswith("| ours | 50.5 [40.5, 60.5] | theirs 3.0000 | ")
    assert re.fullmatch(r"[\d.]+", row.split(" | ")[-1].rstrip("| "))
    assert re.search(r"; commit \w+\.$", tables.table("bench").splitlines()[-1])
    (tmp_path / "bench.jsonl").rename(tmp_path / "quora.jsonl")
    text = (tmp_path / "quora.jsonl").read_text().replace('"bench": "bench"', '"bench": "quora"')
    (tmp_path / "quora.jsonl").write_text(text)
    assert "; `python -m benchmarks.quora`." in tables.table("quora")


REVIEWED = tomllib.loads(Path(__file__).with_name("reviewed_figures.toml").read_text("utf-8"))
"""Figures in prose that are not measured here: limits, settings, versions, what papers report."""
_UNREAD = re.compile(
    r"<!--.*?-->|```.*?```|``.*?``|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|default=[\w.]+"
    r"|^ *(?:>>>|\.\.\.) .*?(?:\n *\n|\Z)|(?i:sections?|eqs?\.) \d+\.\d+",
    re.DOTALL | re.MULTILINE,
)
_FIGURE = re.compile(
    r"(?<![\w.])(?:\d[\d,]*)?(?:\.\d+(?![\w.]*\d)(?: %)?"
    r"|(?<=\d) (?:%|(?:m?s|seconds?|minutes?|hours?|[kMG]i?B)\b))"
)


def figures_of(text):
    return tuple(_FIGURE.findall(_UNREAD.sub(" ", text)))


def not_reviewed(found, reviewed):
    new = {name: set(figures) - set(reviewed.get(name, ())) for name, figures in found.items()}
    return {name: figures for name, figures in new.items() if figures}


def test_pages_have_no_figure_that_was_not_filled_from_a_record():
    """A measurement belongs in a table, or in a sentence by a figure marker of `tables`."""
    pages = {path.relative_to(tables.ROOT): path for path in tables.documents()}
    found = {
        name.as_posix().removeprefix("docs/"): figures_of(
            tables.PLACE.sub(" ", path.read_text("utf-8"))
        )
        for name, path in pages.items()
    }
    assert not_reviewed(found, REVIEWED["pages"]) == {}


def test_docstrings_have_no_measured_figure():
    """Docstrings explain; what was measured is on the pages of benchmarks."""
    found = {}
    rooms = [tables.ROOT / name for name in ("film", "estimators")]
    for path in (path for room in rooms for path in room.rglob("*.py")):
        texts = [
            node.value.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node.value.value, str)
        ]
        found[path.relative_to(tables.ROOT).as_posix()] = figures_of("\n\n".join(texts))
    assert not_reviewed(found, REVIEWED["docstrings"]) == {}

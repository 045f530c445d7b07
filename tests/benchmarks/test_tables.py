import json
import re

import pytest

from benchmarks import tables
from benchmarks.support import records
from benchmarks.support.picks import Pick
from benchmarks.support.records import RESULTS


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


def test_a_result_names_hardware_versions_and_commit(tmp_path):
    records.record(
        "bench", "case", "seconds", 1.5, "s", rival="r", rival_value=3.0, folder=tmp_path
    )
    row = json.loads((tmp_path / "bench.jsonl").read_text())
    assert row["hardware"] and row["commit"] and row["date"]
    assert {"python", "numpy", "scikit-learn"} <= set(row["versions"])


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
    assert footer.endswith("; 2026-01-02 to 2026-02-03.")


def test_a_bench_without_results_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    assert tables.table("nothing") == "not measured\n"


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
    headings = {name: title for name, title in tables.HEADINGS.items() if title.startswith("F1 ")}
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


NOT_MEASURED = {
    "versions": ("3.11", "4.4"),
    "sections and tables of the papers": ("3.4", "4.3", "5.4", "5.6"),
    "what papers report": ("0.32141", "34.45", "57.68", "78.47", "2508.03453"),
    "shares of duplicates in Kaggle's files": ("17.46", "36.92"),
    "values of parameters": ("0.01", "0.5", "0.7"),
}
_NO_PROSE = re.compile(
    r"<!-- table \w+ -->.*?<!-- end -->|<!--.*?-->"
    r"|```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)",
    re.DOTALL,
)
_FIGURE = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.]*\d)")


def newest_figures():
    """All that a record may read as: with fewer digits, in percent, its complement, in 1,000s."""
    newest = {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            newest[row["bench"], row["case"], row["metric"]] = row["value"]
    found = set()
    for value in newest.values():
        if isinstance(value, int | float):
            for shown in (
                value,
                value * 100,
                1 - value,
                (1 - value) * 100,
                value / 1000,
                value / 60,
            ):
                found |= {f"{abs(shown):.{digits}f}" for digits in range(1, 5)}
    return found


def test_figures_in_prose_are_those_of_the_newest_records():
    allowed = newest_figures().union(*NOT_MEASURED.values())
    stale = {}
    for path in [tables.ROOT / "README.md", *sorted((tables.ROOT / "docs").glob("*.md"))]:
        prose = _NO_PROSE.sub(" ", path.read_text("utf-8"))
        figures = {re.sub(r"^\.", "0.", figure) for figure in _FIGURE.findall(prose)}
        if figures - allowed:
            stale[path.name] = sorted(figures - allowed)
    assert stale == {}

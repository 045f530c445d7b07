import json

import numpy as np
import pytest

from benchmarks import compare, tables
from benchmarks.support import significance
from benchmarks.support.bootstrap import compare_rows, roc_auc
from benchmarks.support.pair_rows import read_pair_rows, record_pairs
from benchmarks.support.records import record
from benchmarks.support.significance import AHEAD, HIGH, LOW, record_differences, reference_of

PAIRS = [(f"a {i}", f"b {i}") for i in range(120)]
Y = np.arange(120) % 2


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Three rows of a benchmark: one near the reference, one far behind, and others' pairs."""
    references = {"bench": (("part: set: ", "part: set: plain"), ("set: ", "set: plain"))}
    monkeypatch.setattr(significance, "REFERENCES", references)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    rng = np.random.default_rng(0)
    plain = Y + rng.normal(size=120)
    rows = {"plain": plain, "near": plain + 0.01 * rng.normal(size=120), "far": -plain}
    for start in ("set", "part: set"):
        for name, values in rows.items():
            record("bench", f"{start}: {name}", "roc_auc", 0.5, folder=tmp_path)
            record_pairs("bench", f"{start}: {name}", PAIRS, Y, values, folder=tmp_path)
    record_pairs("bench", "set: others", PAIRS[:60], Y[:60], plain[:60], folder=tmp_path)
    record_pairs("bench", "alone", PAIRS, Y, plain, folder=tmp_path)
    return tmp_path


def test_every_row_is_compared_with_its_reference_on_the_same_pairs(kept):
    found = record_differences("bench", kept, n_draws=200)
    assert found == [f"{start}: {row}" for start in ("set", "part: set") for row in ("near", "far")]
    rows, cells = read_pair_rows("bench", kept), tables.newest("bench", kept)
    for case in found:
        reference = rows[f"{case.rpartition(': ')[0]}: plain"]
        gap = compare_rows(rows[case], reference, n_draws=200)["roc_auc"][2]
        recorded = [cells[case][metric]["value"] for metric in (AHEAD, LOW, HIGH)]
        assert recorded == [round(value, 6) for value in gap]
        assert cells[case][AHEAD]["rival"] == reference.case
    lines = (kept / "bench.jsonl").read_text(encoding="utf-8").splitlines()
    record_differences("bench", kept, n_draws=200)
    again = (kept / "bench.jsonl").read_text(encoding="utf-8").splitlines()[len(lines) :]
    assert [json.loads(one)["value"] for one in again] == [
        json.loads(one)["value"] for one in lines[-len(again) :]
    ]


def test_tables_mark_the_reference_and_what_is_level(kept):
    assert compare.main(["bench", "--record", "--draws", "200", "--out", str(kept)]) == 0
    for name in ("bench", "bench__part"):
        shown = {line.split("|")[1].strip(): line for line in tables.table(name).splitlines()[:-2]}
        assert "AUC ahead of the reference, 95 %" in shown[""]
        assert shown["set: plain"].endswith("| reference |")
        assert "| level, " in shown["set: near"]
        assert "| -0." in shown["set: far"] and "level" not in shown["set: far"]


def test_one_figure_alone_is_compared_as_among_all(kept):
    rows = read_pair_rows("bench", kept)
    both = [rows["set: near"], rows["set: plain"]]
    one = compare_rows(*both, n_draws=50, only="roc_auc")
    assert one == {"roc_auc": compare_rows(*both, n_draws=50)["roc_auc"]}
    assert compare_rows(*both, n_draws=50, only="accuracy") == {}


def test_recorded_differences_are_those_of_the_kept_pairs():
    """Where it fails: python -m benchmarks.compare BENCH --record."""
    whole = None
    for bench in significance.REFERENCES:
        rows, cells = read_pair_rows(bench), tables.newest(bench)
        for case, row in rows.items():
            reference = rows.get(reference_of(bench, case) or "")
            if reference is None or reference.on.name != row.on.name:
                continue
            whole = np.ones((1, len(row.on.labels)))
            one, other = (
                np.mean([roc_auc(side, row.on.labels, whole)[0] for side in each.values.values()])
                for each in (row, reference)
            )
            told = cells[case][AHEAD]
            assert told["rival"] == reference.case, (bench, case)
            assert told["value"] == pytest.approx(one - other, abs=1e-6), (bench, case)
    assert whole is not None


def test_a_row_and_its_reference():
    assert reference_of("intents", "clinc150: untrained RCMD") == "clinc150: MiniLM cosine"
    assert reference_of("intents", "clinc150: MiniLM cosine") is None
    assert reference_of("intents", "made: untrained RCMD") is None
    whole = "quora, MiniLM saw Quora: inductive: all"
    assert reference_of("accurate", "quora, MiniLM saw Quora: inductive: without film") == whole
    assert reference_of("accurate", "quora: collection: light") == "quora: collection: all"
    assert reference_of("nothing", "quora: a") is None

import json

import numpy as np
import pytest

from benchmarks import compare, tables
from benchmarks.support import significance
from benchmarks.support.bootstrap import compare_parts, compare_rows, roc_auc, spearman_of
from benchmarks.support.pair_rows import parts_of_rows, read_pair_rows, record_pairs
from benchmarks.support.records import record
from benchmarks.support.significance import (
    AHEAD,
    DIFFERENCES,
    HIGH,
    LOW,
    MEAN_AHEAD,
    record_differences,
    reference_of,
)

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


def test_recorded_differences_are_those_of_the_kept_pairs():
    """Where it fails: python -m benchmarks.compare BENCH --record."""
    n_compared = 0
    for bench in significance.REFERENCES:
        rows, cells = parts_of_rows(read_pair_rows(bench)), tables.newest(bench)
        for case, parts in rows.items():
            reference = reference_of(bench, case) or ""
            others = rows.get(reference, {})
            both = [(row, others[name]) for name, row in parts.items() if name in others]
            same = [each for each in both if each[0].on.name == each[1].on.name]
            if not same:
                continue
            figure, metric = (roc_auc, AHEAD) if len(same) == 1 else (spearman_of, MEAN_AHEAD)
            gaps = [plain(figure, one) - plain(figure, other) for one, other in same]
            told = cells[case][metric]
            assert told["rival"] == reference, (bench, case)
            assert told["value"] == pytest.approx(np.mean(gaps), abs=1e-6), (bench, case)
            n_compared += 1
    assert n_compared


def plain(figure, row):
    whole = np.ones((1, len(row.on.labels)))
    return np.mean([figure(side, row.on.labels, whole)[0] for side in row.values.values()])


def test_rows_on_several_sets_are_compared_by_their_mean(tmp_path, monkeypatch):
    monkeypatch.setattr(significance, "REFERENCES", {"bench": (("set: ", "set: plain"),)})
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    rng, scores = np.random.default_rng(0), np.arange(120) / 24
    plain = scores + rng.normal(size=120)
    for name, values in (("plain", plain), ("near", plain + 1e-9), ("far", -plain)):
        record("bench", f"set: {name}", "mean", 0.5, folder=tmp_path)
        for part, rows in (("one", slice(None)), ("other", slice(60))):
            told = {"part": part, "folder": tmp_path}
            record_pairs("bench", f"set: {name}", PAIRS[rows], scores[rows], values[rows], **told)
    assert record_differences("bench", tmp_path, n_draws=200) == ["set: near", "set: far"]
    rows = parts_of_rows(read_pair_rows("bench", tmp_path))
    gap = compare_parts(rows["set: far"], rows["set: plain"], n_draws=200)["spearman"][2]
    cells = tables.newest("bench", tmp_path)["set: far"]
    recorded = [cells[metric]["value"] for metric in DIFFERENCES[1]]
    assert recorded == [round(value, 6) for value in gap] and gap.value < -100
    shown = {line.split("|")[1].strip(): line for line in tables.table("bench").splitlines()[:-2]}
    assert shown[""].endswith("| mean ahead of the reference, 95 % |")
    assert shown["set: plain"].endswith("| reference |")
    assert shown["set: near"].endswith("| level, +0.00 [+0.00, +0.00] |")
    assert f"| {gap.value:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}] |" in shown["set: far"]


def test_a_row_and_its_reference():
    assert reference_of("intents", "clinc150: untrained RCMD") == "clinc150: MiniLM cosine"
    assert reference_of("intents", "clinc150: MiniLM cosine") is None
    assert reference_of("intents", "made: untrained RCMD") is None
    whole = "quora, MiniLM saw Quora: inductive: all"
    assert reference_of("accurate", "quora, MiniLM saw Quora: inductive: without film") == whole
    assert reference_of("accurate", "quora: collection: light") == "quora: collection: all"
    assert reference_of("nothing", "quora: a") is None

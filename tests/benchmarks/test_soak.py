import json

import pytest

from benchmarks import soak


def test_a_case_is_recorded_and_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "LEAST_ROUNDS", 3)
    arguments = ["--quick", "--only", "DuplicateFinder", "--out", str(tmp_path)]
    assert soak.main(arguments) == 0
    rows = [json.loads(line) for line in (tmp_path / "soak.jsonl").read_text().splitlines()]
    assert len(rows) == 4 and rows[0]["value"] == 2
    monkeypatch.setattr(soak, "soaked", None)
    assert soak.main(arguments) == 0


def test_what_keeps_a_part_of_every_round_is_found_out(monkeypatch):
    kept = []
    leaks = {"leaks": lambda folder: lambda turn: kept.append(8 * 10**6)}
    monkeypatch.setattr(soak, "CASES", leaks)
    monkeypatch.setattr(soak, "memory", lambda: 10**8 + sum(kept))
    row = soak.soaked("leaks", 0)
    grown = (row["end_megabytes"] - row["warm_megabytes"]) / (row["rounds"] - 1)
    assert grown == pytest.approx(8) and row["growth_percent"] > 0


def test_growth_is_that_of_the_end_over_the_start():
    held = [100] * 10 + [150] * 80 + [103] * 10
    assert soak.judged(held)["growth_percent"] == pytest.approx(3)

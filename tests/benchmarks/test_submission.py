"""The submission of Kaggle's size, small: killed half-way it is the same as whole."""

import json

import pytest

from benchmarks import submission
from benchmarks.submission import main


def test_a_quick_run_records_where_out_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "submission.jsonl").read_text().splitlines()]
    found = {row["metric"]: row["value"] for row in rows}
    assert {row["case"] for row in rows} == {"3000 pairs of 1500 texts"}
    assert found.keys() == {"seconds", "peak", "seconds after a kill", "share done again"}
    assert found["seconds"] > 0 and found["peak"] > 50


@pytest.mark.parametrize("early", [True, False])
def test_another_submission_or_one_before_its_end_fails(early, tmp_path, monkeypatch, capsys):
    calls = []

    def timed(command, kill_after):
        calls.append(kill_after)
        target = command[command.index("--out") + 1]
        if kill_after is None or early:
            with open(target, "w") as file:
                file.write("same" if early else str(len(calls)))
        return 2.0

    monkeypatch.delenv("FILM_DATA", raising=False)
    monkeypatch.setattr(submission, "_timed", timed)
    assert main(["--quick", "--out", str(tmp_path)]) == 1
    assert calls == [None, 1.0, None]
    assert "wrote another submission" in capsys.readouterr().err
    assert not (tmp_path / "submission.jsonl").exists()


def test_a_run_that_ended_before_its_kill_is_killed_earlier(tmp_path, monkeypatch):
    calls, takes = [], [2.0, 0.5, 0.3, 1.0]

    def timed(command, kill_after):
        calls.append(kill_after)
        seconds = takes[len(calls) - 1]
        if kill_after is None or seconds < kill_after:
            with open(command[command.index("--out") + 1], "w") as file:
                file.write("same")
        return seconds

    monkeypatch.delenv("FILM_DATA", raising=False)
    monkeypatch.setattr(submission, "_timed", timed)
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    assert calls == [None, 1.0, 0.25, None]
    rows = map(json.loads, (tmp_path / "submission.jsonl").read_text().splitlines())
    found = {row["metric"]: row["value"] for row in rows}
    assert found["share done again"] == pytest.approx((0.3 + 1.0) / 2.0 - 1)

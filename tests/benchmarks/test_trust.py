"""The counts of what goes wrong: every part runs, and a reader that is wrong is found out."""

import itertools
import json
import os
import subprocess

import numpy as np
import pytest

from benchmarks.faulty.damage import damaged
from benchmarks.faulty.estimators_on_odd_texts import tried
from benchmarks.faulty.faults import Job, broken
from benchmarks.faulty.readers import fuzzed
from benchmarks.faulty.strangers import Stranger
from benchmarks.faulty.strangers import tried as tried_strangers
from benchmarks.trust import main


@pytest.mark.slow
def test_a_fuzzer_reaches_more_than_a_whole_file_does(tmp_path):
    pytest.importorskip("atheris", reason="the extra fuzz is not installed")
    parts = ["--parts", "guided", "--only", "read_table, CSV", "--inputs", "60"]
    assert main([*parts, "--out", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "trust.jsonl").read_text().splitlines()]
    found = {row["metric"]: row["value"] for row in rows}
    assert found["inputs"] == 60 and found["edges"] > found["edges_whole"] > 20


def test_without_a_fuzzer_its_part_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.trust.is_installed", lambda: False)
    assert main(["--parts", "guided", "--quick"]) == 0
    assert "guided: left out" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("job", ["save_model", "film submit"])
def test_a_killed_job_leaves_nothing_wrong(tmp_path, job):
    options = ["--parts", "faults", "--quick", "--only", job, "--out", str(tmp_path)]
    assert main(options) == 0


@pytest.mark.slow
@pytest.mark.parametrize("only", ["model, folds"])
def test_files_of_strangers_are_read_or_refused(tmp_path, only):
    parts = ["--parts", "strangers", "--only", only, "--inputs", "12", "--out", str(tmp_path)]
    assert main(parts) == 0
    rows = [json.loads(line) for line in (tmp_path / "trust.jsonl").read_text().splitlines()]
    found = {row["metric"]: row["value"] for row in rows}
    assert found["inputs"] == 12 and found["read"] and found["refused"] and not found["failed"]
    assert main([*parts, "--hours", "0.0001"]) == 0


def crash(path):
    os.abort()


@pytest.mark.parametrize(
    ("reader", "kind"),
    [
        (lambda path: path.with_name("other").read_bytes(), "a file beside it was opened"),
        (lambda path: subprocess.run(["true"]), "a process or connection was started"),
        (lambda path: np.ones(2**27), "more memory than promised"),
        (lambda path: all(itertools.repeat(1)), "more than 4 s"),
        (lambda path: {}["missing"], "an error of another kind"),
        (crash, "ended with -6"),
    ],
)
def test_a_reader_of_strangers_that_is_wrong_is_found_out(tmp_path, monkeypatch, reader, kind):
    monkeypatch.setattr("benchmarks.faulty.strangers.MOST_SECONDS", 4)
    (tmp_path / "other").write_bytes(b"x")
    members = {"schema.json": b"{}", "film-metric.json": b"{}"}

    def write(path, found):
        path.write_bytes(b"x")

    stranger = Stranger(members, write, reader, len)
    (tmp_path / "made").mkdir()
    assert list(tried_strangers(stranger, tmp_path / "made", 0, 1, 0).kinds) == [kind]


def test_damage_is_the_same_for_one_seed_and_differs_between_two():
    made = [damaged(b"a,b\n1,2\n" * 9, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_a_reader_that_raises_something_else_or_nothing_at_all_is_found_out(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"1,2,3\n" * 20)

    def careless(path):
        return int(path.read_bytes().split(b",")[3][:1])

    tally = fuzzed(path, careless, 200, 0)
    assert tally.kinds["IndexError"] > 0 and tally.inputs == 200
    assert path.read_bytes() == b"1,2,3\n" * 20

    def silent(path):
        raise ValueError

    assert fuzzed(path, silent, 3, 0).kinds == {"ValueError without a word": 3}


def test_values_that_are_not_finite_are_found_out():
    def check(odd):
        if any(not text for text in odd.flat):
            raise AssertionError("values that are not finite")

    assert tried(check, 200, 0).failed > 0


def test_a_job_that_writes_in_place_is_found_out(tmp_path):
    import time

    prepared = tmp_path / "prepared"
    prepared.mkdir()

    def run(folder):
        with open(folder / "out", "wb") as file:
            for _ in range(20):
                file.write(b"x" * 100)
                file.flush()
                time.sleep(0.01)

    def outcome(folder):
        path = folder / "out"
        return path.read_bytes() if path.exists() else None

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tally = broken(Job(run, outcome), prepared, scratch, 6, 0)
    assert any("not whole" in kind for kind in tally.kinds)

"""Both ends of the ranges of versions are taken from `pyproject.toml`, and failures are counted."""

import json
import re
import sys

import pytest

from benchmarks.compatibility import counted, lowest, main, newest


def test_both_ends_hold_every_dependency_of_the_core_and_the_neural_parts():
    names = [re.split("==", each)[0] for each in lowest()]
    assert len(names) == len(set(names))
    assert {"numpy", "scipy", "scikit-learn", "torch", "transformers", "pytest"} <= set(names)
    pinned = [each for each in lowest() if "==" in each]
    assert len(pinned) >= len(names) - 1  # the packaged model has one version
    assert list(newest()) == names
    assert "torch==2.13.0" in newest(["torch==2.13.0"]) and "torch" not in newest(["torch==2.13.0"])
    with pytest.raises(SystemExit, match="--pin"):
        newest(["nothing==1"])


def test_the_command_runs_on_a_part(tmp_path):
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    rows = [
        json.loads(line) for line in (tmp_path / "compatibility.jsonl").read_text().splitlines()
    ]
    counts = {row["metric"]: row["value"] for row in rows}
    assert counts["passed"] > 50 and counts["failed"] == 0
    assert all(row["case"] == "here" and "numpy" in row["versions"] for row in rows)


def test_tests_that_fail_or_warn_of_deprecation_are_counted(tmp_path):
    (tmp_path / "test_three.py").write_text(
        "import warnings, pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): raise AssertionError\n"
        "def test_old(): warnings.warn('gone soon', DeprecationWarning)\n"
        "def test_left(): pytest.skip()\n"
    )
    counts = counted(sys.executable, [str(tmp_path)], 0)
    assert counts == {"passed": 1, "failed": 2, "skipped": 1}
    assert counted(sys.executable, [str(tmp_path / "nothing.py")], 0)["failed"] == 1

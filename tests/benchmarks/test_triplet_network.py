import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.triplet_network import BASELINE, judge, main

TINY = str(Path(__file__).parents[1] / "golden" / "tiny")


def test_a_missing_folder_exits_with_2(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "train.csv" in capsys.readouterr().err


def test_it_decides_by_a_calibrated_cosine_and_by_ranks():
    # Two groups of three texts each; the first fifth calibrates and the rest is judged.
    points = np.array([[1.0, 0], [1, 0.1], [1, -0.1], [0, 1], [0.1, 1], [-0.1, 1]])
    pairs = np.array([[0, 1], [0, 3], [1, 4], [3, 4], [2, 5], [3, 5]])
    y = np.array([1, 0, 0, 1, 0, 1])
    data = {"calibration": pairs, "y_calibration": y, "judged": pairs, "y_judged": y}
    found, p = judge(points, data)
    assert ((p > 0.5) == y).all()
    assert found["roc_auc"] == found["accuracy"] == found["rule_accuracy"] == 1
    assert found["log_loss"] < 0.1 and found["k"] == 1
    wrong, _ = judge(points, data | {"y_judged": 1 - y})
    assert wrong["roc_auc"] == wrong["accuracy"] == wrong["rule_accuracy"] == 0


def test_a_quick_run_records_what_it_measures(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra neural")
    out = ["--quick", "--model", TINY, "--only", "along length, hinge", "--out", str(tmp_path)]
    assert main(out) == 0
    lines = Path(tmp_path, "triplet_network.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cases = {row["case"] for row in rows}
    assert len(cases) == 2 and all(case.endswith("(quick)") for case in cases)
    found = {(BASELINE in row["case"], row["metric"]): row for row in rows}
    assert 0.4 < found[False, "roc_auc"]["value"] <= 1
    assert found[False, "peak"]["unit"] == "MB" and found[False, "training_seconds"]["value"] > 0
    assert found[False, "accuracy"]["rival_value"] == found[True, "accuracy"]["value"]

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.significance import reference_of
from benchmarks.triplet_network import BASELINE, __doc__, judge, main

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


def test_inside_train_is_recorded_by_names_that_say_so_and_by_what_holds_there(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra neural")
    # A case that is compared inside train alone.
    only = ["--only", "margin 0.5", "--out", str(tmp_path)]
    assert main(["--inside", "--quick", "--model", TINY, *only]) == 0
    lines = Path(tmp_path, "triplet_network.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cases = {row["case"] for row in rows}
    assert len(cases) == 2 and all(", inside train: " in case for case in cases)
    # The calibration and the k are set on the very pairs that are judged.
    assert {row["metric"] for row in rows} == {"roc_auc", "training_seconds", "peak"}
    kept = read_pair_rows("triplet_network", tmp_path)
    assert kept.keys() == cases and all(row.share is None for row in kept.values())


def test_rows_inside_train_have_a_reference_inside_train():
    case = "quora, inside train: 20000 triplets: along length, hinge"
    reference = reference_of("triplet_network", case)
    assert reference == "quora, inside train: 20000 triplets: FILM of means"


def test_what_is_documented_can_be_asked_for(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    usage = capsys.readouterr().out.split("options:")[1]
    options = set(re.findall(r"--[a-z-]+", __doc__ or ""))
    assert "--inside" in options and all(option in usage for option in options)

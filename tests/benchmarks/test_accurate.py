import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.accurate import NEW_PAIRS, main, new_pairs
from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.quora_data import generated

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_quick_run_records_every_member_in_both_modes(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.accurate.NEW_PAIRS", 50)
    monkeypatch.setattr("benchmarks.accurate.generated", lambda n, seed: generated(200, seed))
    out = tmp_path / "out"
    assert main(["--quick", "--members", "film,words", "--out", str(out)]) == 0
    lines = (out / "accurate.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["case"], row["metric"]): row for row in map(json.loads, lines)}
    for mode in ("collection", "inductive"):
        for case in ("all", "without film", "without words"):
            for metric in ("accuracy", "log_loss", "log_loss_at_prior", "calibration_error"):
                assert np.isfinite(rows[f"generated: {mode}: {case}", metric]["value"])
            assert rows[f"generated: {mode}: {case}", "fit"]["unit"] == "s"
            low, high = (
                rows[f"generated: {mode}: {case}", f"perfect_{end}"]["value"]
                for end in ("low", "high")
            )
            assert 0 <= low <= high
    kept = read_pair_rows("accurate", out)
    assert len(kept) == 6
    for case, row in kept.items():
        assert roc_auc_score(row.on.labels, row.values[None]) == pytest.approx(
            rows[case, "roc_auc"]["value"], abs=1e-3
        )


def test_timed_pairs_are_new():
    data = generated(100, 0)
    pairs = new_pairs(data)
    assert pairs.shape == (NEW_PAIRS, 2)
    assert not set(pairs.flat) & {*data.train.flat, *data.dev.flat, *data.test.flat}
    assert len(set(map(tuple, pairs.tolist()))) > 0.9 * NEW_PAIRS


def test_what_cannot_run_is_named(tmp_path, capsys):
    assert main(["--quick", "--members", "nobody"]) == 2
    assert "--members ['nobody']: give some of film, characters, words" in capsys.readouterr().err
    assert main(["--data", str(tmp_path)]) == 2
    assert "holds no train.csv" in capsys.readouterr().err

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import suggest
from benchmarks.suggest import RANDOM, SUGGESTED, compare, main, suggested
from benchmarks.support.quora_data import generated


@pytest.fixture(scope="module")
def data():
    return generated(300, 0)


def test_a_folder_without_the_file_exits_with_2(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "holds no train.csv" in capsys.readouterr().err


def test_only_labels_that_were_asked_for_are_looked_at(data, monkeypatch):
    monkeypatch.setattr(suggest, "BATCH", 10)
    monkeypatch.setattr(suggest, "BUDGETS", (10, 30))
    calls = []

    def spy(pairs, n, *, labelled, y, random_state):
        np.testing.assert_array_equal(y, data.y_train[labelled])
        calls.append((n, len(labelled), random_state))
        return np.setdiff1d(np.arange(len(pairs)), labelled)[:n]

    monkeypatch.setattr(suggest, "suggest_pairs", spy)
    assert suggested(data, 7).tolist() == list(range(30))
    assert calls == [(10, 0, 7), (10, 10, 7), (10, 20, 7)]


def test_a_pool_that_runs_out_is_an_error(data, monkeypatch):
    monkeypatch.setattr(suggest, "suggest_pairs", lambda *_, **__: np.empty(0, dtype=np.intp))
    with pytest.raises(ValueError, match="ran out at 0"):
        suggested(data, 0)


def test_a_pool_below_the_budget_is_an_error(data):
    with pytest.raises(ValueError, match="pool holds 192 pairs, fewer than 200"):
        compare(data, range(1), rank=10)


def test_quick_run_records_both_ways(tmp_path, monkeypatch):
    monkeypatch.setattr(suggest, "BUDGETS", (50, 100))
    monkeypatch.setattr(suggest, "read", lambda *_: generated(300, 0))
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    lines = Path(tmp_path, "suggest.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 2 * 2 * 6 + 2 * 9
    value = {(row["case"], row["metric"]): row for row in rows}
    for budget in (50, 100):
        cases = [
            f"generated: {budget} labels, {way}, mean of 2 seeds (quick)"
            for way in (SUGGESTED, RANDOM)
        ]
        for metric in ("roc_auc", "accuracy", "log_loss"):
            ours, theirs = (value[case, metric] for case in cases)
            assert ours["rival"] == RANDOM and theirs["rival"] is None
            assert ours["rival_value"] == theirs["value"]
            assert metric != "roc_auc" or ours["value"] != theirs["value"]
            assert 0 < ours["value"] < 1
            assert value[cases[0], f"{metric}_std"]["value"] < 0.2
        assert value[cases[1], "roc_auc"]["value"] > 0.55
        apart = f"generated: {budget} labels, suggested less random, 2 paired seeds (quick)"
        mean, low, high = (value[apart, f"log_loss{end}"]["value"] for end in ("", "_low", "_high"))
        ours, theirs = (value[case, "log_loss"]["value"] for case in cases)
        assert mean == pytest.approx(ours - theirs, abs=2e-5)
        assert low < mean < high


def test_differences_are_paired_by_seed():
    """The interval of a mean of normal differences, from a table of Student's t."""
    random = np.array([[0.7, 0.6, 0.5], [0.8, 0.7, 0.6], [0.6, 0.5, 0.4]])
    apart = np.array([[0.01, 0.02, 0.0], [0.02, 0.02, 0.1], [0.03, 0.02, -0.1]])
    found = {(SUGGESTED, 50): random + apart, (RANDOM, 50): random}
    mean, low, high = suggest.differences(found, 50)
    np.testing.assert_allclose(mean, [0.02, 0.02, 0], atol=1e-12)
    half = 4.302653 * np.array([0.01, 0, 0.1]) / np.sqrt(3)
    np.testing.assert_allclose(high - mean, half, atol=1e-7)
    np.testing.assert_allclose(mean - low, half, atol=1e-7)

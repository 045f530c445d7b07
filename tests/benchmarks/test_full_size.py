"""The whole job at a small size: its stages, and pairs held out by their texts."""

import json

import numpy as np

from benchmarks.full_size import held_out_pairs, main


def test_every_stage_is_recorded(tmp_path, monkeypatch):
    monkeypatch.delenv("FILM_DATA", raising=False)
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    lines = (tmp_path / "full_size.jsonl").read_text(encoding="utf-8").splitlines()
    rows = list(map(json.loads, lines))
    seconds = {
        row["case"].split(": ")[1]: row["value"] for row in rows if row["metric"] == "seconds"
    }
    parts = {name for name in seconds if ", of that " in name}
    stages = set(seconds) - parts - {"all stages"}
    assert len(parts) == 2 and len(stages) == 5
    assert np.isclose(seconds["all stages"], sum(seconds[name] for name in stages), atol=1e-3)
    figures = {row["metric"]: row["value"] for row in rows}
    assert figures["roc_auc"] > 0.5 and 1 <= figures["k"] <= 55


def test_no_text_of_a_held_out_pair_stands_in_another_pair():
    rng = np.random.default_rng(0)
    pairs = rng.integers(400, size=(150, 2))
    held_out = held_out_pairs(pairs, 400)
    assert 0 < held_out.sum() <= 30
    assert not set(pairs[held_out].ravel()) & set(pairs[~held_out].ravel())

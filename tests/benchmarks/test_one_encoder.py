import json
import shutil

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks import one_encoder
from benchmarks.one_encoder import MODES, SIMILARITY, main, means_over_seeds, tenth
from benchmarks.support import records
from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.quora_data import generated
from estimators import DuplicateClassifier, RCMDRegressor, average_models


@pytest.fixture
def data(monkeypatch):
    """Generated pairs in the place of Quora's files."""
    monkeypatch.setattr(one_encoder, "data_folder", lambda *_: None)
    monkeypatch.setattr(one_encoder, "read_folder", lambda *_, **__: generated(1500, 0))
    return generated(1500, 0)


def test_every_model_has_a_row_of_each_kind_and_seeds_their_mean(
    data, tiny_model, tmp_path, monkeypatch
):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    RCMDRegressor(str(tiny_model), plan="avg").fit(data.train[:1]).save(tmp_path / "tried-0")
    shutil.copytree(tmp_path / "tried-0", tmp_path / "tried-1")
    monkeypatch.setattr(one_encoder, "PACKAGED", str(tiny_model))
    plain = one_encoder.RCMDRegressor

    def local(name=None, **params):
        return plain(name or str(tiny_model), **params)

    local.load = plain.load
    monkeypatch.setattr(one_encoder, "RCMDRegressor", local)
    embedder = one_encoder.SentenceEncoder
    monkeypatch.setattr(
        one_encoder, "SentenceEncoder", lambda name, **p: embedder(name or str(tiny_model), **p)
    )
    fitted = []
    fit = DuplicateClassifier.fit
    monkeypatch.setattr(
        DuplicateClassifier,
        "fit",
        lambda self, pairs, y: fitted.append((self.corpus, pairs)) or fit(self, pairs, y),
    )
    names = [str(tmp_path / f"tried-{seed}") for seed in range(2)]
    options = ["--quick", "--out", str(tmp_path), "--trained", names[0], "--trained", names[1]]
    assert main(options) == 0
    lines = (tmp_path / "one_encoder.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["case"], row["metric"]): row["value"] for row in map(json.loads, lines)}
    kinds = (SIMILARITY, *(f"classifier, {mode}" for mode in MODES))
    for case, row in read_pair_rows("one_encoder", tmp_path).items():
        auc = roc_auc_score(row.on.labels, row.values[None])
        assert rows[case, "roc_auc"] == pytest.approx(auc, abs=1e-4)
    for kind in kinds:
        one, other, mean = (
            rows[f"{name}: {kind}", "roc_auc"]
            for name in ("tried-0", "tried-1", "tried, mean of 2 seeds")
        )
        assert one == other == pytest.approx(mean, abs=1e-4)
    expected = RCMDRegressor.load(names[0]).similarity(data.dev)
    auc = roc_auc_score(data.y_dev, expected)
    assert rows[f"tried-0: {SIMILARITY}", "roc_auc"] == pytest.approx(auc, abs=1e-4)
    held, y_held = tenth(data)
    auc = roc_auc_score(y_held, RCMDRegressor.load(names[0]).similarity(held))
    assert rows[f"tried-0: {SIMILARITY}", "held_out_auc"] == pytest.approx(auc, abs=1e-4)
    # The collection is dev and test; the pairs that fit are few, and of train.
    assert [corpus is None for corpus, _ in fitted] == [False, True] * 3
    assert set(fitted[0][0]) == {*data.dev.ravel(), *data.test.ravel()}
    known = {*map(tuple, data.train)}
    assert all({*map(tuple, pairs)} < known for _, pairs in fitted)
    assert all(len(pairs) < len(data.train) / 5 for _, pairs in fitted)
    assert not (tmp_path / "results").exists()
    # An average has no plan of its own.
    average_models(names, tmp_path / "average")
    options = ["--quick", "--similarity", "--out", str(tmp_path / "alone"), "--trained", names[0]]
    assert main([*options, "--trained", str(tmp_path / "average")]) == 0
    assert len(fitted) == 6
    alone = read_pair_rows("one_encoder", tmp_path / "alone")
    assert set(alone) == {
        f"{name}: {SIMILARITY}" for name in (str(tiny_model), "tried-0", "average")
    }
    model = RCMDRegressor(str(tmp_path / "average"), plan="rcmd+avg").fit(data.train[:1])
    said = alone[f"average: {SIMILARITY}"].values[None]
    assert spearmanr(said, model.similarity(data.dev)).statistic == pytest.approx(1, abs=1e-4)


def test_means_are_of_models_that_differ_in_the_seed_alone():
    rows = {
        f"{name}: {case}": {"roc_auc": value}
        for name, value in (("a-1.5-0", 0.5), ("a-1.5-1", 0.7), ("a-2-0", 0.9), ("plain", 0.1))
        for case in ("similarity", "classifier, inductive")
    }
    found = means_over_seeds(rows)
    assert set(found) == {
        f"a-1.5, mean of 2 seeds: {case}" for case in ("similarity", "classifier, inductive")
    }
    assert np.allclose([row["roc_auc"] for row in found.values()], 0.6)


def test_what_is_missing_is_named(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "benchmarks.one_encoder: " in capsys.readouterr().err


def test_two_folders_of_one_name_are_refused(data, capsys):
    assert main(["--quick", "--trained", "a/kept-0", "--trained", "b/kept-0"]) == 2
    assert "two folders of one name" in capsys.readouterr().err

"""Similarity in a collection beside similarity alone: what is judged, chosen by, and recorded."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.support.pair_rows import read_pair_rows
from estimators import RCMDRegressor
from tests.benchmarks.test_intents import folder  # noqa: F401

pytest.importorskip("transformers", reason="needs the extra neural")
from benchmarks.local_scaling import SETTINGS, main, read_judged, scored

SETS = ["held tenth of Quora's train file", "Quora dev", "intents of clinc150"]
SETS += ["intents of banking77"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory, tiny_model):
    top = tmp_path_factory.mktemp("kept")
    for name in ("one", "two"):
        RCMDRegressor(tiny_model, device="cpu").fit([("a cat", "a dog")]).save(top / name)
    return top


def test_all_settings_choose_and_the_defaults_are_judged(folder, saved, tmp_path):  # noqa: F811
    given = ["--data", str(folder), "--quick", "--out", str(tmp_path)]
    models = [word for name in ("one", "two") for word in ("--model", str(saved / name))]
    assert main([*given, *models]) == 0
    lines = (tmp_path / "local_scaling.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["case"], row["metric"]): row["value"] for row in map(json.loads, lines)}
    for kept in ("one", "two", "mean of 2"):
        for number, name in enumerate(SETS):
            cases = [each for each in rows if each[0].startswith(f"{name}: {kept}: ")]
            assert sum(metric.startswith("auc_ahead") for _, metric in cases) == 0
            assert len(cases) == (2 if number % 2 else 6)
    # Both are one model.
    case = f"{SETS[1]}: one: in its collection", "roc_auc"
    assert rows[case] == rows[f"{SETS[1]}: two: in its collection", "roc_auc"]
    assert rows[case] == pytest.approx(rows[f"{SETS[1]}: mean of 2: in its collection", "roc_auc"])
    for case, row in read_pair_rows("local_scaling", tmp_path).items():
        assert case.startswith((SETS[1], SETS[3]))
        auc = roc_auc_score(row.on.labels, row.values[None])
        assert auc == pytest.approx(rows[case, "roc_auc"], abs=1e-3)


def test_the_default_is_the_method_s_own_and_others_are_beside_it(folder, saved):  # noqa: F811
    judged = read_judged(folder, quick=True)
    assert list(judged) == SETS
    assert not set(judged[SETS[0]].collection) & set(judged[SETS[1]].collection)
    held = judged[SETS[0]]
    model = RCMDRegressor.load(saved / "one", device="cpu")
    found = scored(model, held)
    np.testing.assert_array_equal(found["alone"]["roc_auc"], model.similarity(held.pairs))
    among = found["in its collection"]
    assert among.keys() == SETTINGS.keys()
    usual = model.similarity_in(held.pairs, held.collection)
    np.testing.assert_allclose(among["roc_auc"], usual, rtol=0, atol=1e-6)
    for metric in ("auc_10", "auc_quarter", "auc_whole"):
        assert not np.allclose(among[metric], usual, rtol=0, atol=1e-4), metric
    wide = model.similarity_in(held.pairs, held.collection, n_neighbors=200)
    np.testing.assert_allclose(among["auc_200"], wide, rtol=0, atol=1e-6)
    assert scored(model, judged[SETS[1]])["in its collection"].keys() == {"roc_auc"}


def test_what_is_missing_is_named(folder, tmp_path, capsys):  # noqa: F811
    assert main(["--data", str(tmp_path), "--quick"]) == 2
    assert "benchmarks.local_scaling: --data" in capsys.readouterr().err
    assert main(["--data", str(folder), "--model", str(tmp_path), "--quick"]) == 2
    assert str(tmp_path) in capsys.readouterr().err

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.cross_encoder import DEV, main
from benchmarks.support import records
from benchmarks.support.bootstrap import spearman
from benchmarks.support.pair_rows import read_pair_rows
from estimators import CrossEncoderRegressor
from tests.benchmarks.test_intents import folder as intents_folder  # noqa: F401
from tests.benchmarks.test_sts import SENTENCES


@pytest.fixture(scope="module")
def data(tmp_path_factory, request):
    """Folder of intents and questions, and STS-B's test file beside them."""
    root = tmp_path_factory.mktemp("data")
    for place in request.getfixturevalue("intents_folder").iterdir():
        (root / place.name).symlink_to(place)
    (root / "sts" / "STSBenchmark").mkdir(parents=True)
    lines = [f"main-news\tMSRpar\t2012\t7\t{score}\t{a}\t{b}\n" for a, b, score in SENTENCES]
    path = root / "sts" / "STSBenchmark" / "sts-test.csv"
    path.write_text("".join(lines), encoding="utf-8")
    return root


def figures(out):
    lines = (out / "cross_encoder.jsonl").read_text(encoding="utf-8").splitlines()
    return {(row["case"], row["metric"]): row["value"] for row in map(json.loads, lines)}


def test_seeds_and_their_mean_are_recorded_and_kept_models_are_taken(
    data, tiny_model, tmp_path, monkeypatch
):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    arguments = ["--quick", "--data", str(data), "--model", str(tiny_model)]
    arguments += ["--keep", str(tmp_path / "kept"), "--out"]
    assert main([*arguments, str(tmp_path / "first")]) == 0
    first = figures(tmp_path / "first")
    case = f"{tiny_model.name}: cross-encoder"
    for metric in ("roc_auc", "clinc150_auc", "banking77_auc", "STS-B", "held_out_auc"):
        seeds = [first[f"{case}, seed {seed}", metric] for seed in (0, 1)]
        assert first[f"{case}, mean of 2 seeds", metric] == pytest.approx(np.mean(seeds), abs=1e-4)
    assert first[f"{case}, seed 0", "training_seconds"] > 0
    assert (f"{tiny_model.name}: cosine of mean vectors", "predict") in first
    pairs = read_pair_rows("cross_encoder", tmp_path / "first")
    model = CrossEncoderRegressor.load(tmp_path / "kept" / "cross-1")
    assert model.objective == "binary"
    for name, metric in ((DEV, "roc_auc"), ("clinc150", "clinc150_auc"), ("STS-B", "STS-B")):
        row = pairs[case if name == DEV else f"{name}: {case}"]
        figure = spearman if name == "STS-B" else lambda said, y: roc_auc_score(y, said)
        assert set(row.values) == {0, 1}
        value = figure(row.values[1], row.on.labels)
        assert first[f"{case}, seed 1", metric] == pytest.approx(value, abs=1e-4)
    monkeypatch.setattr(CrossEncoderRegressor, "fit", None)  # what is kept is not trained again
    assert main([*arguments, str(tmp_path / "second")]) == 0
    second = figures(tmp_path / "second")
    timed = {name for name in first if name[1] in ("training_seconds", "predict")}
    assert {name: first[name] for name in first.keys() - timed} == {
        name: second[name] for name in second.keys() - timed
    }
    assert not (tmp_path / "results").exists()


def test_missing_data_is_named(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("benchmarks.cross_encoder: ")

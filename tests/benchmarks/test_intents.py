import csv
import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks import intents
from benchmarks.intents import BASELINE, main, without_near_others
from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.quora_data import generated
from estimators import fast_duplicates


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("data")
    for name in ("quora", "clinc150", "banking77"):
        (top / name).mkdir()
    data = generated(400, 0)
    with open(top / "quora" / "train.csv", "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "qid1", "qid2", "question1", "question2", "is_duplicate"])
        for row, ((a, b), label) in enumerate(zip(data.train, data.y_train, strict=True)):
            writer.writerow([row, 2 * row, 2 * row + 1, a, b, label])
    things = ["card", "account", "loan", "transfer"]
    rows = [
        (f"{verb} my {thing} {tail}", thing)
        for thing in things
        for verb in ("where is", "show me", "please check", "i lost", "block", "open", "tell about")
        for tail in ("today", "now", "again", "please", "for me")
    ]
    (top / "clinc150" / "data_full.json").write_text(json.dumps({"train": [list(r) for r in rows]}))
    for name, part in (("train", rows[::2]), ("test", rows[1::2])):
        with open(top / "banking77" / f"{name}.csv", "w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["text", "category"])
            writer.writerows(part)
    return top


@pytest.fixture(scope="module")
def out(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    assert main(["--data", str(folder), "--quick", "--out", str(out)]) == 0
    return out


def test_each_method_is_recorded_beside_the_baseline(out):
    lines = (out / "intents.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cases = {row["case"] for row in rows}
    assert len(cases) == 16
    assert {case for case in cases if case.endswith(", adapted")} == {
        f"{name}: fast_duplicates fitted on Quora, {mode}, adapted"
        for name in ("clinc150", "banking77")
        for mode in ("inductive", "collection")
    }
    # What is kept of each pair gives the figure of the table again.
    kept = read_pair_rows("intents", out)
    assert set(kept) == cases
    for row in rows:
        if row["metric"] == "intent_auc":
            of = kept[row["case"]]
            assert roc_auc_score(of.on.labels, of.values[None]) == pytest.approx(
                row["value"], abs=1e-3
            )
    for name in ("clinc150", "banking77"):
        own = [r for r in rows if r["case"] == f"{name}: {BASELINE}"]
        assert all(row["value"] == row["rival_value"] for row in own)
        assert {row["metric"] for row in own} == {"intent_auc", "easier_auc"}
        # Sharing the name of the thing is what an intent is here: words alone tell it well.
        assert all(row["value"] > 0.7 for row in own if row["metric"] == "easier_auc")


def test_texts_of_another_kind_are_told_from_those_of_the_fit(out):
    lines = (out / "familiarity.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["case"], row["metric"]): row["value"] for row in map(json.loads, lines)}
    assert rows["Quora dev", "familiarity_auc"] == 0.5
    assert rows["Quora dev", "untrained_share"] < 0.5
    for name in ("banking77", "two questions, Chinese", "two questions, empty"):
        assert rows[name, "familiarity_auc"] > 0.95
        # One or two texts are few to adapt to: of 30 the share would be 1.
        n_texts = {"banking77": 30, "two questions, Chinese": 2, "two questions, empty": 1}[name]
        assert 0.9 < 30 / n_texts * rows[name, "untrained_share"] < 1.01


def test_missing_data_exit_with_2(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "benchmarks.intents: " in capsys.readouterr().err


def test_the_nearer_half_of_the_others_is_left_out():
    y = np.array([1, 0, 0, 1, 0, 0])
    cosine = np.array([0.9, 0.8, 0.1, 0.0, 0.7, 0.2])
    assert without_near_others(cosine, y).tolist() == [True, False, True, True, False, True]


def test_the_accurate_classifier_is_recorded_under_its_name_with_its_cache(
    folder, tmp_path, monkeypatch
):
    asked = {}

    def chosen(settings, encoder):
        asked.update(vars(settings))
        return fast_duplicates(d=10, rank=40, cv=2)

    monkeypatch.setattr(intents, "chosen", chosen)
    cache = str(tmp_path / "cache")
    arguments = ["--data", str(folder), "--quick", "--out", str(tmp_path)]
    assert main([*arguments, "--accurate", cache, "--dtype", "bfloat16"]) == 0
    assert (asked["cache"], asked["dtype"]) == (cache, "bfloat16")
    lines = (tmp_path / "intents.jsonl").read_text(encoding="utf-8").splitlines()
    cases = {json.loads(line)["case"] for line in lines}
    assert not any("fast_duplicates" in case for case in cases)
    assert {case for case in cases if "accurate_duplicates" in case} == {
        f"{name}: {intents.ACCURATE}, inductive{end}"
        for name in ("clinc150", "banking77")
        for end in ("", ", adapted")
    }
    told = (tmp_path / "familiarity.jsonl").read_text(encoding="utf-8")
    assert '"accurate_duplicates: banking77"' in told

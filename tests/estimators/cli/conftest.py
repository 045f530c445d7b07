"""A small model, and tables to try it on."""

from functools import cache

import pytest

from estimators import load_model
from estimators.cli import models as _models
from film.datasets import make_question_pairs
from tests.estimators.cli.commands import run, write_csv
from tests.quick_fits import QUICK, fits_of


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """A folder with train.csv, dev.csv, texts.csv and model.skops, which tests only read."""
    folder = tmp_path_factory.mktemp("shelf")
    data = make_question_pairs(300, random_state=0)
    rows = [
        [*pair, label] for pair, label in zip(data.pairs.tolist(), data.y.tolist(), strict=True)
    ]
    write_csv(folder / "train.csv", ["question1", "question2", "is_duplicate"], rows)
    other = make_question_pairs(60, random_state=1)
    rows = [
        [f"p{i}", *pair, "x,y", label]
        for i, (pair, label) in enumerate(zip(other.pairs.tolist(), other.y.tolist(), strict=True))
    ]
    columns = ["id", "question1", "question2", "topic", "is_duplicate"]
    write_csv(folder / "dev.csv", columns, rows)
    texts = [[f"t{i}", text, i % 3] for i, text in enumerate(sorted({*other.pairs.flat}))]
    texts += [["c1", "Same text, twice", 0], ["c2", "SAME text,  twice", 1], ["e", "", 2]]
    write_csv(folder / "texts.csv", ["id", "text", "area"], texts)
    small = ["--rank", 30, "--folds", 2]
    with fits_of(*QUICK):
        trained = run("train", folder / "train.csv", "--model", folder / "model.skops", *small)
    assert trained.code == 0, trained.err
    (folder / "train.err").write_text(trained.err, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def loaded_once(shelf, monkeypatch):
    """Read the shelf's model from disk once: it takes most of a command's time."""
    monkeypatch.setattr(_models, "load_model", _load)


@cache
def _load(path, device=None):
    return load_model(path, device=device)

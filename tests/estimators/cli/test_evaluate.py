import json

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from estimators import load_model
from estimators.cli.tables import read_table
from film.pairs.calibration import calibration_error
from film.pairs.priors import prior_weights, shift_prior
from tests.estimators.cli.commands import run, write_csv


def said(shelf, name):
    table = read_table(shelf / name)
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))
    y = np.array([int(label) for label in table.column("is_duplicate")])
    return y, load_model(shelf / "model.skops").predict_proba(pairs)[:, 1]


def test_figures_are_those_of_other_libraries(shelf):
    arguments = ["-m", shelf / "model.skops", "--prior", 0.1746, "--format", "json"]
    ran = run("evaluate", shelf / "dev.csv", *arguments)
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    y, p = said(shelf, "dev.csv")
    prior = load_model(shelf / "model.skops").train_prior_
    shifted = shift_prior(p, prior, 0.1746)
    interval = [
        found.pop(f"calibration error, {end} end of 95 % interval") for end in ("low", "high")
    ]
    assert 0 <= interval[0] < interval[1] < 1
    assert found.pop("thresholds")["share of duplicates"] == 0.1746
    assert found == pytest.approx(
        {
            "pairs": 60,
            "share of duplicates": y.mean(),
            "prior of the model": prior,
            "accuracy": np.mean((p > 0.5) == y),
            "log loss": log_loss(y, p),
            "log loss at prior 0.1746": log_loss(
                y, shifted, sample_weight=prior_weights(y, 0.1746)
            ),
            "ROC AUC": roc_auc_score(y, p),
            "calibration error": calibration_error(y, p),
        }
    )


def test_the_table_says_the_same(shelf, tmp_path):
    arguments = ["evaluate", shelf / "dev.csv", "-m", shelf / "model.skops"]
    found = json.loads(run(*arguments, "-f", "json").out)
    ran = run(*arguments, "-o", tmp_path / "figures.txt")
    assert ran.out == ""
    lines = (tmp_path / "figures.txt").read_text(encoding="utf-8").splitlines()
    del found["thresholds"]
    assert lines[len(found)] == ""
    lines = lines[: len(found)]
    for line, (name, value) in zip(lines, found.items(), strict=True):
        assert line.startswith(name)
        assert float(line.removeprefix(name)) == pytest.approx(value, abs=6e-5)


def test_new_questions_are_not_warned_of(shelf, tmp_path):
    rows = [["who ate a pear", "who had a pear", 1], ["one owl", "two owls", 0]]
    path = write_csv(tmp_path / "new.csv", ["text1", "text2", "label"], rows)
    ran = run("evaluate", path, "-m", shelf / "model.skops")
    assert (ran.code, ran.err) == (0, "")


def test_one_class_leaves_some_figures_open(shelf, tmp_path):
    path = write_csv(tmp_path / "one.csv", ["text1", "text2", "label"], [["who ate", "pears", 0]])
    arguments = ["evaluate", path, "-m", shelf / "model.skops", "--prior", 0.2]
    ran = run(*arguments)
    assert ran.code == 0, ran.err
    assert ran.out.count("undefined: the labels are all the same") == 2
    found = json.loads(run(*arguments, "--format", "json").out)
    assert found["ROC AUC"] is None and found["log loss at prior 0.2"] is None


def test_labels_the_other_way_round_are_told(shelf, tmp_path):
    table = read_table(shelf / "dev.csv")
    rows = [[*row[1:3], 1 - int(row[4])] for row in table.rows]
    path = write_csv(tmp_path / "reversed.csv", ["text1", "text2", "label"], rows)
    train = ["train", path, "-m", tmp_path / "other.film", "--rank", 9, "--folds", 2]
    for arguments in (["evaluate", path, "-m", shelf / "model.skops"], train):
        ran = run(*arguments)
        assert ran.code == 0
        assert "pairs labelled 1 share fewer words than those labelled 0 (ROC AUC of" in ran.err
        assert "check that column 'label' is not inverted" in ran.err
    assert "fewer words" not in run("evaluate", shelf / "dev.csv", "-m", shelf / "model.skops").err

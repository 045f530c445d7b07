import re
import zipfile

import numpy as np
import pytest

from estimators import DisjointPairsKFold, DuplicateClassifier, fast_duplicates, load_model
from estimators.cli.tables import read_table
from estimators.inputs import usable_folds
from tests.estimators.cli.commands import refused, run, write_csv

SMALL = ["--rank", 30, "--folds", 2]


def pairs_and_labels(path):
    table = read_table(path)
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))
    return np.array(pairs, dtype=object), np.array([int(y) for y in table.column("is_duplicate")])


@pytest.fixture
def few(shelf, tmp_path):
    """The first 100 rows of train.csv."""
    table = read_table(shelf / "train.csv")
    return write_csv(tmp_path / "few.csv", table.columns, table.rows[:100])


def figure(text, name):
    return float(re.search(rf"^{name} +([0-9.]+)", text, re.MULTILINE)[1])


def test_the_model_is_that_of_the_library(shelf):
    pairs, y = pairs_and_labels(shelf / "train.csv")
    expected = fast_duplicates(d=30, rank=30, cv=2, random_state=0).fit(pairs, y)
    saved = load_model(shelf / "model.skops")
    np.testing.assert_allclose(saved.predict_proba(pairs), expected.predict_proba(pairs))
    assert (saved.memory, saved.verbose, saved.prior, saved.corpus) == (None, 0, None, None)


def test_figures_out_of_fold_are_told_and_sober(shelf):
    said = (shelf / "train.err").read_text(encoding="utf-8")
    assert "training on 300 pairs" in said
    pairs, y = pairs_and_labels(shelf / "train.csv")
    model = load_model(shelf / "model.skops")
    inside = np.mean((model.predict_proba(pairs)[:, 1] > 0.5) == y)
    assert 1 - y.mean() - 0.05 < figure(said, "accuracy") < inside
    assert 0.5 < figure(said, "ROC AUC") < 0.95
    assert 0.3 < figure(said, "log loss") < 0.75


def test_prior_and_corpus_reach_the_model(shelf, tmp_path):
    out = tmp_path / "m.skops"
    arguments = ["--prior", 0.2, "--corpus", shelf / "texts.csv"]
    table = read_table(shelf / "train.csv")
    path = write_csv(tmp_path / "named.csv", ["left", "right", "Label "], table.rows)
    names = ["-1", "left", "-2", "right", "--seed", 3]
    ran = run("train", path, "-m", out, *SMALL, *arguments, *names)
    assert ran.code == 0, ran.err
    assert figure(ran.err, "log loss at prior 0.2") < figure(ran.err, "log loss")
    model = load_model(out)
    assert (model.prior, model.random_state, model.cv) == (0.2, 3, 2)
    assert model.corpus == read_table(shelf / "texts.csv").column("text")
    # With a corpus, all its texts are known: that says nothing about training.
    assert "warning" not in run("evaluate", shelf / "dev.csv", "-m", out).err


def test_a_cache_is_used_and_not_told(few, tmp_path):
    out, cache = tmp_path / "m.skops", tmp_path / "cache"
    arguments = ["train", few, "-m", out, "--cache", cache, *SMALL]
    assert run(*arguments).code == 0
    folds = {path: path.stat().st_mtime_ns for path in cache.rglob("output.pkl")}
    assert len(folds) >= 4
    assert run(*arguments).code == 0
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("output.pkl")} == folds
    with zipfile.ZipFile(out) as archive:
        assert str(tmp_path) not in archive.read("schema.json").decode()


def test_folds_that_would_learn_one_label_only():
    pairs = np.array([["f", "b"], ["c", "d"], ["b", "e"], ["g", "g"]], dtype=object)
    y = np.array([0, 1, 1, 0])
    folds = DisjointPairsKFold(2, random_state=0).split(pairs, y)
    assert any(len(np.unique(y[train])) == 1 for train, _ in folds)
    assert usable_folds(pairs, y, 5, 0) == 0
    pairs = np.array([[f"a{i}", f"b{i}"] for i in range(200)], dtype=object)
    y = np.arange(200) % 2
    assert usable_folds(pairs, y, 5, 0) == 5
    assert usable_folds(pairs[:8], y[:8], 5, 0) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"0": ["0", "0.0", "False", "no"], "1": ["1", "1.0", "TRUE", " y"]}, "training on 300"),
        (
            {"0": ["not_duplicate"], "1": ["Duplicate"]},
            "'Duplicate' means duplicate, 'not_duplicate' means not",
        ),
    ],
)
def test_labels_as_other_programs_write_them(shelf, tmp_path, words, said):
    table = read_table(shelf / "train.csv")
    rows = [[*row[:2], words[row[2]][i % len(words["0"])]] for i, row in enumerate(table.rows)]
    path = write_csv(tmp_path / "words.csv", table.columns, rows)
    ran = run("train", path, "-m", tmp_path / "m.skops", *SMALL)
    assert ran.code == 0 and said in ran.err
    pairs, _ = pairs_and_labels(shelf / "train.csv")
    same = load_model(tmp_path / "m.skops").predict_proba(pairs)
    np.testing.assert_allclose(same, load_model(shelf / "model.skops").predict_proba(pairs))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["a b", "c", "2"], ["d", "e", "1"]], "'2', line 2"),
        ([["a b", "c", "1"], ["d", "e", "1"]], "each label in column 'label' is 1"),
        ([["a b", "c", ""], ["d", "e", " "]], "no cell of column 'label'"),
        ([["a b", "c", "1"]], "each label"),
        ([["a b", "c", "1"], ["a b", "e", "0"]], "even two folds are too many: give more pairs"),
        ([["", "", "1"], ["?", "!", "0"], [".", "", "1"], [";", "", "0"]], "--folds 5"),
        ([["a", "b", "1"], ["c", "d", "0"], ["e", "f", "0"]], "--folds 5"),
        ([[f"a{i}", f"b{i}", str(i % 2)] for i in range(6)], "give more pairs, or --folds 3"),
    ],
)
def test_labels_that_cannot_be_learned_from(tmp_path, rows, expected):
    path = write_csv(tmp_path / "bad.csv", ["text1", "text2", "label"], rows)
    assert expected in refused("train", path, "-m", tmp_path / "m.skops")
    assert not (tmp_path / "m.skops").exists()


def test_what_is_odd_in_a_learnable_table_is_told(shelf, tmp_path):
    table = read_table(shelf / "train.csv")
    rows = [[*row[:2], "" if i >= 200 else row[2]] for i, row in enumerate(table.rows)]
    contradiction = [*rows[0][:2], str(1 - int(rows[0][2]))]
    rows += [contradiction, ["", "a question", "0"], ["x " * 5_000, "y " * 5_000, "1"]]
    path = write_csv(tmp_path / "odd.csv", table.columns, rows)
    ran = run("train", path, "-m", tmp_path / "m.skops", *SMALL)
    assert ran.code == 0, ran.err
    assert "1 of 303 rows has an empty text, line 303" in ran.err
    assert "left out 100 rows without a label" in ran.err and "training on 203 pairs" in ran.err
    assert "film: pairs with both labels: 1" in ran.err
    assert "UserWarning" not in ran.err and ".py" not in ran.err


def test_a_fit_is_not_lost_with_its_figures(few, tmp_path, monkeypatch):
    def fails(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(DuplicateClassifier, "out_of_fold_probabilities", fails)
    arguments = ["train", few, "-m", tmp_path / "model.skops", *SMALL]
    ran = run(*arguments)
    assert ran.code == 130 and "the model is in" in ran.err
    saved = load_model(tmp_path / "model.skops")
    assert saved.predict_proba([("how old is it", "what is its age")]).shape == (1, 2)


def test_a_warning_of_every_fold_is_told_once(shelf, tmp_path):
    rows = read_table(shelf / "train.csv").rows
    few = [row for label in ("0", "1") for row in [row for row in rows if row[2] == label][:5]]
    path = write_csv(tmp_path / "few.csv", ["text1", "text2", "label"], few)
    ran = run("train", path, "-m", tmp_path / "few.film", "--rank", 50, "--folds", 2)
    assert ran.code == 0 and ran.err.count("were reduced to") == 1, ran.err

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from estimators import DuplicateFinder, load_model, pairs
from tests.estimators.cli.commands import refused, run
from tests.estimators.pairs.test_record_features import products


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    frame, y = products(160)
    frame.insert(0, "left_id", [f"a{n}" for n in range(160)])
    frame.insert(5, "right_id", [f"b{n}" for n in range(160)])
    frame.assign(label=y, note="seen").to_csv(folder / "train.csv", index=False)
    test, truth = products(60, seed=1)
    test.assign(label=truth).to_csv(folder / "labelled.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    renamed = {c: f"{c.split('_')[1]}.{c[0]}" for c in test}
    test.rename(columns=renamed)[sorted(renamed.values())].to_csv(folder / "dots.csv", index=False)
    ran = run("train", folder / "train.csv", "-m", folder / "m.film", "--folds", 3)
    assert ran.code == 0, ran.err
    (folder / "train.err").write_text(ran.err, encoding="utf-8")
    return folder


def test_sides_are_found_and_kinds_are_told(place):
    told = (place / "train.err").read_text(encoding="utf-8")
    assert "columns compared: title (text), model (code), price (number), seen (date)" in told
    assert "out of fold" in told
    assert load_model(place / "m.film").columns_ == ("title", "model", "price", "seen")


def test_a_saved_model_scores_records_in_any_order_of_columns(place):
    first = run("score", place / "test.csv", "-m", place / "m.film")
    assert first.code == 0, first.err
    p = np.array([float(row["probability"]) for row in first.rows])
    truth = products(60, seed=1)[1]
    assert ((p > 0.5) == truth).mean() > 0.9
    other = run(
        "score", place / "dots.csv", "-m", place / "m.film", "--left", ".l", "--right", ".r"
    )
    assert other.code == 0, other.err
    assert [row["probability"] for row in other.rows] == [row["probability"] for row in first.rows]


def test_a_model_of_few_labels_scores_many_pairs_as_one_table(place, tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "FEWEST_IN_TABLE", 200)
    test, y = products(200, seed=4)
    test.assign(label=y).to_csv(tmp_path / "many.csv", index=False)
    model = load_model(place / "m.film")
    cells = [test[[f"{side}_{name}" for name in model.columns_]] for side in ("left", "right")]
    rows = list(map(tuple, np.stack(cells, axis=1).reshape(400, -1).tolist()))
    distinct = list(dict.fromkeys(rows))
    table = pd.DataFrame(distinct, columns=list(model.columns_))
    finder = DuplicateFinder().fit(table, ids=distinct)
    general = finder.score_pairs(zip(rows[::2], rows[1::2], strict=True))[0]
    alone = model.predict_proba(test)[:, 1]
    expected = model.predict_proba(test, general=general)[:, 1]
    assert np.abs(expected - alone).max() > 0.05
    scored = run("score", tmp_path / "many.csv", "-m", place / "m.film")
    p = [float(row["probability"]) for row in scored.rows]
    np.testing.assert_allclose(p, expected, atol=1e-6)
    explained = run("explain", tmp_path / "many.csv", "-m", place / "m.film", "--format", "jsonl")
    p = [verdict["probability"] for verdict in explained.records]
    np.testing.assert_allclose(p, expected, atol=1e-6)
    measured = run("evaluate", tmp_path / "many.csv", "-m", place / "m.film", "--format", "json")
    assert json.loads(measured.out)["log loss"] == pytest.approx(log_loss(y, expected), abs=1e-6)


def test_evaluate_measures_a_model_of_records(place):
    ran = run("evaluate", place / "labelled.csv", "-m", place / "m.film", "--format", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["accuracy"] > 0.9


def test_explain_shows_columns_side_by_side_with_what_each_adds(place):
    ran = run("explain", place / "test.csv", "-m", place / "m.film", "--format", "jsonl")
    assert ran.code == 0, ran.err
    verdict = ran.records[1]
    assert list(verdict["columns"]) == ["title", "model", "price", "seen"]
    left, right = verdict["columns"]["seen"]
    assert (left, right) == ("2020-01-05", "05/01/2020")
    assert [one["name"].partition(" (")[0] for one in verdict["features"]].count("seen") == 1
    text = run("explain", place / "test.csv", "-m", place / "m.film").out
    assert "seen: 2020-01-05 | 05/01/2020" in text
    assert "\\x1f" not in text
    assert "\x1f" not in text


def test_columns_and_kinds_can_be_chosen(place, tmp_path):
    chosen = "--compare", "model:text", "--compare", "title", "--folds", 2
    ran = run("train", place / "train.csv", "-m", tmp_path / "m.film", *chosen)
    assert ran.code == 0, ran.err
    assert "columns compared: model (text), title (text)" in ran.err
    assert load_model(tmp_path / "m.film").columns_ == ("model", "title")


BOTH = "--left left_ --right left_"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{train} --left left_", "give both --left and --right"),
        ("{train} --left a_ --right b_", "no column is on both sides by --left a_ and --right b_"),
        (
            "{train} --left left_ --right right_ -1 left_title -2 right_title",
            "are for pairs of texts; leave them out for records",
        ),
        ("{train} --corpus train.csv", "--corpus is for pairs of texts, and PAIRS holds records"),
        ("{train} --rank 50", "--rank is for pairs of texts"),
        *(
            (f"{command} labelled.csv -m m.film {BOTH}", "are both 'left_'; name the two sides")
            for command in ("train", "evaluate", "explain", "score")
        ),
        ("{train} --compare model:money", "'money' is not a kind; give one of text, code, number"),
        ("{train} --compare model --compare model:text", "names column 'model' twice"),
        ("{train} --compare colour", "the column to compare, 'colour', is not on both sides"),
        ("{train} --compare title:number", "100% of the values of column 'title' are no number"),
        ("train cost.csv -m x.film", "only one side has 'left_price'"),
        ("score cost.csv -m m.film", "the column to compare, 'price', is not on both sides"),
    ],
)
def test_wrong_sides_and_columns_are_refused(place, monkeypatch, line, message):
    monkeypatch.chdir(place)
    table = (place / "train.csv").read_text(encoding="utf-8")
    (place / "cost.csv").write_text(table.replace("right_price", "cost", 1), encoding="utf-8")
    assert message in refused(*line.format(train="train train.csv -m x.film").split())
    assert not (place / "x.film").exists()


def test_two_named_columns_are_compared_as_texts(place, tmp_path):
    names = "-1", "left_title", "-2", "right_title"
    ran = run("train", place / "train.csv", "-m", tmp_path / "t.film", *names, "--folds", 2)
    assert ran.code == 0, ran.err
    assert load_model(tmp_path / "t.film").columns_ is None
    sides = "--left", "left_", "--right", "right_"
    said = refused("score", place / "test.csv", "-m", tmp_path / "t.film", *sides)
    assert "are for a model that film train fitted to records" in said

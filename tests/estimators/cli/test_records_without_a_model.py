"""Score, explain and review compare the columns of records without a model."""

import json

import numpy as np
import pandas as pd
import pytest

from estimators import DuplicateFinder, load_model
from estimators.cli.tables import read_table
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.corpus.test_records import people

COLUMNS = ["name", "born", "town", "phone"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Look-alikes and as many other pairs, and the table of their rows."""
    folder = tmp_path_factory.mktemp("records")
    frame, truth = people(120)
    frame.loc[0, "name"] = "<b>anna</b> adler"
    frame.insert(0, "id", [f"p{row}" for row in range(len(frame))])
    frame.to_csv(folder / "rows.csv", index=False)
    pairs = np.array([*sorted(truth), *((row, row + 41) for row in range(40))])
    sides = [frame.iloc[rows].reset_index(drop=True) for rows in pairs.T]
    wide = pd.concat(
        [side.add_prefix(prefix) for side, prefix in zip(sides, ("left_", "right_"), strict=True)],
        axis=1,
    )
    wide.to_csv(folder / "pairs.csv", index=False)
    wide.rename(columns=lambda name: f"{name[name.index('_') + 1 :]}.{name[0]}").to_csv(
        folder / "odd.csv", index=False
    )
    records = pd.concat(sides)[COLUMNS].drop_duplicates().reset_index(drop=True)
    finder = DuplicateFinder().fit(records)
    number = {tuple(row): place for place, row in enumerate(records.to_numpy().tolist())}
    ids = [
        tuple(number[tuple(side.iloc[row][COLUMNS])] for side in sides) for row in range(len(pairs))
    ]
    return folder, finder.score_pairs(ids)[0]


@pytest.mark.parametrize(
    ("table", "options"), [("pairs.csv", ()), ("odd.csv", ("--left", ".l", "--right", ".r"))]
)
def test_pairs_are_scored_column_by_column(shelf, table, options):
    folder, expected = shelf
    ran = run("score", folder / table, *options)
    assert ran.code == 0, ran.err
    assert "columns compared: name (text), born (date), town (text), phone (phone)" in ran.err
    np.testing.assert_allclose([float(row["score"]) for row in ran.rows], expected)
    assert expected[:40].min() > expected[40:].max()


def test_columns_and_kinds_are_chosen_for_scores(shelf):
    chosen = ("--compare", "phone:text", "--compare", "name")
    ran = run("score", shelf[0] / "pairs.csv", *chosen)
    assert "columns compared: phone (text), name (text)" in ran.err
    assert "'street'" in refused("score", shelf[0] / "pairs.csv", "--compare", "street")
    told = refused("explain", shelf[0] / "pairs.csv", "-m", "any.film", "--compare", "name")
    assert "--compare needs the general score" in told


def test_explanations_show_both_records_and_what_each_column_adds(shelf, tmp_path):
    folder, expected = shelf
    out, page = tmp_path / "out.jsonl", tmp_path / "page.html"
    ran = run("explain", folder / "pairs.csv", "-o", out, "--html", page)
    assert ran.code == 0, ran.err
    told = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [each["score"] for each in told] == pytest.approx(expected)
    table = read_table(folder / "pairs.csv")
    for number, each in enumerate(told):
        assert list(each["cells"]) == COLUMNS
        for name, cells in each["cells"].items():
            assert cells == [table.column(f"{side}_{name}")[number] for side in ("left", "right")]
        assert {f"column {name}" for name in COLUMNS} < each["effects"].keys()
    html = page.read_text("utf-8")
    assert '<table class="columns"><tr><td>name</td><td>&lt;b&gt;anna' in html
    assert "<b>anna" not in html
    first = run("explain", folder / "pairs.csv").out.split("\n\n")[0].splitlines()
    town = table.column("left_town")[0]
    assert first[1].startswith("  name   <b>anna</b> adler | ")
    assert any(line.split() == ["town", town, "=", town] for line in first)


def test_a_review_of_records_shows_columns_and_keeps_them(shelf, tmp_path):
    labels, model = tmp_path / "labels.csv", tmp_path / "model.film"
    arguments = ("review", shelf[0] / "rows.csv", "--labels", labels, "--model", model)
    ran = run(*arguments, "-n", 4, stdin="y\nn\ns\nu\ns\ny\n")
    assert (ran.code, ran.out) == (0, ""), ran.err
    assert "columns compared: name (text), born (date), town (text), phone (phone)" in ran.err
    kept = read_table(labels)
    assert kept.columns == [
        *(f"{side}_{name}" for name in COLUMNS for side in ("left", "right")),
        "label",
    ]
    assert kept.column("label") == ["1", "0", "", "1"]
    rows = {tuple(row[1:]) for row in read_table(shelf[0] / "rows.csv").rows}
    for row in kept.rows:
        assert {tuple(row[0:-1:2]), tuple(row[1:-1:2])} <= rows
    shown = ran.err[ran.err.index("\n1/4\n") :].splitlines()[2:6]
    assert [line.split()[0] for line in shown] == COLUMNS
    assert kept.rows[0][0] in shown[0] and kept.rows[0][1] in shown[0]
    again = run(*arguments, "-n", 8, stdin="y\nn\n" * 4)
    assert "12 answers are in" in again.err and "no model yet" not in again.err.split("\n1/8")[1]
    kept = read_table(labels)
    assert len({tuple(row[:-1]) for row in kept.rows}) == 12
    assert "the highest F1 of the candidates is expected from a probability of 0." in again.err
    fitted = load_model(model)
    assert fitted.columns_ == tuple(COLUMNS)
    # Rare words are known from all records, also those without an answer.
    assert fitted.features_._n_known > 100
    trained = run("train", labels, "--model", tmp_path / "trained.film", "--folds", 2)
    assert "columns compared: name (text)" in trained.err, trained.err


def test_answers_about_records_hold_in_their_table(shelf, tmp_path):
    rows, labels = shelf[0] / "rows.csv", tmp_path / "labels.csv"
    first, second, *_ = run("duplicates", rows).rows
    apart = {(row["id1"], row["id2"]) for row in (first, second)}
    names = [f"{side}_{name}" for name in COLUMNS for side in ("left", "right")]
    cells = [[row[name] for name in names] for row in (first, second)]
    write_csv(labels, [*names, "label"], [[*cells[0], 0], [*cells[1], 1]])
    assert run("review", rows, "--labels", labels, "-n", 1, stdin="y\n").code == 0
    ran = run("duplicates", rows, "--not-same", labels)
    assert ran.code == 0, ran.err
    assert "not in the table" not in ran.err
    found = {(row["id1"], row["id2"]) for row in ran.rows}
    assert apart - found == {(first["id1"], first["id2"])}
    joined = run("duplicates", rows, "--not-same", labels, "--threshold", 0.01, "--compare", "name")
    found = {(row["id1"], row["id2"]) for row in joined.rows}
    assert apart - found == {(first["id1"], first["id2"])}
    write_csv(labels, [*names[2:], "label"], [[*cells[0][2:], 0]])
    told = refused("duplicates", rows, "--not-same", labels)
    assert "nor left_ and right_ of all compared columns" in told


def test_given_pairs_of_records_are_reviewed(shelf, tmp_path):
    labels = tmp_path / "labels.jsonl"
    sides = ("--left", ".l", "--right", ".r", "--compare", "name", "--compare", "born")
    arguments = ("review", shelf[0] / "odd.csv", *sides, "--labels", labels)
    ran = run(*arguments, "-n", 3, stdin="y\nn\ns\n")
    assert ran.code == 0, ran.err
    assert "columns compared: name (text), born (date)" in ran.err
    written = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    names = ["left_name", "right_name", "left_born", "right_born", "label"]
    assert [list(row) for row in written] == [names] * 3
    told = refused(*arguments[:2], "--text", "name.l", "--left", ".l", "--labels", labels)
    assert "give --text for a table of texts" in told
    told = refused("review", shelf[0] / "rows.csv", "--text", "name", "--labels", labels)
    assert "is not a file of answers" in told


def test_one_compared_column_works_like_several(shelf, tmp_path):
    one, labelled, model = (tmp_path / name for name in ("one.csv", "labelled.csv", "m.film"))
    ran = run("duplicates", shelf[0] / "rows.csv", "--compare", "name", "--threshold", 0.3)
    assert ran.code == 0, ran.err
    found = [row["score"] for row in ran.rows]
    one.write_text(ran.out, encoding="utf-8")
    ran = run("score", one, "--as", "again")
    assert ran.code == 0, ran.err
    assert "columns compared: name (text)" in ran.err and len(ran.rows) == len(found)
    ran = run("explain", one)
    assert ran.code == 0 and "column name" in ran.out, ran.err
    table = read_table(one)
    labels = [int(float(score) > 0.6) for score in found]
    rows = [[*row, label] for row, label in zip(table.rows, labels, strict=True)]
    write_csv(labelled, [*table.columns, "label"], rows)
    ran = run("train", labelled, "--model", model, "--folds", 2)
    assert ran.code == 0, ran.err
    assert load_model(model).columns_ == ("name",)
    for command in ("evaluate", "explain"):
        ran = run(command, labelled, "--model", model)
        assert ran.code == 0, ran.err


def test_pairs_of_records_need_no_options_if_their_sides_are_left_and_right(tmp_path):
    rows = [["0.9", "Red inn", "Red inns", "5", "5"], ["0.2", "Red inn", "Blue inn", "5", "7"]]
    header = ["score", "left_name", "right_name", "left_seats", "right_seats"]
    table = write_csv(tmp_path / "pairs.csv", header, rows)
    labels = tmp_path / "labels.csv"
    ran = run("review", table, "--labels", labels, "-n", 2, stdin="y\nn\n")
    assert "columns compared: name" in ran.err
    found = read_table(labels)
    assert found.columns == [*header[1:], "label"]
    sides = {*zip(found.column("left_name"), found.column("right_name"), strict=True)}
    assert sides == {("Red inn", "Red inns"), ("Red inn", "Blue inn")}


def test_columns_with_numbers_may_be_of_one_record(tmp_path):
    rows = [["Red inn", "Elm Road", "Ulm"], ["Red inns", "Elm Road", "Ulm"], ["Bar", "Oak", "Kiel"]]
    table = write_csv(tmp_path / "t.csv", ["name", "address_1", "address_2"], rows)
    labels = tmp_path / "labels.csv"
    run("review", table, "--labels", labels, "-n", 1, stdin="y\n")
    assert "left_address_1" in read_table(labels).columns

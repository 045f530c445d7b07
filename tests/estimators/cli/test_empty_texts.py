"""Tables whose texts are empty, or stand for nothing, are refused or noted with what to do."""

import pytest

from film.datasets import make_question_pairs
from tests.estimators.cli.commands import refused, run, write_csv


@pytest.mark.parametrize("cell", ["NaN", "null", " None ", "#N/A", "n/a"])
def test_texts_that_stand_for_nothing_are_told(tmp_path, cell):
    path = write_csv(tmp_path / "own.csv", ["text1", "text2"], [["a", "b"], ["c", cell]])
    ran = run("score", path)
    assert ran.rows[1]["text2"] == cell
    assert f"1 of 2 rows has a text such as {cell!r}, line 3; it counts as a text" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["duplicates", "empty.csv"],
        ["duplicates", "empty.csv", "--groups"],
        ["duplicates", "full.csv", "--against", "empty.csv"],
        ["duplicates", "empty.csv", "--against", "full.csv"],
        ["review", "empty.csv", "--text", "text", "--labels", "labels.csv"],
        ["train", "full.csv", "--corpus", "empty.csv", "-m", "new.film"],
        ["score", "empty.csv", "-m", "{model}"],
        ["evaluate", "empty.csv", "-m", "{model}"],
        ["explain", "empty.csv", "-m", "{model}"],
        ["submit", "empty.csv", "-m", "{model}", "--out", "submission.csv"],
        ["review", "empty.csv", "-1", "text1", "-2", "text2", "--labels", "labels.csv"],
        ["train", "empty.csv", "-m", "new.film"],
    ],
)
def test_a_table_without_any_text_is_named_with_its_columns(
    arguments, shelf, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    columns = ["id", "text", "text1", "text2", "label"]
    write_csv("empty.csv", columns, [[i, "", " ", "", i % 2] for i in range(4)])
    data = make_question_pairs(40, random_state=0)
    rows = enumerate(zip(data.pairs.tolist(), data.y.tolist(), strict=True))
    write_csv("full.csv", columns, [[i, "tea", *pair, y] for i, (pair, y) in rows])
    message = refused(*(each.format(model=shelf / "model.skops") for each in arguments))
    one = "column 'text', for the texts, is empty in every row"
    two = "columns 'text1' and 'text2', for the texts, are empty in every row"
    of_one = "duplicates" in arguments or "--text" in arguments or "--corpus" in arguments
    assert "empty.csv: " + (one if of_one else two) in message
    assert f"by {'--text:' if of_one else '--text1 and --text2:'} it has 'id', 'text'" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.csv", "full.csv"]


def test_a_single_pair_of_empty_texts_is_refused_too(shelf, tmp_path):
    path = write_csv(tmp_path / "one.csv", ["text1", "text2"], [("", " ")])
    assert "are empty in every row" in refused("score", path, "-m", shelf / "model.skops")
    message = refused("explain", "--text-pair", "", " ", "-m", shelf / "model.skops")
    assert "--text-pair has two empty texts" in message

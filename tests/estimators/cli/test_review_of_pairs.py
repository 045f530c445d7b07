"""Tables of pairs of records are recognised for a review."""

from estimators.cli.tables import read_table
from tests.estimators.cli.commands import run, write_csv


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

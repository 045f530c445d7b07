"""Tables of records at the command line: left-out columns, labels, formats and notes."""

import json
import re

import pytest

from estimators.cli.tables import read_table
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.corpus.test_records import people, with_noise

NOTE = "say nothing about duplicates: written"


@pytest.fixture(scope="module")
def noted(tmp_path_factory):
    """A table whose second column, the time when a row was written, is left out.

    The last row is a copy of the first but for this time.
    """
    path = tmp_path_factory.mktemp("noted") / "people.csv"
    frame = people(90, n_twice=60)[0]
    frame = with_noise(frame.loc[[*frame.index, 0]].reset_index(drop=True))
    columns = ["id", "name", "written", "born", "town", "phone"]
    frame.assign(id=frame.index)[columns].to_csv(path, index=False)
    return path


def test_cells_are_shown_under_their_columns(noted, tmp_path):
    ran = run("duplicates", noted, "--html", tmp_path / "page.html")
    assert ran.code == 0 and NOTE in ran.err, ran.err
    html = (tmp_path / "page.html").read_text("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    shown = json.loads(data)
    towns = {text["cells"][shown["columns"].index("town")] for text in shown["texts"]}
    assert towns == {"ulm", "bonn", "kiel", "jena"}


def test_labels_need_no_columns_that_are_left_out(noted, tmp_path):
    rows = run("duplicates", noted).rows
    row = next(row for row in rows if row["kind"] != "copy")
    names = [name for name in row if name.startswith(("left_", "right_"))]
    labels = [*(row[name] for name in names), 0]
    path = write_csv(tmp_path / "labels.csv", [*names, "label"], [labels])
    ran = run("duplicates", noted, "--not-same", path)
    assert ran.code == 0 and "not in the table" not in ran.err, ran.err
    assert [found["id1"] for found in rows if found not in ran.rows] == [row["id1"]]


def test_copies_but_for_left_out_columns_cannot_be_apart(noted, tmp_path):
    path = write_csv(tmp_path / "labels.csv", ["id1", "id2", "label"], [["0", "150", 0]])
    ran = run("duplicates", noted, "--not-same", path)
    told = " ".join(ran.err.split())
    assert ran.code == 2 and f"--not-same {path}, line 2, labels a text and its exact copy" in told
    assert "or name the columns to compare (left out: written)" in told
    columns = [f"--compare={name}" for name in ("name", "written:text", "born", "town", "phone")]
    ran = run("duplicates", noted, "--not-same", path, *columns)
    assert ran.code == 0, ran.err
    assert ["0", "150"] not in [[row["id1"], row["id2"]] for row in ran.rows]


def test_golden_rows_and_mappings_have_the_format_that_is_given(noted, tmp_path):
    golden, named, mapping = (tmp_path / name for name in ("rows", "rows.csv", "mapping"))
    given = ("--format", "jsonl")
    for path in (golden, named):
        ran = run("duplicates", noted, "--golden", path, *given)
        assert ran.code == 0, ran.err
    assert json.loads(golden.read_text("utf-8").splitlines()[0])["sources"] == "0; 90; 150"
    assert read_table(named).columns[-1] == "sources"
    run("duplicates", noted, "--keep", "first", "--mapping", mapping, *given)
    assert json.loads(mapping.read_text("utf-8").splitlines()[0])["kept"]


def test_errors_of_cells_name_the_tables(noted, tmp_path):
    for more in ((), ("--against", noted)):
        told = refused("duplicates", noted, "--compare", "name:number", *more)
        assert "of the values of column 'name' are no number" in told
        assert "the rows are those of" in told and told.count("people.csv") == 1 + len(more) // 2


def test_estimates_say_that_they_are_for_pairs(noted):
    assert "alone, with" in run("duplicates", noted).err
    for option in (("--groups",), ("--keep", "first")):
        assert "alone, for pairs and not for groups, with" in run("duplicates", noted, *option).err


def kinds_of(tmp_path, header, pairs):
    """Return the kind of each pair of rows among rows of other people, by its first row."""
    others = [
        [f"{name} {town}", f"{year}-0{month}-1{month}", f"0{year}{month} 93{year}", f"{n}.{month}"]
        for n, name in enumerate(["wagner", "moreau", "tanaka", "okafor", "silva", "byrne"])
        for month, town in enumerate(["ulm", "bonn", "kiel", "jena"], start=1)
        for year in [1971 + 3 * n + month]
    ]
    rows = [row for pair in pairs for row in pair] + [row[: len(header)] for row in others]
    table = [[number, *row] for number, row in enumerate(rows)]
    path = write_csv(tmp_path / "table.csv", ["id", *header], table)
    options = [f"--compare={name}:{kind}" for name, kind in header.items()]
    ran = run("duplicates", path, "--budget", "200", *options)
    assert ran.code == 0, ran.err
    ids = [(int(row["id1"]), int(row["id2"])) for row in ran.rows]
    kinds = [row["kind"] for row in ran.rows]
    return {a: kind for (a, b), kind in zip(ids, kinds, strict=True) if b == a + 1}


HEADER = {"name": "text", "seen": "date", "phone": "phone", "weight": "number"}


def test_a_value_in_another_form_is_no_difference(tmp_path):
    same = [
        (["lamont quay", "2020-03-05", "01685 934512", "5.2"], 0, ["05.03.2020"]),
        (["osei harbour", "2019-03-04", "01685 555512", "5.2"], 1, ["01685555512"]),
        (["dubois bridge", "2018-07-04", "01685 111512", "7.3"], 2, ["7.32"]),
        (["novak garden", "2017-07-09", "01685 222512", "9"], 2, ["9.0"]),
    ]
    different = [
        (["petit museum", "2016-07-09", "01685 222777", "4.5"], 2, ["4.9"]),
        (["haas theatre", "2015-01-09", "01685 333777", "3.5"], 1, ["01685 333778"]),
    ]
    pairs = [
        (row, [*row[: place + 1], *cell, *row[place + 2 :]])
        for row, place, cell in (*same, *different)
    ]
    found = kinds_of(tmp_path, HEADER, pairs)
    assert [found[2 * n] for n in (4, 5)] == ["differs in number"] * 2
    assert not any(found[2 * n].startswith("differs in") for n in range(4)), found


def test_a_cell_that_one_row_leaves_empty_is_no_difference(tmp_path):
    pairs = [
        (["lamont quay", "2020-03-05", "", "5.2"], ["lamont quay", "2020-03-05", "934512", ""]),
        (["osei harbour", "2019-03-04", "", "5.2"], ["osei harbour", "2019-03-04", "555512", "6"]),
    ]
    found = kinds_of(tmp_path, HEADER, pairs)
    assert not found[0].startswith("differs in") and found[2] == "differs in number"


def test_an_initial_is_no_code_where_a_cell_is_empty(tmp_path):
    header = {"title": "text", "author": "text", "pages": "text"}
    one = ["garden island silent", "Petrov, D.", ""]
    pairs = [(one, ["Garden Island Silent", "Petrov, Daniel", "673 p."])]
    assert not kinds_of(tmp_path, header, pairs)[0].startswith("differs in")

"""``film duplicates`` compares the columns of a table."""

import csv

import pandas as pd
import pytest

from estimators import DuplicateFinder
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.corpus.test_records import people


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    frame, truth = people(300)
    frame.insert(0, "id", [f"p{row}" for row in range(len(frame))])
    frame.to_csv(folder / "people.csv", index=False)
    frame[:300].to_csv(folder / "old.csv", index=False)
    new = frame[300:].rename(columns={"name": "person"})
    new.to_csv(folder / "new.csv", index=False)
    frame.assign(text="same").to_csv(folder / "texts.csv", index=False)
    return folder, frame, {(f"p{a}", f"p{b}") for a, b in truth}


def pairs_of(ran):
    assert ran.code == 0, ran.err
    return {(row["id1"], row["id2"]) for row in ran.rows}


def test_all_columns_but_ids_are_compared_and_kinds_are_told(shelf):
    folder, frame, truth = shelf
    ran = run("duplicates", folder / "people.csv")
    assert "columns compared: name (text), born (date), town (text), phone (phone)" in ran.err
    found = pairs_of(ran)
    assert len(found & truth) > 0.95 * len(truth) and len(found - truth) < 3
    given = frame.drop(columns="id")
    expected = DuplicateFinder().fit(given, frame.id.tolist()).find()
    assert [float(row["score"]) for row in ran.rows] == pytest.approx(expected.scores, abs=1e-4)
    by_id = frame.set_index("id")
    for row in ran.rows:
        for side, name in (("left", row["id1"]), ("right", row["id2"])):
            cells = [row[f"{side}_{column}"] for column in given]
            assert cells == by_id.loc[name].tolist()


def test_numbers_of_rows_are_not_compared_and_named(shelf, tmp_path):
    folder, frame, _ = shelf
    frame.to_csv(tmp_path / "numbered.csv")
    ran = run("duplicates", tmp_path / "numbered.csv")
    assert "not compared, because they number the rows: Unnamed: 0; to compare one" in ran.err
    assert ran.rows == run("duplicates", folder / "people.csv").rows
    named = ("--compare", "Unnamed: 0:number", "--compare", "name")
    ran = run("duplicates", tmp_path / "numbered.csv", *named)
    assert "columns compared: Unnamed: 0 (number), name (text)" in ran.err
    old = tmp_path / "old.csv"
    frame[:300].assign(no=range(9, 309)).to_csv(old, index=False)
    frame[300:].assign(no=range(1, len(frame) - 299)).to_csv(tmp_path / "new.csv", index=False)
    ran = run("duplicates", tmp_path / "new.csv", "--against", old)
    assert "number the rows: no; to" in ran.err and "(phone)" in ran.err


def test_a_title_is_one_column_of_several_and_a_text_is_enough(shelf, tmp_path):
    _, frame, _ = shelf
    frame.rename(columns={"name": "title"}).to_csv(tmp_path / "t.csv", index=False)
    ran = run("duplicates", tmp_path / "t.csv")
    assert "columns compared: title (text), born (date)" in ran.err
    frame[["id", "name"]].rename(columns={"name": "title"}).to_csv(tmp_path / "t.csv", index=False)
    assert "columns compared" not in run("duplicates", tmp_path / "t.csv").err


@pytest.mark.parametrize(
    ("column", "cells", "told"),
    [
        ("company", ["Acme Ltd", "Acme Limited", "Globex"], False),
        ("email", ["ann@x.org", "bob@y.org", "ann@x.org"], True),
    ],
)
def test_a_single_column_is_compared_by_its_kind(tmp_path, column, cells, told):
    write_csv(tmp_path / "t.csv", ["id", column], [list(row) for row in enumerate(cells)])
    ran = run("duplicates", tmp_path / "t.csv", "--groups")
    assert ran.code == 0 and [row["id"] for row in ran.rows] == (["0", "2"] if told else ["0", "1"])
    assert (f"columns compared: {column} (web)" in ran.err) == told


def test_named_columns_and_kinds(shelf):
    folder, frame, _ = shelf
    ran = run("duplicates", folder / "texts.csv", "--compare", "phone:text", "--compare", "name")
    assert "columns compared: phone (text), name (text)" in ran.err
    expected = DuplicateFinder(compare={"phone": "text", "name": ""}).fit(frame).find()
    assert len(pairs_of(ran)) == len(expected)


def test_columns_of_two_tables_may_have_different_names(shelf):
    folder, _, truth = shelf
    against = ("--against", folder / "old.csv", "--one-to-one")
    ran = run(
        *("duplicates", folder / "new.csv", *against, "--compare", "person=name:text"),
        *("--compare", "born", "--compare", "phone"),
    )
    assert "columns compared: person (text), born (date), phone (phone)" in ran.err
    assert len(pairs_of(ran) & {(b, a) for a, b in truth}) > 0.9 * len(truth)
    ran = run("duplicates", folder / "new.csv", *against)
    assert "new.csv has them: person" in ran.err
    assert "columns compared: born (date), town (text), phone (phone)" in ran.err


def test_a_collection_keeps_its_columns(shelf, tmp_path):
    folder, _, truth = shelf
    saved = tmp_path / "old.film"
    assert run("duplicates", folder / "old.csv", "--save", saved, "--budget", 1).code == 0
    new = pd.read_csv(folder / "new.csv", dtype=str).rename(columns={"person": "name"})
    new[new.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    ran = run("duplicates", tmp_path / "new.csv", "--against", saved, "--add")
    assert len(pairs_of(ran) & {(b, a) for a, b in truth}) > 0.8 * len(truth)
    told = refused("duplicates", tmp_path / "new.csv", "--against", saved, "--compare", "name")
    assert "--compare is not for this model, which compares its own columns" in told
    ran = run("duplicates", folder / "new.csv", "--against", saved)
    assert ran.code == 2 and "'name'" in ran.err


def test_groups_of_a_collection_keep_their_numbers(tmp_path):
    people = [
        *(["1", "Ann Lee", "1980-02-01", "a"], ["2", "Bo Li", "1975-11-30", "a"]),
        *(["3", "Lee, Ann", "1980-02-01", "a"], ["4", "Cy Ho", "1966-05-05", "b"]),
        *(["5", "Cy Ho", "1966-05-05", "b"], ["6", "Ann Lee", "1980-02-01", "b"]),
        *(["7", "BO LI", "1975-11-30", "a"], ["8", "Di Ma", "1990-07-14", "a"]),
    ]
    columns = ["id", "name", "born", "shop"]
    saved, page = tmp_path / "known.film", tmp_path / "page.html"
    options = ("--compare", "name:text", "--compare", "born:date", "--within", "shop")
    given = ("--groups", "--threshold", 0.5)
    for part, rows in enumerate((people[:5], people[5:])):
        write_csv(tmp_path / f"{part}.csv", columns, rows)
    first = run("duplicates", tmp_path / "0.csv", *options, *given, "--save", saved)
    before = {row["id"]: row["group"] for row in first.rows}
    assert before["1"] == before["3"] != before["4"] == before["5"]
    add = ("--within", "shop", "--against", saved, "--add", *given)
    told = refused("duplicates", tmp_path / "1.csv", *add, "--one-to-one")
    assert "leave out --one-to-one or --groups" in told
    apart = write_csv(tmp_path / "known.csv", ["id1", "id2", "label"], [["8", "1", 1]])
    ran = run(
        *("duplicates", tmp_path / "1.csv", *add, "--not-same", apart),
        *("--html", page, "--out", tmp_path / "groups.csv"),
    )
    assert ran.code == 0 and "3 groups" in ran.err and "known.film (8 rows" in ran.err, ran.err
    assert "merged" not in ran.err
    groups = pd.read_csv(tmp_path / "groups.csv", dtype=str)
    assert list(groups) == ["group", "id", "score", "weakest", "name", "born"]
    number = dict(zip(groups["id"], groups["group"], strict=True))
    assert number == before | {"8": before["1"], "2": "3", "7": "3"}
    assert dict(zip(groups["id"], groups["name"], strict=True))["7"] == "BO LI"
    assert "Duplicates in known.film" in page.read_text() and "Di Ma" in page.read_text()
    # Two groups that a label joins have the lower number.
    write_csv(tmp_path / "2.csv", columns, [["9", "Ed Ng", "1999-09-09", "a"]])
    write_csv(apart, ["id1", "id2", "label"], [["8", "2", 1]])
    ran = run("duplicates", tmp_path / "2.csv", *add, "--not-same", apart)
    assert f"groups that were merged: 3 is now in {before['1']}" in ran.err
    after = {row["id"]: row["group"] for row in ran.rows}
    assert after == number | {"2": before["1"], "7": before["1"]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--text", "name", "--compare", "born"), "give one of them"),
        (("--compare", "nam"), "nam"),
        (("--compare", "name:person"), "'person' is not a kind"),
        (("--compare", "name", "--compare", "name:text"), "names column 'name' twice"),
        (("--compare", "name=person"), "give --against too"),
        (("--compare", "name", "--compare", "name=born"), "column of TABLE twice"),
        (("--compare", "name:number"), "are no number"),
    ],
)
def test_columns_that_do_not_fit(shelf, options, words):
    assert words in refused("duplicates", shelf[0] / "people.csv", *options)


def test_tables_without_a_common_column(shelf, tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    told = refused("duplicates", shelf[0] / "people.csv", "--against", tmp_path / "other.csv")
    assert "have no column in common" in told


BILLS = "Rent", "Electricity", "Water"
GOLDEN = (
    ["id", "name", "born", "town", "phone"],
    ["a", "Anna Adler", "1980-02-01", "", "0171/12345"],
    ["b", "Ben Conrad", "1975-11-30", "Bonn", "0160/99887"],
    ["c", "Anna  Adler", "1980-02-01", "Ulm", "0171/12345"],
    ["d", "Adler, Anna", "1980-02-01", "Ulm", "0171/12345"],
    ["e", "Carla Graf", "1966-05-05", "Kiel", ""],
    ["f", "Carla Graf", "1966-05-05", "Kiel", ""],
)


def test_golden_rows_merge_each_group_and_keep_the_others(tmp_path):
    path = write_csv(tmp_path / "people.csv", *GOLDEN[:1], GOLDEN[1:])
    golden = tmp_path / "golden.csv"
    ran = run("duplicates", path, "--golden", golden, "--threshold", 0.6)
    assert (ran.code, ran.out) == (0, ""), ran.err
    rows = list(csv.reader(golden.read_text("utf-8").splitlines()))
    assert rows == [
        [*GOLDEN[0], "sources"],
        # All names occur once: the longest, of which c is the first.
        ["a", "Anna  Adler", "1980-02-01", "Ulm", "0171/12345", "a; c; d"],
        [*GOLDEN[2], "b"],
        [*GOLDEN[5], "e; f"],
    ]
    kept = run("duplicates", path, "--golden", golden, "--threshold", 0.6, "--keep", "first")
    assert [row["id"] for row in kept.rows] == [row[0] for row in rows[1:]]
    both = ("--out", tmp_path / "out.csv", "--keep", "first", "--mapping", tmp_path / "gone.csv")
    ran = run("duplicates", path, "--golden", golden, "--threshold", 0.6, *both)
    assert ran.code == 0, ran.err
    kept, gone = (
        list(csv.DictReader((tmp_path / name).read_text("utf-8").splitlines()))
        for name in ("out.csv", "gone.csv")
    )
    assert [row["id"] for row in kept] == [row[0] for row in rows[1:]]
    assert [(row["id"], row["kept"]) for row in gone] == [("c", "a"), ("d", "a"), ("f", "e")]


def test_merged_rows_of_unclear_scores_come_with_a_warning(tmp_path):
    months = "January February March April May June July August".split()
    bills = [[f"Invoice {m} {y} - {k}"] for m in months for y in range(2015, 2024) for k in BILLS]
    path = write_csv(tmp_path / "bills.csv", ["text"], bills)
    told = "the scores alone cannot say more"
    for options, is_told in ((("--keep", "first"), True), (("--groups",), False)):
        ran = run("duplicates", path, "--out", tmp_path / "out.csv", *options)
        assert (ran.code, told in ran.err) == (0, is_told), ran.err
    path = write_csv(tmp_path / "people.csv", *GOLDEN[:1], GOLDEN[1:])
    ran = run("duplicates", path, "--golden", tmp_path / "golden.csv", "--threshold", 0.6)
    assert (ran.code, told in ran.err) == (0, False), ran.err


def test_golden_rows_do_not_merge_what_differs(tmp_path):
    texts = ["an office chair of 128 cm", "an office chair of 118 cm", "a lamp"]
    path = write_csv(tmp_path / "t.csv", ["text", "group"], [[text, 1] for text in texts])
    golden = tmp_path / "golden.csv"
    merged = {}
    for option in ((), ("--merge-differing",)):
        ran = run("duplicates", path, "--golden", golden, "--threshold", 0.05, *option)
        assert ran.code == 0, ran.err
        merged[option] = list(csv.DictReader(golden.read_text("utf-8").splitlines()))
    assert [row["sources"] for row in merged[()]] == ["1", "2", "3"]
    assert [row["sources"] for row in merged[("--merge-differing",)]] == ["1; 2", "3"]
    told = refused("duplicates", golden, "--golden", tmp_path / "again.csv")
    assert "has a column 'sources'" in told
    told = refused("duplicates", path, "--golden", golden, "--against", path)
    assert "--golden applies to one table" in told


def test_a_collection_keeps_its_labels(tmp_path):
    saved, labels, columns = tmp_path / "known.film", tmp_path / "labels.csv", ["id", "text"]
    chairs = [["1", "a red chair"], ["2", "a red chair (2)"], ["3", "a lamp"], ["4", "one table"]]
    known = write_csv(tmp_path / "known.csv", columns, chairs)
    write_csv(labels, ["id1", "id2", "label"], [["1", "2", 0], ["3", "4", 1]])
    given = ("--threshold", 0.01, "--groups")
    assert run("duplicates", known, *given, "--not-same", labels, "--save", saved).code == 0
    numbers = []
    for number, label in ((5, None), (6, None), (7, 1), (8, None)):
        new = write_csv(tmp_path / "new.csv", columns, [[str(number), f"sofa {number * 'x'}"]])
        write_csv(labels, ["id1", "id2", "label"], [["2", "1", label]])
        add = ("--not-same", labels) if label is not None else ()
        ran = run("duplicates", new, "--against", saved, "--add", *given, *add)
        assert ran.code == 0, ran.err
        group = {row["id"]: row["group"] for row in ran.rows}
        assert group["3"] == group["4"]
        numbers.append(group.get("1", "none") == group.get("2", "other"))
    assert numbers == [False, False, True, True]

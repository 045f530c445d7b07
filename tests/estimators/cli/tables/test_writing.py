"""Tables go out whole or not at all, and come back as they were."""

import errno
import io
import itertools
import json
import os
import sys

import numpy as np
import pandas as pd
import pytest

from estimators.cli.tables import escape_formula, read_table, write_table
from tests.estimators.cli.tables.tables import ODD, read, written


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("to", ["file", "stream"])
def test_what_was_written_reads_back(tmp_path, format, width, to):
    if (format, width, to) == ("tsv", 1, "stream"):
        pytest.skip("one column has no tab that would tell the format; its suffix does")
    rng = np.random.default_rng(width)
    cells = [*ODD, *("".join(rng.choice(ODD, size=4)) for _ in range(300))]
    names = [name for name in cells if name.strip()]
    for trial in range(30):
        columns = list(dict.fromkeys(rng.permutation(names).tolist()))[:width]
        if trial < len(ODD) and ODD[trial].strip():
            columns = list(dict.fromkeys([ODD[trial], *columns]))[:width]
        rows = rng.choice(np.array(cells, dtype=object), size=(40, width)).tolist()
        if to == "stream":
            table = read(written(columns, iter(rows), format=format))
        else:
            write_table(tmp_path / f"own.{format}", columns, iter(rows), format=format)
            table = read_table(tmp_path / f"own.{format}")
        assert table.columns == columns and table.rows == rows
        assert table.encoding == "utf-8" and table.notes == []
        assert table.format == format


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("character", [",", ";", "\t", "\r", "\n", "{", "\ufeff", '"'])
def test_names_of_columns_do_not_change_the_format(format, character):
    for name in (f"{character}a", f"a{character * 3}b"):
        table = read(written([name, "b"], [["1,2", "3\t;"]], format=format))
        assert (table.columns, table.rows) == ([name, "b"], [["1,2", "3\t;"]])


def test_pandas_reads_what_was_written(tmp_path):
    rows = [[a, b] for a, b in itertools.product(ODD[:17], ODD[20:])]
    frame = pd.read_csv(
        io.StringIO(written(["a", "b"], rows), newline=""), dtype=str, keep_default_na=False
    )
    assert frame.to_numpy().tolist() == rows
    lines = written(["a", "b"], rows, format="jsonl").split("\n")
    assert [list(json.loads(line).values()) for line in lines if line] == rows


def test_bytes_as_written(tmp_path, capsys):
    rows = [["=1", 0.1, None], ["é\r", np.float64(0.25), 3]]
    write_table(tmp_path / "own.csv", ["a", "b", "c"], rows)
    expected = 'a,b,c\n=1,0.1,\n"é\r","0.25","3"\n'
    assert (tmp_path / "own.csv").read_bytes() == expected.encode()
    write_table(tmp_path / "own.tsv", ["a", "b"], [["x,y", "p\tq"]], format="tsv")
    assert (tmp_path / "own.tsv").read_bytes() == b'a\tb\nx,y\t"p\tq"\n'
    write_table(sys.stdout, ["a", "b", "c"], rows, format="jsonl")
    lines = capsys.readouterr().out.split("\n")
    assert lines == ['{"a": "=1", "b": 0.1, "c": null}', '{"a": "é\\r", "b": 0.25, "c": 3}', ""]
    assert written(["a", "b"], []) == "a,b\n"
    assert read(written(["a"], [["x\0y"]], format="jsonl")).rows == [["x\0y"]]
    write_table(tmp_path / "own.json", ["a"], [["b"]])
    assert json.loads((tmp_path / "own.json").read_text()) == [{"a": "b"}]


@pytest.mark.parametrize(
    ("name", "columns", "rows", "format", "error", "message"),
    [
        ("own", ["a"], [["x"]], "xls", ValueError, "format must be one of 'csv', .*, got 'xls'"),
        ("own.json", ["a"], [["b"]], "csv", ValueError, "format='csv' does not go .*own.json"),
        ("own", ["a", "a"], [], "csv", ValueError, "columns: two columns have the name 'a'; name"),
        ("own", ["a", ""], [], "jsonl", ValueError, "columns: column 2 of 2 has no name"),
        ("own", [], [], "csv", ValueError, "columns: there is no column"),
        ("own", ["a", "b"], [["1", "2"], ["3"]], "csv", ValueError, r"rows\[1\] has 1 cells for 2"),
        ("own", ["a"], [["1", "2"]], "jsonl", ValueError, r"rows\[0\] has 2 cells for 1 columns"),
        ("own", ["a"], [["1"], ["x\0"]], "csv", ValueError, r"rows\[1\] holds a NUL .*'jsonl'"),
        (
            "own.xlsx",
            ["a"],
            [["b"], ["x" * 40_000]],
            None,
            ValueError,
            r"rows\[1\] holds .* CSV or",
        ),
        *(
            (
                f"own.{form}",
                ["t"],
                [["a\ud800"]],
                None,
                UnicodeEncodeError,
                "surrogates not allowed",
            )
            for form in ("csv", "json", "xlsx", "parquet")
        ),
    ],
)
def test_wrong_tables_leave_the_earlier_file(tmp_path, name, columns, rows, format, error, message):
    path = tmp_path / name
    path.write_text("earlier", encoding="utf-8")
    with pytest.raises(error, match=message):
        write_table(path, columns, rows, format=format)
    assert path.read_text(encoding="utf-8") == "earlier" and os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full")])
def test_breaking_off_leaves_the_earlier_file(tmp_path, error):
    path = tmp_path / "own.csv"
    path.write_text("earlier", encoding="utf-8")

    def rows():
        yield ["1"]
        raise error

    with pytest.raises(type(error)):
        write_table(path, ["a"], rows())
    assert path.read_text(encoding="utf-8") == "earlier" and os.listdir(tmp_path) == ["own.csv"]


def test_a_wrong_folder_is_found_before_the_first_row(tmp_path):
    def rows():
        raise AssertionError("work started")
        yield

    with pytest.raises(FileNotFoundError, match="make it first"):
        write_table(tmp_path / "none" / "own.csv", ["a"], rows())


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-cmd|' /C calc'!A0", "@sum", "\t=1", "＝1"])
def test_cells_that_start_like_a_formula_are_escaped_when_asked(cell):
    assert escape_formula(cell) == f"'{cell}"
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        text = written(["a", "b"], [[cell, -5]], format=form, escape_formulas=True)
        assert read(text).rows == [[f"'{cell}", "-5"]] and delimiter in text
    assert read(written(["a", "b"], [[cell, -5]])).rows == [[cell, "-5"]]


@pytest.mark.parametrize("cell", ["-5", "+3.2e4", "-,5", "a=b", "", "'=1"])
def test_numbers_and_other_texts_are_not_altered(cell):
    assert escape_formula(cell) == cell


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_numbers_that_json_lacks_are_null(form, tmp_path):
    lists = pd.DataFrame({"text": ["a"], "v": [[1.0, float("inf"), float("nan")]]})
    lists.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    write_table(tmp_path / f"out.{form}", table.columns, table.rows)
    assert read_table(tmp_path / f"out.{form}").column("v") == ["[1.0, null, null]"]
    write_table(tmp_path / "numbers.json", ["x"], [[float("-inf")], [{"y": float("nan")}]])
    assert read_table(tmp_path / "numbers.json").rows == [[None], [{"y": None}]]

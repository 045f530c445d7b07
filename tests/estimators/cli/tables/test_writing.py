"""Tables are written whole or not at all, and read back as they were."""

import errno
import io
import itertools
import json
import os
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

from estimators.cli.tables import escape_formula, read_table, write_table
from tests.estimators.cli.commands import run, write_csv

ODD = ["", " ", " lead and trail ", '"', '""', "'", ",", ";", "\t", "a\nb", "a\r\nb", "a\rb", "\n",
       "\r", "=1+1", "+1", "-1", "@x", "\ufeff", "\x1a", "\u2028\u0085\x0b\x0c\x1c", "é😀質",
       "null", "{", "[1]", "\\", '\\"', "#", "_x0041_", "x" * 200]  # fmt: skip
ROWS = [[7, "Is tea hot?", True, None, ["a", {"b": 0.5}]], [8, "=1+1", False, "x", []]]
COLUMNS = ["id", "text", "flag", "hole", "nested"]


@pytest.fixture(autouse=True)
def loaded_once():
    """No model is read here, so none is trained."""


def written(columns, rows, **options):
    """The text that is written to a stream."""
    handle = io.StringIO(newline="")
    write_table(handle, columns, rows, **options)
    return handle.getvalue()


def read(text):
    return read_table(io.BytesIO(text.encode()))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zip"])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json", "xlsx", "parquet"])
def test_what_was_written_reads_back(tmp_path, format, suffix):
    path = tmp_path / f"own.{format}{suffix}"
    names = [f"a{cell}b" for cell in ODD]
    rng = np.random.default_rng(0)
    for columns in (names, *([name] for name in ODD if name.strip() and format != "xlsx")):
        rows = rng.choice(np.array(ODD, dtype=object), size=(40, len(columns))).tolist()
        if format == "xlsx":  # has no empty texts
            rows = [[cell or "a" for cell in row] for row in rows]
        assert write_table(path, columns, iter(rows)) == 40
        table = read_table(path)
        assert (table.columns, table.rows, table.format) == (columns, rows, format)
        if len(columns) > 1 and format in ("csv", "tsv", "jsonl"):
            assert read(written(columns, rows, format=format)).rows == rows


@pytest.mark.parametrize("format", ["csv", "jsonl", "xlsx", "parquet"])
def test_pandas_reads_what_was_written(tmp_path, format):
    rows = [[a, b] for a, b in itertools.product(ODD[1:17], ODD[22:])]
    path = tmp_path / f"own.{format}"
    write_table(path, ["a", "b"], rows)
    as_text = {"dtype": str, "keep_default_na": False}
    frame = {
        "csv": lambda: pd.read_csv(path, **as_text),
        "jsonl": lambda: pd.read_json(path, lines=True, dtype=False),
        "xlsx": lambda: pd.read_excel(path, **as_text),
        "parquet": lambda: pd.read_parquet(path),
    }[format]()
    if format == "xlsx":  # pandas leaves Excel's escapes as they are
        frame = frame.replace({"_x000D_": "\r", "_x005F_": "_"}, regex=True)
    assert frame.to_numpy().tolist() == rows


@pytest.mark.parametrize("format", ["json", "jsonl", "parquet", "xlsx"])
def test_types_are_kept(tmp_path, format):
    path = tmp_path / f"own.{format}"
    write_table(path, COLUMNS, ROWS)
    table = read_table(path)
    assert [row[:4] for row in table.rows] == [row[:4] for row in ROWS]
    assert [type(cell) for cell in table.rows[0][:4]] == [int, str, bool, type(None)]
    if format == "xlsx":  # a formula stays a text
        cell = openpyxl.load_workbook(path).active["B3"]
        assert (cell.data_type, cell.value) == ("s", "=1+1")
    if format in ("json", "jsonl"):
        assert table.column("nested") == ['["a", {"b": 0.5}]', "[]"]
    mixed = [[7, float("-inf")], ["seven", 2.0], [2**53 + 1, float("nan")]]
    write_table(path, ["mixed", "x"], mixed)
    assert read_table(path).column("mixed") == ["7", "seven", str(2**53 + 1)]
    if format != "parquet":
        assert read_table(path).column("x")[::2] == ["", ""]


def test_bytes_as_written(tmp_path, capsys):
    rows = [["=1", 0.1, None], ["é\r", np.float64(0.25), 3]]
    write_table(tmp_path / "own.csv", ["a", "b", "c"], rows)
    assert (tmp_path / "own.csv").read_bytes() == 'a,b,c\n=1,0.1,\n"é\r","0.25","3"\n'.encode()
    write_table(tmp_path / "own.tsv", ["a", "b"], [["x,y", "p\tq"]])
    assert (tmp_path / "own.tsv").read_bytes() == b'a\tb\nx,y\t"p\tq"\n'
    write_table(sys.stdout, ["a", "b", "c"], rows, format="jsonl")
    lines = capsys.readouterr().out.split("\n")
    assert lines == ['{"a": "=1", "b": 0.1, "c": null}', '{"a": "é\\r", "b": 0.25, "c": 3}', ""]
    assert written(["a", "b"], []) == "a,b\n"
    assert json.loads(written(["a"], [], format="json")) == []


@pytest.mark.parametrize(
    ("name", "columns", "rows", "error", "message"),
    [
        ("own", ["a", "a"], [], ValueError, "columns: two columns have the name 'a'; name"),
        ("own", ["a", ""], [], ValueError, "columns: column 2 of 2 has no name"),
        ("own", [], [], ValueError, "columns: there is no column"),
        ("own.xlsx", ["a"], [["b"], ["x" * 40_000]], ValueError, "40000 characters.* CSV or"),
        *(
            (f"own.{form}", ["t"], [["a\ud800"]], UnicodeEncodeError, "surrogates not allowed")
            for form in ("csv", "json", "xlsx", "parquet")
        ),
    ],
)
def test_wrong_tables_leave_the_earlier_file(tmp_path, name, columns, rows, error, message):
    path = tmp_path / name
    path.write_text("earlier", encoding="utf-8")
    with pytest.raises(error, match=message):
        write_table(path, columns, rows)
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


@pytest.mark.parametrize(
    ("cell", "escaped"),
    [
        *((cell, True) for cell in ("=1+1", "+x", "-cmd|' /C calc'!A0", "@sum", "\t=1", "＝1")),
        *((cell, False) for cell in ("-5", "+3.2e4", "-,5", "a=b", "", "'=1")),
    ],
)
def test_cells_that_start_like_a_formula_are_escaped_when_asked(cell, escaped):
    expected = f"'{cell}" if escaped else cell
    assert escape_formula(cell) == expected
    for form in ("csv", "tsv"):
        text = written(["a", "b"], [[cell, -5]], format=form, escape_formulas=True)
        assert read(text).rows == [[expected, "-5"]]
    assert read(written(["a", "b"], [[cell, -5]])).rows == [[cell, "-5"]]


def test_what_does_not_fit_into_a_sheet_is_kept_beside_it(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["text"], [["tea " * 9000]] * 2)
    out, saved = tmp_path / "out.xlsx", tmp_path / "own.film"
    ran = run("duplicates", path, "--text", "text", "--out", out, "--save", saved)
    assert ran.code == 2 and saved.is_file() and not out.exists()
    (kept,) = tmp_path.glob("film-*.csv")
    assert f"the result is in {kept}" in ran.err and len(read_table(kept).rows) == 1

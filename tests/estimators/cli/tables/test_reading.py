"""Tables are read as their writers meant them, or are refused with line and remedy."""

import bz2
import gzip
import io
import lzma
import re
import subprocess
import sys
import zipfile
from datetime import datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest

from estimators.cli.tables import format_of, read_table, scan_table, write_table

TEXT = 'id,text\r\n1,"Is tea ""hot"",\r\nor not?"\r\n\r\n2,Où est l’été?\r\n'
ROWS = [["1", 'Is tea "hot",\r\nor not?'], ["2", "Où est l’été?"]]


@pytest.fixture(autouse=True)
def loaded_once():
    """No model is read here, so none is trained."""


def given(folder, data, name="own.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(data, encoding=None):
    """Read from a stream of bytes, that has no name and no suffix."""
    raw = data if isinstance(data, bytes) else data.encode()
    return read_table(io.BytesIO(raw), encoding=encoding)


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("how", ["path", "stream", "dash"])
def test_encodings_of_excel(tmp_path, monkeypatch, encoding, gzipped, how):
    raw = TEXT.encode(encoding)
    raw = gzip.compress(raw) if gzipped else raw
    path = given(tmp_path, raw, "own.csv.gz" if gzipped else "own.csv")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))
    table = read_table({"path": path, "stream": io.BytesIO(raw), "dash": "-"}[how])
    assert (table.columns, table.rows, table.lines) == (["id", "text"], ROWS, [2, 5])
    assert (table.encoding, table.format, len(table)) == (encoding, "csv", 2)
    assert read_table(path, encoding=encoding).rows == ROWS
    if encoding == "cp1252":
        assert "not UTF-8 (line 5), so it was read as Windows-1252" in table.notes[0]
    else:
        assert table.notes == []


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("own.tsv", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.TAB", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.csv", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.csv", 'id,text\n1,"a,b;c"\n', "csv"),
        ("own.csv", '\r\n\nid;text\n1;"a,b;c"\n', "csv"),
        ("own.csv", "id|text\n1|a,b;c\n", "csv"),
        ("own.csv", "id^text\n1^a,b;c\n", "csv"),
        ("own.csv", 'sep=;\r\nid;text\r\n1;"a,b;c"\r\n', "csv"),
        ("own", 'id;"text, and; more"\n1;"a,b;c"\n', "csv"),
        ("own.jsonl", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own.NDJSON", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own.txt", '\n {"id": "1", "text": "a,b;c"}', "jsonl"),
        ("own.json", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own", '[{"id": 1, "text": "a,b;c"}]', "json"),
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zip"])
def test_formats_are_told_by_suffix_and_content(tmp_path, name, data, format, suffix):
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, "": bytes}.get(suffix)
    raw = pack(data.encode()) if pack else zipped({name: data, "__MACOSX/._own": b""})
    table = read_table(given(tmp_path, raw, name + suffix))
    assert [table.column(name) for name in table.columns] == [["1"], ["a,b;c"]]
    assert table.format == format
    assert format_of(name + suffix) in (format, "json", "csv", None)


@pytest.mark.parametrize(
    ("data", "columns", "rows"),
    [
        ("text\nIs tea hot?\n", ["text"], [["Is tea hot?"]]),
        ('text\n"a,b"\n""\n', ["text"], [["a,b"], [""]]),
        ("text\na\ntext\n", ["text"], [["a"], ["text"]]),
        ("id,a\n1,b\n  \n", ["id", "a"], [["1", "b"]]),
        ("id,a;b,text\n1,2,3\n", ["id", "a;b", "text"], [["1", "2", "3"]]),
        ("id;a,b;text\n1;2;3\n", ["id", "a,b", "text"], [["1", "2", "3"]]),
        ('id\ttext\n1\t"a\tb\nc ""d"""\n', ["id", "text"], [["1", 'a\tb\nc "d"']]),
        ('id\ttext\n1\t"so" he said\n2\tb\n', ["id", "text"], [["1", '"so" he said'], ["2", "b"]]),
        ('id\ttext\n1\t"never ends\n2\tb\n', ["id", "text"], [["1", '"never ends'], ["2", "b"]]),
        (",text\n0,a\n", ["Unnamed: 0", "text"], [["0", "a"]]),
        ("text,,\na,,\nb,,\n", ["text"], [["a"], ["b"]]),
        ("text\n" + "x" * 300_000, ["text"], [["x" * 300_000]]),
        ('[\n {"id": 1, "a": NaN},\n {"a": "b"}]', ["id", "a"], [[1, None], [None, "b"]]),
    ],
)
def test_odd_but_clear_tables(data, columns, rows):
    table = read(data)
    assert (table.columns, table.rows) == (columns, rows)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_through_quotes_and_blank_lines(end):
    lines = ["", "id,text", "1,a", "", "", '2,"b', "", 'c"', "3,d", ""]
    table = read(end.join(lines))
    assert table.lines == [3, 6, 9]
    assert table.rows == [["1", "a"], ["2", f"b{end}{end}c"], ["3", "d"]]
    with pytest.raises(ValueError, match=r"line 10 has 1 cells"):
        read(end.join([*lines[:-1], "4"]))


def test_json_keeps_types_and_holes():
    table = read(
        '{"id": 7, "text": "a"}\r\n\r\n'
        '{"text": null, "score": 0.5, "tags": ["é", {"x": 1}]}\n'
        '{"id": "x\\u2028y \u2028z", "ok": true, "score": ""}\n'
    )
    assert table.columns == ["id", "text", "score", "tags", "ok"]
    assert table.rows[1] == [None, None, 0.5, ["é", {"x": 1}], None]
    assert table.column("id") == ["7", "", "x\u2028y \u2028z"]
    assert table.column("tags") == ["", '["é", {"x": 1}]', ""]
    assert table.column("ok") == ["", "", "true"]
    assert table.lines == [1, 3, 4]


NULS = io.BytesIO()
np.save(NULS, np.arange(5))
RUSSIAN = "id,text\n1,Как сбросить пароль?\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        *(("own", data, "is empty") for data in ("", "\n \r\n", "\ufeff")),
        ("own", "id,text\n\n", "has a header, 'id', 'text', but no rows"),
        ("own", "id,text,id\n1,a,2\n", "two columns have the name 'id'"),
        ("own", "id,,text\n1,a,2\n", "column 2 of 3 has no name"),
        ("own", '{"": 1}\n', "column 1 of 1 has no name"),
        ("own", "{}\n", "there is no column"),
        ("own", 'id,text\n1,"a\n2,b\n', "row from line 2 on has broken quoting"),
        ("own", 'id,text\n1,a\n2,"a" b\n', "row from line 3 on has broken quoting"),
        ("own", 'id\ttext\n1\t"never ends\n2\n', "line 2 on has broken quoting"),
        ("own", "a;b\n1;2;3\n", r"line 2 has 3 cells, and the header 2; .*contain ';'"),
        ("own", "id,a\n1,b\nid,a\n2,c\n", "line 3 repeats the header"),
        ("own", "id,a\n1,b\n\ufeffid,a\n2,c\n", "line 3 repeats the header"),
        ("own", TEXT.encode("utf-16-le"), "NUL bytes; .*encoding='utf-16-le'"),
        ("own", NULS.getvalue(), "is not a text table"),
        ("own.csv", lzma.compress(TEXT.encode()), "is not a text table"),
        ("own.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), r"save it .* as \.xlsx"),
        ("own", b"id\n1\n\xc3\xa9\n\xe9\n", "line 4: byte 0xe9 is not utf-8"),
        ("own", b"id\n\xe9\n\x81\n", "line 2: byte 0xe9"),
        ("own", RUSSIAN.encode("cp1251"), "line 2: byte 0xca is not utf-8; .*'cp1251'"),
        ("own", RUSSIAN.encode("koi8_r"), "line 2"),
        ("own", "id\nパスワードを再設定\n".encode("shift_jis"), "line 2"),
        ("own", '{"a": 1}\n\n{\n', "line 3: this is not a JSON object.*; give one object per"),
        ("own", '{"a": 1}\n[1]\n', "line 2: .*it is a list, not an object"),
        ("own", '{"a": "\\ud800"}\n', "line 1: .*surrogates"),
        ("own", '{"a": 1}\n' + "[" * 100_000, "line 2"),
        ("own.json", '[{"a": 1},\n{"a": 2}', "line 2 column"),
        ("own.json", '[{"a": 1},\n3]', "it is a int, not an object"),
        ("own.json", "[]", "there is no column"),
        ("own.csv.gz", gzip.compress(TEXT.encode() * 50)[:-9], "damaged or cut short"),
        ("own.bz2", bz2.compress(TEXT.encode())[:-9], "damaged or cut short"),
        ("own.zip", zipped({"own.csv": TEXT})[:-30], "damaged or cut short"),
        ("own.zip", zipped({"a.csv": "x", "b.csv": "x"}), r"of 2 files: a\.csv, b\.csv; unpack"),
        ("own.ods", zipped({"mimetype": "x", "content.xml": "x"}), r"save a workbook as \.xlsx"),
        ("own.xlsx", zipped({"[Content_Types].xml": "x"}), "is not a readable workbook"),
        ("own.xlsx", TEXT, "is not a readable workbook"),
        ("own.parquet", TEXT, "is damaged, or not a Parquet table"),
    ],
)
def test_what_is_no_table_is_named_with_the_remedy(tmp_path, name, data, message):
    with pytest.raises(ValueError, match=message) as info:
        read_table(given(tmp_path, data, name))
    assert str(info.value).startswith(str(tmp_path / name)) and len(str(info.value)) < 500


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zip"])
def test_a_file_that_unpacks_to_more_than_its_limit_is_refused(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("film.unpacking.LEAST_LIMIT", 1_000_000)
    for n, refused in ((150_000, False), (500_000, True)):
        raw = b"text\n" + b"x 1\n" * n
        pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(suffix)
        path = given(tmp_path, pack(raw) if pack else zipped({"a.csv": raw}), f"own.csv{suffix}")
        if refused:
            with pytest.raises(ValueError, match="unpack to more than 1,000,000"):
                read_table(path)
        else:
            assert len(read_table(path)) == n


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"id\r\na\r\n\xe9\r\n", "utf-8", "the stream, line 3: byte 0xe9 is not utf-8; give enc"),
        ("id\né\n", "ascii", "line 2: byte 0xc3 is not ascii"),
        *(("a\n", name, "is unknown") for name in ("utf-9", "undefined", "hex", "x\0y", "rot13")),
    ],
)
def test_an_encoding_that_is_given_is_used_strictly(data, encoding, message):
    with pytest.raises(ValueError, match=message):
        read(data, encoding)
    assert read("id\nテスト\n".encode("shift_jis"), "shift_jis").rows == [["テスト"]]


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path: there is no file '.*none\.csv'; check"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder; give the path of a file"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("text", "'Text'"), ("question_1", "'question1'"), ("QUESTION1", "'question1'")],
)
def test_a_wrong_column_is_answered_with_the_right_one(wrong, near):
    table = read("id,Text,question1,zz\n1,a,b,c\n")
    with pytest.raises(ValueError, match=f"no column {wrong!r}: did you mean {near}?.*'zz'$"):
        table.column(["id", wrong])


def test_several_columns_are_joined():
    table = read("title,body,n\nOne,two,1\n,three,2\nfour, ,3\n")
    assert table.column(("title", "body")) == ["One two", "three", "four"]


def test_a_large_csv_file_is_read_row_by_row(tmp_path):
    table, rows = scan_table(str(given(tmp_path, "sep=;\nid;a\n1;b\nid;a\n")))
    assert (table.columns, table.rows, next(rows)) == (["id", "a"], [], (3, ["1", "b"]))
    with pytest.raises(ValueError, match="line 4 repeats the header"):
        next(rows)


def workbook(folder, *sheets, hidden=()):
    """Save sheets, each a name and rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for row in rows:
            sheet.append(row)
    book.save(folder / "own.xlsx")
    return folder / "own.xlsx"


def test_excel_and_parquet_of_pandas_are_read(tmp_path):
    frame = pd.DataFrame(
        {
            "id": [7, 8],
            "text": ["Is tea hot?", None],
            "share": [0.5, float("nan")],
            "day": [datetime(2024, 5, 1), datetime(2024, 5, 2, 12)],
        }
    )
    frame.to_excel(tmp_path / "own.xlsx", index=False)
    frame.to_parquet(tmp_path / "own.parquet")
    for name in ("own.xlsx", "own.parquet"):
        table = read_table(tmp_path / name)
        assert table.rows == [
            [7, "Is tea hot?", 0.5, datetime(2024, 5, 1)],
            [8, None, None, datetime(2024, 5, 2, 12)],
        ]
        assert table.column("id") == ["7", "8"] and table.column("text") == ["Is tea hot?", ""]
        assert table.column("day") == ["2024-05-01T00:00:00", "2024-05-02T12:00:00"]
        # As bytes on standard input, where no name tells the format.
        assert read_table(io.BytesIO((tmp_path / name).read_bytes())).rows == table.rows
    frame["day"] = [datetime(2024, 5, 1), None]
    frame.to_excel(tmp_path / "own.xlsx", index=False)
    assert read_table(tmp_path / "own.xlsx").column("day") == ["2024-05-01", ""]
    frame[:0].to_excel(tmp_path / "own.xlsx")
    with pytest.raises(
        ValueError, match=r"own\.xlsx has a header, 'id', 'text', 'share', 'day', but no"
    ):
        read_table(tmp_path / "own.xlsx")
    pd.DataFrame({"text": ["Café".encode(), None]}).to_parquet(tmp_path / "own.parquet")
    assert read_table(tmp_path / "own.parquet").rows == [["Café"], [None]]


@pytest.mark.parametrize(
    ("cell", "n"),
    [
        (b'<c r="A2"><f>B1</f><v></v></c>', 1),
        (b'<c r="A2"><f>B1</f><v/></c><c r="B2"><f t="shared" si="0"/></c>', 2),
        (b'<c r="A2"><f>B1</f><v>7</v></c>', 0),
        (b'<c r="A2" t="str"><f>B1</f><v></v></c>', 0),
        (b'<c r="A2" s="1"/><c r="B2"><v>7</v></c>', 0),
    ],
)
def test_formulas_without_a_stored_value_are_told(tmp_path, cell, n):
    path = workbook(tmp_path, ("only", [["a", "b", "c"], ["=B1", 5, 6]]))
    notes = read_table(path).notes
    assert len(notes) == 1 and "1 cells of the workbook begin with '=' and have no" in notes[0]
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    members[sheet] = re.sub(rb'<c r="A2".*(?=<c r="C2")', cell, members[sheet])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    notes = read_table(path).notes
    assert [note.split()[1] for note in notes] == [str(n)] * bool(n)


def test_the_first_sheet_with_cells_is_read_and_hidden_ones_last(tmp_path):
    sheets = (
        ("codes", [["c"], [1]]),
        ("empty", []),
        ("first", [[], ["a"], [], [1, None]]),
        ("o", [["b"]]),
    )
    table = read_table(workbook(tmp_path, *sheets, hidden=("codes",)))
    assert (table.columns, table.rows, table.lines) == (["a"], [[1]], [4])
    assert "sheet 'first' is read; others with cells are 'o', 'codes'" in table.notes[0]


@pytest.mark.parametrize(
    ("library", "name"), [("openpyxl", "own.xlsx"), ("pyarrow", "own.parquet")]
)
def test_a_missing_library_is_named_with_the_remedy(tmp_path, monkeypatch, library, name):
    write_table(tmp_path / name, ["a"], [["b"]])
    monkeypatch.setitem(sys.modules, library, None)
    for action in (read_table, lambda path: write_table(path, ["a"], [["b"]])):
        with pytest.raises(ImportError, match=rf"need {library}.*pip install 'film-metric\[files"):
            action(tmp_path / name)


def test_reading_text_loads_neither_pandas_nor_its_engines(tmp_path):
    program = (
        "import sys; from estimators.cli.tables import read_table; read_table(sys.argv[1]);"
        "print({'pandas', 'pyarrow', 'openpyxl'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program, given(tmp_path, "a\nb\n")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

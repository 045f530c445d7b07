"""Tables of text come in as their writers meant them, or are refused with line and remedy."""

import csv
import gzip
import io
import lzma
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from estimators.cli.tables import Table, read_table, write_table
from estimators.cli.tables.delimited import stream_table
from tests.estimators.cli.tables.tables import ODD, ROWS, TEXT, given, read, zipped


def test_a_table_has_all_that_the_file_said(tmp_path):
    path = given(tmp_path, TEXT)
    table = read_table(path)
    assert table == Table(["id", "text"], ROWS, [2, 5], "utf-8", "csv", [], str(path))
    assert len(table) == 2
    assert table.column("text") == [row[1] for row in ROWS]
    assert table.column("id") == ["1", "2"]
    with pytest.raises(FrozenInstanceError):
        table.rows = []  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("own.tsv", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.TAB", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.csv", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.txt", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.csv", 'id,text\n1,"a,b;c"\n', "csv"),
        ("own.csv", '\r\n\nid;text\n1;"a,b;c"\n', "csv"),
        ("own.csv", "id|text\n1|a,b;c\n", "csv"),
        ("own.csv", "id^text\n1^a,b;c\n", "csv"),
        ("own", 'id;"text, and; more"\n1;"a,b;c"\n', "csv"),
        ("own.csv", '\n\n"id, or; ""the; name;""","text\n;;"\n1,"a,b;c"\n', "csv"),
        ("own.jsonl", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own.NDJSON", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own.txt", '\n {"id": "1", "text": "a,b;c"}', "jsonl"),
        ("own.json", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own", '[{"id": 1, "text": "a,b;c"}]', "json"),
    ],
)
@pytest.mark.parametrize("gzipped", [False, True])
def test_formats_are_told_by_suffix_and_header(tmp_path, name, data, format, gzipped):
    raw = data.encode()
    path = given(tmp_path, gzip.compress(raw) if gzipped else raw, name + ".gz" * gzipped)
    table = read_table(path)
    assert [table.column(name) for name in table.columns] == [["1"], ["a,b;c"]]
    assert table.format == format


@pytest.mark.parametrize(
    ("name", "data", "columns"),
    [
        ("own.tsv", "a,b\n1\n", ["a,b"]),
        ("own.TAB", "a,b\n1\n", ["a,b"]),
        ("own.tsv.GZ", gzip.compress(b"a,b\n1\n", mtime=0), ["a,b"]),
        ("own.csv", '{"a"\n1\n', ['{"a"']),
        ("own.csv", "id,a;b,text\n1,2,3\n", ["id", "a;b", "text"]),
        ("own.csv", "id;a,b;text\n1;2;3\n", ["id", "a,b", "text"]),
        ("own.csv", "a;b,text\n1,2\n", ["a;b", "text"]),
        ("own.csv", "id,a|b^c\n1,x|y\n", ["id", "a|b^c"]),
    ],
)
def test_the_suffix_and_the_more_frequent_delimiter_part_columns(tmp_path, name, data, columns):
    assert read_table(given(tmp_path, data, name)).columns == columns


@pytest.mark.parametrize("mark", [";", ",", "|", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_the_line_that_tells_excel_the_separator_is_none_of_the_table(mark, quote):
    text = f"{quote}sep={mark}{quote}\r\ntext1{mark}text2\r\na{mark}b; c, d\r\n"
    table = read(text.replace("b; c, d", '"b; c, d"'))
    assert (table.columns, table.rows, table.lines) == (["text1", "text2"], [["a", "b; c, d"]], [3])


def test_large_tables_are_read_row_by_row_unless_they_declare_their_separator(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("estimators.cli.tables.delimited.LARGE", 1)
    assert stream_table(str(given(tmp_path, "sep=;\nid;a\n1;b\n"))) is None
    stream = stream_table(str(given(tmp_path, "id,a\n1,b\nid,a\n")))
    assert stream is not None
    with pytest.raises(ValueError, match="line 3 repeats the header"):
        list(stream.rows)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("text\nIs tea hot?\n", [["Is tea hot?"]]),
        ('text\n"a,b"\n""\n', [["a,b"], [""]]),
        ("text\na\ntext\n", [["a"], ["text"]]),
        ("id,a\n1,b\n  \n", [["1", "b"]]),
        ("text\na\n  \n", [["a"], ["  "]]),
        ('id\ttext\n1\t"a\tb\nc ""d"""\n2\te\n', [["1", 'a\tb\nc "d"'], ["2", "e"]]),
    ],
)
def test_blank_lines_and_single_columns(data, rows):
    table = read(data)
    assert table.rows == rows and table.notes == []


@pytest.mark.parametrize(
    "text",
    [
        'id\ttext\n1\t"so" he said\n2\tb\n',
        'id\ttext\n1\t"never ends\n2\tb\n',
        # With quoting these are one row, whose cell holds a line break and a tab.
        'id\ttext\n1\t"first\n2\tsecond"\n',
    ],
)
def test_tabs_without_quoting(text):
    table = read(text)
    assert table.rows == [line.split("\t") for line in text.splitlines()[1:]]
    assert "separated by tabs without quoting" in table.notes[0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_through_quotes_and_blank_lines(end):
    lines = ["", "id,text", "1,a", "", "", '2,"b', "", 'c"', "3,d", ""]
    table = read(end.join(lines))
    assert table.lines == [3, 6, 9]
    assert table.rows == [["1", "a"], ["2", f"b{end}{end}c"], ["3", "d"]]
    with pytest.raises(ValueError, match=r"line 10 has 1; "):
        read(end.join([*lines[:-1], "4"]))


def test_json_lines():
    data = (
        '{"id": 7, "text": "a"}\r\n\r\n'
        '{"text": null, "score": 0.5, "tags": ["é", {"x": 1}]}\n'
        '{"id": "x\\u2028y \u2028z", "ok": true, "score": ""}\n'
    )
    table = read(data)
    assert table.columns == ["id", "text", "score", "tags", "ok"]
    assert table.rows == [
        [7, "a", None, None, None],
        [None, None, 0.5, ["é", {"x": 1}], None],
        ["x\u2028y \u2028z", None, "", None, True],
    ]
    assert table.column("id") == ["7", "", "x\u2028y \u2028z"]
    assert table.column("tags") == ["", '["é", {"x": 1}]', ""]
    assert table.column("ok") == ["", "", "true"]
    assert table.lines == [1, 3, 4]


def test_arrays_of_json(tmp_path):
    text = '[\n {"id": 1, "text": "a"},\n\n {"text": "b\\n"} , {"id": null}\n]\n'
    for table in (read_table(given(tmp_path, text, "own.json")), read(text)):
        assert table.rows == [[1, "a"], [None, "b\n"], [None, None]]
        assert (table.lines, table.format) == ([2, 4, 4], "json")


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_json_of_columns_is_refused_with_the_remedy(tmp_path, orient):
    frame = pd.DataFrame({"text1": ["a", "b"], "text2": ["c", "d"]})
    with pytest.raises(ValueError, match=r"is one object with .*; give .* by orient='records'"):
        read_table(given(tmp_path, frame.to_json(orient=orient), "own.json"))
    assert len(read_table(given(tmp_path, frame[:1].to_json(orient="records"), "own.json"))) == 1


ARRAY = io.BytesIO()
np.save(ARRAY, np.arange(5))
NAME = "a sentence of the first row " * 10


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        *(("own", data, "is empty") for data in ("", "\n \r\n", "\ufeff")),
        ("own", "id,text\n", "has a header, 'id', 'text', but no rows; .* put a line of column"),
        ("own", "id,text\n\n\n", "but no rows"),
        ("own", NAME + "\n", f"'{NAME[:60]}', but no rows"),
        ("own", f"{NAME},{NAME}\n1,2\n", f"the name '{NAME[:60]}';"),
        ("own", "id,text,id\n1,a,2\n", "two columns have the name 'id'; its first line must name"),
        ("own", "id,,text\n1,a,2\n", "column 2 of 3 has no name; its first line must name"),
        ("own", "id, ,text\n1,a,2\n", "column 2 of 3 has no name"),
        ("own", "text,\na,b\n", "column 2 of 2 has no name"),
        ("own", "{}\n", "there is no column"),
        ("own", '{"": 1}\n', "column 1 of 1 has no name"),
        ("own", 'id,text\n1,"a\n2,b\n', r"row from line 2 on has broken quoting \(unexpected end"),
        ("own", 'id,text\n1,a\n2,"a" b\n', "the row from line 3 on has broken quoting"),
        ("own", 'id\ttext\n1\t"never ends\n2\n', "line 2 on has broken quoting"),
        ("own", "id\0,text\n1,2\n", "line 1 holds a NUL byte"),
        ("own", "id,text\n1,a\n2,\0\n", "line 3 holds a NUL byte; .*encoding='utf-16-le'"),
        ("own", "id\r1\r2\0\r", "line 3 holds a NUL byte"),
        ("own", TEXT.encode("utf-16-le"), "holds a NUL byte"),
        ("own", ARRAY.getvalue(), "is not a text table: .*NUL|neither"),
        ("own", "a;b\n1;2;3\n", r"1 of 1 rows do not .*line 2 has 3; .*contain ';'"),
        ("own", "a\n" + "1,2\n" * 5, "line 6 has 2; put"),
        ("own.csv", "id,a\n1,b\nid,a\n2,c\n", "line 3 repeats the header, as if two files"),
        ("own.csv", "id,a\n1,b\n\ufeffid,a\n2,c\n", "line 3 repeats the header"),
        ("own.tsv", 'id\ta\n1\t"b\nid\ta\n2\tc"\n', "line 3 repeats the header"),
        *(
            (
                "own",
                f'{{"a": "\\u00e9"}}\n\n{line}\n',
                f"line 3: .*{message}.*; give one object per",
            )
            for line, message in (
                ("{", "'{' is not a JSON object"),
                ("[1]", "it is a list, not an object"),
                ('"x"', "it is a str"),
                ('{"a": 1, "a": 2}', "a key occurs twice"),
                ('{"a": "\\ud800"}', "surrogates not allowed"),
                ('{"\\ud800": 1}', "surrogates not allowed"),
                ("[" * 100_000, "not a JSON object"),
                ('{"a": 1} {"a": 2}', "Extra data"),
            )
        ),
        ("own.json", '[{"a": 1},\n{"a": 2}', "line 2: .*closing bracket is missing"),
        ("own.json", '[{"a": 1}\n{"a": 2}]', "line 2: .*a comma or the closing"),
        ("own.json", '[{"a": 1},\n3]', "line 2: .*it is a int, not an object"),
        ("own.json", '[{"a": 1},\n]', "line 2: .*Expecting value"),
        ("own.json", '[{"a": NaN}]', "NaN is not a number in JSON"),
        ("own.json", '[{"a": 1e999}]', "1e999 is not a number in JSON, or too large"),
        ("own.json", "[]", "there is no column"),
        ("own.json", '{"a": {"0": 1},\n"b": {"0": 2}}', "give one object per line, or an array"),
        ("own.csv", lzma.compress(b"id,text\n1,a\n"), "is compressed by xz"),
        ("own.csv", b"\x28\xb5\x2f\xfd\x04\x00", "is compressed by zstd"),
        ("own.csv", b"7z\xbc\xaf\x27\x1c\0\4", "is compressed by 7-Zip"),
        ("own.csv", b"Rar!\x1a\x07\x01\0", "is compressed by RAR"),
        ("own.csv", b"\x04\x22\x4d\x18\x64", "is compressed by LZ4"),
        ("own.csv", "<!-- saved from url -->\n<html></html>", "is a web page"),
        ("own.csv", "\n<!DOCTYPE html>\n<html><body>Log in, please</body></html>", "is a web page"),
        ("own.csv", '<?xml version="1.0"?>\n<rows><row/></rows>', "is a web page or XML"),
        (
            "own",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
            r"before 2007.*save it as \.xlsx",
        ),
        (
            "own.ods",
            zipped(dict.fromkeys(("mimetype", "content.xml", "styles.xml"), "x")),
            r"LibreOffice or OpenOffice; save it as \.xlsx",
        ),
        ("own.zip", zipped({"a.csv": "x", "b.csv": "x"}), r"of 2 files: a\.csv, b\.csv; unpack it"),
    ],
)
def test_what_is_no_table_is_named_with_the_remedy(tmp_path, name, data, message):
    with pytest.raises(ValueError, match=message) as info:
        read_table(given(tmp_path, data, name))
    assert str(info.value).startswith(str(tmp_path / name)) and len(str(info.value)) < 500


def test_ragged_rows_are_listed():
    body = ["1,a", "2,b,c", "3", '4,"d', 'e",f', "5,g", *[f"{i}" for i in range(6, 12)]]
    with pytest.raises(ValueError) as info:
        read("\n".join(["id,text", *body]))
    message = str(info.value)
    assert "9 of 11 rows do not have the 2 cells of the header" in message
    assert (
        "line 3 has 3, line 4 has 1, line 5 to 6 has 3, line 8 has 1, line 9 has 1 and 4" in message
    )
    assert "quotation marks around cells that contain ','" in message


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
        table.column(wrong)


def test_columns_without_a_likeness_and_many_columns():
    table = read(",".join(f"c{i}" for i in range(50)) + "\n" + "," * 49 + "\n")
    with pytest.raises(ValueError, match="no column 'zebra': its first line names 'c0'") as info:
        table.column("zebra")
    assert str(info.value).endswith("'c29' and 20 more")


def test_several_columns_are_joined():
    table = read("title,body,n\nOne,two,1\n,three,2\nfour, ,3\n")
    assert table.column(("title", "body")) == ["One two", "three", "four"]
    with pytest.raises(ValueError, match="no column 'text'"):
        table.column(["title", "text"])


def test_the_index_of_pandas_has_a_name():
    table = read(pd.DataFrame({"text": ["a", "b"]}).to_csv())
    assert table.columns == ["Unnamed: 0", "text"] and table.rows == [["0", "a"], ["1", "b"]]
    assert "first column has no name" in table.notes[0]
    table = read("text,,\na,,\nb,,\n")
    assert (table.columns, table.rows) == (["text"], [["a"], ["b"]])


def test_what_pandas_wrote_is_read(tmp_path):
    # Without quotes, as pandas leaves it, a lone carriage return ends a line.
    cells = [cell for cell in ODD if cell not in ("\r", "a\rb")]
    frame = pd.DataFrame([[cell, "x"] for cell in cells], columns=["a", "b"])
    for separator in (",", ";", "\t"):
        frame.to_csv(tmp_path / "own.csv", index=False, sep=separator)
        assert read_table(tmp_path / "own.csv").rows == frame.to_numpy().tolist()
    frame.to_json(tmp_path / "own.jsonl", orient="records", lines=True)
    assert read_table(tmp_path / "own.jsonl").rows == frame.to_numpy().tolist()


def test_cells_of_a_megabyte(tmp_path):
    before = csv.field_size_limit()
    texts = ["x" * 100_000, 'é"\n' * 400_000, "plain"]
    path = tmp_path / "long.csv"
    write_table(path, ["text"], [[text] for text in texts])
    assert read_table(path).column("text") == texts
    assert csv.field_size_limit() == before


def test_the_limit_of_the_csv_module_comes_back_after_errors_and_threads():
    before = csv.field_size_limit()
    with pytest.raises(ValueError, match="broken quoting"):
        read('text\n"' + "x" * 300_000)
    assert csv.field_size_limit() == before
    data = "text\n" + "\n".join(["x" * 200_000] * 20)
    lengths = []
    threads = [threading.Thread(target=lambda: lengths.append(len(read(data)))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [20] * 6 and csv.field_size_limit() == before
    csv.field_size_limit(10**9)
    try:
        read("text\na\n")
        assert csv.field_size_limit() == 10**9
    finally:
        csv.field_size_limit(before)


def test_reading_text_loads_neither_pandas_nor_its_engines(tmp_path):
    program = (
        "import sys; from estimators.cli.tables import read_table; read_table(sys.argv[1]);"
        "print({'pandas', 'pyarrow', 'openpyxl'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program, given(tmp_path, "a\nb\n")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

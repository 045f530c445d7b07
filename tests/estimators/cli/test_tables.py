"""Tables come in as their writers meant them, or are refused with the line and the remedy."""

import csv
import errno
import gzip
import io
import itertools
import json
import os
import sys
import threading
import zipfile
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators.cli.tables import Table, read_table, write_table

TEXT = 'id,text\r\n1,"Is tea ""hot"",\r\nor not?"\r\n\r\n2,Où est l’été?\r\n'
ROWS = [["1", 'Is tea "hot",\r\nor not?'], ["2", "Où est l’été?"]]


def given(tmp_path, data, name="own.csv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(data, encoding=None):
    """Read from a stream of bytes, that has no name and no suffix."""
    raw = data if isinstance(data, bytes) else data.encode()
    return read_table(io.BytesIO(raw), encoding=encoding)


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
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("cp1252", "cp1252"),
    ],
)
@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("how", ["path", "text", "stream", "dash"])
def test_encodings_of_excel(tmp_path, monkeypatch, encoding, found, gzipped, how):
    raw = TEXT.encode(encoding)
    raw = gzip.compress(raw) if gzipped else raw
    path = given(tmp_path, raw, "own.csv.gz" if gzipped else "own.csv")
    source: Any = {"path": path, "text": str(path), "stream": io.BytesIO(raw), "dash": "-"}[how]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))
    table = read_table(source)
    assert table.columns == ["id", "text"] and table.rows == ROWS
    assert table.encoding == found and table.format == "csv"
    assert read_table(path, encoding=table.encoding).rows == ROWS
    if encoding != "cp1252":
        assert table.notes == []
        return
    (note,) = table.notes
    name = {"stream": "the stream", "dash": "standard input"}.get(how, str(path))
    assert note.startswith(f"{name} is not UTF-8 (line 5) and was read as Windows-1252")
    assert "'ù'" in note


def test_utf16_of_either_byte_order():
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert read(mark + TEXT.encode(encoding)).rows == ROWS
        assert read(TEXT.encode(encoding), encoding=encoding).rows == ROWS
        assert read(mark + TEXT.encode(encoding), encoding=encoding).columns == ["id", "text"]


def test_marks_and_streams(tmp_path):
    assert read("\ufeff" + TEXT, encoding="utf-8").columns == ["id", "text"]
    path = given(tmp_path, TEXT.encode("cp1252"))
    with open(path, "rb") as handle:
        table = read_table(handle)
    assert (table.rows, table.encoding, table.source) == (ROWS, "cp1252", str(path))
    with open(os.open(path, os.O_RDONLY), "rb") as handle:
        assert read_table(handle).source == "the stream"


def test_an_encoding_given_is_used_and_not_guessed():
    assert read("id\né\n", encoding="cp1252").rows == [["Ã©"]]
    assert read("id\nテスト\n".encode("shift_jis"), encoding="shift_jis").rows == [["テスト"]]
    with pytest.raises(ValueError, match=r"the stream, line 3: byte 0xe9 is not utf-8; give the"):
        read(b"id\r\na\r\n\xe9\r\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 2: byte 0xc3 is not ascii"):
        read("id\né\n", encoding="ascii")
    with pytest.raises(ValueError, match=r"encoding='utf-9' is unknown .*use for instance 'utf-8'"):
        read("id\na\n", encoding="utf-9")


def test_an_encoding_given_wins_over_the_mark():
    assert read(b"\xef\xbb\xbfid\na\n", encoding="cp1252").columns == ["ï»¿id"]
    with pytest.raises(ValueError, match="line 1: byte 0xff is not utf-8;"):
        read("id\na\n".encode("utf-16"), encoding="utf-8")


def test_what_the_mark_promises_must_hold():
    with pytest.raises(ValueError, match="line 3: byte 0xe9 is not utf-8-sig"):
        read(b"\xef\xbb\xbfid\na\n\xe9\n")
    with pytest.raises(ValueError, match=r"line 3: .* is not utf-16"):
        read("id\na\nb".encode("utf-16") + b"\x00")


def test_mixed_encodings_are_named_with_both_lines():
    mixed = b"id,text\n1,caf\xe9\n2,plain\n3,caf\xc3\xa9\n"
    with pytest.raises(ValueError) as info:
        read(mixed)
    message = str(info.value)
    assert "mixes encodings: line 2 holds byte 0xe9 ('é' in Windows-1252)" in message
    assert "but line 4 holds 'é' in UTF-8" in message
    assert "save the file again as UTF-8" in message and "encoding='cp1252'" in message
    assert read(mixed, encoding="cp1252").rows[2] == ["3", "cafÃ©"]
    for sequence in ("é", "質", "😀"):
        with pytest.raises(ValueError, match=f"line 2 holds {sequence!r} in UTF-8"):
            read(b"id\n" + sequence.encode() + b"\n\xe9,\n")


def test_lone_parts_of_utf8_sequences_do_not_speak_for_utf8():
    # "É, ä and ð": each would begin a sequence that does not go on.
    assert read("id\nÉ\nä€a\nðŸa\n".encode("cp1252")).encoding == "cp1252"


def test_bytes_of_no_encoding_are_named():
    with pytest.raises(ValueError, match="line 3: byte 0x81 is neither UTF-8 nor Windows-1252"):
        read(b"id\n\xe9\n\x81\n")


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("own.tsv", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.TAB", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.csv", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.txt", "id\ttext\n1\ta,b;c\n", "tsv"),
        ("own.csv", 'id,text\n1,"a,b;c"\n', "csv"),
        ("own.csv", '\r\n\nid;text\n1;"a,b;c"\n', "csv"),
        ("own", 'id;"text, and; more"\n1;"a,b;c"\n', "csv"),
        ("own.csv", '\n\n"id, or; ""the; name;""","text\n;;"\n1,"a,b;c"\n', "csv"),
        ("own.jsonl", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own.NDJSON", '{"id": 1, "text": "a,b;c"}\n', "jsonl"),
        ("own.txt", '\n {"id": "1", "text": "a,b;c"}', "jsonl"),
    ],
)
@pytest.mark.parametrize("gzipped", [False, True])
def test_formats_are_told_by_suffix_and_header(tmp_path, name, data, format, gzipped):
    raw = data.encode()
    path = given(tmp_path, gzip.compress(raw) if gzipped else raw, name + ".gz" * gzipped)
    table = read_table(path)
    assert [table.column(name) for name in table.columns] == [["1"], ["a,b;c"]]
    assert table.format == format


def test_suffix_wins_over_looks(tmp_path):
    assert read_table(given(tmp_path, "a,b\n1\n", "own.tsv")).columns == ["a,b"]
    assert read_table(given(tmp_path, "a,b\n1\n", "own.TAB")).columns == ["a,b"]
    raw = gzip.compress(b"a,b\n1\n")
    assert read_table(given(tmp_path, raw, "own.tsv.GZ")).columns == ["a,b"]
    assert read_table(given(tmp_path, '{"a"\n1\n', "own.csv")).columns == ['{"a"']


def test_the_delimiter_that_occurs_more_often_parts_cells():
    assert read("id,a;b,text\n1,2,3\n").columns == ["id", "a;b", "text"]
    assert read("id;a,b;text\n1;2;3\n").columns == ["id", "a,b", "text"]
    assert read("a;b,text\n1,2\n").columns == ["a;b", "text"]


def test_one_column_needs_no_delimiter():
    assert read("text\nIs tea hot?\n").rows == [["Is tea hot?"]]
    assert read('text\n"a,b"\n""\n').rows == [["a,b"], [""]]


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 3: '{' is not a JSON object"),
        ("[1]", "it is a list, not an object"),
        ('"x"', "it is a str"),
        ('{"a": 1, "a": 2}', "a key occurs twice"),
        ('{"a": "\\ud800"}', "surrogates not allowed"),
        ('{"\\ud800": 1}', "surrogates not allowed"),
        ("[" * 100_000, "not a JSON object"),
        ('{"a": 1} {"a": 2}', "Extra data"),
    ],
)
def test_lines_that_are_no_objects_are_named(line, message):
    with pytest.raises(ValueError, match=r"the stream, line 3: .*give one object per line") as info:
        read('{"a": "\\u00e9"}\n\n' + line + "\n")
    assert message in str(info.value) and len(str(info.value)) < 300


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "the stream is empty"),
        ("\n \r\n", "the stream is empty"),
        ("\ufeff", "the stream is empty"),
        ("id,text\n", "has a header, 'id', 'text', but no rows; .* put a line of column names"),
        ("id,text\n\n\n", "but no rows"),
        ("id,text,id\n1,a,2\n", "two columns have the name 'id'; its first line must name"),
        ("id,,text\n1,a,2\n", "column 2 of 3 has no name; its first line must name"),
        ("id, ,text\n1,a,2\n", "column 2 of 3 has no name"),
        ("{}\n", "there is no column"),
        ('{"": 1}\n', "column 1 of 1 has no name"),
        ('id,text\n1,"a\n2,b\n', r"the row from line 2 on has broken quoting \(unexpected end"),
        ('id,text\n1,a\n2,"a" b\n', "the row from line 3 on has broken quoting"),
        ("id\0,text\n1,2\n", "line 1 holds a NUL byte"),
        ("id,text\n1,a\n2,\0\n", "line 3 holds a NUL byte; .*encoding='utf-16-le'"),
        ("id\r1\r2\0\r", "line 3 holds a NUL byte"),
        (TEXT.encode("utf-16-le"), "holds a NUL byte"),
    ],
)
def test_tables_that_are_none_are_named(data, message):
    with pytest.raises(ValueError, match=message):
        read(data)


def test_ragged_rows_are_listed():
    body = ["1,a", "2,b,c", "3", '4,"d', 'e",f', "5,g", *[f"{i}" for i in range(6, 12)]]
    with pytest.raises(ValueError) as info:
        read("\n".join(["id,text", *body]))
    message = str(info.value)
    assert "has 9 rows of 11 with other than the 2 cells of its header" in message
    assert (
        "line 3 has 3, line 4 has 1, line 5 to 6 has 3, line 8 has 1, line 9 has 1 and 4" in message
    )
    assert "quotation marks around cells that hold ','" in message
    with pytest.raises(ValueError, match=r"has 1 rows of 1 .*line 2 has 3; .*hold ';'"):
        read("a;b\n1;2;3\n")
    with pytest.raises(ValueError, match="line 6 has 2; put"):
        read("a\n" + "1,2\n" * 5)


def workbook():
    """Give a broken workbook."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "x")
        archive.writestr("xl/workbook.xml", "x")
    return buffer.getvalue()


def test_binary_files_are_named_with_the_remedy(tmp_path):
    message = r"own\.csv is a workbook of Excel, but its name says csv; rename it to end in \.xlsx"
    for encoding in (None, "cp1252"):
        with pytest.raises(ValueError, match=message):
            read_table(given(tmp_path, workbook(), "own.csv"), encoding=encoding)
    with pytest.raises(ValueError, match=r"own\.xlsx is not a readable workbook"):
        read_table(given(tmp_path, workbook(), "own.xlsx"))
    with pytest.raises(ValueError, match=r"is a workbook of Excel before 2007.*save it as \.xlsx"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    buffer = io.BytesIO()
    np.save(buffer, np.arange(5))
    with pytest.raises(ValueError, match=r"the stream is not a text table: .*NUL|neither"):
        read(buffer.getvalue())


def test_damaged_gzip_is_named(tmp_path):
    whole = gzip.compress(TEXT.encode() * 50)
    for raw in (whole[:-9], whole[:40], whole[:10] + b"\xff" * 20, whole[:-8] + bytes(8)):
        with pytest.raises(ValueError, match=r"own\.csv\.gz is gzipped, but damaged or cut short"):
            read_table(given(tmp_path, raw, "own.csv.gz"))


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
    expected = (
        f"the stream has no column {wrong!r}: did you mean {near}? its first line names 'id', "
        "'Text', 'question1', 'zz'"
    )
    with pytest.raises(ValueError) as info:
        table.column(wrong)
    assert str(info.value) == expected


def test_columns_without_a_likeness_and_many_columns():
    table = read(",".join(f"c{i}" for i in range(50)) + "\n" + "," * 49 + "\n")
    with pytest.raises(ValueError, match="no column 'zebra': its first line names 'c0'") as info:
        table.column("zebra")
    assert str(info.value).endswith("'c29' and 20 more")


def test_long_names_are_cut_in_messages():
    name = "a sentence of the first row " * 10
    with pytest.raises(ValueError, match=f"'{name[:60]}', but no rows"):
        read(name + "\n")
    with pytest.raises(ValueError, match=f"the name '{name[:60]}';"):
        read(f"{name},{name}\n1,2\n")


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


ODD = [
    "",
    " ",
    " lead and trail ",
    '"',
    '""',
    "'",
    ",",
    ";",
    "\t",
    "a\nb",
    "a\r\nb",
    "a\rb",
    "\n",
    "\r",
    "=1+1",
    "+1",
    "-1",
    "@x",
    "\ufeff",
    "\x1a",
    "\u2028\u0085\x0b\x0c\x1c",
    "é😀質",
    "null",
    "{",
    "[1]",
    "\\",
    '\\"',
    "#",
    "x" * 200,
]


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
        target = tmp_path / f"own.{format}"
        if to == "stream":
            handle = io.StringIO(newline="")
            write_table(handle, columns, iter(rows), format=format)
            table = read_table(io.BytesIO(handle.getvalue().encode()))
        else:
            write_table(target, columns, iter(rows), format=format)
            table = read_table(target)
        assert table.columns == columns and table.rows == rows
        assert table.encoding == "utf-8" and table.notes == []
        assert table.format == format


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("character", [",", ";", "\t", "\r", "\n", "{", "\ufeff", '"'])
def test_names_of_columns_do_not_change_the_format(format, character):
    for name in (f"{character}a", f"a{character * 3}b"):
        handle = io.StringIO(newline="")
        write_table(handle, [name, "b"], [["1,2", "3\t;"]], format=format)
        table = read_table(io.BytesIO(handle.getvalue().encode()))
        assert (table.columns, table.rows) == ([name, "b"], [["1,2", "3\t;"]])


def test_pandas_reads_what_was_written(tmp_path):
    rows = [[a, b] for a, b in itertools.product(ODD[:17], ODD[20:])]
    write_table(tmp_path / "own.csv", ["a", "b"], rows)
    frame = pd.read_csv(tmp_path / "own.csv", dtype=str, keep_default_na=False)
    assert frame.to_numpy().tolist() == rows
    write_table(tmp_path / "own.jsonl", ["a", "b"], rows, format="jsonl")
    lines = (tmp_path / "own.jsonl").read_text(encoding="utf-8").split("\n")
    assert [list(json.loads(line).values()) for line in lines if line] == rows


def test_what_pandas_wrote_is_read(tmp_path):
    # Without quotes, as pandas leaves it, a lone carriage return ends a line.
    cells = [cell for cell in ODD if cell not in ("\r", "a\rb")]
    frame = pd.DataFrame([[cell, "x"] for cell in cells], columns=["a", "b"])
    for separator in (",", ";", "\t"):
        frame.to_csv(tmp_path / "own.csv", index=False, sep=separator)
        assert read_table(tmp_path / "own.csv").rows == frame.to_numpy().tolist()
    frame.to_json(tmp_path / "own.jsonl", orient="records", lines=True)
    assert read_table(tmp_path / "own.jsonl").rows == frame.to_numpy().tolist()


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


def test_only_a_header_is_written_when_there_are_no_rows():
    handle = io.StringIO()
    write_table(handle, ["a", "b"], [])
    assert handle.getvalue() == "a,b\n"


@pytest.mark.parametrize(
    ("columns", "rows", "format", "message"),
    [
        (["a"], [["x"]], "xls", "format must be one of 'csv', .*, 'parquet', got 'xls'"),
        (["a", "a"], [], "csv", "columns: two columns have the name 'a'; name each once"),
        (["a", ""], [], "jsonl", "columns: column 2 of 2 has no name"),
        ([], [], "csv", "columns: there is no column"),
        (["a", "b"], [["1", "2"], ["3"]], "csv", r"rows\[1\] has 1 cells for 2 columns"),
        (["a"], [["1", "2"]], "jsonl", r"rows\[0\] has 2 cells for 1 columns"),
        (["a", "b"], [["1", "2"], ["3", "x\0"]], "csv", r"rows\[1\] holds a NUL .*'jsonl'"),
    ],
)
def test_wrong_tables_leave_no_file(tmp_path, columns, rows, format, message):
    path = tmp_path / "own.dat"
    path.write_text("earlier", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        write_table(path, columns, rows, format=format)
    assert path.read_text(encoding="utf-8") == "earlier" and os.listdir(tmp_path) == ["own.dat"]


def test_nul_goes_through_json_lines(tmp_path):
    write_table(tmp_path / "own.jsonl", ["a"], [["x\0y"]], format="jsonl")
    assert read_table(tmp_path / "own.jsonl").rows == [["x\0y"]]


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

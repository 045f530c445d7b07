"""Tables as people have them, in and out."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import zipfile
from datetime import datetime

import openpyxl
import pandas as pd
import pytest

from estimators.cli.tables import escape_formula, format_of, read_table, write_table
from film.contexts import read_documents
from film.datasets import read_nli
from tests.estimators.cli.commands import run, write_csv

ROWS = [[7, "Is tea hot?", True, None, ["a", {"b": 0.5}]], [8, "=1+1", False, "x", []]]
COLUMNS = ["id", "text", "flag", "hole", "nested"]
SUFFIXES = [".gz", ".bz2", ".zip", ""]


def packed(data, suffix, name="own.csv"):
    """Compress as other programs do."""
    if suffix == ".zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, data)
            archive.writestr("__MACOSX/._own.csv", b"")
        return buffer.getvalue()
    return {".gz": gzip.compress, ".bz2": bz2.compress, "": bytes}[suffix](data)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_16_json_values_go_through_unchanged(tmp_path, suffix):
    for name in ("own.jsonl", "own.json"):
        path = tmp_path / (name + suffix)
        assert write_table(path, COLUMNS, ROWS) == 2
        table = read_table(path)
        assert (table.columns, table.rows) == (COLUMNS, ROWS)
        assert [type(cell) for cell in table.rows[0]] == [int, str, bool, type(None), list]
        assert table.format == name.split(".")[1]
    assert table.column("nested") == ['["a", {"b": 0.5}]', "[]"]
    assert table.column("flag") == ["true", "false"] and table.column("hole") == ["", "x"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["own.csv", "own.tsv", "own.xlsx", "own.parquet"])
def test_16_compressed_tables_in_and_out(tmp_path, name, suffix):
    rows = [["1", "a, b\tc"], ["2", 'said "so"']]
    path = tmp_path / (name + suffix)
    write_table(path, ["id", "text"], rows)
    table = read_table(path)
    assert (table.columns, table.rows) == (["id", "text"], rows)
    assert table.format == format_of(path) == name.split(".")[1]
    first = path.read_bytes()[:2]
    assert first == {".gz": b"\x1f\x8b", ".bz2": b"BZ", ".zip": b"PK"}.get(suffix, first)
    # A second program makes the same of it.
    theirs = tmp_path / f"theirs.csv{suffix}"
    theirs.write_bytes(packed(b"id,text\n1,x\n", suffix))
    assert read_table(theirs).rows == [["1", "x"]]
    assert read_table(io.BytesIO(packed(b"id\ttext\n1\tx\n", suffix, "own.tsv"))).format == "tsv"


def test_16_a_zip_archive_of_several_files_names_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        archive.writestr("a.csv", "id\n1\n")
        archive.writestr("b.csv", "id\n1\n")
    with pytest.raises(ValueError, match=r"archive of 2 files: a\.csv, b\.csv; unpack it"):
        read_table(tmp_path / "own.zip")
    (tmp_path / "own.zip").write_bytes(packed(b"id\n1\n" * 99, ".zip")[:-30])
    with pytest.raises(ValueError, match="zip archive, but damaged"):
        read_table(tmp_path / "own.zip")
    (tmp_path / "own.bz2").write_bytes(packed(b"id\n1\n" * 99, ".bz2")[:-9])
    with pytest.raises(ValueError, match="bz2 file, but damaged"):
        read_table(tmp_path / "own.bz2")


def test_16_excel_and_parquet_of_pandas_are_read(tmp_path):
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


def test_16_pandas_reads_excel_and_parquet_of_ours(tmp_path):
    for name, read in (("own.xlsx", pd.read_excel), ("own.parquet", pd.read_parquet)):
        write_table(tmp_path / name, COLUMNS, ROWS)
        frame = read(tmp_path / name)
        assert frame["id"].tolist() == [7, 8] and frame["flag"].tolist() == [True, False]
        assert frame["text"].tolist() == ["Is tea hot?", "=1+1"]
    write_table(tmp_path / "own.parquet", ["mixed"], [[7], ["seven"], [None]])
    assert read_table(tmp_path / "own.parquet").rows == [["7"], ["seven"], [None]]
    write_table(tmp_path / "big.xlsx", ["id"], [[2**53 + 1]])
    assert read_table(tmp_path / "big.xlsx").rows == [[str(2**53 + 1)]]


def test_16_a_formula_stays_a_text_in_excel(tmp_path):
    import openpyxl

    write_table(tmp_path / "own.xlsx", ["a"], [["=HYPERLINK(1)"]])
    cell = openpyxl.load_workbook(tmp_path / "own.xlsx").active["A2"]
    assert (cell.data_type, cell.value) == ("s", "=HYPERLINK(1)")


def test_16_what_excel_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"rows\[1\] holds .* write CSV or Parquet"):
        write_table(tmp_path / "own.xlsx", ["a"], [["b"], ["x" * 40_000]])
    assert list(tmp_path.iterdir()) == []


def test_16_several_sheets_are_told(tmp_path):
    with pd.ExcelWriter(tmp_path / "own.xlsx") as book:
        pd.DataFrame().to_excel(book, sheet_name="empty")
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="first", index=False)
        pd.DataFrame({"b": [2]}).to_excel(book, sheet_name="other", index=False)
    table = read_table(tmp_path / "own.xlsx")
    assert table.columns == ["a"]
    assert "the sheet 'first' is read; others with cells are 'other'" in table.notes[0]


@pytest.mark.parametrize(
    ("library", "name"), [("openpyxl", "own.xlsx"), ("pyarrow", "own.parquet")]
)
def test_16_a_missing_library_is_named_with_the_remedy(tmp_path, monkeypatch, library, name):
    write_table(tmp_path / name, ["a"], [["b"]])
    monkeypatch.setitem(sys.modules, library, None)
    for action in (read_table, lambda path: write_table(path, ["a"], [["b"]])):
        with pytest.raises(ImportError, match=rf"need {library}.*pip install 'film-metric\[files"):
            action(tmp_path / name)


def test_16_reading_text_loads_neither_pandas_nor_its_engines(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a\nb\n")
    program = (
        "import sys; from estimators.cli.tables import read_table; read_table(sys.argv[1]);"
        "print({'pandas', 'pyarrow', 'openpyxl'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("name", "like", "message"),
    [
        ("own.csv", "own.xlsx", r"is a workbook of Excel, but its name says csv; rename it"),
        ("own.xlsx", "own.csv", r"is text, but its name says xlsx; rename it to end in \.csv"),
        ("own.jsonl", "own.parquet", r"is a table of Parquet, but its name says jsonl"),
        ("own.parquet", "own.xlsx", r"is a workbook of Excel, but its name says parquet"),
    ],
)
def test_16_content_and_name_agree_when_read(tmp_path, name, like, message):
    write_table(tmp_path / like, ["a"], [["b"]])
    (tmp_path / like).rename(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_16_content_and_name_agree_when_written(tmp_path):
    write_table(tmp_path / "own.json", ["a"], [["b"]])
    assert json.loads((tmp_path / "own.json").read_text()) == [{"a": "b"}]
    with pytest.raises(ValueError, match=r"format='csv' does not go with the name .*own\.json"):
        write_table(tmp_path / "own.json", ["a"], [["b"]], format="csv")


def test_16_arrays_of_json(tmp_path):
    text = '[\n {"id": 1, "text": "a"},\n\n {"text": "b\\n"} , {"id": null}\n]\n'
    (tmp_path / "own.json").write_text(text)
    for table in (read_table(tmp_path / "own.json"), read_table(io.BytesIO(text.encode()))):
        assert table.rows == [[1, "a"], [None, "b\n"], [None, None]]
        assert (table.lines, table.format) == ([2, 4, 4], "json")
    (tmp_path / "own.json").write_text('{"a": 1}\n{"a": 2}\n')
    assert read_table(tmp_path / "own.json").rows == [[1], [2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n{"a": 2}', "line 2: .*closing bracket is missing"),
        ('[{"a": 1}\n{"a": 2}]', "line 2: .*a comma or the closing"),
        ('[{"a": 1},\n3]', "line 2: .*it is a int, not an object"),
        ('[{"a": 1},\n]', "line 2: .*Expecting value"),
        ('[{"a": NaN}]', "NaN is not a number in JSON"),
        ('[{"a": 1e999}]', "1e999 is not a number in JSON, or too large"),
        ("[]", "there is no column"),
        ('{"a": {"0": 1},\n"b": {"0": 2}}', "give one object per line, or an array"),
    ],
)
def test_16_broken_json_names_the_line(tmp_path, text, message):
    (tmp_path / "own.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "own.json")


def test_16_tsv_with_and_without_quoting():
    quoted = read_table(io.BytesIO(b'id\ttext\n1\t"a\tb\nc ""d"""\n2\te\n'))
    assert quoted.rows == [["1", 'a\tb\nc "d"'], ["2", "e"]] and quoted.notes == []
    for text in (
        'id\ttext\n1\t"so" he said\n2\tb\n',
        'id\ttext\n1\t"never ends\n2\tb\n',
        # With quoting these are one row, whose cell holds a line break and a tab.
        'id\ttext\n1\t"first\n2\tsecond"\n',
    ):
        table = read_table(io.BytesIO(text.encode()))
        assert table.rows == [line.split("\t") for line in text.splitlines()[1:]]
        assert "separated by tabs without quoting" in table.notes[0]
    # Here neither way makes a table.
    with pytest.raises(ValueError, match=r"line 2 on has broken quoting"):
        read_table(io.BytesIO(b'id\ttext\n1\t"never ends\n2\n'))


def test_16_the_index_of_pandas_has_a_name():
    frame = pd.DataFrame({"text": ["a", "b"]})
    table = read_table(io.BytesIO(frame.to_csv().encode()))
    assert table.columns == ["Unnamed: 0", "text"] and table.rows == [["0", "a"], ["1", "b"]]
    assert "first column has no name" in table.notes[0]
    table = read_table(io.BytesIO(b"text,,\na,,\nb,,\n"))
    assert (table.columns, table.rows) == (["text"], [["a"], ["b"]])
    with pytest.raises(ValueError, match="column 2 of 2 has no name"):
        read_table(io.BytesIO(b"text,\na,b\n"))


def test_16_several_columns_are_joined():
    table = read_table(io.BytesIO(b"title,body,n\nOne,two,1\n,three,2\nfour, ,3\n"))
    assert table.column(("title", "body")) == ["One two", "three", "four"]
    with pytest.raises(ValueError, match="no column 'text'"):
        table.column(["title", "text"])


@pytest.mark.parametrize("encoding", ["undefined", "hex", "x\0y", "", "rot13"])
def test_10_what_is_no_encoding_of_text_is_refused(encoding):
    with pytest.raises(ValueError, match="encoding="):
        read_table(io.BytesIO("a\né.\n".encode()), encoding=encoding)


def test_10_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    program = (
        "import os, signal, sys\n"
        "from film.datasets import atomic_writer\n"
        "with atomic_writer(sys.argv[1]) as handle:\n"
        "    handle.write('half')\n"
        "    handle.flush()\n"
        "    if sys.argv[2] == 'kill':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    path = tmp_path / "own.csv"
    command = [sys.executable, "-c", program, str(path)]
    killed = subprocess.run([*command, "kill"])
    assert killed.returncode < 0
    (stale,) = tmp_path.iterdir()
    writing = subprocess.Popen(
        [*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writing.stdout.readline() == "open\n"
    # A file that is new may be one that is being made.
    write_table(path, ["a"], [["b"]])
    assert stale.exists()
    for part in tmp_path.glob(".*.part"):
        os.utime(part, (0, 0))
    other = tmp_path / ".notes.part"
    other.write_text("not ours")
    os.utime(other, (0, 0))
    write_table(path, ["a"], [["b"]])
    assert not stale.exists() and other.exists()
    # Another process still writes to its own.
    assert len(list(tmp_path.glob(".own.csv.*.part"))) == 1
    writing.communicate("")
    assert writing.returncode == 0 and path.read_text() == "half"
    assert sorted(item.name for item in tmp_path.iterdir()) == [".notes.part", "own.csv"]


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-cmd|' /C calc'!A0", "@sum", "\t=1", "＝1"])
def test_10_cells_that_start_like_a_formula_are_escaped_when_asked(cell):
    assert escape_formula(cell) == f"'{cell}"
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        handle = io.StringIO(newline="")
        write_table(handle, ["a", "b"], [[cell, -5]], format=form, escape_formulas=True)
        assert read_table(io.BytesIO(handle.getvalue().encode())).rows == [[f"'{cell}", "-5"]]
        assert delimiter in handle.getvalue()
    handle = io.StringIO(newline="")
    write_table(handle, ["a", "b"], [[cell, -5]])
    assert read_table(io.BytesIO(handle.getvalue().encode())).rows == [[cell, "-5"]]


@pytest.mark.parametrize("cell", ["-5", "+3.2e4", "-,5", "a=b", "", "'=1"])
def test_10_numbers_and_other_texts_are_not_altered(cell):
    assert escape_formula(cell) == cell


def test_17_a_parquet_table_whose_texts_are_no_utf_8_is_refused_by_name(tmp_path):
    from pyarrow import array, binary, parquet, string, table

    path = tmp_path / "own.parquet"
    parquet.write_table(table({"a": array([b"caf\xc3"], binary()).view(string())}), path)
    with pytest.raises(ValueError, match=r"own\.parquet is damaged"):
        read_table(path)


@pytest.fixture
def small_limit(monkeypatch):
    """A million bytes where 256 MiB are the limit, so that bombs of these tests are small."""
    monkeypatch.setattr("film.unpacking.LEAST_LIMIT", 1_000_000)
    return 1_000_000


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zip"])
def test_a_table_that_unpacks_to_more_than_its_limit_is_refused(tmp_path, small_limit, suffix):
    path = tmp_path / f"own.csv{suffix}"
    path.write_bytes(packed(b"id,text\n" + b"1,x\n" * (small_limit // 2), suffix))
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("own.csv", b"id,text\n" + b"1,x\n" * (small_limit // 2))
    assert path.stat().st_size < small_limit / 100
    with pytest.raises(ValueError, match=r"refused: its .* bytes unpack to more than 1,000,000"):
        read_table(path)
    path.write_bytes(packed(b"id,text\n" + b"1,x\n" * (small_limit // 5), suffix))
    assert len(read_table(path)) == small_limit // 5


def test_lines_and_documents_by_gzip_stop_at_the_limit(tmp_path, small_limit):
    path = tmp_path / "own.txt.gz"
    # One line, which would be held whole before a reader of lines saw any of it.
    path.write_bytes(gzip.compress(b"x" * 10 * small_limit))
    with pytest.raises(ValueError, match="unpack to more than 1,000,000"):
        read_nli(path)
    with pytest.raises(ValueError, match="unpack to more than 1,000,000"):
        list(read_documents(path))


def test_a_zip_member_of_a_workbook_cannot_lie_about_its_size(tmp_path):
    path = tmp_path / "own.xlsx"
    write_table(path, ["id"], [["1"]])
    whole = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(buffer, "w", 8) as changed:
        for info in archive.infolist():
            extra = b" " * 10_000_000 if info.filename == "[Content_Types].xml" else b""
            changed.writestr(info.filename, archive.read(info) + extra)
        size = changed.getinfo("[Content_Types].xml").file_size
    told = buffer.getvalue().replace(size.to_bytes(4, "little"), (2000).to_bytes(4, "little"))
    path.write_bytes(told)
    with pytest.raises(ValueError, match="not of the 2000 bytes it declares"):
        read_table(path)
    path.write_bytes(whole)
    assert read_table(path).rows == [["1"]]


def sheet(cells):
    """A workbook whose one sheet is this XML."""
    buffer = io.BytesIO()
    book = openpyxl.Workbook()
    book.active["A1"] = "id"
    book.save(buffer)
    changed = io.BytesIO()
    with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(changed, "w", 8) as other:
        for name in archive.namelist():
            text = archive.read(name).decode()
            if name.startswith("xl/worksheets/"):
                text = re.sub("<dimension[^>]*>", "", text)
                text = re.sub("<sheetData>.*</sheetData>", f"<sheetData>{cells}</sheetData>", text)
            other.writestr(name, text)
    return changed.getvalue()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ('<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>', "more than 125,000 cells"),
        ('<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>', "more than 1,001 rows"),
    ],
)
def test_cells_far_away_in_a_sheet_fill_no_memory(
    tmp_path, monkeypatch, small_limit, cells, message
):
    monkeypatch.setattr("estimators.cli.tables.sheets._MOST_ROWS", 1000)
    path = tmp_path / "own.xlsx"
    path.write_bytes(sheet("".join(cells.format(n=n) for n in range(1, 40))))
    with pytest.raises(ValueError, match=rf"own\.xlsx was refused: its .* bytes hold {message}"):
        read_table(path)


def test_markup_that_would_be_large_once_parsed_is_refused_before(tmp_path, small_limit):
    path = tmp_path / "own.xlsx"
    path.write_bytes(sheet("<row/>" * 70_000))
    with pytest.raises(ValueError, match="hold more than 62,500 marks of XML, the limit"):
        read_table(path)


@pytest.mark.parametrize("nested", [False, True])
def test_a_text_that_all_rows_of_a_parquet_table_share_is_counted_for_each(
    tmp_path, small_limit, nested
):
    from pyarrow import array, parquet, string, table

    path = tmp_path / "own.parquet"
    for n, text in [(10_000, "x" * 1000), (200_000, "")]:
        column = array([[text]] * n if nested else [text] * n)
        parquet.write_table(table({"text": column}), path)
        assert path.stat().st_size < small_limit / 100
        with pytest.raises(ValueError, match=r"its .* bytes unpack to more than 1,000,000"):
            read_table(path)
    parquet.write_table(table({"text": array([text] * 100 + [None], string())}), path)
    assert read_table(path).rows[-1] == [None] and len(read_table(path)) == 101


@pytest.mark.parametrize("name", ["own.jsonl", "own.json"])
def test_keys_of_its_own_for_every_object_are_refused(tmp_path, small_limit, name):
    objects = [json.dumps({f"key {n}": n}) for n in range(500)]
    path = tmp_path / name
    path.write_text("\n".join(objects) if name[-1] == "l" else f"[{','.join(objects)}]")
    with pytest.raises(ValueError, match="500 objects have 500 different keys"):
        read_table(path)


def test_an_archive_whose_names_are_no_text_is_refused_by_name(tmp_path):
    path = tmp_path / "own.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é.csv", "id\n1\n")
    # The flag says UTF-8, and the first byte of a sequence stands alone.
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xc3("))
    with pytest.raises(ValueError, match=r"own\.csv\.zip is a zip archive, but damaged"):
        read_table(path)


def test_an_archive_whose_fields_end_early_is_refused_by_name(tmp_path, monkeypatch):
    path = tmp_path / "own.csv.zip"
    path.write_bytes(packed(b"id\n1\n", ".zip"))

    def broken(*_):
        raise IndexError("list index out of range")

    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", broken)
    with pytest.raises(ValueError, match=r"own\.csv\.zip is a zip archive, but damaged"):
        read_table(path)


SCRIPTS = {
    "gbk": ("gb18030", ["如何重置我的密码", "怎样才能重设密码？"]),
    "big5": ("big5", ["如何重設我的密碼", "怎樣才能重設密碼？"]),
    "shift_jis": ("cp932", ["パスワードを再設定するには", "注文はどこですか"]),
    "euc_jp": ("euc_jp", ["パスワードを再設定するには", "注文はどこですか"]),
    "euc_kr": ("cp949", ["비밀번호를 어떻게 재설정하나요", "주문은 어디에 있나요"]),
    "cp1251": ("cp1251", ["Как сбросить пароль?", "ГДЕ МОЙ ЗАКАЗ?"]),
    "koi8_r": ("koi8_r", ["Как сбросить пароль?", "ГДЕ МОЙ ЗАКАЗ?"]),
    "cp1253": ("cp1253", ["Πώς αλλάζω τον κωδικό μου;", "Πού είναι η παραγγελία μου;"]),
    "cp1255": ("cp1255", ["איך אני מאפס את הסיסמה שלי", "איפה ההזמנה שלי"]),
    "cp1256": ("cp1256", ["كيف يمكنني تغيير كلمة المرور", "أين طلبي"]),
    "cp874": ("cp874", ["ฉันจะเปลี่ยนรหัสผ่านได้อย่างไร", "คำสั่งซื้อของฉันอยู่ที่ไหน"]),
}


@pytest.mark.parametrize("n_before", [0, 9])
@pytest.mark.parametrize("encoding", SCRIPTS)
def test_an_encoding_of_another_script_is_named(encoding, n_before):
    name, texts = SCRIPTS[encoding]
    data = b"id,text\n" + b"1,a\n" * n_before
    # Beyond 64 kB, where a character may be cut.
    data += "".join(f"2,{text}\n" for text in texts * (n_before * 300 + 1)).encode(encoding)
    with pytest.raises(ValueError, match=f"looks like {name}; give encoding='{name}'"):
        read_table(io.BytesIO(data))
    rows = read_table(io.BytesIO(data), encoding=name).rows
    assert [text for _, text in rows[n_before : n_before + 2]] == texts


OTHER_KINDS = {
    "xz": (lzma.compress(b"id,text\n1,a\n"), "is compressed by xz"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\x00", "is compressed by zstd"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\4", "is compressed by 7-Zip"),
    "rar": (b"Rar!\x1a\x07\x01\0", "is compressed by RAR"),
    "lz4": (b"\x04\x22\x4d\x18\x64", "is compressed by LZ4"),
    "saved page": (b"<!-- saved from url -->\n<html></html>", "is a web page"),
    "page": (b"\n<!DOCTYPE html>\n<html><body>Log in, please</body></html>", "is a web page"),
    "xml": (b'<?xml version="1.0"?>\n<rows><row/></rows>', "is a web page or XML"),
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_files_of_another_kind_are_called_what_they_are(kind, tmp_path):
    data, message = OTHER_KINDS[kind]
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "Où est ma commande passée à Noël?",
        "I can’t “reset” it – it’s “broken”, don’t you see",
        "é ½ £ ° ñ ü ß ® à ç ö",
        "Hvor er min ordre på æbler, øl og brød? Må jeg ændre på det?",
        "Für größere Äpfel müssen wir öfter die Straße übers Öl führen",
    ],
)
def test_latin_letters_of_windows_are_still_read(text):
    table = read_table(io.BytesIO(f"id\ttext\n1\t{text}\n".encode("cp1252")))
    assert (table.encoding, table.rows) == ("cp1252", [["1", text]])


@pytest.mark.parametrize("delimiter", ["|", "^"])
def test_pipes_and_carets_part_cells_where_nothing_else_does(delimiter):
    table = read_table(io.BytesIO(f'id{delimiter}text\n1{delimiter}"a, b; c"\n'.encode()))
    assert (table.columns, table.rows) == (["id", "text"], [["1", "a, b; c"]])
    assert read_table(io.BytesIO(b"id,a|b^c\n1,x|y\n")).columns == ["id", "a|b^c"]


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_numbers_that_json_lacks_are_null(form, tmp_path):
    lists = pd.DataFrame({"text": ["a"], "v": [[1.0, float("inf"), float("nan")]]})
    lists.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    write_table(tmp_path / f"out.{form}", table.columns, table.rows)
    assert read_table(tmp_path / f"out.{form}").column("v") == ["[1.0, null, null]"]
    write_table(tmp_path / "numbers.json", ["x"], [[float("-inf")], [{"y": float("nan")}]])
    assert read_table(tmp_path / "numbers.json").rows == [[None], [{"y": None}]]


def test_control_characters_are_written_as_excel_writes_them(tmp_path):
    write_table(tmp_path / "t.xlsx", ["te\x01xt"], [["a\x0bb\ttab"], ["_x000B_ as it stands"]])
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert re.findall("<t[^>]*>([^<]*)</t>", sheet) == [
        "te_x0001_xt",
        "a_x000B_b\ttab",
        "_x005F_x000B_ as it stands",
    ]


@pytest.mark.parametrize(
    "cell",
    ["a\x0bb", "_x000B_ as it stands", "x_x0041_", "_x005F_", "a\r\nb\rc", "\ufffe", "_xD800_"],
)
def test_cells_of_excel_are_read_as_they_were_written(cell, tmp_path):
    write_table(tmp_path / "t.xlsx", ["t" + cell], [[cell]])
    table = read_table(tmp_path / "t.xlsx")
    assert (table.columns, table.rows) == (["t" + cell], [[cell]])


@pytest.mark.parametrize("form", ["csv", "json", "xlsx", "parquet"])
def test_half_of_a_surrogate_pair_leaves_no_table(form, tmp_path):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        write_table(tmp_path / f"t.{form}", ["t"], [["a\ud800"]])
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_into_a_sheet_is_kept_beside_it(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["text"], [["tea " * 9000]] * 2)
    out = tmp_path / "out.xlsx"
    ran = run("duplicates", path, "--text", "text", "--out", out)
    assert ran.code == 2
    assert f"the result is in {out}.csv" in ran.err
    assert len(read_table(f"{out}.csv").rows) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.xlsx.csv", "t.csv"]
    (tmp_path / "out.xlsx.csv").write_text("mine", encoding="utf-8")
    saved = tmp_path / "own.film"
    ran = run("duplicates", path, "--text", "text", "--out", out, "--save", saved)
    assert ran.code == 2 and saved.is_file()
    assert (tmp_path / "out.xlsx.csv").read_text("utf-8") == "mine"
    (kept,) = tmp_path.glob("out.xlsx-*.csv")
    assert f"the result is in {kept}" in ran.err and len(read_table(kept).rows) == 1


@pytest.mark.parametrize(
    ("limit", "value", "options"),
    [
        ("_MOST_COLUMNS", 5, ["--groups"]),
        ("_MOST_COLUMNS", 1, ["--keep", "first"]),
        ("_MOST_CHARACTERS", 50, ["--groups"]),
        ("_MOST_CHARACTERS", 50, ["--keep", "first"]),
        ("_MOST_COLUMNS", 5, ["--budget", "1"]),
        ("_MOST_ROWS", 2, ["--budget", "3"]),
    ],
)
def test_what_cannot_fit_into_a_sheet_is_said_before_the_work(
    limit, value, options, tmp_path, monkeypatch
):
    monkeypatch.setattr(f"estimators.cli.tables.sheets.{limit}", value)
    monkeypatch.setattr("estimators.corpus.DuplicateFinder.fit", None)
    rows = [[text, "c" * 60] for text in ("tea", "tea", "two")]
    path = write_csv(tmp_path / "t.csv", ["text", "note"], rows)
    ran = run("duplicates", path, "--text", "text", "--out", tmp_path / "out.xlsx", *options)
    assert ran.code == 2
    assert "the result does not fit into" in ran.err and "write CSV or Parquet" in ran.err
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]

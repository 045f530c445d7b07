"""Tables of Excel and Parquet keep their types, and are refused where they would mislead."""

import io
import re
import sys
import zipfile
from datetime import datetime

import openpyxl
import pandas as pd
import pytest

from estimators.cli.tables import read_table, write_table
from tests.estimators.cli.commands import run, write_csv
from tests.estimators.cli.tables.tables import given, zipped

ROWS = [[7, "Is tea hot?", True, None, ["a", {"b": 0.5}]], [8, "=1+1", False, "x", []]]
COLUMNS = ["id", "text", "flag", "hole", "nested"]


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


def changed(path, change):
    """Change the members of an archive, given by name."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(zipped(change(members), zipfile.ZIP_DEFLATED))
    return path


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


def test_pandas_reads_excel_and_parquet_of_ours(tmp_path):
    for name, read in (("own.xlsx", pd.read_excel), ("own.parquet", pd.read_parquet)):
        write_table(tmp_path / name, COLUMNS, ROWS)
        frame = read(tmp_path / name)
        assert frame["id"].tolist() == [7, 8] and frame["flag"].tolist() == [True, False]
        assert frame["text"].tolist() == ["Is tea hot?", "=1+1"]
    # A formula stays a text.
    cell = openpyxl.load_workbook(tmp_path / "own.xlsx").active["B3"]
    assert (cell.data_type, cell.value) == ("s", "=1+1")
    write_table(tmp_path / "own.parquet", ["mixed"], [[7], ["seven"], [None]])
    assert read_table(tmp_path / "own.parquet").rows == [["7"], ["seven"], [None]]
    write_table(tmp_path / "big.xlsx", ["id"], [[2**53 + 1]])
    assert read_table(tmp_path / "big.xlsx").rows == [[str(2**53 + 1)]]


@pytest.mark.parametrize(
    ("library", "name"), [("openpyxl", "own.xlsx"), ("pyarrow", "own.parquet")]
)
def test_a_missing_library_is_named_with_the_remedy(tmp_path, monkeypatch, library, name):
    write_table(tmp_path / name, ["a"], [["b"]])
    monkeypatch.setitem(sys.modules, library, None)
    for action in (read_table, lambda path: write_table(path, ["a"], [["b"]])):
        with pytest.raises(ImportError, match=rf"need {library}.*pip install 'film-metric\[files"):
            action(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "like", "message"),
    [
        ("own.csv", "own.xlsx", r"is an Excel workbook, but its name says csv; rename it"),
        ("own.xlsx", "own.csv", r"is text, but its name says xlsx; rename it to end in \.csv"),
        ("own.jsonl", "own.parquet", r"is a Parquet table, but its name says jsonl"),
        ("own.parquet", "own.xlsx", r"is an Excel workbook, but its name says parquet"),
    ],
)
@pytest.mark.parametrize("encoding", [None, "cp1252"])
def test_content_and_name_agree(tmp_path, name, like, message, encoding):
    write_table(tmp_path / like, ["a"], [["b"]])
    (tmp_path / like).rename(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name, encoding=encoding)


def test_the_first_sheet_with_cells_is_read_and_hidden_ones_last(tmp_path):
    sheets = ("codes", [["c"], [1]]), ("empty", []), ("first", [["a"], [1]]), ("o", [["b"], [2]])
    table = read_table(workbook(tmp_path, *sheets, hidden=("codes",)))
    assert table.columns == ["a"]
    assert "sheet 'first' is read; others with cells are 'o', 'codes'" in table.notes[0]


def test_formulas_that_were_never_computed_are_no_empty_cells(tmp_path):
    rows = ["text1", "text2"], ["a", "=A2"], ["=A2", "b"], ["=A2", "=B2"]
    with pytest.raises(ValueError, match=r"never computed: cells B2, A3, A4, B4; open it in Excel"):
        read_table(workbook(tmp_path, ("own", rows)))


@pytest.mark.parametrize(
    ("cell", "value"),
    [('<c r="A2"><f>1+1</f><v>2</v></c>', 2), ('<c r="A2" t="str"><f>""</f><v></v></c>', None)],
)
def test_computed_formulas_and_empty_results_are_read(tmp_path, cell, value):
    def computed(members):
        sheet, old = "xl/worksheets/sheet1.xml", b'<c r="A2" t="n"><v>7</v></c>'
        assert old in members[sheet]
        return members | {sheet: members[sheet].replace(old, cell.encode())}

    path = workbook(tmp_path, ("own", (["a", "b"], [7, 8])))
    assert read_table(changed(path, computed)).rows == [[value, 8]]


def test_texts_that_parquet_holds_as_bytes_are_texts(tmp_path):
    path = tmp_path / "own.parquet"
    pd.DataFrame({"text": ["Café".encode(), None]}).to_parquet(path)
    assert read_table(path).rows == [["Café"], [None]]
    pd.DataFrame({"text": [b"a", b"\xff"]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"row 2: column 'text' holds b'\\xff', bytes that are"):
        read_table(path)


def test_damaged_sheets_are_named(tmp_path):
    from pyarrow import array, binary, parquet, string, table

    broken = zipped({"[Content_Types].xml": "x", "xl/workbook.xml": "x"})
    with pytest.raises(ValueError, match=r"own\.xlsx is not a readable workbook"):
        read_table(given(tmp_path, broken, "own.xlsx"))
    path = tmp_path / "own.parquet"
    parquet.write_table(table({"a": array([b"caf\xc3"], binary()).view(string())}), path)
    with pytest.raises(ValueError, match=r"own\.parquet is damaged"):
        read_table(path)


def test_a_member_of_a_workbook_cannot_lie_about_its_size(tmp_path):
    path = tmp_path / "own.xlsx"
    write_table(path, ["id"], [["1"]])
    name = "[Content_Types].xml"
    changed(path, lambda members: members | {name: members[name] + b" " * 10_000_000})
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo(name).file_size
    path.write_bytes(path.read_bytes().replace(size.to_bytes(4, "little"), b"\xd0\x07\0\0"))
    with pytest.raises(ValueError, match="not of the 2000 bytes it declares"):
        read_table(path)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 40)),
            "more than 125,000 cells",
        ),
        (
            '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>' * 39,
            "more than 1,001 rows",
        ),
        ("<row/>" * 70_000, "more than 62,500 marks of XML, the limit"),
    ],
)
def test_cells_far_away_and_much_markup_fill_no_memory(
    tmp_path, monkeypatch, small_limit, cells, message
):
    def planted(members):
        sheet = "xl/worksheets/sheet1.xml"
        text = re.sub("<dimension[^>]*>", "", members[sheet].decode())
        text = re.sub("<sheetData>.*</sheetData>", f"<sheetData>{cells}</sheetData>", text)
        return members | {sheet: text}

    monkeypatch.setattr("estimators.cli.tables.sheets._MOST_ROWS", 1000)
    path = changed(workbook(tmp_path, ("own", [["id"]])), planted)
    with pytest.raises(ValueError, match=rf"own\.xlsx was refused: its .* bytes contain {message}"):
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

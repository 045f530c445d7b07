"""Tables as programs leave them: read rightly, or refused with what to do."""

import ast
import io
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from estimators import DuplicateFinder
from estimators.cli.reading import pairs_of
from estimators.cli.tables import read_table
from estimators.cli.tables.stream import stream_table
from film.datasets import make_question_pairs
from tests.estimators.cli.commands import refused, write_csv

ROOT = Path(__file__).parents[3]


def put(folder, content, name="own.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("mark", [";", ",", "|", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_the_line_that_tells_excel_the_separator_is_none_of_the_table(tmp_path, mark, quote):
    text = f"{quote}sep={mark}{quote}\r\ntext1{mark}text2\r\na{mark}b; c, d\r\n"
    table = read_table(put(tmp_path, text.replace("b; c, d", '"b; c, d"')))
    assert (table.columns, table.rows, table.lines) == (["text1", "text2"], [["a", "b; c, d"]], [3])


def test_a_large_table_with_that_line_is_not_read_row_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr("estimators.cli.tables.stream.LARGE", 1)
    assert stream_table(str(put(tmp_path, "sep=;\nid;a\n1;b\n"))) is None
    stream = stream_table(str(put(tmp_path, "id,a\n1,b\nid,a\n")))
    assert stream is not None
    with pytest.raises(ValueError, match="line 3 is the header again"):
        list(stream.rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [("own.csv", "id,a\n1,b\nid,a\n2,c\n"), ("own.csv", "id,a\n1,b\n\ufeffid,a\n2,c\n"),
     ("own.tsv", 'id\ta\n1\t"b\nid\ta\n2\tc"\n')],
)  # fmt: skip
def test_the_header_of_a_joined_file_is_no_row(tmp_path, name, text):
    with pytest.raises(ValueError, match="line 3 is the header again, as where two files were"):
        read_table(put(tmp_path, text, name))


def test_a_text_that_is_the_name_of_its_only_column_is_a_row(tmp_path):
    assert read_table(put(tmp_path, "text\na\ntext\n")).rows == [["a"], ["text"]]


def test_a_line_of_blanks_is_no_row_among_several_columns(tmp_path):
    assert read_table(put(tmp_path, "id,a\n1,b\n  \n")).rows == [["1", "b"]]
    assert read_table(put(tmp_path, "text\na\n  \n")).rows == [["a"], ["  "]]


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_json_of_columns_is_refused_with_the_remedy(tmp_path, orient):
    frame = pd.DataFrame({"text1": ["a", "b"], "text2": ["c", "d"]})
    with pytest.raises(ValueError, match=r"is one object with .*; give .* by orient='records'"):
        read_table(put(tmp_path, frame.to_json(orient=orient), "own.json"))
    assert len(read_table(put(tmp_path, frame[:1].to_json(orient="records"), "own.json"))) == 1


def workbook(folder, fill, name="own.xlsx"):
    book = openpyxl.Workbook()
    fill(book)
    book.save(folder / name)
    return folder / name


def test_formulas_that_were_never_computed_are_no_empty_cells(tmp_path):
    def fill(book):
        for row in (["text1", "text2"], ["a", "=A2"], ["=A2", "b"], ["=A2", "=B2"]):
            book.active.append(row)

    with pytest.raises(ValueError, match=r"never computed: cells B2, A3, A4, B4; open it in Excel"):
        read_table(workbook(tmp_path, fill))


@pytest.mark.parametrize(
    ("cell", "value"),
    [('<c r="A2"><f>1+1</f><v>2</v></c>', 2), ('<c r="A2" t="str"><f>""</f><v></v></c>', None)],
)
def test_computed_formulas_and_empty_results_are_read(tmp_path, cell, value):
    path = workbook(
        tmp_path, lambda book: [book.active.append(row) for row in (["a", "b"], [7, 8])]
    )
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    old = b'<c r="A2" t="n"><v>7</v></c>'
    assert old in parts[sheet]
    parts[sheet] = parts[sheet].replace(old, cell.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert read_table(path).rows == [[value, 8]]


def test_a_hidden_sheet_is_read_last(tmp_path):
    def fill(book):
        book.active.append(["text"])
        book.active.append(["a"])
        hidden = book.create_sheet("codes", 0)
        hidden.append(["code"])
        hidden.append([1])
        hidden.sheet_state = "hidden"

    table = read_table(workbook(tmp_path, fill))
    assert table.columns == ["text"] and "others with cells are 'codes'" in table.notes[0]


def test_a_document_of_libreoffice_is_named(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("mimetype", "content.xml", "styles.xml"):
            archive.writestr(name, "x")
    with pytest.raises(ValueError, match=r"LibreOffice or OpenOffice; save it as \.xlsx"):
        read_table(put(tmp_path, buffer.getvalue(), "own.ods"))


def test_texts_that_parquet_holds_as_bytes_are_texts(tmp_path):
    pd.DataFrame({"text": ["Café".encode(), None]}).to_parquet(tmp_path / "own.parquet")
    assert read_table(tmp_path / "own.parquet").rows == [["Café"], [None]]
    pd.DataFrame({"text": [b"a", b"\xff"]}).to_parquet(tmp_path / "own.parquet")
    with pytest.raises(
        ValueError, match=r"row 2: column 'text' holds b'\\xff', bytes that are not"
    ):
        read_table(tmp_path / "own.parquet")


@pytest.mark.parametrize("cell", ["NaN", "null", " None ", "#N/A", "n/a"])
def test_texts_that_stand_for_nothing_are_told(tmp_path, monkeypatch, cell):
    notes = []
    monkeypatch.setattr("estimators.cli.reading.note", notes.append)
    table = read_table(put(tmp_path, f"text1,text2\na,b\nc,{cell}\n"))
    assert pairs_of(table, None, None)[1, 1] == cell
    (note,) = notes
    assert f"1 of 2 rows have a text such as {cell!r}, line 3; it counts as a text" in note


@pytest.mark.parametrize("name", ["own.xlsx", "own.parquet"])
def test_too_little_memory_is_no_damaged_file(tmp_path, monkeypatch, name):
    def fails(*_, **__):
        raise MemoryError

    frame = pd.DataFrame({"text": ["a"]})
    (frame.to_excel if name == "own.xlsx" else frame.to_parquet)(tmp_path / name, index=False)
    monkeypatch.setattr("openpyxl.load_workbook", fails)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile", fails)
    with pytest.raises(MemoryError):
        read_table(tmp_path / name)


def test_whoever_turns_every_error_into_one_lets_memory_errors_through():
    """A file is not damaged where memory is short: each such place raises MemoryError as it is."""
    wrong, n_seen = [], 0
    for package in ("film", "estimators"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.Try):
                    continue
                names = [ast.unparse(each.type) if each.type else "" for each in node.handlers]
                if "Exception" not in names:
                    continue
                place = names.index("Exception")
                turned = [part for part in ast.walk(node.handlers[place])
                          if isinstance(part, ast.Raise) and part.exc is not None]  # fmt: skip
                n_seen += bool(turned)
                if turned and not any("MemoryError" in name for name in names[:place]):
                    wrong.append(f"{path}:{node.lineno}")
    assert n_seen > 8 and not wrong


@pytest.mark.parametrize(
    "arguments",
    [
        ["duplicates", "empty.csv"],
        ["duplicates", "empty.csv", "--groups"],
        ["duplicates", "full.csv", "--against", "empty.csv"],
        ["duplicates", "empty.csv", "--against", "full.csv"],
        ["label", "empty.csv", "--text", "text", "--labels", "labels.csv"],
        ["train", "full.csv", "--corpus", "empty.csv", "-m", "new.film"],
        ["score", "empty.csv", "-m", "{model}"],
        ["evaluate", "empty.csv", "-m", "{model}"],
        ["explain", "empty.csv", "-m", "{model}"],
        ["submit", "empty.csv", "-m", "{model}", "--out", "submission.csv"],
        ["label", "empty.csv", "-1", "text1", "-2", "text2", "--labels", "labels.csv"],
        ["train", "empty.csv", "-m", "new.film"],
        ["train", "full.csv", "--more-duplicates", "empty.csv", "-m", "new.film"],
    ],
)
def test_a_table_without_any_text_is_named_with_its_columns(
    arguments, shelf, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    columns = ["id", "text", "text1", "text2", "label"]
    write_csv("empty.csv", columns, [[i, "", " ", "", i % 2] for i in range(4)])
    data = make_question_pairs(40, random_state=0)
    rows = enumerate(zip(data.pairs.tolist(), data.y.tolist(), strict=True))
    write_csv("full.csv", columns, [[i, "tea", *pair, y] for i, (pair, y) in rows])
    message = refused(*(each.format(model=shelf / "model.skops") for each in arguments))
    one = "column 'text', for the texts, is empty in every row"
    two = "columns 'text1' and 'text2', for the texts, are empty in every row"
    of_one = "duplicates" in arguments or "--text" in arguments or "--corpus" in arguments
    assert "empty.csv: " + (one if of_one else two) in message
    assert f"by {'--text:' if of_one else '--text1 and --text2:'} it has 'id', 'text'" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.csv", "full.csv"]


def test_a_single_pair_of_empty_texts_is_refused_too(shelf, tmp_path):
    path = write_csv(tmp_path / "one.csv", ["text1", "text2"], [("", " ")])
    assert "are empty in every row" in refused("score", path, "-m", shelf / "model.skops")
    message = refused("explain", "--text-pair", "", " ", "-m", shelf / "model.skops")
    assert "--text-pair has two empty texts" in message


def test_texts_that_are_all_empty_have_no_duplicates():
    finder = DuplicateFinder().fit(["", " ", ""])
    assert len(finder.find(threshold=0.0)) == len(finder.find(budget=3)) == 0
    assert len(finder.groups(0.1, must_link=[], cannot_link=[])) == 0
    assert len(finder.match(["tea", ""], threshold=0.0)) == 0

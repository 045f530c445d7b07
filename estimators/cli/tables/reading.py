"""Read tables: CSV, JSON, Excel and Parquet, plain or compressed, in common encodings."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import math
import os
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, time
from pathlib import Path, PurePath
from typing import IO, Any

from estimators.cli.tables.table import (
    Format,
    Table,
    cell_text,
    check_columns,
    check_library,
    format_of,
    shown_names,
)
from film.unpacking import unpacking

Source = str | os.PathLike[str] | IO[bytes]
Rows = Iterator[tuple[int, list[Any]]]
"""Line at which each row starts, and its cells."""

_SEPARATOR = re.compile(r'"?sep=([,;\t|^])"?[\r\n]*$')
_SAMPLE = 2**16
# As Excel writes characters that XML cannot hold; half of a surrogate pair stays escaped.
_ESCAPED = re.compile("_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
# A cell with a formula; the value of a text, t="str", may be empty.
_NO_VALUE = re.compile(
    rb'<c (?![^>]*t="str")[^>]*>\s*<f(?:[^>]*/>|.*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*', re.DOTALL
)
csv.field_size_limit(2**31 - 1)


def read_table(path: Source, *, encoding: str | None = None) -> Table:
    r"""Read a table with a header from CSV, TSV, JSON, Excel or Parquet, plain or compressed.

    The format comes from the suffix: ``.csv``, ``.tsv`` or ``.tab``, ``.jsonl`` or ``.ndjson`` (an
    object per line), ``.json`` (an array of objects, or one per line), ``.xlsx`` and ``.parquet``,
    each with ``.gz``, ``.bz2`` or ``.zip`` (of one file) or without. Without a known suffix it is
    detected from the content. If the header contains tabs, they separate cells, whatever the
    suffix. Otherwise semicolons do if there are more of them than commas, as in Excel's CSV of many
    European countries. A line ``sep=;`` above the header decides. If cells are separated by tabs
    and the quoting is inconsistent, quotation marks are read as characters, with a note.

    Parameters
    ----------
    path : str, path-like or file object
        A file, ``"-"`` for standard input, or a stream of bytes.
    encoding : str, optional
        Name of the encoding of a text, used strictly. When None, a byte order mark decides (UTF-8,
        UTF-16); else the file is UTF-8 if it can be, and otherwise Windows-1252, with a note.

    Returns
    -------
    table : Table
        Cells as written; values of JSON, Excel and Parquet have their types. Blank lines are
        skipped. In JSON, the columns are the keys of all objects in order of appearance. Of a
        workbook, the first sheet with cells is read; hidden sheets come last. A first column
        without a name, such as an index that pandas wrote, is called "Unnamed: 0", as in pandas.
        Other columns without a name are left out if they are empty. Both cases give a note.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        When there is no file at `path`.
    ImportError
        When openpyxl or pyarrow is needed and not installed, with what to install.
    ValueError
        When the file is empty, damaged, has no rows, or unpacks to more than
        `film.unpacking.size_limit` bytes; is not in the encoding, or in none that can
        be recognised; when the header repeats a name or leaves one out; when a row has more or
        fewer cells than the header or repeats it, quoting is broken, or a line is no JSON object.
        Messages name the file and its line.

    Examples
    --------
    >>> import io
    >>> table = read_table(io.BytesIO("id;text\n1;\"Caf\u00e9; late\"\n".encode("cp1252")))
    >>> table.rows, table.encoding
    ([['1', 'Café; late']], 'cp1252')
    """
    table, numbered = scan_table(path, encoding)
    lines, rows = [], []
    for line, cells in numbered:
        lines.append(line)
        rows.append(cells)
    columns, rows = _named(table.columns, rows, table.notes, table.source)
    check_columns(columns, table.source)
    if not rows:
        raise ValueError(
            f"{table.source} has a header, {shown_names(columns, 10)}, but no rows; if these are "
            "cells of the first row, put a line of column names above it"
        )
    return replace(table, columns=columns, rows=rows, lines=lines)


def scan_table(path: Source, encoding: str | None = None) -> tuple[Table, Rows]:
    """Return a table without rows, and an iterator of its rows, which read a CSV file as they go.

    Parameters, and errors, are those of `read_table`; errors of a row come with that row.
    """
    source, name, handle = _opened(path)
    try:
        table, rows = _scanned(handle, name, encoding, source)
    except BaseException:
        handle.close()
        raise
    return table, rows


def _closing(file: IO[Any], rows: Rows) -> Rows:
    try:
        yield from rows
    finally:
        file.close()


def _scanned(handle: IO[bytes], name: str, encoding: str | None, source: str) -> tuple[Table, Rows]:
    notes: list[str] = []
    start = handle.read(_SAMPLE)
    handle.seek(0)
    format = format_of(name)
    if start.startswith(b"PAR1") or (format == "parquet" and start):
        columns, rows = _parquet(handle, source)
        table = Table(columns, [], [], "binary", "parquet", notes, source)
        return table, _closing(handle, iter(rows))
    if start.startswith(b"PK\x03\x04") or (format == "xlsx" and start):
        columns, rows = _workbook(handle, source, notes)
        return Table(columns, [], [], "binary", "xlsx", notes, source), _closing(handle, iter(rows))
    encoding = _encoding_of(handle, encoding, source, notes)
    used = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    text = io.TextIOWrapper(handle, encoding=used, newline="")
    content = text.read(_SAMPLE).lstrip()
    if not content:
        raise ValueError(f"{source} is empty; give a file with a header and at least one row")
    if format in ("json", "jsonl") or (format is None and re.match(r"\{|\[\s*\{", content)):
        format = "json" if content[0] == "[" else "jsonl"
        columns, rows = _objects(text, format, source)
        table = Table(columns, [], [], encoding, format, notes, source)
    else:
        table, rows = _delimited(text, "\t" if format == "tsv" else None, encoding, notes, source)
    return table, _closing(text, iter(rows))


def _opened(path: Source) -> tuple[str, str, IO[bytes]]:
    """Return the name for messages, the name that has the format, and the unpacked content."""
    if not isinstance(path, str | os.PathLike):
        given = getattr(path, "name", None)
        source, name, handle = given if isinstance(given, str) else "the stream", "", path
    elif path == "-":
        source, name, handle = "standard input", "", sys.stdin.buffer
    else:
        source, name = os.fspath(path), PurePath(path).name
        if not Path(path).exists():
            raise FileNotFoundError(f"path: there is no file {source!r}; check its name and folder")
        if Path(path).is_dir():
            raise IsADirectoryError(
                f"path: {source!r} is a folder; give the path of a file inside it"
            )
        handle = open(path, "rb")
        is_packed = handle.read(4).startswith((b"\x1f\x8b", b"BZh", b"PK\x03\x04"))
        handle.seek(0)
        if not is_packed:
            return source, name, handle
    with handle if name else io.BytesIO(handle.read()) as packed:
        data = packed.read()
    try:
        if data.startswith(b"\x1f\x8b"):
            data = unpacking(gzip.GzipFile(fileobj=io.BytesIO(data)), len(data), source).read()
        elif data.startswith(b"BZh"):
            data = unpacking(bz2.BZ2File(io.BytesIO(data)), len(data), source).read()
        elif data.startswith(b"PK\x03\x04"):
            data, name = _only_member(data, name, source)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise ValueError(
            f"{source} is compressed, but encrypted, damaged or cut short ({error}); unpack it "
            "first, or copy it again"
        ) from error
    return source, name, io.BytesIO(data)


def _only_member(data: bytes, name: str, source: str) -> tuple[bytes, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # Macs add a folder of their own to every archive.
        names = [each for each in archive.namelist() if not each.startswith("__MACOSX/")]
        if "[Content_Types].xml" in names:
            return data, name
        if "film-metric.json" in names:
            raise ValueError(f"{source} is a model, where a table is needed; give it by --model")
        if len(names) != 1:
            raise ValueError(
                f"{source} is a zip archive of {len(names)} files: {', '.join(names[:5])}; unpack "
                "it and give one of them, or save a workbook as .xlsx"
            )
        with archive.open(names[0]) as packed:
            return unpacking(packed, len(data), source).read(), names[0]


def _encoding_of(handle: IO[bytes], given: str | None, source: str, notes: list[str]) -> str:
    """Return the encoding of a text; raise if it is in none that is known."""
    start = handle.read(_SAMPLE)
    encoding = given or "utf-8"
    if given is None and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif given is None and start.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif given is None and b"\0" in start:
        raise ValueError(
            f"{source} is not a text table: it holds NUL bytes; save it as CSV in UTF-8 or as "
            ".xlsx, or give encoding='utf-16-le' if it is UTF-16 without its mark"
        )
    try:
        "a".encode(encoding)
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"encoding={given!r} is unknown; use for instance 'utf-8', 'utf-16' or 'cp1252'"
        ) from error
    wrong = _first_wrong(handle, encoding)
    if wrong is None:
        return encoding
    line, byte = wrong
    shown = bytes([byte]).decode("cp1252", "replace")
    if encoding == "utf-8" and given is None and _is_western(handle, line):
        notes.append(
            f"{source} is not UTF-8 (line {line}), so it was read as Windows-1252, in which that "
            f"line has {shown!r}; if letters look wrong, save it as UTF-8 or give its encoding."
        )
        return "cp1252"
    raise ValueError(
        f"{source}, line {line}: byte 0x{byte:02x} is not {encoding}; give encoding= (such as "
        "'cp1252' for Western Europe, 'cp1251', 'gb18030' or 'cp932'), or save the file again as "
        "UTF-8"
    )


def _first_wrong(handle: IO[bytes], encoding: str) -> tuple[int, int] | None:
    """Return the first line that is not in an encoding, and its wrong byte."""
    decoder = codecs.getincrementaldecoder(encoding)()
    handle.seek(0)
    line, raw = 0, b""
    try:
        for raw in handle:
            line += 1
            decoder.decode(raw)
        decoder.decode(b"", final=True)
    except UnicodeError as error:  # without a place if the mark of UTF-16 is missing
        return max(line, 1), getattr(error, "object", raw)[getattr(error, "start", 0)]
    finally:
        handle.seek(0)
    return None


def _is_western(handle: IO[bytes], line: int) -> bool:
    """Return whether a text that is not UTF-8 is Windows-1252 of a language in Latin letters.

    Then it contains no sequence of UTF-8, and more ASCII letters than others. A few other letters
    are accepted in any case.
    """
    sample = b"".join(raw for _, raw in zip(range(line + 1000), handle, strict=False))
    sample = b"\n".join(raw for raw in sample.split(b"\n") if not raw.isascii())
    n_other = sum(byte >= 0x80 for byte in sample)
    is_utf8 = not sample.decode("utf-8", "ignore").isascii()
    n_ascii = len(re.findall(b"[A-Za-z]", sample))
    handle.seek(0)
    is_latin = n_other < 8 or n_ascii > n_other
    return is_latin and not is_utf8 and _first_wrong(handle, "cp1252") is None


def _delimited(
    text: IO[str], delimiter: str | None, encoding: str, notes: list[str], source: str
) -> tuple[Table, Rows]:
    text.seek(0)
    told = _SEPARATOR.match(text.readline())
    text.seek(0)
    mark = delimiter or (told[1] if told else _delimiter_of(text))

    def rows(quoting: Any = csv.QUOTE_MINIMAL) -> Rows:
        text.seek(0)
        if told:
            text.readline()
        return _checked_rows(text, mark, int(bool(told)), source, quoting)

    numbered = rows()
    if mark == "\t":
        # Such tables may be written without quoting, and begin cells with a quotation mark.
        try:
            numbered = iter(list(numbered))
        except ValueError:
            try:
                numbered = iter(list(rows(csv.QUOTE_NONE)))
            except ValueError:
                numbered = rows()
            else:
                notes.append(
                    f"{source} is separated by tabs without quoting, so quotation marks are read "
                    "as characters"
                )
    columns = next(numbered)[1]
    format: Format = "tsv" if mark == "\t" else "csv"
    return Table(columns, [], [], encoding, format, notes, source, mark), numbered


def _delimiter_of(text: IO[str]) -> str:
    """Return the delimiter of the header: a comma, semicolon or tab, or else a pipe or caret."""
    header = re.match(r'(?:"[^"]*"|[^"\r\n])*', text.read(_SAMPLE).lstrip("\r\n"))
    bare = re.sub(r'"[^"]*"', "", header[0] if header else "")
    if "\t" in bare:
        return "\t"
    if ";" not in bare and "," not in bare:
        return next((other for other in "|^" if other in bare), ",")
    return ";" if bare.count(";") > bare.count(",") else ","


def _checked_rows(text: IO[str], delimiter: str, n_before: int, source: str, quoting: Any) -> Rows:
    """Yield the header and the rows; raise if a row has another number of cells, or is broken."""
    reader = csv.reader(text, delimiter=delimiter, strict=True, quoting=quoting)
    end, columns = 0, []
    try:
        for cells in reader:
            line, end = n_before + end + 1, reader.line_num
            if not cells or (len(columns) > 1 and len(cells) == 1 and not cells[0].strip()):
                continue
            columns = columns or cells
            if len(cells) != len(columns):
                raise ValueError(
                    f"{source}: line {line} has {len(cells)} cells, and the header "
                    f"{len(columns)}; put quotation marks around cells that contain "
                    f"{delimiter!r} or a line break, or fill up the row"
                )
            if cells is not columns and _is_header(cells, columns):
                raise ValueError(
                    f"{source}: line {line} repeats the header, as if two files were joined; "
                    "remove it"
                )
            yield line, cells
    except csv.Error as error:
        raise ValueError(
            f"{source}: the row from line {n_before + end + 1} on has broken quoting ({error}); a "
            "cell that starts with a quotation mark must end with one, and double those inside"
        ) from error


def _is_header(cells: list[str], columns: list[str]) -> bool:
    return cells[1:] == columns[1:] != [] and cells[0].removeprefix("\ufeff") == columns[0]


def _objects(text: IO[str], format: str, source: str) -> tuple[list[str], list[Any]]:
    """Return the keys of all objects, and their values."""
    text.seek(0)
    content, line, records = text.read(), 0, []
    try:
        if format == "json":
            records = list(enumerate(_parsed(content), 1))
        else:
            # A string of JSON may hold characters that readline takes for line ends.
            for line, each in enumerate(content.split("\n"), 1):
                if each.strip():
                    records.append((line, _parsed(each)))
        line, wrong = next((each for each in records if not isinstance(each[1], dict)), (0, None))
        if line:
            raise ValueError(f"it is a {type(wrong).__name__}, not an object")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{source}{f', line {line}' if line else ''}: this is not a JSON object ({error}); "
            "give one object per line, or an array of objects, such as pandas writes by "
            "orient='records'"
        ) from error
    columns = list(dict.fromkeys(key for _, record in records for key in record))
    return columns, [(line, [record.get(key) for key in columns]) for line, record in records]


def _parsed(text: str) -> Any:
    if "\\u" in text:
        json.dumps(json.loads(text), ensure_ascii=False).encode()  # Refuse half surrogate pairs.
    return json.loads(text, parse_constant=lambda _: None)


def _workbook(handle: IO[bytes], source: str, notes: list[str]) -> tuple[list[str], list[Any]]:
    """Return the columns and numbered rows of the first sheet that has cells."""
    check_library("xlsx", source)
    import openpyxl

    try:
        with warnings.catch_warnings():
            # Of styles and extensions that hold no cells.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(handle, read_only=True, data_only=True)
            sheets = sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
            full = [(sheet.title, found) for sheet in sheets if (found := _sheet_rows(sheet))]
    except MemoryError:
        raise
    except Exception as error:  # a broken archive or broken XML raises errors of many kinds
        raise ValueError(
            f"{source} is not a readable workbook ({type(error).__name__}: {error}); open it in "
            "Excel and save it again as .xlsx or as 'CSV UTF-8'"
        ) from error
    if not full:
        return [], []
    if n_formulas := _n_formulas_without_value(handle):
        notes.append(
            f"{source}: {n_formulas} cells of the workbook begin with '=' and have no stored "
            "value, so they are read as empty; open it in Excel or LibreOffice and save it again"
        )
    title, numbered = full[0]
    if len(full) > 1:
        others = ", ".join(repr(name) for name, _ in full[1:6])
        notes.append(f"{source}: the sheet {title!r} is read; others with cells are {others}")
    width = max(len(cells) for _, cells in numbered)
    rows = [(line, cells + [None] * (width - len(cells))) for line, cells in numbered]
    for place in range(width):
        # Excel stores dates as times at midnight.
        times = [cells[place] for _, cells in rows if isinstance(cells[place], datetime)]
        if times and all(moment.time() == time() for moment in times):
            for _, cells in rows:
                if isinstance(cells[place], datetime):
                    cells[place] = cells[place].date()
    return list(map(cell_text, rows[0][1])), rows[1:]


def _n_formulas_without_value(handle: IO[bytes]) -> int:
    """Count the formulas that the program which wrote them did not compute, as pandas does not."""
    n = 0
    with zipfile.ZipFile(handle) as archive:
        for name in archive.namelist():
            if not re.fullmatch(r"xl/worksheets/[^/]*\.xml", name):
                continue
            with archive.open(name) as sheet:
                rest = b""
                while part := sheet.read(_SAMPLE):
                    *cells, rest = (rest + part).split(b"</c>")
                    n += sum(
                        _NO_VALUE.fullmatch(cell[cell.rfind(b"<c ") :]) is not None
                        for cell in cells
                        if b"<f" in cell
                    )
    return n


def _sheet_rows(sheet: Any) -> list[tuple[int, list[Any]]]:
    """Return the rows that have cells, each until its last."""
    rows = []
    for line, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        used = max((place + 1 for place, cell in enumerate(cells) if cell is not None), default=0)
        if used:
            rows.append((line, list(map(_unescaped, cells[:used]))))
    return rows


def _parquet(handle: IO[bytes], source: str) -> tuple[list[str], Any]:
    check_library("parquet", source)
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(handle)
        columns = [list(map(_plain, column.to_pylist())) for column in table.columns]
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise ValueError(
            f"{source} is damaged, or not a Parquet table ({error}); copy or write it again"
        ) from error
    return table.column_names, enumerate(map(list, zip(*columns, strict=True)), 1)


def _plain(value: Any) -> Any:
    """Return None for NaN, and a text for bytes, which some programs write."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _unescaped(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)


def _named(
    columns: list[str], rows: list[list[Any]], notes: list[str], source: str
) -> tuple[list[str], list[list[Any]]]:
    """Name the index column that pandas writes, and drop empty columns without a name."""
    bare = [place for place, name in enumerate(columns) if not name.strip()]
    empty = {place for place in bare if all(row[place] in ("", None) for row in rows)}
    if bare and bare[0] == 0 and not empty and len(columns) > 1 and "Unnamed: 0" not in columns:
        notes.append(f"{source}: the first column has no name and is called 'Unnamed: 0'")
        columns = ["Unnamed: 0", *columns[1:]]
    if empty and len(empty) < len(columns):
        if rows:
            notes.append(f"{source}: columns without a name or any cell are left out: {len(empty)}")
        kept = [place for place in range(len(columns)) if place not in empty]
        columns = [columns[place] for place in kept]
        rows = [[row[place] for place in kept] for row in rows]
    return columns, rows

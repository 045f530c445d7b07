"""Read tables from any common program and encoding."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePath
from typing import IO, Any

from estimators.cli.tables.compression import decompressed
from estimators.cli.tables.decoding import decoded, refuse_other_kinds
from estimators.cli.tables.delimited import Parsed, delimiter_of, parse_delimited
from estimators.cli.tables.json_tables import ARRAY_OF_OBJECTS, parse_array, parse_lines
from estimators.cli.tables.parquet import parse_parquet
from estimators.cli.tables.sheets import parse_workbook
from estimators.cli.tables.table import (
    BINARY_FORMATS,
    FORMAT_OF_SUFFIX,
    Format,
    Table,
    check_columns,
    shown_names,
)

_WHAT = {"xlsx": "an Excel workbook", "parquet": "a Parquet table", None: "text"}


def read_table(path: str | os.PathLike[str] | IO[bytes], *, encoding: str | None = None) -> Table:
    r"""Read a table with a header from CSV, TSV, JSON, Excel or Parquet, plain or compressed.

    The format comes from the suffix: ``.csv``, ``.tsv`` or ``.tab``, ``.jsonl`` or ``.ndjson`` (an
    object per line), ``.json`` (an array of objects, or one per line), ``.xlsx`` and ``.parquet``,
    each with ``.gz``, ``.bz2`` or ``.zip`` (of one file) or without. Without a known suffix it is
    detected from the content. If the header contains tabs, they separate cells, whatever the
    suffix. Otherwise semicolons do if there are more of them than commas, as in Excel's CSV of many
    European countries. A line ``sep=;`` above the header decides. Quoted cells may contain line
    breaks and doubled quotes. If cells are separated by tabs and the quoting is inconsistent,
    quotation marks are read as characters, with a note.

    Parameters
    ----------
    path : str, path-like or file object
        A file, ``"-"`` for standard input, or a stream of bytes.
    encoding : str, optional
        Name of the encoding of a text, used strictly. When None, a byte order mark decides (UTF-8,
        UTF-16); else the file is UTF-8 if it can be; else, if it contains no UTF-8 sequence,
        Windows-1252, with a note.

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
        When the file is empty or has no rows; is not of the kind that its suffix says; mixes
        encodings or is not in the one given; when the header repeats a name or leaves one out;
        when rows have more or fewer cells than the header or are the header again, quoting is
        broken, or a line is no JSON object; when a formula of Excel was never computed. Messages
        name the file and its lines.

    Notes
    -----
    The whole file is held in memory, some five times its size. The `csv` module's limit on the
    size of a cell is lifted while it parses, and put back.

    Examples
    --------
    >>> import io
    >>> table = read_table(io.BytesIO("id;text\n1;\"Caf\u00e9; late\"\n".encode("cp1252")))
    >>> table.rows, table.encoding
    ([['1', 'Café; late']], 'cp1252')
    """
    source, name, raw = _read(path)
    notes: list[str] = []
    format = FORMAT_OF_SUFFIX.get(PurePath(name).suffix.lower())
    if binary := _binary_format(raw, format, source):
        if encoding is not None:
            notes.append(f"{source} is not text, so its encoding was ignored")
        is_sheet = binary == "xlsx"
        parsed = parse_workbook(raw, source, notes) if is_sheet else parse_parquet(raw, source)
        return _checked_table(parsed, "binary", binary, notes, source)
    text, encoding = decoded(raw, encoding, source, notes)
    text = text.removeprefix("\ufeff")
    refuse_other_kinds(text, source)
    if not text.strip():
        raise ValueError(f"{source} is empty; give a file with a header and at least one row")
    if format is None:
        is_object = text.lstrip()[0] == "{"
        format = "jsonl" if is_object else "json" if ARRAY_OF_OBJECTS.match(text) else "csv"
    if format == "json" and text.lstrip()[0] != "[":
        format = "jsonl"
    if format == "jsonl":
        parsed = parse_lines(text, source)
    elif format == "json":
        parsed = parse_array(text, source)
    else:
        delimiter = delimiter_of(text, PurePath(name).suffix.lower())
        format = "tsv" if delimiter == "\t" else "csv"
        parsed = parse_delimited(text, delimiter, source, notes)
    return _checked_table(parsed, encoding, format, notes, source)


def _read(path: str | os.PathLike[str] | IO[bytes]) -> tuple[str, str, bytes]:
    """Return the name for messages, the name that has the format, and the content."""
    name = ""
    if not isinstance(path, str | os.PathLike):
        given = getattr(path, "name", None)
        source = given if isinstance(given, str) else "the stream"
        raw = path.read()
    elif path == "-":
        source, raw = "standard input", sys.stdin.buffer.read()
    else:
        file = Path(path)
        if not file.exists():
            raise FileNotFoundError(
                f"path: there is no file {os.fspath(path)!r}; check its name and folder"
            )
        if file.is_dir():
            raise IsADirectoryError(
                f"path: {os.fspath(path)!r} is a folder; give the path of a file inside it"
            )
        source, name, raw = os.fspath(path), file.name, file.read_bytes()
    raw, name = decompressed(raw, name, source)
    return source, name, raw


def _binary_format(data: bytes, by_name: Format | None, source: str) -> Format | None:
    """Detect Excel and Parquet by their first bytes; raise if the name contradicts them."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError(
            f"{source} is an Excel workbook before 2007, or has a password; save it as .xlsx or "
            "as 'CSV UTF-8' and give that"
        )
    found: Format | None = None
    if data.startswith(b"PK\x03\x04"):
        found = "xlsx"
    elif data.startswith(b"PAR1"):
        found = "parquet"
    expected = by_name if by_name in BINARY_FORMATS else None
    if by_name is not None and found != expected:
        raise ValueError(
            f"{source} is {_WHAT[found]}, but its name says {by_name}; rename it to end in "
            f"{'.' + found if found else '.csv, .tsv, .jsonl or .json'}, or save it as {by_name}"
        )
    return found


def _checked_table(
    parsed: Parsed, encoding: str, format: Format, notes: list[str], source: str
) -> Table:
    columns, rows, lines = parsed
    columns, rows = _named(columns, rows, notes, source)
    check_columns(columns, source)
    if not rows:
        raise ValueError(
            f"{source} has a header, {shown_names(columns, 10)}, but no rows; if these are cells "
            "of the first row, put a line of column names above it"
        )
    return Table(columns, rows, lines, encoding, format, notes, source)


def _named(
    columns: list[str], rows: list[list[Any]], notes: list[str], source: str
) -> tuple[list[str], list[list[Any]]]:
    """Name the index column that pandas writes, and drop empty columns without a name."""
    bare = [place for place, name in enumerate(columns) if not name.strip()]
    empty = {place for place in bare if rows and all(row[place] in ("", None) for row in rows)}
    if bare and bare[0] == 0 and not empty and len(columns) > 1:
        name = "Unnamed: 0"
        if name not in columns:
            notes.append(f"{source}: the first column has no name and is called {name!r}")
            columns = [name, *columns[1:]]
    if empty and len(empty) < len(columns):
        notes.append(f"{source}: {len(empty)} columns without a name or any cell are left out")
        kept = [place for place in range(len(columns)) if place not in empty]
        columns = [columns[place] for place in kept]
        rows = [[row[place] for place in kept] for row in rows]
    return columns, rows

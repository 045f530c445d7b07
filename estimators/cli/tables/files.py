"""Tables that people bring: text in the encodings that Excel writes, JSON, Excel and Parquet."""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any, Literal

from estimators.cli.tables.cells import cell_text, escape_formula
from estimators.cli.tables.compression import compressor, decompressed, inner_name
from estimators.cli.tables.decoding import decoded, refuse_binary
from estimators.cli.tables.delimited import delimiter_of, parse_delimited, write_delimited
from estimators.cli.tables.json_tables import (
    is_array_of_objects,
    parse_array,
    parse_lines,
    write_array,
    write_lines,
)
from estimators.cli.tables.sheets import (
    check_library,
    parse_parquet,
    parse_workbook,
    write_parquet,
    write_workbook,
)
from film.datasets import atomic_writer

__all__ = ["FORMATS", "Table", "format_of", "read_table", "write_table"]

Format = Literal["csv", "tsv", "jsonl", "json", "xlsx", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "tsv", "jsonl", "json", "xlsx", "parquet")

_FORMAT_OF_SUFFIX: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_BINARY = ("xlsx", "parquet")
_WHAT = {"xlsx": "a workbook of Excel", "parquet": "a table of Parquet", None: "text"}


@dataclass(frozen=True)
class Table:
    r"""A table of texts, as its file gives it.

    Parameters
    ----------
    columns : list of str
        Names of the columns, all different.
    rows : list of list
        Cells, as many per row as there are columns: texts of CSV and TSV, values of JSON, Excel and
        Parquet, with None for null, an empty cell of Excel, and a key that an object lacks.
    lines : list of int
        Line of the file (row of a sheet), counted from 1, at which each row starts.
    encoding : str
        How the bytes were read: "utf-8", "utf-8-sig" (with byte order mark), "utf-16", "cp1252",
        what the caller asked for, or "binary" of Excel and Parquet.
    format : {"csv", "tsv", "jsonl", "json", "xlsx", "parquet"}
        Kind of file. Semicolons between cells are "csv".
    notes : list of str
        Sentences that whoever brought the file should read.
    source : str
        Name of the file, for messages.

    Examples
    --------
    >>> import io
    >>> from estimators.cli import read_table
    >>> table = read_table(io.StringIO("id,text\n1,Is tea hot?\n"))
    >>> len(table), table.column("text")
    (1, ['Is tea hot?'])
    """

    columns: list[str]
    rows: list[list[Any]]
    lines: list[int]
    encoding: str
    format: Format
    notes: list[str]
    source: str

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def column(self, name: str | Sequence[str]) -> list[str]:
        """Give the cells of one column, or of several joined, as texts.

        Parameters
        ----------
        name : str or sequence of str
            As in `columns`. Cells of several columns are joined by a space, empty ones left out.

        Returns
        -------
        cells : list of str
            One per row: texts as they are, nothing for None, dates by ISO 8601, other values as
            JSON.

        Raises
        ------
        ValueError
            When there is no such column, with those that there are and the nearest in name.
        """
        if isinstance(name, str):
            place = self._place(name)
            return [cell_text(row[place]) for row in self.rows]
        places = [self._place(one) for one in name]
        texts = [[cell_text(row[place]) for place in places] for row in self.rows]
        return [" ".join(cell for cell in cells if cell.strip()) for cells in texts]

    def _place(self, name: str) -> int:
        if name not in self.columns:
            lowered = {column.lower(): column for column in self.columns}
            near = difflib.get_close_matches(str(name).lower(), lowered, n=1)
            hint = f"did you mean {lowered[near[0]]!r}? " if near else ""
            raise ValueError(
                f"{self.source} has no column {name!r}: {hint}its first line names "
                f"{_shown(self.columns, 30)}"
            )
        return self.columns.index(name)


def read_table(path: str | os.PathLike[str] | IO[Any], *, encoding: str | None = None) -> Table:
    r"""Read a table with a header from CSV, TSV, JSON, Excel or Parquet, plain or compressed.

    The format comes from the suffix: ``.csv``, ``.tsv`` or ``.tab``, ``.jsonl`` or ``.ndjson`` (an
    object per line), ``.json`` (an array of objects, or one per line), ``.xlsx`` and ``.parquet``,
    each with ``.gz``, ``.bz2`` or ``.zip`` (of one file) or without. Without a known suffix it is
    told from the content. Tabs in the header part cells whatever the suffix, else semicolons where
    there are more of them than commas, as in Excel's CSV of many European countries. Quoted cells
    may hold line breaks and doubled quotes; where tabs part cells and quoting makes no table of the
    text, it is read without, and a note says so.

    Parameters
    ----------
    path : str, path-like or file object
        A file, ``"-"`` for standard input, or a stream of bytes or text.
    encoding : str, optional
        Name of the encoding of a text, used strictly. When None, a byte order mark decides (UTF-8,
        UTF-16); else the file is UTF-8 if it can be; else, if no UTF-8 sequence stands in it,
        Windows-1252, with a note.

    Returns
    -------
    table : Table
        Cells as written, values of JSON, Excel and Parquet with their types. Blank lines are no
        rows. In JSON columns are the keys of all objects in order of appearance. Of a workbook the
        first sheet with cells is read. A first column without a name, as pandas writes its index,
        is named "Unnamed: 0" as pandas names it; others without a name are left out where they are
        empty throughout. Both with a note.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        When there is no file at `path`.
    ImportError
        When openpyxl or pyarrow is needed and not installed, with what to install.
    ValueError
        When the file is empty or has no rows; is not of the kind that its suffix says; mixes
        encodings or is not in the one given; when the header repeats a name or leaves one out;
        when rows have more or fewer cells than the header, quoting is broken, or a line is no JSON
        object. Messages name the file and its lines.

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
    format = _FORMAT_OF_SUFFIX.get(PurePath(name).suffix.lower())
    if isinstance(raw, bytes):
        binary = _binary_format(raw, format, source)
        if binary is not None:
            parsed = (
                parse_workbook(raw, source, notes)
                if binary == "xlsx"
                else parse_parquet(raw, source)
            )
            if encoding is not None:
                notes.append(f"{source} is no text, so its encoding was not asked for")
            return _checked_table(*parsed, "binary", binary, notes, source)
        text, encoding = decoded(raw, encoding, source, notes)
    elif encoding is not None:
        raise ValueError(
            f"encoding={encoding!r} was given for {source}, which is a stream of text already; "
            "open it in binary mode or leave encoding out"
        )
    else:
        text, encoding = raw, "utf-8"
    text = text.removeprefix("\ufeff")
    refuse_binary(text, source)
    if not text.strip():
        raise ValueError(f"{source} is empty; give a file with a header and at least one row")
    if format is None:
        first = text.lstrip()[0]
        format = "jsonl" if first == "{" else "json" if is_array_of_objects(text) else "csv"
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
    return _checked_table(*parsed, encoding, format, notes, source)


def format_of(path: str | os.PathLike[str]) -> Format | None:
    """Tell the format of a table from the name of its file, or None where it says none.

    Examples
    --------
    >>> format_of("pairs.tsv.gz"), format_of("pairs")
    ('tsv', None)
    """
    return _FORMAT_OF_SUFFIX.get(PurePath(inner_name(os.fspath(path))).suffix.lower())


def write_table(
    target: str | os.PathLike[str] | IO[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    format: Format | None = None,
    escape_formulas: bool = False,
) -> int:
    r"""Write a table as CSV, TSV, JSON, Excel or Parquet, in UTF-8.

    `read_table` gives back the same cells: JSON and Parquet with their types, CSV and TSV as texts.

    Parameters
    ----------
    target : str, path-like or text stream
        A file, made or replaced whole or not at all, compressed where its name ends in ``.gz``,
        ``.bz2`` or ``.zip``; or a stream such as standard output, whose ``buffer`` takes Excel and
        Parquet.
    columns : sequence of str
        Names of the columns, all different and none empty.
    rows : iterable of sequence
        Cells, as many per row as there are columns: texts, numbers, dates, None for an empty one,
        lists and dicts, which all but JSON and Parquet hold as JSON. Rows of text formats are
        written as they come.
    format : {"csv", "tsv", "jsonl", "json", "xlsx", "parquet"}, optional
        Kind of file. When None, as the name of `target` says, else CSV.
    escape_formulas : bool, default=False
        Whether texts in CSV and TSV that a spreadsheet would run as a formula get an apostrophe in
        front, see `escape_formula`. Without, they are written as they are, since altered data is no
        longer the data. Excel files hold them as texts in any case.

    Returns
    -------
    n_rows : int

    Raises
    ------
    ImportError
        When openpyxl or pyarrow is needed and not installed.
    ValueError
        When the format is unknown or another one than the name of `target` says, columns are
        wrong, a row has another number of cells (named by its position from 0), or a cell cannot
        be held: NUL in CSV, NaN in JSON, a control character or 32,768 characters in Excel.
    OSError
        As in `film.datasets.atomic_writer`, for a path.

    Examples
    --------
    >>> import sys
    >>> rows = iter([["1", 'A "B", C', 0.5]])
    >>> write_table(sys.stdout, ["id", "text", "score"], rows, format="jsonl")
    {"id": "1", "text": "A \"B\", C", "score": 0.5}
    1
    """
    path = os.fspath(target) if isinstance(target, str | os.PathLike) else None
    by_name = None if path is None else format_of(path)
    format = format or by_name or "csv"
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {format!r}")
    if by_name not in (None, format):
        raise ValueError(
            f"format={format!r} does not go with the name {path!r}, which says "
            f"{by_name!r}; leave format out, or give another name"
        )
    names = list(columns)
    _check_columns(names, "columns")
    check_library(format, path or "the stream")
    counted = _Counted(rows, len(names))
    if escape_formulas and format in ("csv", "tsv"):
        counted.change = _escaped
        names = [escape_formula(name) for name in names]
    if path is not None:
        with atomic_writer(path, "wb") as handle, compressor(handle, path) as packed:
            _write(packed, names, counted, format)
    elif format in _BINARY:
        _write(target.buffer, names, counted, format)  # type: ignore[union-attr]
    else:
        _WRITERS[format](target, names, counted)
    return counted.number


class _Counted:
    """Rows on their way to a file, each checked and counted."""

    def __init__(self, rows: Iterable[Sequence[Any]], width: int) -> None:
        self._rows, self._width = rows, width
        self.number = 0
        self.change: Any = None

    def __iter__(self) -> Iterator[Sequence[Any]]:
        for row in self._rows:
            if len(row) != self._width:
                raise ValueError(
                    f"rows[{self.number}] has {len(row)} cells for {self._width} columns; give one "
                    "a column"
                )
            self.number += 1
            yield self.change(row) if self.change else row


def _escaped(row: Sequence[Any]) -> list[Any]:
    return [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]


def _write_csv(handle: IO[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    write_delimited(handle, columns, rows, ",")


def _write_tsv(handle: IO[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    write_delimited(handle, columns, rows, "\t")


_WRITERS: dict[str, Any] = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "jsonl": write_lines,
    "json": write_array,
    "xlsx": write_workbook,
    "parquet": write_parquet,
}


def _write(handle: IO[Any], columns: list[str], rows: _Counted, format: Format) -> None:
    """Write to a stream of bytes."""
    if format in _BINARY:
        _WRITERS[format](handle, columns, rows)
        return
    with _as_text(handle) as text:
        _WRITERS[format](text, columns, rows)


@contextmanager
def _as_text(handle: IO[bytes]) -> Iterator[IO[str]]:
    text = io.TextIOWrapper(handle, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        # The stream below is closed by whoever opened it.
        text.detach()


def _read(path: str | os.PathLike[str] | IO[Any]) -> tuple[str, str, str | bytes]:
    """Give what messages call it, the name that tells its format, and the content."""
    name = ""
    if not isinstance(path, str | os.PathLike):
        given = getattr(path, "name", None)
        source = given if isinstance(given, str) else "the stream"
        raw = getattr(path, "buffer", path).read()
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
    if isinstance(raw, bytes):
        raw, name = decompressed(raw, name, source)
    return source, name, raw


def _binary_format(data: bytes, by_name: Format | None, source: str) -> Format | None:
    """Tell Excel and Parquet by their first bytes, which the name must not contradict."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError(
            f"{source} is a workbook of Excel before 2007, or has a password; save it as .xlsx or "
            "as 'CSV UTF-8' and give that"
        )
    found: Format | None = None
    if data.startswith(b"PK\x03\x04"):
        found = "xlsx"
    elif data.startswith(b"PAR1"):
        found = "parquet"
    expected = by_name if by_name in _BINARY else None
    if by_name is not None and found != expected:
        raise ValueError(
            f"{source} is {_WHAT[found]}, but its name says {by_name}; rename it to end in "
            f"{'.' + found if found else '.csv, .tsv, .jsonl or .json'}, or save it as {by_name}"
        )
    return found


def _checked_table(
    columns: list[str],
    rows: list[list[Any]],
    lines: list[int],
    encoding: str,
    format: Format,
    notes: list[str],
    source: str,
) -> Table:
    columns, rows = _named(columns, rows, notes, source)
    _check_columns(columns, source)
    if not rows:
        raise ValueError(
            f"{source} has a header, {_shown(columns, 10)}, but no rows; if these are cells of the "
            "first row, put a line of column names above it"
        )
    return Table(columns, rows, lines, encoding, format, notes, source)


def _named(
    columns: list[str], rows: list[list[Any]], notes: list[str], source: str
) -> tuple[list[str], list[list[Any]]]:
    """Name the index that pandas wrote, and leave out empty columns without a name."""
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


def _check_columns(columns: list[str], source: str) -> None:
    header = "its first line must name the columns" if source != "columns" else "name each once"
    for place, name in enumerate(columns):
        if not name.strip():
            raise ValueError(
                f"{source}: column {place + 1} of {len(columns)} has no name; {header}"
            )
        if name in columns[:place]:
            raise ValueError(f"{source}: two columns have the name {name[:60]!r}; {header}")
    if not columns:
        raise ValueError(f"{source}: there is no column; {header}")


def _shown(names: list[str], most: int) -> str:
    more = len(names) - most
    listed = ", ".join(repr(name[:60]) for name in names[:most])
    return listed + (f" and {more} more" if more > 0 else "")

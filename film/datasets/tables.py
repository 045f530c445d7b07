"""Tables that people bring: CSV, TSV and JSON Lines in the encodings that Excel writes."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import json
import os
import re
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any, Literal

from film.datasets.writing import atomic_writer

__all__ = ["Table", "read_table", "write_table"]

Format = Literal["csv", "tsv", "jsonl"]

_FORMAT_OF_SUFFIX: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_LINE_END = re.compile("\r\n|\r|\n")
_QUOTED = re.compile(r'"[^"]*"')
_HEADER = re.compile(r'(?:"[^"]*"|[^"\r\n])*')
# In a header these may make a reader take it for something else, unless it is quoted.
_AMBIGUOUS = re.compile("[\t\r;{\ufeff]")
_SHOWN = 5
_FIELD_LIMIT = threading.Lock()


@dataclass(frozen=True)
class Table:
    r"""A table of texts, as its file gives it.

    Parameters
    ----------
    columns : list of str
        Names of the columns, all different.
    rows : list of list of str
        Cells, as many a row as there are columns; an empty one is ``""``.
    lines : list of int
        Line of the file, counted from 1, at which each row starts.
    encoding : str
        How the bytes were read: "utf-8", "utf-8-sig" (with byte order mark), "utf-16", "cp1252",
        or what the caller asked for.
    format : {"csv", "tsv", "jsonl"}
        Kind of file. Semicolons between cells are "csv".
    notes : list of str
        Sentences that whoever brought the file should read.
    source : str
        Name of the file, for messages.

    Examples
    --------
    >>> import io
    >>> from film.datasets import read_table
    >>> table = read_table(io.StringIO("id,text\n1,Is tea hot?\n"))
    >>> len(table), table.column("text")
    (1, ['Is tea hot?'])
    """

    columns: list[str]
    rows: list[list[str]]
    lines: list[int]
    encoding: str
    format: Format
    notes: list[str]
    source: str

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def column(self, name: str) -> list[str]:
        """Give the cells of one column.

        Parameters
        ----------
        name : str
            As in `columns`.

        Returns
        -------
        cells : list of str
            One a row.

        Raises
        ------
        ValueError
            When there is no such column, with those that there are and the nearest in name.
        """
        if name not in self.columns:
            lowered = {column.lower(): column for column in self.columns}
            near = difflib.get_close_matches(str(name).lower(), lowered, n=1)
            hint = f"did you mean {lowered[near[0]]!r}? " if near else ""
            raise ValueError(
                f"{self.source} has no column {name!r}: {hint}its first line names "
                f"{_shown(self.columns, 30)}"
            )
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def read_table(path: str | os.PathLike[str] | IO[Any], *, encoding: str | None = None) -> Table:
    r"""Read a table with a header from CSV, TSV or JSON Lines, plain or gzipped.

    The format comes from the suffix (``.csv``, ``.tsv`` or ``.tab``, ``.jsonl`` or ``.ndjson``,
    each with ``.gz`` or without). Without a known suffix, text that starts with ``{`` is JSON
    Lines. Tabs in the header part cells whatever the suffix, else semicolons where there are more
    of them than commas, as in Excel's CSV of many European countries. Quoted cells may hold line
    breaks and doubled quotes.

    Parameters
    ----------
    path : str, path-like or file object
        A file, ``"-"`` for standard input, or a stream of bytes or text.
    encoding : str, optional
        Name of the encoding, used strictly. When None, a byte order mark decides (UTF-8, UTF-16);
        else the file is UTF-8 if it can be; else, if no UTF-8 sequence stands in it, Windows-1252,
        with a note.

    Returns
    -------
    table : Table
        Cells as written. Blank lines are no rows. In JSON Lines columns are the keys of all
        objects in order of appearance; a missing key or null is an empty cell, other values that
        are no strings stand as JSON.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        When there is no file at `path`.
    ValueError
        When the file is empty or has no rows; is binary, such as a workbook of Excel; mixes
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
    source, suffix, raw = _read(path)
    notes: list[str] = []
    if isinstance(raw, bytes):
        text, encoding = _decoded(raw, encoding, source, notes)
    elif encoding is not None:
        raise ValueError(
            f"encoding={encoding!r} was given for {source}, which is a stream of text already; "
            "open it in binary mode or leave encoding out"
        )
    else:
        text, encoding = raw, "utf-8"
    text = text.removeprefix("\ufeff")
    _refuse_binary(text, source)
    if not text.strip():
        raise ValueError(f"{source} is empty; give a file with a header and at least one row")
    format = _FORMAT_OF_SUFFIX.get(suffix) or ("jsonl" if text.lstrip()[0] == "{" else "csv")
    if format == "jsonl":
        columns, rows, lines = _parsed_json(text, source)
    else:
        delimiter = _delimiter(text, format)
        format = "tsv" if delimiter == "\t" else "csv"
        columns, rows, lines = _parsed_csv(text, delimiter, source)
    _check_columns(columns, source)
    if not rows:
        raise ValueError(
            f"{source} has a header, {_shown(columns, 10)}, but no rows; if these are cells of the "
            "first row, put a line of column names above it"
        )
    return Table(columns, rows, lines, encoding, format, notes, source)


def write_table(
    target: str | os.PathLike[str] | IO[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    format: Format = "csv",
) -> None:
    r"""Write a table as CSV, TSV or JSON Lines, in UTF-8.

    `read_table` gives back the same cells. They are written as they are: one that a spreadsheet
    would run as a formula (from ``=``, ``+``, ``-``, ``@`` on) is not altered, since altered data
    is no longer the data; import text columns as text where the source is not trusted.

    Parameters
    ----------
    target : str, path-like or text stream
        A file, made or replaced whole or not at all, or a stream such as standard output.
    columns : sequence of str
        Names of the columns, all different and none empty.
    rows : iterable of sequence
        Cells, as many a row as there are columns: texts, numbers, or None for an empty one. An
        iterator is written as it goes.
    format : {"csv", "tsv", "jsonl"}, default="csv"
        Kind of file; the suffix of `target` is not looked at.

    Raises
    ------
    ValueError
        When the format is unknown, `target` ends in ``.gz``, columns are wrong, a row has another
        number of cells (named by its position from 0), or a cell of CSV holds a NUL character,
        which would read as a binary file.
    OSError
        As in `film.datasets.atomic_writer`, for a path.

    Examples
    --------
    >>> import sys
    >>> rows = iter([["1", 'A "B", C', 0.5]])
    >>> write_table(sys.stdout, ["id", "text", "score"], rows, format="jsonl")
    {"id": "1", "text": "A \"B\", C", "score": 0.5}
    """
    if format not in ("csv", "tsv", "jsonl"):
        raise ValueError(f"format must be 'csv', 'tsv' or 'jsonl', got {format!r}")
    names = list(columns)
    _check_columns(names, "columns")
    if not isinstance(target, str | os.PathLike):
        _write(target, names, rows, format)
        return
    if PurePath(target).suffix == ".gz":
        raise ValueError(f"target {os.fspath(target)!r} ends in .gz, but is written plain; drop it")
    with atomic_writer(target, newline="") as handle:
        _write(handle, names, rows, format)


def _read(path: str | os.PathLike[str] | IO[Any]) -> tuple[str, str, str | bytes]:
    """Name, suffix without .gz, and content."""
    if not isinstance(path, str | os.PathLike):
        name = getattr(path, "name", None)
        source, suffix = (name if isinstance(name, str) else "the stream"), ""
        raw = getattr(path, "buffer", path).read()
    elif path == "-":
        source, suffix, raw = "standard input", "", sys.stdin.buffer.read()
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
        source, raw = os.fspath(path), file.read_bytes()
        suffix = (file.with_suffix("") if file.suffix.lower() == ".gz" else file).suffix.lower()
    if isinstance(raw, bytes) and raw.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{source} is gzipped, but damaged or cut short ({error}); copy it again"
            ) from error
    return source, suffix, raw


def _decoded(data: bytes, encoding: str | None, source: str, notes: list[str]) -> tuple[str, str]:
    """Text and the encoding it was in."""
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        what = "a workbook of Excel" if b"xl/" in data or data[:1] != b"P" else "a zip archive"
        raise ValueError(
            f"{source} is {what}, no table of text; in Excel save it as 'CSV UTF-8' and give that"
        )
    if encoding is None and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif encoding is None and data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif encoding is None:
        return _guessed(data, source, notes)
    try:
        return data.decode(encoding), encoding
    except LookupError:
        raise ValueError(
            f"encoding={encoding!r} is unknown; use for instance 'utf-8', 'cp1252', 'utf-16' or "
            "'shift_jis', or leave it out"
        ) from None
    except UnicodeDecodeError as error:
        # Of a file with a byte order mark, the error counts from behind it.
        line = _line(error.object[: error.start].decode(encoding, "replace"))
        raise ValueError(
            f"{source}, line {line}: byte 0x{error.object[error.start]:02x} is not {encoding}; "
            "give the encoding that the file is in, or save it again as UTF-8"
        ) from error


def _guessed(data: bytes, source: str, notes: list[str]) -> tuple[str, str]:
    """UTF-8, or Windows-1252 where nothing speaks for UTF-8."""
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        start = error.start
    wrong = data[start : start + 1]
    line = _line(data[:start].decode("utf-8"))
    as_windows = wrong.decode("cp1252", "replace")
    sequence = _UTF8_SEQUENCE.search(data)
    if sequence:
        known = _line(data[: sequence.start()].decode("cp1252", "replace"))
        raise ValueError(
            f"{source} mixes encodings: line {line} holds byte 0x{wrong.hex()} ({as_windows!r} in "
            f"Windows-1252), but line {known} holds {sequence[0].decode('utf-8', 'replace')!r} in "
            "UTF-8; save the file again as UTF-8 after correcting the one or the other, or give "
            "encoding='cp1252' if all of it is Windows-1252"
        )
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError as error:
        line = _line(data[: error.start].decode("cp1252"))
        raise ValueError(
            f"{source}, line {line}: byte 0x{data[error.start]:02x} is neither UTF-8 nor "
            "Windows-1252; give encoding=, or save the file again as UTF-8"
        ) from error
    notes.append(
        f"{source} is not UTF-8 (line {line}) and was read as Windows-1252, where that is "
        f"{as_windows!r}; if letters look wrong, save it as UTF-8 or give its encoding."
    )
    return text, "cp1252"


def _refuse_binary(text: str, source: str) -> None:
    place = text.find("\0")
    if place >= 0:
        raise ValueError(
            f"{source} is no table of text: line {_line(text[:place])} holds a NUL byte; save it "
            "as CSV in UTF-8, or give encoding='utf-16-le' if it is UTF-16 without its mark"
        )


def _delimiter(text: str, format: Format) -> str:
    """Tell what parts the cells of the header."""
    if format == "tsv":
        return "\t"
    first = _HEADER.match(text.lstrip("\r\n"))
    header = _QUOTED.sub("", first[0] if first else "")
    if "\t" in header:
        return "\t"
    return ";" if header.count(";") > header.count(",") else ","


def _parsed_csv(
    text: str, delimiter: str, source: str
) -> tuple[list[str], list[list[str]], list[int]]:
    columns: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    ragged: list[str] = []
    with _cells_up_to(len(text)):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        end = 0
        try:
            for cells in reader:
                start, end = end + 1, reader.line_num
                if not cells:
                    continue
                if not columns:
                    columns = cells
                    continue
                if len(cells) != len(columns):
                    until = f" to {end}" if end > start else ""
                    ragged.append(f"line {start}{until} has {len(cells)}")
                rows.append(cells)
                lines.append(start)
        except csv.Error as error:
            raise ValueError(
                f"{source}: the row from line {end + 1} on has broken quoting ({error}); a cell "
                "that starts with a quotation mark must end with one, and double those inside"
            ) from error
    if ragged:
        raise ValueError(
            f"{source} has {len(ragged)} rows of {len(rows)} with other than the {len(columns)} "
            f"cells of its header: {_first(ragged)}; put quotation marks around cells that hold "
            f"{delimiter!r} or a line break, or fill up the rows"
        )
    return columns, rows, lines


@contextmanager
def _cells_up_to(size: int) -> Iterator[None]:
    """Let the csv module read cells of this size; its limit is one for the whole process."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit()
        csv.field_size_limit(size + 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _parsed_json(text: str, source: str) -> tuple[list[str], list[list[str]], list[int]]:
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    columns: dict[str, None] = {}
    # A string of JSON may hold characters that splitlines takes for line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_unique)
            if not isinstance(record, dict):
                raise ValueError(f"it is a {type(record).__name__}, not an object")
            if "\\u" in line:
                # Half a surrogate pair could not be written again.
                json.dumps(record, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{source}, line {number}: {line.strip()[:60]!r} is no JSON object ({error}); give "
                "one object a line"
            ) from error
        columns.update(dict.fromkeys(record))
        records.append(record)
        lines.append(number)
    rows = [[_cell(record.get(column)) for column in columns] for record in records]
    return list(columns), rows, lines


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key occurs twice")
    return record


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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


def _write(
    handle: IO[str], columns: list[str], rows: Iterable[Sequence[Any]], format: Format
) -> None:
    checked = _full_rows(rows, len(columns))
    if format == "jsonl":
        for row in checked:
            record = dict(zip(columns, row, strict=True))
            handle.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        return
    delimiter = "\t" if format == "tsv" else ","
    plain = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(handle, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    (quoted if any(_AMBIGUOUS.search(name) for name in columns) else plain).writerow(columns)
    for place, row in enumerate(checked):
        texts = [cell for cell in row if isinstance(cell, str)]
        if any("\0" in text for text in texts):
            raise ValueError(
                f"rows[{place}] holds a NUL character, which CSV readers refuse; use format='jsonl'"
            )
        # Until Python 3.13 the module leaves a lone carriage return bare.
        (quoted if any("\r" in text for text in texts) else plain).writerow(row)


def _full_rows(rows: Iterable[Sequence[Any]], width: int) -> Iterator[Sequence[Any]]:
    for place, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"rows[{place}] has {len(row)} cells for {width} columns; give one a column"
            )
        yield row


def _line(before: str) -> int:
    return 1 + len(_LINE_END.findall(before))


def _first(entries: list[str]) -> str:
    more = len(entries) - _SHOWN
    return ", ".join(entries[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _shown(names: list[str], most: int) -> str:
    more = len(names) - most
    listed = ", ".join(repr(name[:60]) for name in names[:most])
    return listed + (f" and {more} more" if more > 0 else "")

"""Delimited tables (commas, semicolons, tabs, pipes, carets), whole or row by row."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO, Any, NamedTuple

from estimators.cli.tables.table import Table, cell_text, check_columns

LARGE = 32 * 2**20
"""Bytes from which a table is read row by row."""
_HEAD = 65_536
Parsed = tuple[list[str], list[list[Any]], list[int]]

# The line by which Excel is told the separator.
_TOLD = re.compile(r'"?sep=([,;\t|^])"?(?=[\r\n])')
_QUOTED = re.compile(r'"[^"]*"')
_HEADER = re.compile(r'(?:"[^"]*"|[^"\r\n])*')
# In a header these may make a reader take it for something else, unless it is quoted.
_AMBIGUOUS = re.compile("[\t\r;{\ufeff]")
_SHOWN = 5
_FIELD_LIMIT = threading.Lock()


def delimiter_of(text: str, suffix: str) -> str:
    """Return the delimiter of the header: a comma, semicolon or tab, or else a pipe or caret."""
    if suffix in (".tsv", ".tab"):
        return "\t"
    if told := told_separator(text)[0]:
        return told
    first = _HEADER.match(text.lstrip("\r\n"))
    header = _QUOTED.sub("", first[0] if first else "")
    if "\t" in header:
        return "\t"
    if ";" not in header and "," not in header:
        return next((other for other in "|^" if other in header), ",")
    return ";" if header.count(";") > header.count(",") else ","


def parse_delimited(text: str, delimiter: str, source: str, notes: list[str]) -> Parsed:
    """Return columns, rows and the first line of each row.

    Text separated by tabs may be written without any quoting, where a cell may begin with a
    quotation mark that never ends. So it is read without where quoting makes no table of it, or
    where quotes would join lines that are rows of the right width by themselves.
    """
    columns, rows, lines = _parsed(told_separator(text)[1], delimiter, source, notes)
    for cells, line in zip(rows, lines, strict=True):
        refuse_header(cells, columns, line, source)
    return columns, rows, lines


def told_separator(text: str) -> tuple[str, str]:
    """Return the separator that a first line ``sep=`` declares, and the text without that line."""
    told = _TOLD.match(text)
    return (told[1], text[told.end() :]) if told else ("", text)


def refuse_header(cells: list[Any], columns: list[str], line: int, source: str) -> None:
    """Raise if a row repeats the header."""
    if cells[1:] == columns[1:] != [] and cells[0].removeprefix("\ufeff") == columns[0]:
        raise ValueError(
            f"{source}: line {line} repeats the header, as if two files were joined; remove it"
        )


def _parsed(text: str, delimiter: str, source: str, notes: list[str]) -> Parsed:
    bare: Parsed | None = None
    if delimiter == "\t" and '"' in text:
        bare = _rows_without_quotes(text)
    try:
        parsed = _rows_with_quotes(text, delimiter, source)
        _check_widths(*parsed, delimiter, source)
    except ValueError:
        if bare is None:
            raise
    else:
        if bare is None or len(bare[1]) <= len(parsed[1]):
            return parsed
    notes.append(
        f"{source} is separated by tabs without quoting, so quotation marks are read as characters"
    )
    return bare


def write_delimited(
    handle: IO[str], columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str
) -> None:
    """Write a header and rows."""
    plain = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(handle, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    (quoted if any(_AMBIGUOUS.search(name) for name in columns) else plain).writerow(columns)
    for place, row in enumerate(rows):
        cells = [cell if isinstance(cell, int | float) else cell_text(cell) for cell in row]
        cells = [cell_text(cell) if isinstance(cell, bool) else cell for cell in cells]
        texts = [cell for cell in cells if isinstance(cell, str)]
        if any("\0" in text for text in texts):
            raise ValueError(
                f"rows[{place}] holds a NUL character, which CSV readers refuse; use format='jsonl'"
            )
        # Until Python 3.13 the module leaves a lone carriage return bare.
        (quoted if any("\r" in text for text in texts) else plain).writerow(cells)


def numbered_rows(
    lines: Iterable[str], delimiter: str, source: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its first line."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    end = 0
    try:
        for cells in reader:
            start, end = end + 1, reader.line_num
            if cells:
                yield start, cells
    except csv.Error as error:
        raise ValueError(
            f"{source}: the row from line {end + 1} on has broken quoting ({error}); a cell "
            "that starts with a quotation mark must end with one, and double those inside"
        ) from error


def _rows_with_quotes(text: str, delimiter: str, source: str) -> Parsed:
    columns: list[str] = []
    rows: list[list[Any]] = []
    lines: list[int] = []
    with _cells_up_to(len(text)):
        for line, cells in numbered_rows(io.StringIO(text, newline=""), delimiter, source):
            if not columns:
                columns = cells
            elif len(columns) == 1 or len(cells) > 1 or cells[0].strip():
                rows.append(cells)
                lines.append(line)
    return columns, rows, lines


def _rows_without_quotes(text: str) -> Parsed | None:
    """Return the rows without quoting if all have as many cells as the first (two or more)."""
    numbered = [
        (number, line.split("\t"))
        for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1)
        if line
    ]
    width = len(numbered[0][1])
    if width < 2 or any(len(cells) != width for _, cells in numbered):
        return None
    rows = [cells for _, cells in numbered[1:]]
    return numbered[0][1], rows, [number for number, _ in numbered[1:]]


def _check_widths(
    columns: list[str], rows: list[list[Any]], lines: list[int], delimiter: str, source: str
) -> None:
    ragged = [row for row in range(len(rows)) if len(rows[row]) != len(columns)]
    if not ragged:
        return
    shown = []
    for row in ragged[:_SHOWN]:
        breaks = sum(len(re.findall("\r\n|\r|\n", cell)) for cell in rows[row])
        until = f" to {lines[row] + breaks}" if breaks else ""
        shown.append(f"line {lines[row]}{until} has {len(rows[row])}")
    more = f" and {len(ragged) - _SHOWN} more" if len(ragged) > _SHOWN else ""
    raise ValueError(
        f"{source}: {len(ragged)} of {len(rows)} rows do not have the {len(columns)} cells of the "
        f"header: {', '.join(shown)}{more}; put quotation marks around cells that contain "
        f"{delimiter!r} or a line break, or fill up the rows"
    )


@contextmanager
def _cells_up_to(size: int) -> Iterator[None]:
    """Raise the csv module's limit on the size of a cell, which is global."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit()
        csv.field_size_limit(size + 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


class Stream(NamedTuple):
    """A table whose rows stay on disk.

    Parameters
    ----------
    header : Table
        The table without its rows.
    rows : iterator of (line, cells)
        Line of the file at which a row starts, and its cells, as many as there are columns.
    """

    header: Table
    rows: Iterator[tuple[int, list[str]]]


def stream_table(path: str, encoding: str | None = None) -> Stream | None:
    """Open a CSV file to read its rows one by one.

    Parameters
    ----------
    path : str
        A file, or "-".
    encoding : str, optional
        As in `read_table`; None is UTF-8.

    Returns
    -------
    stream : Stream or None
        None where `read_table` should read it: a file that is small, compressed, no CSV, not UTF-8
        from its first bytes on, or with a column without a name.
    """
    if path == "-" or not os.path.isfile(path) or os.path.getsize(path) < LARGE:
        return None
    suffix = PurePath(path).suffix.lower()
    if suffix != ".csv":
        return None
    encoding = encoding or "utf-8-sig"
    try:
        with open(path, encoding=encoding, newline="") as handle:
            head = handle.read(_HEAD)
        codecs.lookup(encoding)
    except (UnicodeError, LookupError):
        return None
    delimiter = delimiter_of(head, suffix)
    if delimiter == "\t" or "\0" in head or told_separator(head)[0]:
        return None
    rows = _rows(path, encoding, delimiter)
    columns = next(rows)[1]
    if not all(name.strip() for name in columns):
        return None
    check_columns(columns, path)
    return Stream(Table(columns, [], [], encoding, "csv", [], path), rows)


def _rows(path: str, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and the rows, each with its line, and check their widths."""
    line, columns = 0, []
    with open(path, encoding=encoding, newline="") as handle:
        try:
            for line, cells in numbered_rows(handle, delimiter, path):
                if columns:
                    refuse_header(cells, columns, line, path)
                columns = columns or cells
                if len(cells) != len(columns):
                    raise ValueError(
                        f"{path}: line {line} has {len(cells)} cells, and the header "
                        f"{len(columns)}; put quotation marks around cells that hold "
                        f"{delimiter!r} or a line break, or fill up the row"
                    )
                yield line, cells
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}: after line {line} a byte 0x{error.object[error.start]:02x} is not "
                f"{encoding}; give encoding=, or save the file again as UTF-8"
            ) from error

"""A table on disk to which rows are appended and from which they are removed."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

from estimators.cli.console import Failure
from estimators.cli.tables import Table, format_of, read_table
from film.datasets import atomic_writer

REASON = "reason"
"""A column that a file gets with the first reason."""

_DELIMITERS = (",", ";", "\t")
_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"BZh")


class AnswerFile:
    """The state of a file of answers.

    Rows that are appended follow the file's own delimiter, line ends and encoding, so that the
    program that wrote it (Excel, say) still reads it; all other bytes stay as they are. Only
    Windows-1252 becomes UTF-8 with a byte order mark, since it lacks most characters.

    Parameters
    ----------
    path : str
        CSV, TSV or JSON Lines. No file, and one without a row, is a table without rows.
    columns : sequence of str
        Columns that the file must have; it may have others.

    Attributes
    ----------
    table : Table or None
        What was read, None without rows.
    rows : list of list of str
        Cells of ``columns``, in their order, and of the column `REASON`.
    notes : list of str
        What a user should know of the reading.
    """

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self._path = path
        self._columns = list(columns)
        self._raw = Path(path).read_bytes() if Path(path).exists() else b""
        self._text, self._encoding, self._header = "", "utf-8", list(columns)
        self._is_json = format_of(path) == "jsonl"
        self.table: Table | None = None
        self.rows: list[list[str]] = []
        self.notes: list[str] = []
        if self._raw.strip():
            self._parse()

    def append(self, rows: Sequence[Sequence[str]]) -> None:
        """Append rows, atomically; they have the cells of `rows`."""
        text = self._text
        newline = _line_end(text)
        if text and not text.endswith(("\n", "\r")):
            text += newline
        names = [*self._columns, REASON] if any(row[-1] for row in rows) else self._columns
        if self._is_json:
            for row in rows:
                record = dict(zip(names, row, strict=False))
                text += json.dumps(record, ensure_ascii=False) + newline
        else:
            by_name = "\t" if format_of(self._path) == "tsv" else ","
            delimiter = _delimiter(text, self._header) if text else by_name
            header = list(dict.fromkeys([*self._header, *names]))
            if not text:
                text = _csv_line(header, delimiter, newline)
            elif header != self._header:
                text = self._widened(text, delimiter)
            for row in rows:
                given = dict(zip(names, row, strict=False))
                cells = [given.get(column, "") for column in header]
                text += _csv_line(cells, delimiter, newline)
        self._write(text)

    def remove(self, place: int) -> None:
        """Remove one row, and the file if it was the only row."""
        assert self.table is not None
        starts = self.table.lines
        if len(starts) == 1 and self._header == self._columns:
            os.unlink(self._path)
            return
        # As the readers count lines: those of JSON end at a line feed alone.
        lines = io.StringIO(self._text, newline="\n" if self._is_json else "").readlines()
        end = starts[place + 1] - 1 if place + 1 < len(starts) else len(lines)
        self._write("".join(lines[: starts[place] - 1] + lines[end:]))

    def _widened(self, text: str, delimiter: str) -> str:
        """Add the column `REASON`, empty, to the end of every record."""
        lines = io.StringIO(text, newline="").readlines()
        starts = self.table.lines if self.table is not None else []
        for number, end in enumerate([*(start - 1 for start in starts), len(lines)]):
            last = next(row for row in range(end - 1, -1, -1) if lines[row].strip("\r\n"))
            content = lines[last].rstrip("\r\n")
            added = delimiter + (REASON if number == 0 else "")
            lines[last] = content + added + lines[last][len(content) :]
        return "".join(lines)

    def _parse(self) -> None:
        if self._raw.startswith(_COMPRESSED):
            raise Failure(
                f"{self._path} is compressed or a workbook, so answers cannot be appended; save "
                "it as CSV in UTF-8, or give --labels a new name"
            )
        stream = io.BytesIO(self._raw)
        stream.name = self._path
        try:
            table = read_table(stream)
        except ValueError:
            header = _header_alone(self._raw)
            if header is None or self._is_json:
                raise
            self._text, self._header = self._raw.decode("utf-8-sig"), header
            self._encoding = "utf-8-sig" if self._raw.startswith(codecs.BOM_UTF8) else "utf-8"
        else:
            self.table, self.notes = table, table.notes
            self._is_json = table.format == "jsonl"
            self._header, self._encoding = table.columns, table.encoding
            self._text = self._raw.decode(table.encoding)
        missing = [name for name in self._columns if name not in self._header]
        # JSON Lines name no column of which all cells are missing.
        if missing and not (self._is_json and missing == self._columns[-1:]):
            raise Failure(
                f"{self._path} is not a file of answers: it has the columns "
                f"{', '.join(map(repr, self._header[:20]))}, not {', '.join(self._columns)}; give "
                "--labels a new name"
            )
        if self.table is not None:
            cells = [
                self.table.column(name) if name in self._header else [""] * len(self.table)
                for name in [*self._columns, REASON]
            ]
            self.rows = [list(row) for row in zip(*cells, strict=True)]

    def _write(self, text: str) -> None:
        encoding = "utf-8-sig" if self._encoding == "cp1252" else self._encoding
        if encoding == "utf-16" and self._raw.startswith(codecs.BOM_UTF16_BE):
            data = codecs.BOM_UTF16_BE + text.encode("utf-16-be")
        else:
            data = text.encode(encoding)
        with atomic_writer(self._path, "wb") as handle:
            handle.write(data)


def _line_end(text: str) -> str:
    for end in ("\r\n", "\n", "\r"):
        if end in text:
            return end
    return "\n"


def _header_alone(raw: bytes) -> list[str] | None:
    """Cells of the only row of a file, if it has but one."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    records = [cells for cells in csv.reader(io.StringIO(text, newline="")) if cells]
    return records[0] if len(records) == 1 else None


def _delimiter(text: str, header: list[str]) -> str:
    """Return the delimiter of the header line."""
    for delimiter in _DELIMITERS:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        if next((cells for cells in rows if cells), None) == header:
            return delimiter
    raise AssertionError(f"no delimiter gives {header}")


def _csv_line(cells: Sequence[str], delimiter: str, newline: str) -> str:
    line = io.StringIO(newline="")
    # Until Python 3.13 the module leaves a lone carriage return bare.
    bare = any("\r" in cell for cell in cells)
    quoting = csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL
    csv.writer(line, delimiter=delimiter, lineterminator=newline, quoting=quoting).writerow(cells)
    return line.getvalue()

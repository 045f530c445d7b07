"""Read rows of a large delimited table one by one."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from estimators.cli.tables.delimited import (
    delimiter_of,
    numbered_rows,
    refuse_header,
    told_separator,
)
from estimators.cli.tables.table import Table, check_columns

LARGE = 32 * 2**20
"""Bytes from which a table is read row by row."""
_HEAD = 65_536


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
    header = Table(columns, [], [], encoding, "csv", [], path)
    return Stream(header, _checked(rows, columns, delimiter, path))


def _rows(path: str, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    line = 0
    with open(path, encoding=encoding, newline="") as handle:
        try:
            for line, cells in numbered_rows(handle, delimiter, path):
                yield line, cells
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}: after line {line} a byte 0x{error.object[error.start]:02x} is not "
                f"{encoding}; give encoding=, or save the file again as UTF-8"
            ) from error


def _checked(
    rows: Iterator[tuple[int, list[str]]], columns: list[str], delimiter: str, source: str
) -> Iterator[tuple[int, list[str]]]:
    for line, cells in rows:
        refuse_header(cells, columns, line, source)
        if len(cells) != len(columns):
            raise ValueError(
                f"{source}: line {line} has {len(cells)} cells, and the header {len(columns)}; put "
                f"quotation marks around cells that hold {delimiter!r} or a line break, or fill "
                "up the row"
            )
        yield line, cells

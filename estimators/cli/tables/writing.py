"""Write tables, atomically."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import math
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO, Any

from estimators.cli.tables.table import (
    Format,
    Table,
    cell_text,
    check_columns,
    check_library,
    escape_formula,
    format_of,
    to_json,
)
from film.datasets import atomic_writer

_MOST_ROWS, _MOST_CHARACTERS = 1_048_575, 32_767
# In a header these may make a reader take it for something else, unless it is quoted.
_AMBIGUOUS = re.compile("[\t\r;{\ufeff]")
# What XML cannot hold, or, as a carriage return, changes; and texts that look like its escapes.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def write_table(
    target: str | os.PathLike[str] | IO[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    format: Format | None = None,
    escape_formulas: bool = False,
    like: Table | None = None,
) -> int:
    r"""Write a table as CSV, TSV, JSON, Excel or Parquet, in UTF-8.

    `read_table` gives back the same cells: JSON and Parquet with their types, CSV and TSV as texts.

    Parameters
    ----------
    target : str, path-like or text stream
        A file, written atomically, and compressed if its name ends in ``.gz``, ``.bz2`` or
        ``.zip``; or a stream such as standard output, whose ``buffer`` takes Excel and Parquet.
    columns : sequence of str
        Names of the columns, all different and none empty.
    rows : iterable of sequence
        Cells, as many per row as there are columns: texts, numbers, dates, None for an empty one,
        lists and dicts, which all but JSON and Parquet hold as JSON. Rows of text formats are
        written as they come.
    format : {"csv", "tsv", "jsonl", "json", "xlsx", "parquet"}, optional
        Kind of file. When None, as the name of `target` says, else CSV.
    escape_formulas : bool, default=False
        Whether to put an apostrophe before texts in CSV and TSV that a spreadsheet would run as a
        formula (`escape_formula`). By default, texts are written unchanged. Excel files contain
        them as texts in any case.
    like : Table, optional
        A table that was read: its format, delimiter and byte order mark (of CSV and TSV) are kept.

    Returns
    -------
    n_rows : int

    Raises
    ------
    ImportError
        When openpyxl or pyarrow is needed and not installed.
    ValueError
        When columns are wrong, or a sheet of Excel cannot hold the table: more than 1,048,575 rows
        or 32,767 characters in a cell.
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
    if like is not None:
        format = like.format
    format = format or format_of(path or "") or "csv"
    delimiter = "\t" if format == "tsv" else "," if like is None else like.delimiter
    has_mark = like is not None and like.encoding not in ("utf-8", "binary")
    columns = list(columns)
    check_columns(columns, "columns")
    check_library(format, path or "the stream")
    n_rows = 0

    def counted() -> Iterator[Sequence[Any]]:
        nonlocal n_rows
        for row in rows:
            n_rows += 1
            yield _escaped(row) if escape_formulas and format in ("csv", "tsv") else row

    write = {"xlsx": _write_workbook, "parquet": _write_parquet}.get(format)
    if write is None:
        header = _escaped(columns) if escape_formulas and format in ("csv", "tsv") else columns
        if format in ("csv", "tsv"):
            lines = _delimited(header, counted(), delimiter)
        else:
            lines = _objects(header, counted(), format)
        if path is None:
            target.writelines(lines)  # type: ignore[union-attr]
            return n_rows
        with atomic_writer(path, "wb") as handle, _packed(handle, path) as packed:
            packed.write(codecs.BOM_UTF8 if has_mark else b"")
            packed.writelines(line.encode() for line in lines)
        return n_rows
    buffer = io.BytesIO()
    write(buffer, columns, list(counted()))
    if path is None:
        target.buffer.write(buffer.getbuffer())  # type: ignore[union-attr]
        return n_rows
    with atomic_writer(path, "wb") as handle, _packed(handle, path) as packed:
        packed.write(buffer.getbuffer())
    return n_rows


def _escaped(row: Sequence[Any]) -> list[Any]:
    return [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]


@contextmanager
def _packed(handle: IO[bytes], name: str) -> Iterator[Any]:
    """Yield a stream that compresses into a file according to its suffix."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".gz":
        # Without the time, the same table gives the same bytes.
        with gzip.GzipFile(PurePath(name).stem, "wb", fileobj=handle, mtime=0) as packed:
            yield packed
    elif suffix == ".bz2":
        with bz2.BZ2File(handle, "wb") as packed:
            yield packed
    elif suffix == ".zip":
        with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(PurePath(name).stem, "w", force_zip64=True) as packed:
                yield packed
    else:
        yield handle


def _objects(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], format: Format
) -> Iterator[str]:
    objects = (to_json(dict(zip(columns, row, strict=True))) for row in rows)
    if format == "jsonl":
        yield from (f"{each}\n" for each in objects)
        return
    yield "["
    for place, each in enumerate(objects):
        yield f"{',' if place else ''}\n{each}"
    yield "\n]\n"


def _delimited(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str
) -> Iterator[str]:
    buffer = io.StringIO()
    plain = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(buffer, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    (quoted if any(map(_AMBIGUOUS.search, columns)) else plain).writerow(columns)
    yield buffer.getvalue()
    for row in rows:
        buffer.seek(0)
        buffer.truncate()
        cells = [cell if type(cell) in (int, float) else cell_text(cell) for cell in row]
        # Until Python 3.13 the module leaves a lone carriage return bare.
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoted if has_return else plain).writerow(cells)
        yield buffer.getvalue()


def _write_workbook(handle: IO[bytes], columns: list[str], rows: list[Sequence[Any]]) -> None:
    """Write one sheet; texts that look like formulas stay texts."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    if len(rows) > _MOST_ROWS:
        raise ValueError(
            f"a sheet of Excel has at most {_MOST_ROWS:,} rows and a header; write Parquet"
        )
    # All are checked first: openpyxl complains at its own end about a sheet that broke off.
    checked = [[_excel_cell(value) for value in row] for row in [columns, *rows]]
    book = openpyxl.Workbook(write_only=True)
    sheet: Any = book.create_sheet("table")
    for row in checked:
        cells = [WriteOnlyCell(sheet, value) for value in row]
        for cell in cells:
            if isinstance(cell.value, str):
                cell.data_type = "s"
        sheet.append(cells)
    book.save(handle)


def _excel_cell(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) <= 2**53:
        return value
    text = cell_text(value)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(
            f"a text has {len(text)} characters, and a cell of Excel at most {_MOST_CHARACTERS}; "
            "write CSV or Parquet"
        )
    text.encode()  # Half of a surrogate pair is refused, as in all other formats.
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _write_parquet(handle: IO[bytes], columns: list[str], rows: list[Sequence[Any]]) -> None:
    """Write typed columns; a column of mixed types becomes text."""
    import pyarrow
    from pyarrow import parquet

    arrays = []
    for column in zip(*rows, strict=True) if rows else [()] * len(columns):
        try:
            arrays.append(pyarrow.array(column))
        except (pyarrow.ArrowException, OverflowError):
            texts = [None if value is None else cell_text(value) for value in column]
            arrays.append(pyarrow.array(texts))
    parquet.write_table(pyarrow.table(arrays, names=columns), handle)

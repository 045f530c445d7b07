"""Write tables, atomically."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import IO, Any

from estimators.cli.tables.compression import compressor
from estimators.cli.tables.delimited import write_delimited
from estimators.cli.tables.json_tables import write_array, write_lines
from estimators.cli.tables.parquet import write_parquet
from estimators.cli.tables.sheets import check_library, write_workbook
from estimators.cli.tables.table import (
    BINARY_FORMATS,
    FORMATS,
    Format,
    check_columns,
    escape_formula,
    format_of,
)
from film.datasets import atomic_writer


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
        be held: NUL in CSV, 32,768 characters in Excel, or more rows than a sheet has.
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
    check_columns(names, "columns")
    check_library(format, path or "the stream")
    escapes = escape_formulas and format in ("csv", "tsv")
    n_rows = 0

    def checked() -> Iterator[Sequence[Any]]:
        nonlocal n_rows
        for row in rows:
            if len(row) != len(names):
                raise ValueError(
                    f"rows[{n_rows}] has {len(row)} cells for {len(names)} columns; give as many"
                )
            n_rows += 1
            yield _escaped(row) if escapes else row

    header = _escaped(names) if escapes else names
    if path is not None:
        with atomic_writer(path, "wb") as handle, compressor(handle, path) as packed:
            _write(packed, header, checked(), format)
    elif format in BINARY_FORMATS:
        _write(target.buffer, header, checked(), format)  # type: ignore[union-attr]
    else:
        _WRITERS[format](target, header, checked())
    return n_rows


def _escaped(row: Sequence[Any]) -> list[Any]:
    return [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]


_WRITERS: dict[str, Any] = {
    "csv": partial(write_delimited, delimiter=","),
    "tsv": partial(write_delimited, delimiter="\t"),
    "jsonl": write_lines,
    "json": write_array,
    "xlsx": write_workbook,
    "parquet": write_parquet,
}


def _write(handle: IO[Any], columns: list[str], rows: Iterator[Any], format: Format) -> None:
    """Write to a stream of bytes."""
    if format in BINARY_FORMATS:
        _WRITERS[format](handle, columns, rows)
        return
    text = io.TextIOWrapper(handle, encoding="utf-8", newline="")
    try:
        _WRITERS[format](text, columns, rows)
        text.flush()
    finally:
        # The stream below is closed by whoever opened it.
        text.detach()

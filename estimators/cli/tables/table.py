"""A table, its cells as text and JSON, and the formats of files that hold one."""

from __future__ import annotations

import difflib
import importlib
import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import PurePath
from typing import Any, Literal

Format = Literal["csv", "tsv", "jsonl", "json", "xlsx", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "tsv", "jsonl", "json", "xlsx", "parquet")

FORMAT_OF_SUFFIX: dict[str, Format] = {
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
LIBRARIES = {"xlsx": "openpyxl", "parquet": "pyarrow"}
"""What reads and writes the formats that are not text."""
COMPRESSIONS = (".gz", ".bz2", ".zip")
_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Table:
    r"""A table of texts.

    Parameters
    ----------
    columns : list of str
        Names of the columns, all different.
    rows : list of list
        Cells, as many per row as there are columns: texts of CSV and TSV, values of JSON, Excel and
        Parquet, with None for null, an empty cell of Excel, and a key that an object lacks.
    lines : list of int
        Line of the file (row of a sheet, object of a JSON array), counted from 1, at which each
        row starts.
    encoding : str
        How the bytes were read: "utf-8", "utf-8-sig" (with byte order mark), "utf-16", "cp1252",
        what the caller asked for, or "binary" of Excel and Parquet.
    format : {"csv", "tsv", "jsonl", "json", "xlsx", "parquet"}
        Kind of file. Semicolons between cells are "csv".
    notes : list of str
        Notes for the user about how the file was read.
    source : str
        Name of the file, for messages.
    delimiter : str, default=","
        Of CSV and TSV.

    Examples
    --------
    >>> import io
    >>> from estimators.cli.tables import read_table
    >>> table = read_table(io.BytesIO(b"id,text\n1,Is tea hot?\n"))
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
    delimiter: str = ","

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def column(self, name: str | Sequence[str]) -> list[str]:
        """Return the cells of one column, or of several joined, as texts.

        Parameters
        ----------
        name : str or sequence of str
            As in `columns`. Cells of several columns are joined by a space, empty ones left out.

        Returns
        -------
        cells : list of str
            One per row: texts unchanged, "" for None, dates in ISO 8601, other values as JSON.

        Raises
        ------
        ValueError
            If there is no such column; the message has all columns, and the most similar name.
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
                f"{shown_names(self.columns, 30)}"
            )
        return self.columns.index(name)


def format_of(path: str | os.PathLike[str]) -> Format | None:
    """Return the format of a table from its file name, or None if the name has no format.

    Examples
    --------
    >>> format_of("pairs.tsv.gz"), format_of("pairs")
    ('tsv', None)
    """
    file = PurePath(path)
    if file.suffix.lower() in COMPRESSIONS:
        file = file.with_suffix("")
    return FORMAT_OF_SUFFIX.get(file.suffix.lower())


def check_library(format: str, source: str) -> None:
    """Raise ImportError if the library of a format is not installed."""
    try:
        importlib.import_module(LIBRARIES.get(format, "csv"))
    except ImportError as error:
        raise ImportError(
            f"{source}: tables of the format {format} need {LIBRARIES[format]}, which is not "
            "installed; pip install 'film-metric[files]', or use CSV"
        ) from error


def check_columns(columns: list[str], source: str) -> None:
    """Raise if there is no column or a name occurs twice."""
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


def shown_names(names: list[str], most: int) -> str:
    """Return the names of the first columns and the number of the others."""
    more = len(names) - most
    listed = ", ".join(repr(name[:60]) for name in names[:most])
    return listed + (f" and {more} more" if more > 0 else "")


def cell_text(value: Any) -> str:
    """Return a cell as text: "" for None, texts unchanged, dates in ISO 8601, else JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bool | int | float | list | dict):
        return to_json(value) if isinstance(value, list | dict) else json.dumps(value)
    return str(value)


def to_json(value: Any) -> str:
    """Return a value as JSON; numbers that are not finite become null.

    Examples
    --------
    >>> to_json({"a": [1, float("inf")]})
    '{"a": [1, null]}'
    """
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=cell_text)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return list(map(_finite, value)) if isinstance(value, list | tuple) else value


def escape_formula(text: str) -> str:
    r"""Put an apostrophe before a text that a spreadsheet would run as a formula.

    Parameters
    ----------
    text : str
        A cell of CSV or TSV.

    Returns
    -------
    text : str
        With ``'`` in front if it starts with ``=``, ``+``, ``-``, ``@`` (also in wide forms), a tab
        or a line break, and is not a plain number; otherwise unchanged.

    Notes
    -----
    Excel and LibreOffice run such cells when they open the file: a text from someone else could
    call programs or send the table away. The apostrophe is part of the cell for every other reader.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "-5.2", "- so", "a=b")]
    ["'=1+1", '-5.2', "'- so", 'a=b']
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text

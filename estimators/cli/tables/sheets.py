"""Tables of Excel, by openpyxl."""

from __future__ import annotations

import importlib
import io
import math
import re
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, Any

from estimators.cli.tables.table import cell_text
from film.unpacking import check_member, size_limit

_MOST_ROWS, _MOST_COLUMNS, _MOST_CHARACTERS = 1_048_575, 16_384, 32_767
_EXACT = 2**53
_CHUNK = 2**16
# An element or attribute of XML, "<a/>" say, takes a hundred bytes and more once it is parsed.
_BYTES_OF_SIGN = 16
# What XML cannot hold, or, as a carriage return, changes.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_LIKE_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
# Half of a surrogate pair, which no table holds, stays escaped.
_ESCAPED = re.compile("_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
_FORMULA = re.compile(rb"<(\w+:)?f[\s>/]")
_LONGEST_TAG = 64
_SHOWN = 5
_LIBRARIES = {"xlsx": "openpyxl", "parquet": "pyarrow"}


def check_library(format: str, source: str) -> None:
    """Raise ImportError if the library of a format is not installed."""
    library = _LIBRARIES.get(format)
    if library is None:
        return
    try:
        importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f"{source}: tables of the format {format} need {library}, which is not installed; "
            "pip install 'film-metric[files]', or use CSV"
        ) from error


def parse_workbook(
    data: bytes, source: str, notes: list[str]
) -> tuple[list[str], list[list[Any]], list[int]]:
    """Return columns, rows and row numbers of the first sheet that has cells."""
    check_library("xlsx", source)
    import openpyxl

    # A place in a row is 8 bytes, whether a file of few bytes names it or not.
    most = size_limit(len(data)) // 8
    uncomputed: dict[str, list[str]] = {}
    try:
        with warnings.catch_warnings():
            # Of styles and extensions that hold no cells.
            warnings.simplefilter("ignore")
            has_formulas = _check_parts(data)
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            # What someone hid is read where nothing else is there.
            order = sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
            sheets = [
                (sheet.title, _cells(sheet.iter_rows(values_only=True), most)) for sheet in order
            ]
            if has_formulas:
                named = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
                uncomputed = {
                    sheet.title: _uncomputed(sheet, named[sheet.title]) for sheet in order
                }
    except _TooLarge as error:
        raise ValueError(
            f"{source} was refused: its {len(data):,} bytes contain {error}, the limit that "
            "protects the memory; save the columns that you need from Excel as 'CSV UTF-8'"
        ) from None
    except MemoryError:
        raise
    except Exception as error:
        # A broken archive, or broken XML inside it, ends in errors of many kinds.
        raise ValueError(
            f"{source} is not a readable workbook ({type(error).__name__}: {error}); open it "
            "in Excel and save it again as .xlsx or as 'CSV UTF-8'"
        ) from error
    full = [
        (title, cells)
        for title, cells in sheets
        if uncomputed.get(title) or any(map(_has_value, cells))
    ]
    if not full:
        return [], [], []
    title, cells = full[0]
    if holes := uncomputed.get(title):
        more = f" and {len(holes) - _SHOWN} more" if len(holes) > _SHOWN else ""
        raise ValueError(
            f"{source}, sheet {title!r}, holds formulas whose values were never computed: cells "
            f"{', '.join(holes[:_SHOWN])}{more}; open it in Excel or LibreOffice and save it, "
            "which computes them, or put values in their place"
        )
    if len(full) > 1:
        others = ", ".join(repr(name) for name, _ in full[1:6])
        notes.append(f"{source}: the sheet {title!r} is read; others with cells are {others}")
    numbered = [(number, row) for number, row in enumerate(cells, start=1) if _has_value(row)]
    used = 1 + max(place for _, row in numbered for place, v in enumerate(row) if v is not None)
    header = [cell_text(value) for value in numbered[0][1][:used]]
    rows = [row[:used] + [None] * (used - len(row)) for _, row in numbered[1:]]
    return header, rows, [number for number, _ in numbered[1:]]


class _TooLarge(Exception):
    """Raised when a workbook exceeds the size limit."""


def _uncomputed(sheet: Any, formulas: Any) -> list[str]:
    """Return the cells of a sheet that have a formula without a value.

    A value that is an empty text has a type of its own ("str").
    """
    return [
        formula.coordinate
        for row, written in zip(sheet.iter_rows(), formulas.iter_rows(), strict=True)
        for cell, formula in zip(row, written, strict=True)
        if cell.value is None and formula.data_type == "f" and cell.data_type != "str"
    ]


def _check_parts(data: bytes) -> bool:
    """Raise if a part of a workbook unpacks to another size than declared, or above the limit.

    Returns whether any of them may hold a formula.
    """
    limit = size_limit(len(data))
    has_formulas = False
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(info.file_size for info in archive.infolist()) > limit:
            raise _TooLarge(f"parts of more than {limit:,} bytes")
        n_signs = 0
        for info in archive.infolist():
            check_member(info, data)
            end = b""
            with archive.open(info) as part:
                while chunk := part.read(_CHUNK):
                    n_signs += chunk.count(b"<") + chunk.count(b"=")
                    has_formulas = has_formulas or _FORMULA.search(end + chunk) is not None
                    end = chunk[-_LONGEST_TAG:]
        if n_signs > limit // _BYTES_OF_SIGN:
            raise _TooLarge(f"more than {limit // _BYTES_OF_SIGN:,} marks of XML")
    return has_formulas


def _cells(rows: Iterable[Sequence[Any]], most: int) -> list[list[Any]]:
    """Return the cells of a sheet; raise `_TooLarge` above the limits."""
    cells, n_cells = [], 0
    for row in rows:
        n_cells += len(row)
        if n_cells > most:
            raise _TooLarge(f"more than {most:,} cells")
        if len(cells) > _MOST_ROWS:
            raise _TooLarge(f"more than {_MOST_ROWS + 1:,} rows")
        cells.append(list(map(_plain, row)))
    return cells


def _plain(value: Any) -> Any:
    """Undo Excel's escapes."""
    if not isinstance(value, str):
        return value
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)


def _sheet_cells(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return the cells of a sheet, its header first; raise if Excel cannot hold them."""
    if len(columns) > _MOST_COLUMNS:
        raise ValueError(
            f"a sheet of Excel has at most {_MOST_COLUMNS:,} columns; write CSV or Parquet"
        )
    cells = [[_excel_cell(name, "columns") for name in columns]]
    for place, row in enumerate(rows):
        if place == _MOST_ROWS:
            raise ValueError(
                f"a sheet of Excel has at most {_MOST_ROWS:,} rows and a header; write Parquet"
            )
        cells.append([_excel_cell(value, f"rows[{place}]") for value in row])
    return cells


def write_workbook(
    handle: IO[bytes], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write one sheet; texts that look like formulas stay texts."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    # All are checked first: openpyxl complains at its own end about a sheet that broke off.
    checked = _sheet_cells(columns, rows)
    book = openpyxl.Workbook(write_only=True)
    sheet: Any = book.create_sheet("table")
    for row in checked:
        cells = [WriteOnlyCell(sheet, value) for value in row]
        for cell in cells:
            if isinstance(cell.value, str):
                cell.data_type = "s"
        sheet.append(cells)
    # The archive wants a stream that it can move in.
    buffer = io.BytesIO()
    book.save(buffer)
    handle.write(buffer.getbuffer())


def _excel_cell(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) <= _EXACT:
        return value
    text = cell_text(value)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(
            f"{where} holds a text of {len(text)} characters, and a cell of Excel at most "
            f"{_MOST_CHARACTERS}; write CSV or Parquet"
        )
    text.encode()  # Half of a surrogate pair is refused, as in all other formats.
    # As Excel itself writes control characters, and texts that look like them.
    text = _LIKE_ESCAPED.sub("_x005F_", text)
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _has_value(row: Sequence[Any]) -> bool:
    return any(value is not None for value in row)

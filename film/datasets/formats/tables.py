"""Read named columns of a table with a header."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from film.datasets.formats.lines import Line, wrong_line, wrong_rows


def read_table(
    path: str | os.PathLike[str],
    lines: Iterable[Line],
    columns: Sequence[Sequence[str]],
    fault_of: Callable[[Sequence[str]], str],
    *,
    quoted: bool,
) -> list[list[str]]:
    """Return the columns of a table that its header names.

    Parameters
    ----------
    path : str or path-like
        File name for errors.
    lines : iterable of Line
        The file's lines; blank lines between rows are skipped.
    columns : sequence of sequence of str
        Accepted names of each column, ignoring case and surrounding whitespace.
    fault_of : callable
        Returns what is wrong with the cells of a row, in the order of `columns`, or an empty
        string.
    quoted : bool
        Whether cells are separated by commas and may be quoted, also over several lines; otherwise
        they are separated by tabs and a quotation mark is an ordinary character.

    Returns
    -------
        The cells of the requested columns, without surrounding whitespace.
        The cells of the columns asked for, without white space around them.

    Raises
    ------
    ValueError
        If a column is missing or repeated, quotes do not close, there are no rows, or rows are
        invalid: one error for all of them, each with the line it ends on. Rows with more cells than
        the header, unless these are blank, and repeated headers are also invalid.
    """
    records = _records(path, lines, quoted=quoted)
    header = next(records, (1, [], ""))
    places = _places(path, header, columns)
    rows: list[list[str]] = []
    problems: list[tuple[int, str]] = []
    names = header_names(header[1])
    for number, cells, fault in records:
        row = [cells[place].strip() for place in places if place < len(cells)]
        too_many = any(cell.strip() for cell in cells[len(names) :])
        if not fault and (len(row) < len(places) or too_many):
            fault = f"{len(names)} columns expected, {len(cells)} found"
        begins_alike = header_names(row[:1]) == [names[places[0]]]
        if not fault and begins_alike and header_names(cells) == names:
            fault = "repeated header"
        if fault := fault or fault_of(row):
            problems.append((number, fault))
        else:
            rows.append(row)
    if problems:
        raise wrong_rows(path, problems, len(rows), "correct or remove those lines")
    if not rows:
        raise ValueError(f"{path} holds a header but no rows")
    return rows


def _records(
    path: str | os.PathLike[str], lines: Iterable[Line], *, quoted: bool
) -> Iterator[tuple[int, list[str], str]]:
    """Yield the last line of each record, its cells, and what is wrong with its bytes."""
    taken: list[Line] = []

    def texts() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line.text

    source = texts()
    records = (
        csv.reader(source, strict=True)
        if quoted
        else (text.rstrip("\r\n").split("\t") for text in source)
    )
    while True:
        taken.clear()
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            reason = f"{quoting_fault(error)}, from line {taken[0].number} on"
            raise wrong_line(path, taken[-1].number, reason) from error
        faults = (line.fault if quoted else line.fault_without_quoting for line in taken)
        fault = next(filter(None, faults), "")
        if fault or any(cell.strip() for cell in cells):
            yield taken[-1].number, cells, fault


def quoting_fault(error: csv.Error) -> str:
    """Describe an error of the csv module for the owner of the file."""
    reason = str(error)
    if "field limit" in reason:
        most = csv.field_size_limit()
        reason = f"a cell of more than {most:,} characters; is a quotation mark left open?"
    elif "new-line" in reason:
        reason = "a carriage return without a line feed; save the file with line feeds"
    return f"broken quoting or line end ({reason})"


def header_names(cells: Sequence[str]) -> list[str]:
    """Return column names without case and surrounding whitespace."""
    return [cell.strip("\ufeff").strip().casefold() for cell in cells]


def _places(
    path: str | os.PathLike[str],
    header: tuple[int, list[str], str],
    columns: Sequence[Sequence[str]],
) -> list[int]:
    number, cells, fault = header
    if fault:
        raise wrong_line(path, number, fault)
    names = header_names(cells)
    places = [
        next((names.index(name.casefold()) for name in choice if name.casefold() in names), None)
        for choice in columns
    ]
    missing = [
        " or ".join(choice) for choice, place in zip(columns, places, strict=True) if place is None
    ]
    if missing:
        shown = ", ".join(name[:40] for name in cells[:20]) or "nothing"
        raise ValueError(f"{path} lacks the columns {', '.join(missing)}; its header has {shown}")
    found = [place for place in places if place is not None]
    if twice := [cells[place] for place in found if names.count(names[place]) > 1]:
        raise ValueError(f"{path} has several columns {', '.join(twice)}; rename or remove one")
    return found

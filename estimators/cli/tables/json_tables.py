"""Tables of JSON: an object on each line, or an array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any

from estimators.cli.tables.decoding import line_of
from estimators.cli.tables.table import to_json
from film.unpacking import size_limit

ARRAY_OF_OBJECTS = re.compile(r"\s*\[\s*\{")
"""How a text of unknown format begins that is an array of objects, not CSV."""
_SPACE = re.compile(r"[ \t\r\n]*")


def parse_lines(text: str, source: str) -> tuple[list[str], list[list[Any]], list[int]]:
    """Return columns, rows and lines of an object per line."""
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    # A string of JSON may hold characters that splitlines takes for line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(_checked(_DECODER.decode(line), line))
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{source}, line {number}: {line.strip()[:60]!r} is not a JSON object ({error}); "
                "give one object per line, or an array of objects in a file that ends in .json"
            ) from error
        lines.append(number)
    return *_laid_out(records, text, source), lines


def parse_array(text: str, source: str) -> tuple[list[str], list[list[Any]], list[int]]:
    """Return columns, rows and lines of an array of objects."""
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    line, counted = 1, 0
    at = _skip(text, _skip(text, 0) + 1)
    try:
        while text[at : at + 1] != "]" or records:
            line, counted = line + text.count("\n", counted, at), at
            record, end = _DECODER.raw_decode(text, at)
            records.append(_checked(record, text[at:end]))
            lines.append(line)
            at = _skip(text, end)
            if text[at : at + 1] != ",":
                break
            at = _skip(text, at + 1)
        if text[at : at + 1] != "]" or text[at + 1 :].strip():
            raise ValueError("a comma or the closing bracket is missing, or more follows it")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{source}, line {line_of(text[:at])}: {text[at : at + 60]!r} ({error}); give an array "
            "of objects, such as pandas writes by orient='records'"
        ) from error
    return *_laid_out(records, text, source), lines


def write_lines(handle: IO[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an object per line."""
    for row in rows:
        handle.write(_object(columns, row) + "\n")


def write_array(handle: IO[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an array with an object per line."""
    before = "[\n"
    for row in rows:
        handle.write(before + _object(columns, row))
        before = ",\n"
    handle.write("[]\n" if before == "[\n" else "\n]\n")


def _object(columns: Sequence[str], row: Sequence[Any]) -> str:
    return to_json(dict(zip(columns, row, strict=True)))


def _checked(record: Any, text: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise ValueError(f"it is a {type(record).__name__}, not an object")
    if "\\u" in text:
        # Half a surrogate pair could not be written again.
        json.dumps(record, ensure_ascii=False).encode()
    return record


def _laid_out(
    records: list[dict[str, Any]], text: str, source: str
) -> tuple[list[str], list[list[Any]]]:
    only = records[0] if len(records) == 1 else {}
    if only and all(isinstance(value, dict | list) for value in only.values()):
        shown = ", ".join(map(repr, list(only)[:5]))
        raise ValueError(
            f"{source} is one object with {shown} that hold objects or lists, as pandas writes "
            "columns by default; give one object per row, as it writes them by orient='records'"
        )
    columns: dict[str, None] = {}
    for record in records:
        columns.update(dict.fromkeys(record))
    # A cell that is not there takes 8 bytes too: keys of its own for every row make a square.
    most = size_limit(len(text)) // 8
    if len(columns) * len(records) > most:
        raise ValueError(
            f"{source} was refused: its {len(records):,} objects have {len(columns):,} different "
            f"keys, a table of more than {most:,} cells; give the same keys to all, and lists of "
            "pairs where keys are data"
        )
    return list(columns), [[record.get(column) for column in columns] for record in records]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key occurs twice")
    return record


def _finite(text: str) -> float:
    value = float(text)
    if value - value:
        raise ValueError(f"{text} is not a number in JSON, or too large")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)

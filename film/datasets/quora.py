"""Reader of the public Quora question pairs."""

from __future__ import annotations

import csv
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from film.datasets.formats.lines import Line, read_lines, wrong_line, wrong_rows
from film.datasets.formats.tables import quoting_fault
from film.datasets.pairs import QuestionPairs

_QUESTIONS = ("question1", "question2")
_IDS = ("test_id", "id")
_WHOLE_NUMBERS = (*_IDS, "qid1", "qid2")
_KNOWN_COLUMNS = frozenset((*_WHOLE_NUMBERS, *_QUESTIONS, "is_duplicate"))
_TOKENISED_COLUMNS = ("is_duplicate", *_QUESTIONS, "id")
_FORMS = (
    "comma or tab separated with a header naming question1 and question2 and, if present, "
    "id or test_id, qid1, qid2, is_duplicate; or without header, tab separated: "
    "label, question, question, id"
)
# Limits how many rows an unclosed quote can swallow.
_MOST_LINES_OF_A_RECORD = 100


def read_quora(path: str | os.PathLike[str], *, on_error: str = "raise") -> QuestionPairs:
    r"""Read question pairs from any of the public forms of the Quora set.

    The form is detected from the first line: Kaggle's ``train.csv`` (``id, qid1, qid2, question1,
    question2, is_duplicate``) and ``test.csv`` (``test_id, question1, question2``), the original
    tab-separated ``quora_duplicate_questions.tsv``, the tokenised files of Wang et al. 2017 (no
    header, no quoting: label, question, question, id, separated by tabs), and files with only the
    two question columns. Quoted records may span several lines; byte order marks, Windows line
    ends, and column names in any case are accepted.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.
    on_error : {"raise", "skip"}, default="raise"
        What to do with invalid rows: list them in one error, or leave them out and count them.
        Invalid rows have a missing (empty or blank) question, a label other than 0 or 1, an id that
        is not a whole number, too few or too many columns, broken quoting, or bytes that are not
        UTF-8, or repeat the header. Blank lines are ignored.

    Returns
    -------
    data : QuestionPairs
        Questions as written. `y` is None if the file has no labels; `ids` are the file's, or "0",
        "1", … over the rows kept if it has none.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If rows are invalid and `on_error` is "raise", the columns have an unknown form, the file is
        empty, or no row is left.

    Notes
    -----
    One pass over the file.

    References
    ----------
    Z. Wang, W. Hamza, R. Florian. "Bilateral Multi-Perspective Matching for Natural
    Language Sentences." IJCAI 2017.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "own.csv"
    >>> _ = path.write_text("question1,question2\nIs tea hot?,Is tea warm?\nWhy?,\n")
    >>> data = read_quora(path, on_error="skip")
    >>> data.pairs.tolist(), data.skipped
    ([['Is tea hot?', 'Is tea warm?']], ((3, 'question2 is missing'),))
    >>> folder.cleanup()
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    problems: list[tuple[int, str]] = []
    pairs: list[tuple[str, str]] = []
    labels: list[int] = []
    ids: list[str] = []
    lines = _Lines(path)
    form = _form(lines, path)
    for number, cells, fault in _records(lines, form):
        if reason := fault or _fault(cells, form):
            problems.append((number, reason))
            continue
        pairs.append((cells[form.first], cells[form.second]))
        if form.label is not None:
            labels.append(int(cells[form.label]))
        if form.name is not None:
            ids.append(cells[form.name].strip())
    if problems and (on_error == "raise" or not pairs):
        remedy = "correct them, or pass on_error='skip' to leave them out and count them"
        none_left = "no valid row is left; correct them"
        raise wrong_rows(path, problems, len(pairs), remedy if pairs else none_left)
    if not pairs:
        raise ValueError(f"{path} holds a header but no question pairs")
    return QuestionPairs(
        pairs=np.array(pairs, dtype=object),
        y=None if form.label is None else np.array(labels, dtype=np.int64),
        ids=np.array(
            ids if form.name is not None else [*map(str, range(len(pairs)))], dtype=object
        ),
        n_skipped=len(problems),
        skipped=tuple(problems),
    )


@dataclass(frozen=True)
class _Form:
    """The meaning of each column; `delimiter` None means tabs without quoting."""

    columns: tuple[str, ...]
    delimiter: str | None
    first: int
    second: int
    label: int | None
    name: int | None
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, columns: Sequence[str], delimiter: str | None) -> _Form:
        place = {column: i for i, column in enumerate(columns)}
        return cls(
            columns=tuple(columns),
            delimiter=delimiter,
            first=place["question1"],
            second=place["question2"],
            label=place.get("is_duplicate"),
            name=next((place[column] for column in _IDS if column in place), None),
            numbers=tuple(place[column] for column in _WHOLE_NUMBERS if column in place),
        )


class _Lines(Iterator[Line]):
    """The lines of a file; lines that were read ahead can be handed back."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lines = read_lines(path)
        self._returned: deque[Line] = deque()

    def __next__(self) -> Line:
        return self._returned.popleft() if self._returned else next(self._lines)

    def hand_back(self, lines: list[Line]) -> None:
        self._returned.extendleft(reversed(lines))


def _form(lines: _Lines, path: str | os.PathLike[str]) -> _Form:
    """Detect the file's form from its first nonblank line."""
    line = next((line for line in lines if line.text.strip("\ufeff \t\r\n")), None)
    if line is None:
        raise ValueError(f"{path} is empty; expected question pairs, {_FORMS}")
    if line.fault:
        raise wrong_line(path, line.number, line.fault)
    for delimiter in (",", "\t"):
        columns = _header(line, delimiter, path)
        if set(_QUESTIONS) <= set(columns):
            unknown = [column for column in columns if column not in _KNOWN_COLUMNS]
            if unknown or len(set(columns)) < len(columns):
                wrong = f"unknown columns {unknown}" if unknown else "columns named twice"
                raise ValueError(
                    f"{path} has {wrong}: found {columns}, known are "
                    f"{sorted(_KNOWN_COLUMNS)}; rename or remove the others"
                )
            return _Form.of(columns, delimiter)
    cells = line.cells()
    if len(cells) == len(_TOKENISED_COLUMNS) and (cells[0] in ("0", "1") or _whole(cells[3])):
        lines.hand_back([line])
        return _Form.of(_TOKENISED_COLUMNS, None)
    delimiter = "\t" if len(cells) > 1 else ","
    found = [name[:60] for name in _header(line, delimiter, path)]
    raise ValueError(f"{path} has unknown columns: found {found}; expected {_FORMS}")


def _header(line: Line, delimiter: str, path: str | os.PathLike[str]) -> list[str]:
    try:
        return _names(next(csv.reader([line.text], delimiter=delimiter)))
    except csv.Error as error:
        raise wrong_line(path, line.number, quoting_fault(error)) from error


def _names(cells: list[str]) -> list[str]:
    return [cell.strip("\ufeff \r\n").lower() for cell in cells]


def _is_blank(line: Line) -> bool:
    # A file concatenated from two can contain a byte order mark.
    return not line.text.strip("\r\n \ufeff")


def _records(lines: _Lines, form: _Form) -> Iterator[tuple[int, list[str], str]]:
    """Yield the first line number of each record, its cells, and what is wrong with it."""
    for line in lines:
        if _is_blank(line):
            continue
        taken = [line]
        fault = ""
        if form.delimiter is None:
            cells = line.cells()
        else:
            source = _record_lines(line, lines, taken)
            try:
                cells = next(csv.reader(source, delimiter=form.delimiter, strict=True))
            except csv.Error as error:
                cells, fault = [], quoting_fault(error)
            else:
                if len(taken) > 1 and len(cells) != len(form.columns):
                    fault = f"a quote opens and lines up to {taken[-1].number} do not fit"
            if fault:
                # Skip only the first line, so that a stray quote costs one record.
                lines.hand_back(taken[1:])
                taken = taken[:1]
        for part in taken:
            wrong = part.fault_without_quoting if form.delimiter is None else part.fault
            if wrong:
                fault = wrong if part is line else f"line {part.number} is {wrong}"
                break
        yield line.number, cells, fault


def _record_lines(first: Line, rest: _Lines, taken: list[Line]) -> Iterator[str]:
    """Yield the lines of a record while a quote is open, and add them to ``taken``."""
    yield first.text
    for line in rest:
        taken.append(line)
        yield line.text
        if len(taken) >= _MOST_LINES_OF_A_RECORD:
            return


def _fault(fields: list[str], form: _Form) -> str:
    """Return what is wrong with a record, or the empty string."""
    if any(_QUESTIONS[1] in field.lower() for field in fields) and set(_QUESTIONS) <= set(
        _names(fields)
    ):
        return "repeated header"
    if len(fields) != len(form.columns):
        return f"{len(form.columns)} columns expected, {len(fields)} found"
    for i in (form.first, form.second):
        if not fields[i].strip():
            return f"{form.columns[i]} is missing"
    if form.label is not None and fields[form.label].strip() not in ("0", "1"):
        return f"is_duplicate must be 0 or 1, got {fields[form.label][:60]!r}"
    for i in form.numbers:
        if not _whole(fields[i]):
            return f"{form.columns[i]} must be a whole number, got {fields[i][:60]!r}"
    return ""


def _whole(cell: str) -> bool:
    cell = cell.strip()
    return cell.isascii() and cell.isdigit()

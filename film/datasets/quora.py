"""Readers of the public Quora question pairs, and of the list of excluded sentences."""

from __future__ import annotations

import csv
import os
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from film.datasets.pairs import QuestionPairs
from film.text import text_hash

__all__ = ["drop_excluded", "read_excluded", "read_quora"]

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
# A quote left open would otherwise swallow all rows up to the next stray one.
_MOST_LINES_A_RECORD = 100
_PROBLEMS_SHOWN = 10
_HASH = re.compile(r"[0-9a-f]{16}")


def read_quora(path: str | os.PathLike[str], *, on_error: str = "raise") -> QuestionPairs:
    r"""Read question pairs from any of the public forms of the Quora set.

    The form is told from the first line: Kaggle's ``train.csv`` (``id, qid1, qid2,
    question1, question2, is_duplicate``) and ``test.csv`` (``test_id, question1,
    question2``), the original tab-separated ``quora_duplicate_questions.tsv``, the
    tokenised files of Wang et al. 2017 (no header, no quoting: label, question, question,
    id, parted by tabs), and files of the two question columns alone. Quoted records may
    run over several lines; a byte order mark and Windows line ends are accepted.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.
    on_error : {"raise", "skip"}, default="raise"
        What to do with wrong rows: name them all in one error, or leave them out and
        count them. Wrong are rows with a missing (empty or blank) question, a label other
        than 0 or 1, an id that is no whole number, too few or too many columns, broken
        quoting, bytes that are not UTF-8, and headers repeated inside the file. Blank
        lines are no rows.

    Returns
    -------
    data : QuestionPairs
        Questions as written. `y` is None where the file has no labels; `ids` are the
        file's, or "0", "1", … over the rows kept where it has none.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When rows are wrong and `on_error` is "raise"; when the columns are not one of the
        known forms; when the file is empty or no row is left.

    Notes
    -----
    Cost: one pass, some 3 s for the 404,290 pairs of the public set.

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
    with _open(path) as handle:
        lines = _Lines(handle)
        form = _form(lines, path)
        for record in _records(lines, form):
            reason = record.reason or _fault(record.fields, form)
            if reason:
                problems.append((record.line, reason))
                continue
            pairs.append((record.fields[form.first], record.fields[form.second]))
            if form.label is not None:
                labels.append(int(record.fields[form.label]))
            if form.name is not None:
                ids.append(record.fields[form.name].strip())
    if problems and (on_error == "raise" or not pairs):
        raise ValueError(_report(path, problems, len(pairs)))
    if not pairs:
        raise ValueError(f"{path} holds a header but no question pairs")
    return QuestionPairs(
        pairs=_objects(pairs, (len(pairs), 2)),
        y=None if form.label is None else np.array(labels, dtype=np.int64),
        ids=_objects(ids if form.name is not None else [str(i) for i in range(len(pairs))]),
        n_skipped=len(problems),
        skipped=tuple(problems),
    )


def read_excluded(path: str | os.PathLike[str]) -> frozenset[str]:
    r"""Read the list of sentences that no training or selection row may hold.

    Parameters
    ----------
    path : str or path-like
        A file of one `film.text.text_hash` a line; blank lines are passed over.

    Returns
    -------
    excluded : frozenset of str
        The 16-digit hashes.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When a line is not 16 hexadecimal digits, naming the first such line: a list read
        in part would let excluded sentences through.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "exclude.txt"
    >>> _ = path.write_text("aed7b9613b8c8ba9\n")
    >>> read_excluded(path)
    frozenset({'aed7b9613b8c8ba9'})
    >>> folder.cleanup()
    """
    hashes = set()
    with _open(path) as handle:
        for line in _Lines(handle):
            digits = line.text.strip().lower()
            if digits and not _HASH.fullmatch(digits):
                raise ValueError(
                    f"{path}, line {line.number}: {digits[:60]!r} is not a hash of 16 "
                    "hexadecimal digits; give one film.text.text_hash a line"
                )
            hashes.add(digits)
    return frozenset(hashes - {""})


def drop_excluded(data: QuestionPairs, excluded: Collection[str]) -> tuple[QuestionPairs, int]:
    """Leave out the pairs that hold an excluded sentence.

    Parameters
    ----------
    data : QuestionPairs
        n pairs.
    excluded : collection of str
        Hashes as `read_excluded` gives them; a set, for speed.

    Returns
    -------
    kept : QuestionPairs
        The other pairs in their order; `n_skipped` and `skipped` as they were.
    n_dropped : int
        How many pairs were left out.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["A man is playing a guitar.", "Hi"], ["Hi", "Hello"]], dtype=object)
    >>> data = QuestionPairs(pairs, y=None, ids=np.array(["7", "8"], dtype=object))
    >>> kept, n_dropped = drop_excluded(data, {"aed7b9613b8c8ba9"})
    >>> kept.ids.tolist(), n_dropped
    (['8'], 1)
    """
    keep = np.array(
        [
            text_hash(first) not in excluded and text_hash(second) not in excluded
            for first, second in data.pairs
        ],
        dtype=bool,
    )
    kept = replace(
        data,
        pairs=data.pairs[keep],
        y=None if data.y is None else data.y[keep],
        ids=data.ids[keep],
    )
    return kept, int(len(keep) - keep.sum())


@dataclass(frozen=True)
class _Line:
    number: int
    text: str
    fault: str = ""


@dataclass(frozen=True)
class _Record:
    line: int
    fields: list[str]
    reason: str = ""


@dataclass(frozen=True)
class _Form:
    """Which column holds what; `delimiter` None means tabs without quoting."""

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


class _Lines:
    """The physical lines of a file with their numbers; lines can be handed back."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = enumerate(handle, start=1)
        self._returned: deque[_Line] = deque()

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> _Line:
        if self._returned:
            return self._returned.popleft()
        number, raw = next(self._handle)
        encoding = "utf-8-sig" if number == 1 else "utf-8"
        try:
            return _Line(number, raw.decode(encoding))
        except UnicodeDecodeError as error:
            fault = (
                f"byte {error.start + 1} of line {number} (0x{raw[error.start]:02x}) is not "
                "UTF-8; save the file as UTF-8"
            )
            return _Line(number, raw.decode(encoding, errors="replace"), fault)

    def hand_back(self, lines: list[_Line]) -> None:
        self._returned.extendleft(reversed(lines))


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    if not Path(path).exists():
        raise FileNotFoundError(
            f"path: there is no file {os.fspath(path)!r}; give the path of a downloaded file"
        )
    if Path(path).is_dir():
        raise IsADirectoryError(
            f"path: {os.fspath(path)!r} is a folder; give the path of a file inside it"
        )
    return open(path, "rb")


def _form(lines: _Lines, path: str | os.PathLike[str]) -> _Form:
    """Tell the file's form from its first line that is not blank."""
    line = next((line for line in lines if line.text.strip("\r\n \ufeff")), None)
    if line is None:
        raise ValueError(f"{path} is empty; expected question pairs, {_FORMS}")
    if line.fault:
        raise ValueError(f"{path}: {line.fault}")
    for delimiter in (",", "\t"):
        columns = _names(next(csv.reader([line.text], delimiter=delimiter)))
        if set(_QUESTIONS) <= set(columns):
            unknown = [column for column in columns if column not in _KNOWN_COLUMNS]
            if unknown or len(set(columns)) < len(columns):
                wrong = f"unknown columns {unknown}" if unknown else "columns named twice"
                raise ValueError(
                    f"{path} has {wrong}: found {columns}, known are "
                    f"{sorted(_KNOWN_COLUMNS)}; rename or remove the others"
                )
            return _Form.of(columns, delimiter)
    cells = line.text.rstrip("\r\n").split("\t")
    if len(cells) == len(_TOKENISED_COLUMNS) and (cells[0] in ("0", "1") or _whole(cells[3])):
        lines.hand_back([line])
        return _Form.of(_TOKENISED_COLUMNS, None)
    delimiter = "\t" if len(cells) > 1 else ","
    found = [name[:60] for name in _names(next(csv.reader([line.text], delimiter=delimiter)))]
    raise ValueError(f"{path} has unknown columns: found {found}; expected {_FORMS}")


def _names(cells: list[str]) -> list[str]:
    # A byte order mark stands inside a file that was joined from two.
    return [cell.strip("\ufeff \r\n") for cell in cells]


def _records(lines: _Lines, form: _Form) -> Iterator[_Record]:
    """Yield one record after the other, named by the line it starts on."""
    for line in lines:
        if not line.text.strip("\r\n \ufeff"):
            continue
        taken = [line]
        reason = ""
        if form.delimiter is None:
            fields = line.text.rstrip("\r\n").split("\t")
        else:
            source = _record_lines(line, lines, taken)
            try:
                fields = next(csv.reader(source, delimiter=form.delimiter, strict=True))
            except csv.Error as error:
                fields, reason = [], f"broken quoting or line end ({error})"
            else:
                if len(taken) > 1 and len(fields) != len(form.columns):
                    reason = f"a quote opens and lines up to {taken[-1].number} do not fit"
            if reason:
                # Only the first line is given up, so one stray quote costs one record.
                lines.hand_back(taken[1:])
                taken = taken[:1]
        reason = next((part.fault for part in taken if part.fault), reason)
        yield _Record(line.number, fields, reason)


def _record_lines(first: _Line, rest: _Lines, taken: list[_Line]) -> Iterator[str]:
    """Yield the lines that a record asks for while a quote is open, noting them."""
    yield first.text
    for line in rest:
        taken.append(line)
        yield line.text
        if len(taken) >= _MOST_LINES_A_RECORD:
            return


def _fault(fields: list[str], form: _Form) -> str:
    """Say what is wrong with a record, or return the empty string."""
    if _QUESTIONS[1] in fields and set(_QUESTIONS) <= set(_names(fields)):
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


def _report(path: str | os.PathLike[str], problems: list[tuple[int, str]], n_right: int) -> str:
    shown = "; ".join(f"line {line}: {reason}" for line, reason in problems[:_PROBLEMS_SHOWN])
    more = len(problems) - _PROBLEMS_SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    remedy = (
        "correct them, or pass on_error='skip' to leave them out and count them"
        if n_right
        else "no right row is left"
    )
    return (
        f"{path} has {len(problems)} wrong rows of {len(problems) + n_right}: "
        f"{shown}{rest}; {remedy}"
    )


def _objects(values: list, shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = np.empty(shape or (len(values),), dtype=object)
    array[:] = values
    return array

"""The file of answers that ``film review`` keeps."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from filelock import Timeout
from numpy.typing import NDArray

from estimators.cli.console import Failure, note
from estimators.cli.reading import labels_of
from estimators.cli.tables import Table, scan_table, write_table
from estimators.inputs import CELL_END
from film.datasets import lock_beside, unlock
from film.text import normalize_text

COLUMNS = ["text1", "text2", "label"]
REASON = "reason"
"""A column that a file gets with the first reason."""

LOCK_SECONDS = 10.0
"""How long a save waits for another session, which holds the lock for milliseconds."""
Key = tuple[str, str]


class Row(NamedTuple):
    """An answer to a pair, "1", "0", or "" where it was skipped, and its reason if there is one."""

    text1: str
    text2: str
    answer: str
    reason: str = ""


def pair_key(pair: Sequence[str]) -> Key:
    """Return a key of a pair that ignores order, case and spacing."""
    a, b = sorted(normalize_text(text) for text in pair)
    return a, b


class Answers:
    """Pairs with 1, 0, or nothing where they were skipped, in a file that is always whole.

    The file may change while a session runs: another session, or a person with an editor, adds and
    corrects rows. So what is on the disk is read again for every save, under a lock, and written
    with one more row; all other cells stay, and so do the format, the delimiter and a byte order
    mark; the encoding becomes UTF-8. Rows of this session that another program saved over are put
    back. Answers that contradict each
    other are both kept: which one is right is not for a file to decide.

    Parameters
    ----------
    path : str
        A table with the columns `COLUMNS`, or a file that is not there yet.
    columns : sequence of str, default=()
        Columns of records. The file then has left_name, right_name and so on in place of texts,
        and texts have cells separated by U+001F.
    """

    def __init__(self, path: str, columns: Sequence[str] = ()) -> None:
        self.path = path
        self._columns = COLUMNS
        if columns:
            sides = [f"{side}_{name}" for name in columns for side in ("left", "right")]
            self._columns = [*sides, COLUMNS[-1]]
        self._given: list[Row] = []
        self._lock = lock_beside(path, LOCK_SECONDS)
        self._read()
        for text in self._table.notes if self._table is not None else ():
            note(text)

    def __len__(self) -> int:
        return len(self._rows)

    def counts(self) -> dict[str, int]:
        """Count the answers "1", "0" and "" of the last reading."""
        found = Counter(row.answer for row in self._rows)
        return {answer: found[answer] for answer in ("1", "0", "")}

    def reasons(self) -> dict[str, int]:
        """Count the reasons of the last reading, the most frequent first."""
        return dict(Counter(row.reason for row in self._rows if row.reason).most_common())

    def whole(self) -> tuple[list[str], list[list[str]]]:
        """Return all columns but that of reasons, and the cells and reason of each row.

        The first columns are those of answers; both are as of the last reading.
        """
        names = [] if self._table is None else self._table.columns
        others = [name for name in names if name not in (*self._columns, REASON)]
        more = [() for _ in self._rows]
        if self._table is not None and others:
            more = zip(*map(self._table.column, others), strict=True)
        rows = zip(map(self._cells, self._rows), more, strict=True)
        return [*self._columns, *others], [[*row[:-1], *cells, row[-1]] for row, cells in rows]

    def refresh(self) -> None:
        """Read the file again."""
        self._read()

    def add(self, pair: Sequence[str], answer: str, reason: str = "") -> None:
        """Save an answer, "1", "0" or ""; it is on disk when this returns."""
        text1, text2 = pair
        row = Row(text1, text2, answer, reason)
        with self._alone():
            self._save([*self._lost(), row])
            self._given.append(row)

    def undo(self) -> bool:
        """Remove the last answer of this session; return False if the file no longer has it."""
        with self._alone():
            row = self._given.pop()
            places = [place for place, kept in enumerate(self._rows) if kept == row]
            if places:
                assert self._table is not None
                kept = self._table.rows[: places[-1]] + self._table.rows[places[-1] + 1 :]
                if kept or self._table.columns != self._columns:
                    self._write(kept, [])
                else:
                    os.unlink(self.path)
                self._read()
            return bool(places)

    def restore(self) -> None:
        """Restore answers that another program overwrote."""
        with self._alone():
            self._save(self._lost())

    def by_key(self) -> dict[Key, int | None]:
        """Return the last answer to each pair that was asked, None where it was skipped."""
        return {pair_key(row[:2]): int(row.answer) if row.answer else None for row in self._rows}

    def labelled(self) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
        """Return the pairs with a label, shape (n, 2), and their labels."""
        rows = [row for row in self._rows if row.answer]
        pairs = np.array([row[:2] for row in rows], dtype=object).reshape(-1, 2)
        return pairs, np.array([int(row.answer) for row in rows], dtype=np.int64)

    def _read(self) -> None:
        self._table: Table | None = None
        self._rows: list[Row] = []
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            return
        table, numbered = scan_table(self.path)
        lines_and_cells = list(numbered)
        missing = [name for name in self._columns if name not in table.columns]
        # JSON names no column of which all cells are missing.
        if missing and not (table.format in ("json", "jsonl") and missing == self._columns[-1:]):
            raise Failure(
                f"{self.path} is not a file of answers: it has the columns "
                f"{', '.join(map(repr, table.columns[:20]))}, not {', '.join(self._columns)}; give "
                "--labels a new name"
            )
        lines, rows = ([each[part] for each in lines_and_cells] for part in (0, 1))
        self._table = replace(table, lines=lines, rows=rows)
        texts = [
            self._table.column(name) if name in table.columns else [""] * len(rows)
            for name in [*self._columns, REASON]
        ]
        cells = [list(row) for row in zip(*texts, strict=True)]
        answered = [place for place, row in enumerate(cells) if row[-2].strip()]
        if answered:
            labelled = replace(
                self._table,
                rows=[rows[place] for place in answered],
                lines=[lines[place] for place in answered],
            )
            for place, label in zip(answered, labels_of(labelled, COLUMNS[-1])[1], strict=True):
                cells[place][-2] = str(label)
        self._rows = [
            Row(CELL_END.join(row[:-2:2]), CELL_END.join(row[1:-2:2]), row[-2].strip(), row[-1])
            for row in cells
        ]

    def _lost(self) -> list[Row]:
        """Return the rows of this session that the file no longer has."""
        kept = {pair_key(row[:2]) for row in self._rows}
        lost = [row for row in self._given if pair_key(row[:2]) not in kept]
        if lost:
            note(
                f"{len(lost)} answers of this session were missing from {self.path}, which another "
                "program had overwritten; they were restored"
            )
        return lost

    def _save(self, rows: list[Row]) -> None:
        if rows:
            self._write([] if self._table is None else self._table.rows, rows)
            self._read()

    def _write(self, kept: list[list[Any]], added: list[Row]) -> None:
        """Write rows of the table as they are, and further answers."""
        there = [] if self._table is None else self._table.columns
        reason = [REASON] if any(row.reason for row in added) else []
        names = list(dict.fromkeys([*there, *self._columns, *reason]))
        new = [dict(zip([*self._columns, REASON], self._cells(row), strict=True)) for row in added]
        rows = [[*cells, *[""] * (len(names) - len(cells))] for cells in kept]
        rows += [[cells.get(name, "") for name in names] for cells in new]
        write_table(self.path, names, rows, like=self._table)

    def _cells(self, row: Row) -> list[str]:
        if self._columns is COLUMNS:
            return list(row)
        sides = zip(row.text1.split(CELL_END), row.text2.split(CELL_END), strict=True)
        return [*chain.from_iterable(sides), row.answer, row.reason]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file against other sessions and Ctrl-C, and read it."""
        with _uninterrupted():
            try:
                self._lock.acquire()
            except Timeout as error:
                raise Failure(
                    f"{self.path} has been locked by another session of film review for over "
                    f"{LOCK_SECONDS:g} seconds; end it if it hangs, and run the command again"
                ) from error
            try:
                self._read()
                yield
            finally:
                unlock(self._lock)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until a save is complete."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread alone
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)

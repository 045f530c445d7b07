"""The file of answers that ``film label`` keeps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from estimators.cli._console import Failure
from estimators.cli._reading import labels_of, open_table
from estimators.cli._writing import form_of
from film.datasets import write_table
from film.text import normalize_text

COLUMNS = ["text1", "text2", "label"]
Key = tuple[str, str]


def pair_key(pair: Sequence[str]) -> Key:
    """Name a pair, whatever its order and spelling."""
    a, b = sorted(normalize_text(text) for text in pair)
    return a, b


class Answers:
    """Pairs with 1, 0, or nothing where they were skipped, in a file that is always whole.

    Parameters
    ----------
    path : str
        A table of `COLUMNS`, or a file that is not there yet.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._rows: list[list[str]] = []
        if not Path(path).exists():
            return
        table = open_table(path, None)
        if table.columns != COLUMNS:
            raise Failure(
                f"{path} is no file of answers: it has the columns "
                f"{', '.join(map(repr, table.columns[:20]))}, not {', '.join(COLUMNS)}; give "
                "--labels a new name"
            )
        self._rows = [[*row[:2], ""] for row in table.rows]
        if any(cell.strip() for cell in table.column("label")):
            for row, answer in zip(*labels_of(table, "label"), strict=True):
                self._rows[row][2] = str(answer)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, pair: Sequence[str], answer: str) -> None:
        """Keep an answer, "1", "0" or "": it is on the disk when this returns."""
        self._rows.append([*pair, answer])
        self._save()

    def undo(self) -> None:
        """Take the last answer back."""
        self._rows.pop()
        self._save()

    def by_key(self) -> dict[Key, int | None]:
        """Give the last answer to each pair that was asked, None where it was skipped."""
        return {pair_key(row[:2]): int(row[2]) if row[2] else None for row in self._rows}

    def labelled(self) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
        """Give the pairs with a label, shape (n, 2), and their labels."""
        rows = [row for row in self._rows if row[2]]
        pairs = np.array([row[:2] for row in rows], dtype=object).reshape(-1, 2)
        return pairs, np.array([int(row[2]) for row in rows], dtype=np.int64)

    def _save(self) -> None:
        if self._rows:
            write_table(self.path, COLUMNS, self._rows, format=form_of(self.path))
        else:
            # A table without rows could not be read again.
            os.unlink(self.path)

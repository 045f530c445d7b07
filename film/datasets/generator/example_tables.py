"""Small tables for trying commands and estimators."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from film.datasets.generator.questions import make_question_pairs
from film.datasets.writing import atomic_writer


def write_example_tables(folder: str | os.PathLike[str] = ".") -> None:
    """Write pairs.csv, new.csv and texts.csv with generated questions, the same at every call.

    Parameters
    ----------
    folder : str or path-like, default="."
        Existing folder; tables with these names are replaced.

    Raises
    ------
    OSError
        If `folder` does not exist or is not writable.

    Notes
    -----
    ``pairs.csv`` (640 rows) and ``new.csv`` (about 160 rows that share no question with them) have
    the columns question1, question2 and is_duplicate; ``texts.csv`` has an id and a text for each
    question of ``new.csv``.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_example_tables(folder)
    ...     sorted(os.listdir(folder))
    ['new.csv', 'pairs.csv', 'texts.csv']
    """
    known, new = (_rows(n, seed) for n, seed in ((640, 0), (160, 1)))
    questions = {question for row in known for question in row[:2]}
    new = [row for row in new if questions.isdisjoint(row[:2])]
    header = ("question1", "question2", "is_duplicate")
    folder = Path(folder)
    _write(folder / "pairs.csv", header, known)
    _write(folder / "new.csv", header, new)
    texts = sorted({question for row in new for question in row[:2]})
    _write(folder / "texts.csv", ("id", "text"), list(enumerate(texts)))


def _rows(n: int, seed: int) -> list[tuple[Any, ...]]:
    data = make_question_pairs(n, random_state=seed)
    assert data.y is not None
    return [(*pair, y) for pair, y in zip(data.pairs, data.y, strict=True)]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with atomic_writer(path, newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(header)
        writer.writerows(rows)

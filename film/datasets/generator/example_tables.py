"""Small tables for trying commands and estimators."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

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
    known, new = make_question_pairs(640, random_state=0), make_question_pairs(160, random_state=1)
    questions = {question for pair in known.pairs.tolist() for question in pair}
    kept = [questions.isdisjoint(pair) for pair in new.pairs.tolist()]
    header = ("question1", "question2", "is_duplicate")
    folder = Path(folder)
    _write(folder / "pairs.csv", header, zip(*known.pairs.T, known.y, strict=True))
    _write(folder / "new.csv", header, zip(*new.pairs[kept].T, new.y[kept], strict=True))
    _write(folder / "texts.csv", ("id", "text"), enumerate(sorted({*new.pairs[kept].ravel()})))


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with atomic_writer(path, newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(header)
        writer.writerows(rows)

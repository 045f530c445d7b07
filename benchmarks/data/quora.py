"""Reader of Kaggle's files of the Quora question pairs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from film.datasets import QuestionPairs


def read_quora(path: str | Path) -> tuple[QuestionPairs, int]:
    """Read a CSV file with the columns question1, question2 and, in some, is_duplicate and ids.

    Parameters
    ----------
    path : str or Path
        A UTF-8 file.

    Returns
    -------
    data : QuestionPairs
        `y` is None without the column is_duplicate; rows are counted without test_id or id.
    n_skipped : int
        Rows left out because a question is blank.

    Raises
    ------
    ValueError
        If the questions have no columns.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"question1", "question2"} <= rows[0].keys():
        raise ValueError(f"{path} has no rows with the columns question1 and question2")
    kept = [row for row in rows if row["question1"].strip() and row["question2"].strip()]
    pairs = np.array([(row["question1"], row["question2"]) for row in kept], dtype=object)
    name = next((name for name in ("test_id", "id") if name in rows[0]), None)
    ids = [row[name] for row in kept] if name else list(map(str, range(len(kept))))
    labels = "is_duplicate" in rows[0]
    y = np.array([int(row["is_duplicate"]) for row in kept]) if labels else None
    return QuestionPairs(pairs, y, np.array(ids, dtype=object)), len(rows) - len(kept)

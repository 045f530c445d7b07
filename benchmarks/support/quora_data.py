"""Question pairs for the Quora benchmark: a folder of files, or our own generated default."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.data.excluded import read_excluded
from benchmarks.data.pairs import drop_excluded
from benchmarks.data.quora import read_quora
from estimators import disjoint_pairs_split, question_groups
from film.datasets import QuestionPairs, make_question_pairs

NEW_PAIRS = 10_000
"""New pairs on which predictions are timed."""


@dataclass(frozen=True)
class Splits:
    """Train, dev and test pairs, none of them sharing a question, and more duplicates."""

    name: str
    train: np.ndarray
    y_train: np.ndarray
    dev: np.ndarray
    y_dev: np.ndarray
    test: np.ndarray
    test_ids: np.ndarray
    similar: np.ndarray | None
    n_excluded: int
    n_skipped: int


def splits_of(options: argparse.Namespace, n: int, n_quick: int, limit: int = 1500) -> Splits:
    """Read the folder of ``--data``, or generate pairs; a quick run has few of either."""
    if options.data is None:
        return generated(n_quick if options.quick else n, 0)
    limited = limit if options.quick else None
    return read_folder(Path(options.data), limit=limited, seed=0)


def generated(n_samples: int, seed: int) -> Splits:
    """Embedded default: pairs by grammar, split question-disjoint."""
    data = make_question_pairs(n_samples, random_state=seed)
    assert data.y is not None
    rest, test, y_rest, _, _, ids = disjoint_pairs_split(
        data.pairs, data.y, data.ids, test_size=0.2, random_state=seed
    )
    train, dev, y_train, y_dev = disjoint_pairs_split(
        rest, y_rest, test_size=0.2, random_state=seed
    )
    return Splits("generated", train, y_train, dev, y_dev, test, ids, None, 0, 0)


def read_folder(folder: Path, *, limit: int | None, seed: int) -> Splits:
    """Read ``train.csv`` and, where they are, ``dev``, ``test`` and ``extra_duplicates``."""
    if not (folder / "train.csv").is_file():
        raise FileNotFoundError(
            f"--data {folder} holds no train.csv; give a folder with Kaggle's train.csv and "
            "test.csv of Quora Question Pairs (https://www.kaggle.com/c/quora-question-pairs), or "
            "your own files with the columns question1, question2, is_duplicate"
        )
    train, skipped = read_quora(folder / "train.csv")
    if train.y is None:
        raise ValueError(f"{folder / 'train.csv'} has no column is_duplicate")
    similar = None
    excluded = 0
    if (folder / "extra_duplicates.csv").is_file():
        similar, more = read_quora(folder / "extra_duplicates.csv")
        skipped += more
    for place in (folder / "exclude.txt", folder.parent / "exclude.txt"):
        if place.is_file():
            listed = read_excluded(place)
            train, excluded = drop_excluded(train, listed)
            if similar is not None:
                similar, more = drop_excluded(similar, listed)
                excluded += more
            break
    pairs, y = _shortened(train, limit)
    if (folder / "dev.csv").is_file():
        held, more = read_quora(folder / "dev.csv")
        if held.y is None:
            raise ValueError(f"{folder / 'dev.csv'} has no column is_duplicate")
        dev, y_dev = _shortened(held, limit and limit // 4)
        skipped += more
    else:
        pairs, dev, y, y_dev = disjoint_pairs_split(pairs, y, test_size=0.15, random_state=seed)
    test, ids = dev, np.arange(len(dev)).astype(str).astype(object)
    if (folder / "test.csv").is_file():
        asked, more = read_quora(folder / "test.csv")
        test, ids = asked.pairs, asked.ids
        skipped += more
        if limit:
            test, ids = test[:limit], ids[:limit]
    more_pairs = None if similar is None else similar.pairs[: limit or None]
    return Splits(str(folder.name), pairs, y, dev, y_dev, test, ids, more_pairs, excluded, skipped)


def _shortened(data: QuestionPairs, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
    assert data.y is not None
    return data.pairs[: limit or None], data.y[: limit or None]


def apart(similar: np.ndarray | None, held: np.ndarray) -> np.ndarray | None:
    """Give the further duplicates that link no question to one of held pairs."""
    if similar is None:
        return None
    groups = question_groups(np.vstack([held, similar]))
    return similar[~np.isin(groups[len(held) :], groups[: len(held)])]


def new_pairs(data: Splits, n: int) -> np.ndarray:
    """Take as many pairs as are timed, of questions that stand in no training pair."""
    there = np.concatenate([data.test, data.dev])
    marked = [(f"{first} {number}", f"{second} {number}")
              for number in range(-(-n // len(there)))
              for first, second in there.tolist()]  # fmt: skip
    found = np.empty((n, 2), dtype=object)
    found[:] = marked[:n]
    return found

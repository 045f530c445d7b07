"""Recipes by which token similarity is trained: rows, what chooses the best weights, settings."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data.sts import read_sts_benchmark
from benchmarks.support.judges import Judges
from benchmarks.support.training_rows import (
    caption_triplets,
    question_triplets,
    read_captions,
    read_choice,
)
from estimators import disjoint_pairs_split

SETTINGS: dict[str, dict[str, Any]] = {
    "here": {"objective": "contrastive", "epochs": 1, "eval_steps": 15},
    "quora": {"objective": "binary", "epochs": 0.5, "eval_steps": 70},
    "labels": {"objective": "binary", "epochs": 2, "eval_steps": 182, "learning_rate": 2e-4},
    "sts": {
        **{"epochs": 2, "eval_steps": 36, "train_max_length": 64, "train_batch_size": 64},
        "learning_rate": 1e-4,
    },
}
"""Parameters of `RCMDRegressor` by the name of the recipe in `benchmarks.rcmd_train`."""


@dataclass(frozen=True)
class Recipe:
    """Rows, what chooses the best weights, and settings."""

    rows: np.ndarray
    y: np.ndarray | None
    eval_set: tuple[np.ndarray, np.ndarray]
    settings: dict[str, Any]
    is_transfer: bool


def here(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Duplicate questions and captions, by contrast."""
    n = 64 if options.quick else HERE_ROWS
    captions = read_captions(folder / "multi30k", judges.excluded)
    questions = question_triplets(judges.quora, n, options.model, seed=0)
    rows = np.concatenate([questions, caption_triplets(captions, n, options.model, seed=0)])
    return Recipe(
        rows,
        None,
        choice_rows(folder, judges),
        SETTINGS["here"],
        is_transfer=True,
    )


def quora(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs of questions."""
    train, held, y_train, y_held = quora_folds(judges)
    n = 64 if options.quick else None
    return Recipe(
        train[:n],
        y_train[:n],
        (held[:n], y_held[:n]),
        SETTINGS["quora"],
        is_transfer=True,
    )


def labels(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs at a higher rate."""
    recipe = quora(folder, judges, options)
    return Recipe(recipe.rows, recipe.y, recipe.eval_set, SETTINGS["labels"], is_transfer=True)


def sts(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """STS-B's own train file."""
    n = 64 if options.quick else None
    pairs, scores = (part[:n] for part in sts_file(folder, "train"))
    dev, y_dev = (part[:n] for part in sts_file(folder, "dev"))
    return Recipe(pairs, scores, (dev, y_dev), SETTINGS["sts"], is_transfer=False)


HERE_ROWS = 4_000
"""Of each kind: 63 steps, after the rows that choose had gained nothing between 25 and 50."""
RECIPES = {"here": here, "quora": quora, "labels": labels, "sts": sts}


def choice_rows(folder: Path, judges: Judges) -> tuple[np.ndarray, np.ndarray]:
    """Scored pairs of other files than the test sets, by which a run's best weights are chosen."""
    choice = read_choice(folder / "sts", judges.excluded)
    return choice.pairs, choice.scores


def quora_folds(judges: Judges) -> list[np.ndarray]:
    """Split Quora's train file question-disjoint: pairs, a tenth held out, and labels of both."""
    return disjoint_pairs_split(
        judges.quora.train, judges.quora.y_train, test_size=0.1, random_state=0
    )


def sts_file(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Read pairs and scores of a part of STS-B."""
    data = read_sts_benchmark(folder / "sts" / "STSBenchmark" / f"sts-{part}.csv")
    return data.pairs, data.scores

"""``film train --surrogate``: learn similarities from scores of pairs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from estimators.cli import reading
from estimators.cli.console import Failure, leaves, note, verbosity

SCORE_COLUMNS = ("score", "similarity")
SPLITS = ("train", "dev", "test")
MOST_IN_TRAINING = 64
"""Tokens of a text that are read in training."""


class ScoredTable(NamedTuple):
    """Pairs with scores, and the split of each."""

    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]
    splits: NDArray[np.object_]

    def of(self, split: str) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
        """Return pairs and scores of one split."""
        rows = self.splits == split
        return self.pairs[rows], self.scores[rows]


def train_surrogate(given: Any) -> None:
    """Train a `SurrogateRegressor` on a table of scored pairs, save it, and report how good it is.

    The options of film train name a file that film harvest wrote, or a table with a column of
    scores, which ``--label`` names.
    """
    model = given.model
    if os.path.exists(model) and (not os.path.isdir(model) or os.listdir(model)):
        raise click.UsageError(f"--model {model} already exists; give a new folder")
    table = _read(given)
    train, y = table.of("train")
    if len(train) < 2:
        raise Failure(f"{given.pairs} has {len(train)} pairs to train on; give some thousand")
    # Loaded here: torch takes a second.
    from estimators.contexts import SurrogateRegressor

    held = table.of("dev")
    eval_set = held if len(np.unique(held[1])) > 1 else None
    leaves("no model was written")
    note(f"training on {len(train):,} pairs, {len(held[0]):,} more choose the best weights")
    with tempfile.TemporaryDirectory() as folder:
        begun: Any = given.start
        if given.scratch:
            from estimators.encoders import make_encoder

            texts = train.ravel().tolist()
            begun = make_encoder(texts, Path(folder, "new"), random_state=given.seed)
        learner = SurrogateRegressor(
            begun,
            score_range=given.score_range or None,
            epochs=1 if given.epochs is None else given.epochs,
            max_length=given.max_length,
            train_max_length=min(given.max_length, MOST_IN_TRAINING),
            dtype=given.dtype,
            device=given.device,
            random_state=given.seed,
            verbose=verbosity(),
        )
        learner.fit(train, y, eval_set=eval_set)
        learner.save(model)
    _report(learner.set_params(verbose=0), *table.of("test"))
    note(f"wrote {model} (a SurrogateRegressor of {len(train):,} pairs)")


def _read(given: Any) -> ScoredTable:
    table = reading.open_table(given.pairs, given.encoding)
    pairs = reading.pairs_of(table, given)
    column = reading.choose_column(table, given.label, SCORE_COLUMNS, "--label", "the scores")
    scores = np.array([_number(table, row, cell) for row, cell in enumerate(table.column(column))])
    splits = np.full(len(pairs), "train", dtype=object)
    if "split" in table.columns:
        splits[:] = table.column("split")
        unknown = sorted(set(splits.tolist()) - set(SPLITS))
        if unknown:
            raise Failure(
                f"{table.source}: column 'split' holds {unknown[0][:60]!r}; it may hold "
                f"{', '.join(SPLITS)}"
            )
    return ScoredTable(pairs, scores, splits)


def _number(table: Any, row: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise Failure(
            f"{table.source}: the score {cell[:60]!r} in line {table.lines[row]} is not a number"
        ) from None


def _report(model: Any, pairs: NDArray[np.object_], scores: NDArray[np.float64]) -> None:
    """Report how well similarities of held-out pairs match their scores."""
    if len(np.unique(scores)) < 2:
        return
    found = model.predict(pairs)
    both = np.corrcoef(found, scores)[0, 1]
    note(
        f"on {len(scores):,} pairs of other sentences: correlation with their scores {both:.3f}, "
        f"Spearman {model.score(pairs, scores):.3f}, mean squared difference "
        f"{np.mean((found - scores) ** 2):.4f}"
    )

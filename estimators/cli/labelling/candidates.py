"""Candidate pairs for labelling."""

from __future__ import annotations

import click
import numpy as np
from numpy.typing import NDArray

from estimators.cli import reading
from estimators.cli.console import Failure, verbosity
from estimators.cli.labelling.answers import Key, pair_key
from estimators.cli.options import NO_ENCODER, chosen_encoder
from estimators.cli.tables import Table
from estimators.corpus import DuplicateFinder

POOL = 2000
"""Most pairs to choose among: a refit judges them all while someone waits."""


def candidate_pairs(
    table: Table,
    text: str | None,
    text1: str | None,
    text2: str | None,
    seed: int,
    encoder: str = NO_ENCODER,
) -> NDArray[np.object_]:
    """Return pairs of different texts, shape (n, 2).

    They are those of a table of pairs, or of a table of texts the neighbours that `DuplicateFinder`
    finds. Where there are more than `POOL`, some are drawn: of neighbours, as many of every height
    of score as can be, since most are no duplicates and the best ones all are.
    """
    pairs_given = text1 is not None or text2 is not None
    if text is not None and pairs_given:
        raise click.UsageError(
            "give --text for a table of texts, or --text1 and --text2 for one of pairs"
        )
    scores = None
    if pairs_given or (text is None and reading.pair_columns_of(table)):
        if encoder != NO_ENCODER:
            raise click.UsageError("--encoder finds pairs of a table of texts; leave it out")
        pairs = reading.pairs_of(table, text1, text2)
    else:
        pairs, scores = _neighbours(table, text, encoder)
    first: dict[Key, int] = {}
    for row, pair in enumerate(pairs.tolist()):
        key = pair_key(pair)
        if all(key) and key[0] != key[1]:
            first.setdefault(key, row)
    rows = np.fromiter(first.values(), dtype=np.intp)
    if not len(rows):
        raise Failure(f"{table.source} has no pair of two different texts to ask about")
    if len(rows) > POOL:
        rng = np.random.default_rng(seed)
        weights = np.ones(len(rows)) if scores is None else _even(scores[rows])
        rows = np.sort(rng.choice(rows, POOL, replace=False, p=weights / weights.sum()))
    return pairs[rows]


def _even(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight rows so that every tenth of the scale has the same total weight."""
    height = np.minimum(scores * 10, 9).astype(np.intp)
    return 1 / np.bincount(height)[height]


def _neighbours(
    table: Table, text: str | None, encoder: str
) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    texts = reading.texts_of(table, text)
    name = chosen_encoder(encoder, len(set(texts)))
    found = DuplicateFinder(encoder=name, verbose=verbosity()).fit(texts).find(threshold=0)
    return found.texts, found.scores

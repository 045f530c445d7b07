"""Neighbour ranks of pairs in learned spaces, with cache keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.inputs import Fold
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.members import embed
from film.corpus import leaders
from film.pairs import neighbour_ranks


def out_of_fold_ranks(
    embedder: Any,
    key: tuple[str, int],
    splitter: Any,
    k_max: int,
    copies: float | None,
    problem: PairProblem,
    folds: list[Fold],
    fitted: list[Any],
) -> np.ndarray:
    """Rank the pairs of each fold by an embedder fitted on the other folds; -1 for other pairs."""
    ranks = np.full(problem.codes.shape, -1, dtype=np.int64)
    for (train, test), own in zip(folds, fitted, strict=False):
        points = embed(own.get(), problem.texts)
        counted = counted_texts(embedder, key[0], train, copies, problem, points)
        ranks[test] = neighbour_ranks(points, problem.codes[test], counted, k_max=k_max)
    return ranks


def counted_texts(
    embedder: Any,
    key: str,
    rows: np.ndarray,
    copies: float | None,
    problem: PairProblem,
    points: np.ndarray,
) -> np.ndarray:
    """Return the numbers of the texts that ranks count: one of each group of ``copies``."""
    counted = problem.counted(rows)
    return counted if copies is None else counted[leaders(points[counted], copies)]


def points_of(embedder: Any, key: str, problem: PairProblem, fitted: Any) -> np.ndarray:
    """Points of a problem's texts."""
    return embed(fitted.get(), problem.texts)


def ranks_of(
    embedder: Any,
    key: tuple[str, str],
    counted: np.ndarray,
    k_max: int | None,
    problem: PairProblem,
    pairs: np.ndarray,
    fitted: Any,
    points: np.ndarray | None,
) -> np.ndarray:
    """Rank other pairs, whose texts may be new."""
    new, codes = problem.placed(pairs)
    if points is None:
        points = points_of(embedder, key[0], problem, fitted)
    if new:
        points = np.vstack([points, embed(fitted.get(), new)])
    return neighbour_ranks(points, codes, counted, k_max=k_max)

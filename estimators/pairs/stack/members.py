"""What one member of a stack says about pairs: text embedders and pair predictors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from estimators.inputs import READINGS, place_pairs
from estimators.pairs.embedding import embed, fit_embedder
from estimators.pairs.pair_problem import PairProblem
from estimators.persistence import savable
from film.pairs import neighbour_ranks, row_cosines

EMBEDDER_COLUMNS = ("cosine", "rank from the nearer side", "rank from the farther side")
PREDICTOR_COLUMNS = ("verdict",)


def is_predictor(member: Any) -> bool:
    """Whether a member judges pairs itself; else it gives vectors of texts."""
    return is_classifier(member) or is_regressor(member)


def columns(member: Any) -> tuple[str, ...]:
    """Names of what a member says about a pair."""
    return PREDICTOR_COLUMNS if is_predictor(member) else EMBEDDER_COLUMNS


def with_columns(members: list[tuple[str, Any]]) -> list[tuple[str, Any, list[int]]]:
    """Give each named member with the numbers of its columns among the final model's inputs."""
    stops = np.cumsum([len(columns(member)) for _, member in members])
    return [
        (name, member, list(range(stop - len(columns(member)), stop)))
        for (name, member), stop in zip(members, stops.tolist(), strict=True)
    ]


@savable
class Collection:
    """Texts that ranks count, as points of one fitted embedder."""

    reading = "normalize_text"  # of collections that were saved without it

    def __init__(
        self, texts: list[str], points: np.ndarray, counted: np.ndarray, reading: str
    ) -> None:
        self.texts = texts  # as the reading gives them
        self.reading = reading
        self.points = points
        self.counted = counted

    def judge(self, embedder: Any, pairs: np.ndarray) -> np.ndarray:
        """Give `EMBEDDER_COLUMNS` of pairs, known or new."""
        new, codes = place_pairs(self.texts, pairs, self.reading)
        points = self.points
        if new:
            points = np.vstack([points, embed(embedder, new).astype(points.dtype)])
        return _similarity_and_ranks(points, codes, self.counted)


def fit_member(
    member: Any,
    key: str,
    rows: np.ndarray,
    problem: PairProblem,
    pairs: np.ndarray,
    fit_params: dict[str, Any],
) -> Any:
    """Fit a clone to some of the pairs. ``key`` names problem and pairs for a cache."""
    if not is_predictor(member):
        return fit_embedder(member, key, rows, problem)
    sliced = {name: take_rows(value, rows, len(pairs)) for name, value in fit_params.items()}
    fresh: Any = clone(member)
    return fresh.fit(pairs[rows], problem.labels[rows], **sliced)


def judge_fold(
    fitted: Any, problem: PairProblem, pairs: np.ndarray, train: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """Give a member's columns on held-out pairs."""
    if is_predictor(fitted):
        return judge_pairs(fitted, pairs[test])
    known = known_codes(problem)
    points = embed(fitted, [problem.texts[code] for code in known])
    counted = np.searchsorted(known, counted_codes(problem, train))
    return _similarity_and_ranks(points, np.searchsorted(known, problem.codes[test]), counted)


def make_collection(fitted: Any, problem: PairProblem, rows: np.ndarray) -> Collection:
    """Embed the texts that ranks count at prediction.

    In inductive mode ``rows`` are the training rows of one fold: a corpus as large, and as free of
    a new question's cluster mates, as those that out-of-fold ranks ran over.
    """
    known = known_codes(problem)
    if problem.asked is None:
        known = np.unique(problem.codes[rows])
    texts = [problem.texts[code] for code in known]
    return Collection(
        [READINGS[problem.reading](text) for text in texts],
        embed(fitted, texts).astype(np.float32),
        np.arange(len(known)),
        problem.reading,
    )


def known_codes(problem: PairProblem) -> np.ndarray:
    """Numbers of the texts of the pairs and of the corpus; further duplicates are left out."""
    # Only training questions have further duplicates: counted, their ranks would differ in kind.
    asked = [] if problem.asked is None else [problem.asked]
    return np.unique(np.concatenate([problem.codes.ravel(), *asked]))


def counted_codes(problem: PairProblem, train: np.ndarray) -> np.ndarray:
    """Numbers of the texts that ranks of held-out pairs count."""
    return np.unique(problem.codes[train]) if problem.asked is None else known_codes(problem)


def _similarity_and_ranks(points: np.ndarray, codes: np.ndarray, counted: np.ndarray) -> np.ndarray:
    first, second = codes.T
    ranks = np.minimum(neighbour_ranks(points, codes, counted), len(counted))
    ranks = np.log1p(ranks.astype(np.float64))
    cosines = np.clip(row_cosines(points[first], points[second]), -1, 1)
    return np.column_stack([cosines, ranks.min(axis=1), ranks.max(axis=1)])


def judge_pairs(fitted: Any, pairs: np.ndarray) -> np.ndarray:
    """Give the verdict of a pair predictor, the mean over both orders of a pair."""
    orders = [_verdict(fitted, pairs), _verdict(fitted, pairs[:, ::-1])]
    return np.mean(orders, axis=0)[:, None]


def _verdict(fitted: Any, pairs: np.ndarray) -> np.ndarray:
    if not is_classifier(fitted):
        return np.asarray(fitted.predict(pairs), dtype=np.float64)
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.decision_function(pairs), dtype=np.float64)
    p = np.clip(fitted.predict_proba(pairs)[:, 1], 1e-6, 1 - 1e-6)
    return np.log(p) - np.log1p(-p)


def take_rows(value: Any, rows: np.ndarray, n: int) -> Any:
    """Slice what has one entry a pair; pass on the rest whole."""
    if value is None or np.ndim(value) == 0 or len(value) != n:
        return value
    return np.asarray(value)[rows]

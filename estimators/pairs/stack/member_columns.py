"""Columns of fitted members for pairs, the inputs of the final model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from estimators.inputs import Fold, place_pairs
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.encodings import Encodings
from estimators.pairs.stack.features import dense_features
from estimators.pairs.stack.members import is_predictor
from estimators.pairs.word_differences import WordDifferences
from estimators.persistence import savable
from film.pairs import neighbour_ranks, ranks_and_neighbourhoods, row_cosines
from film.text import token_text
from film.tokens import ONE_SIDED

ORDERLESS = (LexicalFeatures, WordDifferences)


def columns_of_fold(
    fitted: Any,
    problem: PairProblem,
    counted_rows: np.ndarray,
    test: np.ndarray,
    neighbourhood: int | None = None,
    encodings: Encodings | None = None,
) -> np.ndarray:
    """Compute a member's columns of held-out pairs; ranks count the texts of other rows."""
    if is_predictor(fitted):
        return _predictor_column(fitted, problem.pairs[test])
    known = _known_codes(problem)
    points = (encodings or Encodings()).embed(fitted, [problem.texts[code] for code in known])
    return _columns_of_known(points, known, problem, counted_rows, test, neighbourhood)


def columns_out_of_fold(
    fitted: Any,
    problem: PairProblem,
    folds: list[Fold],
    neighbourhood: int | None,
    encodings: Encodings,
) -> np.ndarray:
    """Compute the columns of all pairs by a frozen member, which encodes each text once."""
    if is_predictor(fitted):
        return _predictor_column(fitted, problem.pairs)
    known = _known_codes(problem)
    points = encodings.embed(fitted, [problem.texts[code] for code in known])
    if problem.asked is not None:
        # The corpus is the same for every fold, so one search suffices.
        folds = [(np.empty(0, dtype=int), np.arange(len(problem.pairs)))]
    columns: Any = None
    for train, test in folds:
        found = _columns_of_known(points, known, problem, train, test, neighbourhood)
        if columns is None:
            columns = np.empty((len(problem.pairs), found.shape[1]))
        columns[test] = found
    return columns


def final_inputs(
    members: list[tuple[str, Any]],
    collections: dict[str, Collection],
    features: Any,
    pairs: np.ndarray,
    neighbourhood: int | None = None,
    encodings: Encodings | None = None,
) -> np.ndarray:
    """Compute the final model's inputs of pairs that no member was fitted on."""
    encodings = encodings or Encodings()
    blocks = []
    for name, member in members:
        try:
            if name in collections:
                block = collections[name].columns(member, pairs, neighbourhood, encodings)
            else:
                block = _predictor_column(member, pairs)
        except Exception as error:
            error.add_note(f"member {name!r} of the classifier failed to score {len(pairs)} pairs")
            raise
        blocks.append(block)
    return np.column_stack([*blocks, dense_features(features, pairs)])


@savable
class Collection:
    """Texts that ranks count, as vectors of one fitted embedder."""

    def __init__(self, texts: list[str], points: np.ndarray, counted: np.ndarray) -> None:
        self.texts = texts  # as `token_text` gives them
        self.points = points
        self.counted = counted

    def columns(
        self,
        embedder: Any,
        pairs: np.ndarray,
        neighbourhood: int | None = None,
        encodings: Encodings | None = None,
    ) -> np.ndarray:
        """Compute an embedder's columns of pairs, known or new."""
        new, codes = place_pairs(self.texts, pairs)
        points = self.points
        if new:
            found = (encodings or Encodings()).embed(embedder, new)
            points = np.vstack([points, found.astype(points.dtype)])
        return _embedder_columns(points, codes, self.counted, neighbourhood)


def make_collection(
    fitted: Any, problem: PairProblem, rows: np.ndarray, encodings: Encodings
) -> Collection:
    """Embed the texts that ranks count at prediction.

    In inductive mode, ``rows`` are the training rows of one fold. So the corpus is as large as in
    training, and also contains no duplicates of a new question.
    """
    inductive = problem.asked is None
    known = np.unique(problem.codes[rows]) if inductive else _known_codes(problem)
    texts = [problem.texts[code] for code in known]
    return Collection(
        [token_text(text) for text in texts],
        encodings.embed(fitted, texts).astype(np.float32),
        np.arange(len(known)),
    )


def _known_codes(problem: PairProblem) -> np.ndarray:
    """Return the numbers of the texts of pairs and corpus, without further duplicates."""
    # Only training questions have further duplicates; counting them would bias ranks.
    asked = [] if problem.asked is None else [problem.asked]
    return np.unique(np.concatenate([problem.codes.ravel(), *asked]))


def _columns_of_known(
    points: np.ndarray,
    known: np.ndarray,
    problem: PairProblem,
    counted_rows: np.ndarray,
    test: np.ndarray,
    neighbourhood: int | None,
) -> np.ndarray:
    """Compute an embedder's columns of some training pairs, from points of all known texts."""
    counted = known if problem.asked is not None else np.unique(problem.codes[counted_rows])
    codes = np.searchsorted(known, problem.codes[test])
    return _embedder_columns(points, codes, np.searchsorted(known, counted), neighbourhood)


def _embedder_columns(
    points: np.ndarray, codes: np.ndarray, counted: np.ndarray, neighbourhood: int | None
) -> np.ndarray:
    first, second = codes.T
    around: Any = np.empty((len(codes), 0))
    if neighbourhood is None:
        ranks = np.minimum(neighbour_ranks(points, codes, counted), len(counted))
    else:
        ranks, around = ranks_and_neighbourhoods(points, codes, counted, k=neighbourhood)
    ranks = np.log1p(ranks.astype(np.float64))
    cosines = np.clip(row_cosines(points[first], points[second]), -1, 1)
    columns = [cosines, ranks.min(axis=1), ranks.max(axis=1), *around.T]
    return np.column_stack(columns)


def _predictor_column(fitted: Any, pairs: np.ndarray) -> np.ndarray:
    """Compute the column of a pair predictor, the mean over both orders of a pair.

    Regressors with a `similarity` have equal scores for both orders, up to rounding, unless their
    plan is one-sided. They predict once, with the texts of a pair in alphabetical order. Pipelines
    that begin with features of unordered pairs also predict once.
    """
    if isinstance(fitted, Pipeline) and isinstance(fitted.steps[0][1], ORDERLESS):
        return _predictions(fitted, pairs)[:, None]
    one_sided = getattr(fitted, "plan", None) in ONE_SIDED
    if hasattr(fitted, "similarity") and not one_sided:
        return _predictions(fitted, np.sort(pairs, axis=1))[:, None]
    orders = [_predictions(fitted, pairs), _predictions(fitted, pairs[:, ::-1])]
    return np.mean(orders, axis=0)[:, None]


def _predictions(fitted: Any, pairs: np.ndarray) -> np.ndarray:
    if not is_classifier(fitted):
        return np.asarray(fitted.predict(pairs), dtype=np.float64)
    if not hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.decision_function(pairs), dtype=np.float64)
    p = np.clip(fitted.predict_proba(pairs)[:, 1], 1e-6, 1 - 1e-6)
    return np.log(p) - np.log1p(-p)

"""The members of a stack: text embedders and pair predictors, and their columns of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor

from estimators.inputs import READINGS, as_texts, cloned, place_pairs
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.features import dense_features
from estimators.persistence import savable
from film.pairs import neighbour_ranks, row_cosines

EMBEDDER_COLUMNS = ("cosine", "rank from the nearer side", "rank from the farther side")
PREDICTOR_COLUMNS = ("verdict",)


def checked_members(members: Any, parameters: set[str]) -> list[tuple[str, Any]]:
    """Give unfitted copies of named members; names must differ from those of parameters."""
    example = 'give a list such as [("film", make_pipeline(TfidfVectorizer(), FILM()))]'
    if not isinstance(members, list) or not members:
        raise TypeError(f"members={members!r} is no list of (name, estimator): {example}")
    taken = set(parameters)
    for entry in members:
        if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)):
            raise TypeError(f"members holds {entry!r}, not a (name, estimator): {example}")
        name, member = entry
        if not name or "__" in name or name in taken:
            raise ValueError(
                f"members: the name {name!r} is empty, holds '__', or is taken by a parameter "
                "or another member; choose another"
            )
        taken.add(name)
        judges = hasattr(member, "fit") and is_predictor(member)
        if not (judges or hasattr(member, "transform")):
            raise TypeError(
                f"member {name!r} is {type(member).__name__}, which neither judges pairs "
                "(a classifier or regressor) nor embeds texts (has transform)"
            )
    return [(name, cloned(f"member {name!r}", member)) for name, member in members]


def is_predictor(member: Any) -> bool:
    """Whether a member judges pairs itself; else it gives vectors of texts."""
    return is_classifier(member) or is_regressor(member)


def columns_of(member: Any) -> tuple[str, ...]:
    """Names of a member's columns."""
    return PREDICTOR_COLUMNS if is_predictor(member) else EMBEDDER_COLUMNS


def with_columns(members: list[tuple[str, Any]]) -> list[tuple[str, Any, list[int]]]:
    """Give each named member with the numbers of its columns among the final model's inputs."""
    stops = np.cumsum([len(columns_of(member)) for _, member in members])
    return [
        (name, member, list(range(stop - len(columns_of(member)), stop)))
        for (name, member), stop in zip(members, stops.tolist(), strict=True)
    ]


def fit_embedder(embedder: Any, key: str, rows: np.ndarray, problem: PairProblem) -> Any:
    """Fit a clone on the texts of some pairs and triplets mined from their labels.

    ``key`` names the problem for a cache that ignores ``problem``.
    """
    used, triplets = problem.triplets(rows)
    fresh: Any = clone(embedder)
    return fresh.fit(as_texts([problem.texts[code] for code in used]), triplets)


def embed(fitted: Any, texts: list[str]) -> np.ndarray:
    """Give dense vectors of texts, (n, d)."""
    points = fitted.transform(as_texts(texts))
    if sp.issparse(points):
        raise TypeError(
            "embedder gives sparse vectors; end it with a step that gives dense ones, such as "
            "FILM or TruncatedSVD"
        )
    return np.asarray(points)


def fit_member(
    member: Any, key: str, rows: np.ndarray, problem: PairProblem, fit_params: dict[str, Any]
) -> Any:
    """Fit a clone to some of the pairs. ``key`` names the problem for a cache that ignores it."""
    if not is_predictor(member):
        return fit_embedder(member, key, rows, problem)
    n = len(problem.pairs)
    sliced = {name: take_rows(value, rows, n) for name, value in fit_params.items()}
    fresh: Any = clone(member)
    return fresh.fit(problem.pairs[rows], problem.labels[rows], **sliced)


def judge_fold(
    fitted: Any, problem: PairProblem, counted_rows: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """Give a member's columns on held-out pairs; ranks count the texts of other rows."""
    if is_predictor(fitted):
        return _verdicts(fitted, problem.pairs[test])
    known = _known_codes(problem)
    counted = known if problem.asked is not None else np.unique(problem.codes[counted_rows])
    points = embed(fitted, [problem.texts[code] for code in known])
    codes = np.searchsorted(known, problem.codes[test])
    return _similarity_and_ranks(points, codes, np.searchsorted(known, counted))


def inputs_of(
    members: list[tuple[str, Any]], collections: dict[str, Collection], features: Any, pairs: Any
) -> np.ndarray:
    """Give the final model's inputs of pairs that no member was fitted on."""
    blocks = [
        collections[name].judge(member, pairs) if name in collections else _verdicts(member, pairs)
        for name, member in members
    ]
    return np.column_stack([*blocks, dense_features(features, pairs)])


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


def make_collection(fitted: Any, problem: PairProblem, rows: np.ndarray) -> Collection:
    """Embed the texts that ranks count at prediction.

    In inductive mode ``rows`` are the training rows of one fold: a corpus as large, and as free of
    a new question's cluster mates, as those that out-of-fold ranks ran over.
    """
    inductive = problem.asked is None
    known = np.unique(problem.codes[rows]) if inductive else _known_codes(problem)
    texts = [problem.texts[code] for code in known]
    return Collection(
        [READINGS[problem.reading](text) for text in texts],
        embed(fitted, texts).astype(np.float32),
        np.arange(len(known)),
        problem.reading,
    )


def _known_codes(problem: PairProblem) -> np.ndarray:
    """Numbers of the texts of the pairs and of the corpus; further duplicates are left out."""
    # Only training questions have further duplicates: counted, their ranks would differ in kind.
    asked = [] if problem.asked is None else [problem.asked]
    return np.unique(np.concatenate([problem.codes.ravel(), *asked]))


def _similarity_and_ranks(points: np.ndarray, codes: np.ndarray, counted: np.ndarray) -> np.ndarray:
    first, second = codes.T
    ranks = np.minimum(neighbour_ranks(points, codes, counted), len(counted))
    ranks = np.log1p(ranks.astype(np.float64))
    cosines = np.clip(row_cosines(points[first], points[second]), -1, 1)
    return np.column_stack([cosines, ranks.min(axis=1), ranks.max(axis=1)])


def _verdicts(fitted: Any, pairs: np.ndarray) -> np.ndarray:
    """Give the verdicts of a pair predictor, the mean over both orders of a pair."""
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
    """Slice what has one entry per pair; pass on the rest whole."""
    if value is None or np.ndim(value) == 0 or len(value) != n:
        return value
    return np.asarray(value)[rows]


def member_diagram(members: list[tuple[str, Any]], final: Any) -> Any:
    """Describe members and final model to scikit-learn's HTML diagram.

    The one place that reaches past scikit-learn's public names: the diagram's hook has none.
    """
    try:
        from sklearn.utils._repr_html.estimator import _VisualBlock
    except ImportError:  # scikit-learn 1.6
        from sklearn.utils._estimator_html_repr import (  # pyright: ignore[reportMissingImports]
            _VisualBlock,
        )
    names, parts = map(list, zip(*members, strict=True))
    shown = "boosted trees or logistic regression" if final is None else final
    blocks = (
        _VisualBlock("parallel", parts, names=names, dash_wrapped=False),
        _VisualBlock("parallel", [shown], names=["final_estimator"], dash_wrapped=False),
    )
    return _VisualBlock("serial", blocks, dash_wrapped=False)

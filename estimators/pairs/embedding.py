"""Fit an embedder to labelled pairs and embed texts with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from estimators.inputs import as_texts
from estimators.pairs.pair_problem import PairProblem


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

"""Decompose a text pipeline into vectorizers, scaling steps and one linear map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import check_integer
from estimators.metric.triplet_metric import TripletMetric

SUPPORTED = (
    "a TfidfVectorizer, a CountVectorizer or a FeatureUnion of such; then TfidfTransformer, "
    "MaxAbsScaler or Normalizer; then FILM or TruncatedSVD, with a Normalizer before or after"
)


@dataclass(frozen=True, eq=False)
class LinearPipeline:
    """Text → features x → L x, up to scale, which does not affect cosines.

    Attributes
    ----------
    source : estimator
        The vectorizer or union that names the features.
    vectorizers : list of CountVectorizer
        In column order.
    rescalers : list of transformer
        Applied to the output of ``source``; none combines features.
    components : ndarray of shape (d, n_features), or None
        L; None means the identity.
    """

    source: Any
    vectorizers: list[CountVectorizer]
    rescalers: list[Any]
    components: np.ndarray | None

    def features(self, texts: np.ndarray) -> Any:
        """Return the features x of each text, the input of the map, as a CSR matrix."""
        X = self.source.transform(texts)
        for step in self.rescalers:
            X = step.transform(X)
        return sp.csr_matrix(X)


def take_apart(embedder: Any) -> LinearPipeline:
    """Identify the parts of a fitted text pipeline.

    Raises
    ------
    TypeError
        If a step is not supported; the message names it.
    NotFittedError
        If a map is not fitted.
    """
    steps = list(_flat_steps("embedder", embedder))
    if not steps:
        raise TypeError(f"embedder {embedder!r} has no step; it must be {SUPPORTED}.")
    (name, source), later = steps[0], steps[1:]
    vectorizers = list(_vectorizers(name, source))
    rescalers: list[Any] = []
    maps: list[Any] = []
    for name, step in later:
        if isinstance(step, (TripletMetric, TruncatedSVD)):
            maps.append(step)
        elif not maps and _rescales(step):
            rescalers.append(step)
        # A Normalizer after the map only changes lengths, which cosines ignore.
        elif not isinstance(step, Normalizer):
            raise _unsupported(name, step)
    return LinearPipeline(source, vectorizers, rescalers, map_of(maps))


def map_of(steps: list[Any]) -> np.ndarray | None:
    """Return the single linear map of fitted steps, up to scale; None means the identity.

    Raises
    ------
    TypeError
        If a step is neither a map, such as `FILM` or TruncatedSVD, nor a Normalizer after it.
    """
    components: np.ndarray | None = None
    for step in steps:
        if isinstance(step, (TripletMetric, TruncatedSVD)):
            check_is_fitted(step)
            components = step.components_ if components is None else step.components_ @ components
        elif not isinstance(step, Normalizer):
            raise _unsupported(type(step).__name__, step)
    return components


def words_of_dimension(embedder: Any, dimension: int, n: int = 15) -> list[tuple[str, float]]:
    """Return the features with the largest weights in one dimension of a learned map.

    Parameters
    ----------
    embedder : Pipeline
        Fitted, as in `take_apart`, with a `FILM` or `TruncatedSVD`.
    dimension : int
        Row of L, from 0.
    n : int, default=15
        Maximum number of features.

    Returns
    -------
    words : list of (str, float)
        Names from the vectorizer's ``get_feature_names_out`` and weights, largest absolute weight
        first. Along this dimension, words of equal sign make texts more similar and words of
        opposite sign less similar; the sign of the whole row is arbitrary. Zero weights are left
        out.

    Raises
    ------
    TypeError
        If the embedder has no map or an unsupported step, or dimension or n is not an integer.
    ValueError
        If the dimension does not exist, or n < 1.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from estimators.metric import words_of_dimension
    >>> texts = ["play the guitar", "play guitar", "chess"]
    >>> lsa = make_pipeline(CountVectorizer(), TruncatedSVD(2, random_state=0)).fit(texts)
    >>> [(word, round(weight, 2)) for word, weight in words_of_dimension(lsa, 0)[:3]]
    [('guitar', 0.66), ('play', 0.66), ('the', 0.37)]
    """
    parts = take_apart(embedder)
    if parts.components is None:
        raise TypeError(
            "embedder has no learned map, so no dimensions to name: give a pipeline with FILM or "
            "TruncatedSVD."
        )
    check_integer("n", n, 1)
    d = len(parts.components)
    if check_integer("dimension", dimension, 0) >= d:
        raise ValueError(f"dimension={dimension!r} must be below {d}, the rows of the map")
    row = parts.components[dimension]
    order = np.argsort(-np.abs(row), kind="stable")[:n]
    names = parts.source.get_feature_names_out()
    return [(str(names[f]), float(row[f])) for f in order if row[f] != 0]


def _flat_steps(name: str, estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and estimator of each step, including nested pipelines, without passthrough."""
    if isinstance(estimator, Pipeline):
        for inner, step in estimator.steps:
            yield from _flat_steps(inner if name == "embedder" else f"{name}__{inner}", step)
    elif estimator is not None and not isinstance(estimator, str):
        yield name, estimator


def _vectorizers(name: str, source: Any) -> Iterator[CountVectorizer]:
    if isinstance(source, FeatureUnion):
        for inner, branch in source.transformer_list:
            if isinstance(branch, str) and branch == "drop":
                continue
            steps = list(_flat_steps(f"{name}__{inner}", branch))
            if not steps:
                raise _unsupported(f"{name}__{inner}", branch)
            yield from _vectorizers(*steps[0])
            for later, step in steps[1:]:
                if not _rescales(step):
                    raise _unsupported(later, step)
    elif isinstance(source, CountVectorizer):
        if source.input != "content":
            raise TypeError(
                f"embedder step {name!r} reads its texts by input={source.input!r}; explanations "
                "need the texts themselves: read the files first and leave input='content'."
            )
        yield source
    else:
        raise _unsupported(name, source)


def _rescales(step: Any) -> bool:
    return isinstance(step, (Normalizer, TfidfTransformer, MaxAbsScaler))


def _unsupported(name: str, step: Any) -> TypeError:
    return TypeError(
        f"embedder step {name!r} is {step!r}, whose cosine cannot be split among words; "
        f"supported are {SUPPORTED}."
    )

"""Features of pairs in addition to the members of a stack."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.inputs import as_texts, check_choice, cloned
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.record_features import RecordFeatures


def checked_features(features: Any, columns: tuple[str, ...] | None = None) -> Any:
    """Return the unfitted transformer of the parameter ``features``, None for None.

    Pairs of records have ``columns``; those of texts have None.
    """
    if isinstance(features, str):
        check_choice("features", features, ("lexical",))
        return LexicalFeatures() if columns is None else RecordFeatures(columns=columns)
    if features is not None and not hasattr(features, "transform"):
        raise TypeError(f"features={features!r} must be 'lexical', None, or a transformer of pairs")
    if isinstance(features, RecordFeatures):
        return RecordFeatures(features.kinds, columns or features.columns)
    return None if features is None else cloned("features", features)


def with_corpus(pairs: np.ndarray, corpus: list[str]) -> np.ndarray:
    """Add known texts to pairs, each paired with itself, so that features count their words."""
    known = as_texts(corpus)
    return np.vstack([pairs, np.column_stack([known, known])])


def dense_features(fitted: Any, pairs: np.ndarray) -> np.ndarray:
    """Transform pairs, (n, n_features); a transformer of None gives no columns."""
    if fitted is None:
        return np.empty((len(pairs), 0))
    features = fitted.transform(pairs)
    if hasattr(features, "toarray"):
        raise TypeError(
            "features gives a sparse matrix; give a transformer of a few dense features, and make "
            "a sparse one per member: make_pipeline(transformer, LogisticRegression())"
        )
    return np.asarray(features, dtype=np.float64)


def names_of_features(fitted: Any, n: int) -> list[str]:
    """Return names of n features; numbers if the transformer has no names."""
    try:
        return [str(name) for name in fitted.get_feature_names_out()] if n else []
    except AttributeError:  # also of a pipeline, when one of its steps names nothing
        return [f"feature {number}" for number in range(n)]

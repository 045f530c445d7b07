"""Checks of the parameters of `ContextRegressor`."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_model import ContextModel
from estimators.contexts.origin.pair_terms import has_words
from estimators.inputs import check_integer, check_texts

CENTRES = ("raw", "contexts", "reference", "whitened")
METHODS = ("contexts_of", "terms", "levels", "reference_terms", "context_texts")
"""What a model of contexts has."""
LEAST_WORDS = 5
"""Of a reference sentence that is taken from the corpus."""
LOOKED_AT = 20
"""Sentences among which one of so many words is looked for."""


def is_fitted(model: Any) -> bool:
    """Whether an estimator is fitted; False for what is no estimator."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def shared_copy(model: Any) -> Any:
    """Copy a fitted estimator, so that parameters can be set; what is learned or open is shared.

    `copy.copy` would take the way of pickles, which carry the files of a model.
    """
    twin = object.__new__(type(model))
    vars(twin).update(vars(model))
    return twin


def checked_model(model: Any) -> Any:
    """Give the fitted model of contexts, from its folder or its wrapper where it is in one."""
    if isinstance(model, (str, os.PathLike)):
        return ContextModel.load(model)
    found = model.estimator if isinstance(model, FrozenEstimator) else model
    if isinstance(found, type) or not all(hasattr(found, name) for name in METHODS):
        raise TypeError(
            f"context_model={model!r} must be a fitted ContextModel, or the folder of one: fit one "
            "to documents"
        )
    check_is_fitted(found)
    return found


def checked_reference(
    reference: Any, centre: str, model: Any, weights: NDArray[np.float64]
) -> list[str]:
    """Give the reference sentences as a list, empty where the centre needs none."""
    generates = bool(weights[1:].any()) and getattr(model, "generators_", None) != []
    uses = centre == "reference" or (centre == "whitened" and generates)
    if reference is None or isinstance(reference, (Integral, Real)):
        n = check_integer("reference", reference, 1)
        return corpus_sentences(model.corpus_, n) if uses else []
    texts = check_texts(reference, "reference", encodable=True)
    blank = [place for place, text in enumerate(texts) if not has_words(text)]
    if blank:
        raise ValueError(f"reference[{blank[0]}] = {texts[blank[0]]!r} has no words; leave it out")
    if not uses:
        raise ValueError(
            f"reference holds {len(texts)} texts, but centre={centre!r} does not use them; give "
            "centre='reference', or leave them out"
        )
    return texts


def corpus_sentences(corpus: Any, n: int) -> list[str]:
    """Choose sentences of some words, spread evenly over a corpus; fewer where it has fewer."""
    rows = corpus.centres()
    found: dict[str, None] = {}
    for start in np.linspace(0, len(rows), n, endpoint=False).astype(int).tolist():
        for text in corpus.texts(rows[start : start + LOOKED_AT]):
            if len(text.split()) >= LEAST_WORDS and has_words(text) and text not in found:
                found[text] = None
                break
    return list(found) or [str(text) for text in corpus.texts(rows[:1])]


def checked_weights(weights: Any) -> NDArray[np.float64]:
    """Give λ of Eq. 3 as an array of four finite numbers."""
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights={weights!r} must be four numbers, the λ of Eq. 3") from None
    if array.shape != (4,) or not np.isfinite(array).all() or not array.any():
        raise ValueError(
            f"weights={weights!r} must be four finite numbers, the λ of Eq. 3, not all of them 0"
        )
    return array

"""Checks of the parameters of `ContextRegressor`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_model import ContextModel
from estimators.contexts.origin.pair_terms import has_words
from estimators.inputs import check_texts

CENTRES = ("raw", "contexts", "reference", "both")
METHODS = ("contexts_of", "terms", "context_texts")
"""What a model of contexts has."""


def is_fitted(model: Any) -> bool:
    """Whether an estimator is fitted; False for what is no estimator."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


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


def checked_reference(reference: Any, centre: str) -> list[str]:
    """Give the reference sentences as a list, empty where the centre needs none."""
    if centre not in ("reference", "both"):
        if reference is not None:
            raise ValueError(
                f"reference is given, but centre={centre!r} does not use it; give "
                "centre='reference' or 'both', or leave it out"
            )
        return []
    if reference is None:
        raise ValueError(
            f"reference is None, but centre={centre!r} needs sentences; give some, such as ten of "
            "the kind that will be judged"
        )
    texts = check_texts(reference, "reference", encodable=True)
    blank = [place for place, text in enumerate(texts) if not has_words(text)]
    if blank:
        raise ValueError(f"reference[{blank[0]}] = {texts[blank[0]]!r} has no words; leave it out")
    return texts


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

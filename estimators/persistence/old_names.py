"""Old names of classes, parameters and attributes in saved models."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from estimators.persistence.registry import find_savable, is_savable

_RENAMED = {"RCMDRegressor": {"similarity": "plan"}}
"""Old name and current name, by class."""
_ADDED = {
    "ContextModel": {"prior": "corpus"},
    "DuplicateClassifier": {"member_cv": None, "neighbourhood": None},
    "DuplicateFinder": {"device": None},
    "FILM": {"device": None, "memory": None, "threshold": None, "similar_weight": 1.0},
    "PairTeacher": {"corpus": None},
    "PairwiseKNNClassifier": {"copies": None},
    "RCMDRegressor": {"teacher": None},
}
"""Parameters that older files lack, with the values that keep the old behaviour, by class."""


_GONE = {
    "ContextModel": (
        *("chunk_length", "language", "vocabulary_size", "max_length", "word_vectors"),
        *("batch_size", "discriminator_learning_rate", "generator_batch_size"),
        *("generator_learning_rate", "validation_fraction", "n_retrieved", "n_ranked"),
    ),
    "SurrogateRegressor": (
        *("temperature", "margin", "micro_batch_size", "accumulation_steps", "eval_steps"),
        "patience",
    ),
}
"""Parameters of older files that fitted models do not need, by class."""


def read_as_today(part: Any) -> None:
    """Convert an object of an earlier version to its current class, parameters and attributes."""
    if type(part).__name__ == "FILM":
        _read_film(part)
    state = getattr(part, "__dict__", {})
    rename_parameters(type(part).__name__, state)
    for name, value in _ADDED.get(type(part).__name__, {}).items():
        state.setdefault(name, value)
    if type(part).__name__ == "SentenceEncoder" and "model_digest_" in state:
        # Earlier versions used the parameter, whatever the folder declared.
        state.setdefault("pooling_", state["pooling"])


def parameters_astray(part: Any) -> tuple[list[str], list[str]]:
    """Return the parameters that a part lacks, and those that its class does not know."""
    kind = type(part)
    if not (isinstance(part, BaseEstimator | BaseCrossValidator) and is_savable(kind)):
        return [], []
    wanted, held = list(inspect.signature(kind).parameters), vars(part)
    public = [name for name in held if not name.startswith("_") and not name.endswith("_")]
    lacked = [name for name in wanted if name not in held]
    return lacked, [name for name in public if name not in wanted]


def _read_film(model: Any) -> None:
    """Convert FILM, which had mini-batches as a solver and kept their settings for any solver."""
    state = vars(model)
    state.pop("_n_batches", None)
    if state.get("solver") != "minibatch":
        state.pop("batch_size", None)
        return
    model.__class__ = find_savable("estimators.metric.MiniBatchFILM")
    for gone in ("solver", "whitening", "objective_", "lower_bound_", "gradient_norm_curve_"):
        state.pop(gone, None)
    if "n_iter_" in state:
        state["n_steps_"] = state.pop("n_iter_")


def rename_parameters(kind: str, params: dict[str, Any]) -> None:
    """Rename the saved parameters of a class, without those that are gone, in place."""
    for old, new in _RENAMED.get(kind, {}).items():
        if old in params:
            params[new] = params.pop(old)
    for old in _GONE.get(kind, ()):
        params.pop(old, None)

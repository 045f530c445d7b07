"""Classes, parameters and attributes that had another name when models were saved with them."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from estimators.persistence.registry import find_savable, is_savable

_RENAMED = {"RCMDRegressor": {"similarity": "plan"}}
"""By class: the name in older files, and the name of today."""
_ADDED = {
    "ContextModel": {"prior": "corpus"},
    "DuplicateClassifier": {"member_cv": None, "neighbourhood": None},
    "DuplicateFinder": {"device": None},
    "FILM": {"device": None, "memory": None, "threshold": None, "similar_weight": 1.0},
    "PairTeacher": {"corpus": None},
    "PairwiseKNNClassifier": {"copies": None},
    "RCMDRegressor": {"teacher": None},
}
"""By class: parameters that older files lack, and the values at which models are as they were."""


def read_as_today(part: Any) -> None:
    """Bring an object of an earlier version to its class, parameters and attributes of today."""
    if type(part).__name__ == "FILM":
        _read_film(part)
    state = getattr(part, "__dict__", {})
    rename_parameters(type(part).__name__, state)
    for name, value in _ADDED.get(type(part).__name__, {}).items():
        state.setdefault(name, value)
    if type(part).__name__ == "SentenceEncoder" and "model_digest_" in state:
        # Earlier versions followed the parameter, whatever the folder declared.
        state.setdefault("pooling_", state["pooling"])


def parameters_astray(part: Any) -> tuple[list[str], list[str]]:
    """Name the parameters that a part of ours lacks, and those that its class does not know."""
    kind = type(part)
    if not (isinstance(part, BaseEstimator | BaseCrossValidator) and is_savable(kind)):
        return [], []
    wanted, held = list(inspect.signature(kind).parameters), vars(part)
    public = [name for name in held if not name.startswith("_") and not name.endswith("_")]
    lacked = [name for name in wanted if name not in held]
    return lacked, [name for name in public if name not in wanted]


def _read_film(model: Any) -> None:
    """FILM had mini-batches as a solver, and kept their settings whatever the solver."""
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
    """Give saved parameters of a class the names of today, in place."""
    for old, new in _RENAMED.get(kind, {}).items():
        if old in params:
            params[new] = params.pop(old)

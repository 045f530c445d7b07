"""Check that the parts of a model can be restored, and are safe for compiled code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import BaseCrossValidator

from estimators.persistence.registry import is_savable
from estimators.persistence.token_patterns import check_token_pattern
from film.unpacking import check_sparse

LEAVES = (str, bytes, int, float, type(None), np.generic)
KEYS = (str, int, float, np.number)
# Attributes used for prediction. Others may hold NaN, such as losses or means of empty columns.
_WEIGHTS = frozenset(
    {
        "_idf",
        "coef_",
        "components_",
        "idf_",
        "intercept_",
        "points",
        "token_weights_",
        "_baseline_prediction",
    }
)


def parts_of(model: Any) -> Iterator[Any]:
    """Yield every object of a model once, the model first."""
    # Holding the objects prevents reuse of their ids.
    seen: dict[int, Any] = {}
    stack = [model]
    while stack:
        part = stack.pop()
        if isinstance(part, LEAVES) or id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            stack.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                stack.extend(part.ravel())
        elif not isinstance(part, type) and hasattr(part, "__getstate__"):
            stack.append(part.__getstate__())


def check_restorable(part: Any) -> None:
    """Raise an error if skops would not restore the saved value."""
    if isinstance(part, dict):
        wrong = [key for key in part if isinstance(key, bool) or not isinstance(key, KEYS)]
        if wrong or len({str(key) for key in part}) < len(part):
            raise ValueError(
                f"model: keys of a dict must be str, int or float and differ when written, got "
                f"{(wrong or list(part))[:5]!r}; use other keys"
            )
    if isinstance(part, np.ndarray) and part.dtype == object and part.ndim != 1:
        wrong = [cell for cell in part.flat if not isinstance(cell, LEAVES)]
        if wrong or part.ndim == 0:
            raise ValueError(
                f"model: an object array of shape {part.shape} holds "
                f"{type(wrong[0] if wrong else part.item()).__name__}; more than one dimension "
                "may hold texts and numbers only: use a list, or one dimension"
            )


def check_content(part: Any) -> None:
    """Raise an error if weights are not finite or an index for compiled code is out of range."""
    _check_weights(part)
    if isinstance(part, CountVectorizer | HashingVectorizer) and part.input != "content":
        raise ValueError(
            f"{type(part).__name__} has input={part.input!r}, which reads files named by texts; "
            "use input='content' and give it the texts"
        )
    if isinstance(part, CountVectorizer | HashingVectorizer):
        check_token_pattern(part.token_pattern)
    if sp.issparse(part):
        check_sparse(part)
    elif isinstance(part, CountVectorizer) and "vocabulary_" in vars(part):
        columns = set(part.vocabulary_.values())
        if columns != set(range(len(part.vocabulary_))):
            raise ValueError("vocabulary_ does not number its words from 0 upwards")
    elif isinstance(part, np.random.RandomState | np.random.Generator):
        _check_random_state(part)
    elif hasattr(part, "_predictors") and hasattr(part, "_bin_mapper"):
        _check_boosted_trees(part)
    elif "tree_" in getattr(part, "__dict__", {}):
        _check_tree(vars(part)["tree_"], part)


def _check_random_state(part: Any) -> None:
    """Raise an error if the position lies outside the buffered random numbers."""
    legacy = isinstance(part, np.random.RandomState)
    drawn = part.get_state(legacy=False) if legacy else part.bit_generator.state
    if not 0 <= drawn["state"].get("pos", 0) <= 624 or not 0 <= drawn.get("buffer_pos", 0) <= 4:
        raise ValueError("a random state has a position out of range")


def _check_boosted_trees(model: Any) -> None:
    if getattr(model, "_preprocessor", None) is not None or hasattr(model, "_in_fit"):
        raise ValueError(
            "gradient boosting with categorical features is not supported; encode them first, "
            "for instance with OneHotEncoder"
        )
    for tree in [tree for trees in model._predictors for tree in trees]:
        nodes = tree.nodes
        at = np.flatnonzero(nodes["is_leaf"] == 0)
        inner = nodes[at]
        later = np.minimum(inner["left"], inner["right"]) > at
        inside = np.maximum(inner["left"], inner["right"]) < len(nodes)
        feature = (inner["feature_idx"] >= 0) & (inner["feature_idx"] < model.n_features_in_)
        numeric = inner["is_categorical"] == 0
        if not len(nodes) or not np.all(later & inside & feature & numeric):
            raise ValueError("a tree of gradient boosting has nodes out of range")
        if np.isnan(nodes["value"]).any():
            raise ValueError("a tree of gradient boosting has values that are NaN")


def _check_tree(tree: Any, model: Any) -> None:
    """Raise an error if a tree of a forest would lead outside its nodes."""
    # The arrays are views with the actual number of nodes.
    if tree.node_count != tree.capacity or tree.node_count < 1:
        raise ValueError("a decision tree has a different number of nodes than it declares")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    at = np.flatnonzero(left != -1)
    later = np.minimum(left, right)[at] > at
    inside = np.maximum(left, right)[at] < tree.node_count
    known = (feature[at] >= 0) & (feature[at] < model.n_features_in_)
    classes = np.atleast_1d(getattr(model, "n_classes_", 1))
    shape = tree.node_count, model.n_outputs_, int(classes.max())
    if not np.all(later & inside & known) or tree.value.shape != shape:
        raise ValueError("a decision tree has nodes out of range")
    if not np.isfinite(tree.value).all():
        raise ValueError("a decision tree has values that are not finite")


def _check_weights(part: Any) -> None:
    state = getattr(part, "__dict__", {})
    for name in sorted(_WEIGHTS & state.keys()):
        weights = state[name]
        if isinstance(weights, (float, np.ndarray, np.floating)) or sp.issparse(weights):
            values: Any = getattr(weights, "data", None) if sp.issparse(weights) else weights
            values = np.asarray(values)
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise ValueError(
                    f"{name} of {type(part).__name__} holds {int((~np.isfinite(values)).sum())} "
                    f"of {values.size} numbers that are NaN or infinite, so it cannot predict: "
                    "fit it again"
                )


def parameters_astray(part: Any) -> tuple[list[str], list[str]]:
    """Return the parameters that an estimator lacks, and those that its class does not have."""
    kind = type(part)
    if not (isinstance(part, BaseEstimator | BaseCrossValidator) and is_savable(kind)):
        return [], []
    wanted, held = list(inspect.signature(kind).parameters), vars(part)
    public = [name for name in held if not name.startswith("_") and not name.endswith("_")]
    lacked = [name for name in wanted if name not in held]
    return lacked, [name for name in public if name not in wanted]

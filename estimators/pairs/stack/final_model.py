"""The final model of a stack: the default models, weights of rows, and the prior."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from estimators.inputs import check_choice, check_integer, cloned
from estimators.pairs.stack.augmentation import with_near_copies
from estimators.pairs.stack.general_formula import GENERAL
from estimators.pairs.stack.members import EMBEDDER_COLUMNS, PREDICTOR_COLUMNS

BOOSTING_PAIRS = 2000
"""From this many labelled pairs on, the default final model is boosted trees."""

N_TREES, N_RECORD_TREES = 300, 200
"""Trees of the default forest, of few pairs of texts and of records; they take most of a fit."""

_OWN_PRIORS = ("class_weight", "class_prior", "priors")
_GRIDS = ("param_grid", "param_distributions")

NEIGHBOURS = 20
"""Default number of texts of a neighbourhood."""

DIFFERENCES = frozenset(
    (
        "numbers unshared",
        "negation on one side",
        "different question words",
        "symbols unshared",
        "negated words unshared",
    )
)
"""Features that can only lower the probability of the default trees."""


def checked_neighbourhood(neighbourhood: Any, n_pairs: int) -> int | None:
    """Return the number of neighbours or None; "auto" is None with few labelled pairs."""
    if isinstance(neighbourhood, str):
        check_choice("neighbourhood", neighbourhood, ("auto",))
        return NEIGHBOURS if n_pairs >= BOOSTING_PAIRS else None
    return None if neighbourhood is None else check_integer("neighbourhood", neighbourhood, 1)


def checked_final(final: Any, n_pairs: int, random_state: int, records: bool = False) -> Any:
    """Return an unfitted copy of the final model; None is the default for this many pairs."""
    if final is not None:
        if not (hasattr(final, "predict_proba") and is_classifier(final)):
            raise TypeError(
                f"final_estimator={final!r} has no predict_proba; give a classifier of "
                "probabilities, or None"
            )
        _check_own_prior(final)
        return cloned("final_estimator", final)
    default: Any = few_label_trees if n_pairs < BOOSTING_PAIRS else _boosted_trees
    if records:
        default = _record_trees
    model = default(random_state)
    if sklearn.get_config().get("enable_metadata_routing"):
        model.set_fit_request(sample_weight=True)
    return model


def few_label_trees(random_state: int) -> ExtraTreesClassifier:
    """Return the default final model for few pairs: extremely randomised trees.

    References
    ----------
    Geurts, Ernst and Wehenkel, *Extremely randomized trees*, 2006.
    """
    return ExtraTreesClassifier(N_TREES, min_samples_leaf=3, random_state=random_state)


def _record_trees(random_state: int) -> ExtraTreesClassifier:
    # On the training and validation pairs of amazon-google and walmart-amazon: .002 to .009 less
    # log loss than a random forest, and less calibration error; boosting takes 20 times as long.
    # In one thread, as sums over trees differ in their last bit between several.
    share: Any = 0.3
    return ExtraTreesClassifier(
        N_RECORD_TREES, min_samples_leaf=2, max_features=share, random_state=random_state
    )


def _boosted_trees(random_state: int) -> HistGradientBoostingClassifier:
    never: Any = False
    # Of Quora's training pairs, question-disjoint: .005 less log loss than half as many trees of 15
    # leaves on all inputs at once, .003 with an encoder; large leaves keep few pairs honest.
    return HistGradientBoostingClassifier(
        learning_rate=0.03,
        max_iter=600,
        max_leaf_nodes=31,
        min_samples_leaf=200,
        max_features=0.3,
        l2_regularization=5.0,
        early_stopping=never,
        random_state=random_state,
    )


def _check_own_prior(final: Any) -> None:
    """Raise ValueError if a final model would change the prior of its probabilities."""
    for name, value in final.get_params(deep=True).items():
        parameter = name.rpartition("__")[2]
        searched = str(value) if parameter in _GRIDS else ""
        own = [each for each in _OWN_PRIORS if each in searched]
        if own or (parameter in _OWN_PRIORS and value is not None):
            raise ValueError(
                f"final_estimator sets {name}={value!r}, which moves its probabilities to another "
                "share of duplicates; leave it out, and give prior= for that share, or "
                "sample_weight to weight pairs"
            )


def weight_parameter(final: Any) -> str:
    """Return the argument of ``final.fit`` for the weights of rows."""
    inside = isinstance(final, Pipeline) and not sklearn.get_config()["enable_metadata_routing"]
    return f"{final.steps[-1][0]}__sample_weight" if inside else "sample_weight"


def fit_default(
    final: Any, names: list[str], inputs: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> None:
    """Fit a default final model, trees with monotone inputs, with weights of rows.

    Similarities of members can only raise a probability. Lexical features that show a difference in
    meaning can only lower it. Overlaps and edits are not monotone, since this costs accuracy.
    """
    ends = tuple(f": {column}" for column in (EMBEDDER_COLUMNS[0], *PREDICTOR_COLUMNS))
    alike = ("spelled alike", GENERAL)
    rising = [name in alike or name.endswith(ends) for name in names]
    falling = [name in DIFFERENCES for name in names]
    final.set_params(monotonic_cst=(np.array(rising, int) - np.array(falling, int)).tolist())
    final.fit(inputs, labels, sample_weight=weights)


def fit_final(
    final: Any,
    names: list[str],
    inputs: np.ndarray,
    labels: np.ndarray,
    copies: np.ndarray | None,
    fit_params: dict[str, Any],
) -> Any:
    """Fit a default final model, which also learns from near copies, or the user's model.

    ``copies`` is None for the user's model.
    """
    if copies is None:
        return final.fit(inputs, labels, **fit_params)
    weights = reaching_weights(final, fit_params)
    fit_default(final, names, *with_near_copies(inputs, labels, copies, weights))
    return final


def reaching_weights(final: Any, fit_params: dict[str, Any]) -> Any:
    """Return the row weights that reach the model at the end of a pipeline, or None.

    ``fit_params`` are those of ``final.fit``: "sample_weight", as "step__sample_weight" for a
    pipeline unless metadata routing is on.
    """
    if not isinstance(final, Pipeline):
        return fit_params.get("sample_weight")
    name, last = final.steps[-1]
    if sklearn.get_config().get("enable_metadata_routing"):
        if not fit_params:
            return None
        routed: Any = process_routing(final, "fit", **fit_params)
        return reaching_weights(last, routed[name].fit)
    start = f"{name}__"
    own = {key[len(start) :]: value for key, value in fit_params.items() if key.startswith(start)}
    return reaching_weights(last, own)


def prior_of(labels: NDArray[Any], weights: Any = None) -> float:
    """Return the weighted share of duplicates, for which a model's probabilities hold.

    ``weights`` come from `reaching_weights`. `checked_final` raises an error for models that change
    the prior.
    """
    return float(np.average(labels, weights=weights))


def check_weights(weights: Any, labels: NDArray[Any]) -> None:
    """Raise ValueError unless row weights are finite, at least 0, and positive in both classes."""
    if weights is None:
        return
    rows = np.asarray(weights, dtype=np.float64)
    wrong = ~(np.isfinite(rows) & (rows >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"sample_weight[{row}] is {rows[row]}; weights must be finite and not negative: drop "
            "the row, or give it weight 0"
        )
    for label in (0, 1):
        if not rows[labels == label].any():
            raise ValueError(
                f"sample_weight leaves the {'duplicates' if label else 'other pairs'} without any "
                "weight: give some of them a positive one"
            )

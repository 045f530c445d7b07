"""The final model of a stack: the default ones, and which inputs they are monotone in."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.inputs import cloned
from estimators.pairs.stack.members import EMBEDDER_COLUMNS, PREDICTOR_COLUMNS

BOOSTING_PAIRS = 2000
"""From this many labelled pairs on, the default final model is boosted trees."""

DIFFERENCES = frozenset(
    (
        "numbers unshared",
        "negation on one side",
        "different question words",
        "symbols unshared",
        "negated words unshared",
    )
)
"""Features of which more can only lower a probability of boosted trees."""


def checked_final(final: Any, n_pairs: int, random_state: int) -> Any:
    """Give an unfitted copy of the final model; None is the default for so many pairs."""
    if final is not None:
        if not (hasattr(final, "predict_proba") and is_classifier(final)):
            raise TypeError(
                f"final_estimator={final!r} has no predict_proba; give a classifier of "
                "probabilities, or None"
            )
        return cloned("final_estimator", final)
    if n_pairs < BOOSTING_PAIRS:
        return make_logistic()
    never: Any = False
    # Small leaves and steps: the inputs are few and strong, and probabilities are the aim.
    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=300,
        max_leaf_nodes=15,
        min_samples_leaf=60,
        l2_regularization=5.0,
        early_stopping=never,
        random_state=random_state,
    )


def make_logistic() -> Any:
    """Give the final model of few pairs: strongly regularised, on standardised inputs."""
    scaler, model = StandardScaler(), LogisticRegression(C=0.05, max_iter=1000)
    if sklearn.get_config().get("enable_metadata_routing"):
        scaler.set_fit_request(sample_weight=False)
        model.set_fit_request(sample_weight=True)
    return make_pipeline(scaler, model)


def weight_parameter(final: Any) -> str:
    """Name the argument of ``final.fit`` that takes the weights of rows."""
    inside = isinstance(final, Pipeline) and not sklearn.get_config()["enable_metadata_routing"]
    return f"{final.steps[-1][0]}__sample_weight" if inside else "sample_weight"


def fit_default(
    final: Any, names: list[str], inputs: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> None:
    """Fit a default final model with weights of rows, boosted trees monotone where they should.

    Similarities of members raise a probability. Of the lexical features, only those that name a
    difference in meaning lower it: inside training data, order on overlaps and edits as well costs
    accuracy.
    """
    if isinstance(final, HistGradientBoostingClassifier):
        ends = tuple(f": {column}" for column in (EMBEDDER_COLUMNS[0], *PREDICTOR_COLUMNS))
        rising = [name == "spelled alike" or name.endswith(ends) for name in names]
        falling = [name in DIFFERENCES for name in names]
        final.set_params(monotonic_cst=(np.array(rising, int) - np.array(falling, int)).tolist())
    final.fit(inputs, labels, **{weight_parameter(final): weights})

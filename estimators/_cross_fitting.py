"""Probabilities of training pairs by final models that did not see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone

from estimators._final_prior import prior_of, reaching_weights
from estimators._members import take_rows
from film.metrics import shift_prior


def cross_fitted_probabilities(
    final: Any,
    inputs: NDArray[np.float64],
    labels: NDArray[Any],
    fold_of_row: NDArray[Any],
    fit_params: dict[str, Any],
    prior: float,
    routing: bool,
) -> NDArray[np.float64]:
    """Judge each fold by a clone of the final model, fitted on the other folds.

    Parameters
    ----------
    final : classifier
        Fitted or not; clones are fitted.
    inputs : ndarray of float64, shape (n_pairs, n_features)
        Out of fold already.
    labels : ndarray of int, shape (n_pairs,)
        0 and 1.
    fold_of_row : ndarray of int, shape (n_pairs,)
        The test fold of each pair.
    fit_params : dict
        Of ``final.fit`` on all pairs; what has one entry per pair is taken apart.
    prior : float
        To which each clone's probabilities are shifted.
    routing : bool
        Whether ``fit_params`` are as metadata routing gives them.

    Returns
    -------
    probabilities : ndarray of float64, shape (n_pairs,)
        Of class 1, at ``prior``.

    Raises
    ------
    ValueError
        If a class occurs in one fold only.
    """
    probabilities = np.empty(len(labels))
    for fold in np.unique(fold_of_row):
        train, test = np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)
        if len(np.unique(labels[train])) < 2:
            raise ValueError(
                f"outside of fold {fold} all {len(train)} training pairs have one label, so that "
                "nothing can be told out of fold: train on more pairs, or with fewer folds"
            )
        sliced = {key: take_rows(value, train, len(labels)) for key, value in fit_params.items()}
        with sklearn.config_context(enable_metadata_routing=routing):
            model: Any = clone(final)
            model.fit(inputs[train], labels[train], **sliced)
            weights = reaching_weights(model, sliced)
        held = prior_of(model, labels[train], inputs[train], weights)
        said = model.predict_proba(inputs[test])[:, 1].astype(np.float64)
        probabilities[test] = shift_prior(said, held, prior)
    return probabilities


def fold_numbers(folds: Sequence[Any], n: int) -> NDArray[np.int32]:
    """Give the number of the test fold of each row."""
    numbers = np.empty(n, dtype=np.int32)
    for number, (_, test) in enumerate(folds):
        numbers[test] = number
    return numbers

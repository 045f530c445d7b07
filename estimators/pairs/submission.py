"""Predictions of many pairs, and the file that Kaggle's question pairs competition asks for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import check_pairs
from film.datasets import write_submission
from film.pairs import shift_prior

BLOCK = 20_000
"""Most pairs that a model sees at once: it bounds the memory and changes no probability."""


def duplicate_probabilities(
    model: Any, pairs: Any, *, advance: Callable[[int], Any] | None = None
) -> NDArray[np.float64]:
    """Probability that pairs are duplicates, `BLOCK` pairs at a time.

    Parameters
    ----------
    model : classifier of pairs
        Fitted; column 1 of its ``predict_proba(pairs)`` is the probability of a duplicate.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.
    advance : callable, optional
        Called after each block with its number of pairs.

    Returns
    -------
    probabilities : ndarray of float64, shape (n_pairs,)
        At the prior of the model.

    Raises
    ------
    TypeError, ValueError
        If a text is missing; before any work.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from estimators.pairs import duplicate_probabilities
    >>> model = SimpleNamespace(predict_proba=lambda pairs: np.full((len(pairs), 2), 0.5))
    >>> duplicate_probabilities(model, [("a", "b"), ("c", "d")])
    array([0.5, 0.5])
    """
    pairs = check_pairs(pairs)
    probabilities = np.empty(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        some = pairs[start : start + BLOCK]
        probabilities[start : start + BLOCK] = model.predict_proba(some)[:, 1]
        if advance:
            advance(len(some))
    return probabilities


def pair_familiarities(model: Any, pairs: Any) -> NDArray[np.float64]:
    """Familiarity of pairs, `BLOCK` pairs at a time.

    Parameters
    ----------
    model : DuplicateClassifier
        Fitted.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.

    Returns
    -------
    familiarity : ndarray of float64, shape (n_pairs,)
        As `DuplicateClassifier.familiarity` tells it.
    """
    pairs = check_pairs(pairs)
    starts = range(0, len(pairs), BLOCK)
    found = [model.familiarity(pairs[start : start + BLOCK]) for start in starts]
    return np.concatenate([np.empty(0), *found])


def write_predictions(
    model: Any,
    pairs: Any,
    ids: Any,
    path: str | os.PathLike[str] | IO[str],
    *,
    prior: float | None = None,
    prior_from: float | None = None,
    advance: Callable[[int], Any] | None = None,
) -> NDArray[np.float64]:
    """Judge pairs and write the submission, ``test_id,is_duplicate``, whole or not at all.

    Parameters
    ----------
    model : classifier of pairs
        As for `duplicate_probabilities`.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.
    ids : array-like of shape (n_pairs,)
        Names of the pairs.
    path : str, path-like or text stream
        The CSV file to make or to replace.
    prior : float in (0, 1), optional
        Share of duplicates among the pairs, 0.1746 in Kaggle's test set; probabilities are
        shifted to it by Bayes' rule. None leaves them as the model gives them.
    prior_from : float in (0, 1), optional
        Prior that the model's probabilities hold at. None is its ``prior_``.
    advance : callable, optional
        As for `duplicate_probabilities`.

    Returns
    -------
    probabilities : ndarray of float64, shape (n_pairs,)
        As written.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, a prior lies outside (0, 1), or there is not one id per pair.
    OSError
        When the file cannot be written, as in `film.datasets.atomic_writer`.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from estimators.pairs import write_predictions
    >>> model = SimpleNamespace(
    ...     prior_=0.5, predict_proba=lambda pairs: np.full((len(pairs), 2), 0.5)
    ... )
    >>> file = io.StringIO()
    >>> write_predictions(model, [("a", "b")], ["7"], file, prior=0.25)
    array([0.25])
    >>> file.getvalue().split()
    ['test_id,is_duplicate', '7,0.25']
    """
    pairs = check_pairs(pairs)
    if len(ids) != len(pairs):
        raise ValueError(f"ids has {len(ids)} entries for {len(pairs)} pairs; give one per pair")
    start: Any = model.prior_ if prior_from is None and prior is not None else prior_from
    if prior is not None:
        shift_prior([], start, prior)  # refuses wrong priors before the work
    probabilities = duplicate_probabilities(model, pairs, advance=advance)
    if prior is not None:
        probabilities = shift_prior(probabilities, start, prior).astype(np.float64, copy=False)
    write_submission(path, ids, probabilities)
    return probabilities

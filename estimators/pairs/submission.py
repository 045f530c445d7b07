"""Predictions of many pairs, and the submission file of Kaggle's question pairs competition."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from itertools import islice
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import as_records, check_pairs, checked_memory, duplicate_column
from estimators.pairs.stack.general_formula import (
    FEWEST_PAIRS,
    UnfamiliarTextsWarning,
    warn_of_unfamiliar,
)
from film.datasets import atomic_writer
from film.pairs import shift_prior

BLOCK = 20_000
"""Maximum number of pairs per call of the model; it bounds memory and changes no probability."""


def duplicate_probabilities(
    model: Any,
    pairs: Any,
    *,
    general: NDArray[np.float64] | None = None,
    advance: Callable[[int], Any] | None = None,
) -> NDArray[np.float64]:
    """Return probabilities of duplicates, computed `BLOCK` pairs at a time.

    Parameters
    ----------
    model : classifier of pairs
        Fitted; column 1 of its ``predict_proba(pairs)`` is the probability of a duplicate.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.
    general : ndarray of float64, shape (n_pairs,), optional
        As in `DuplicateClassifier.predict_proba`.
    advance : callable, optional
        Called after each block with its number of pairs.

    Returns
    -------
    probabilities : ndarray of float64, shape (n_pairs,)
        At the prior of the model.

    Raises
    ------
    TypeError, ValueError
        If a text is missing; raised before any work.

    Warns
    -----
    UnfamiliarTextsWarning
        As `DuplicateClassifier.predict_proba`, once for all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from estimators.pairs import duplicate_probabilities
    >>> model = SimpleNamespace(predict_proba=lambda pairs: np.full((len(pairs), 2), 0.5))
    >>> duplicate_probabilities(model, [("a", "b"), ("c", "d")])
    array([0.5, 0.5])
    """
    pairs = as_records(pairs) or check_pairs(pairs)
    probabilities = np.empty(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        block = slice(start, start + BLOCK)
        some = pairs[block]
        known = {} if general is None else {"general": general[block]}
        probabilities[block] = _probabilities(model, some, **known)
        if advance:
            advance(len(some))
    if hasattr(model, "familiarity") and len(pairs) >= FEWEST_PAIRS:
        warn_of_unfamiliar(model.familiarity(pairs), "pairs")
    return probabilities


def _probabilities(model: Any, pairs: Any, **known: Any) -> NDArray[np.float64]:
    """Return probabilities of duplicates, without a warning on each batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfamiliarTextsWarning)
        return duplicate_column(model.predict_proba(pairs, **known), model)


def write_submission(
    model: Any,
    rows: Iterable[tuple[Any, str, str]],
    path: str | os.PathLike[str] | IO[str],
    *,
    prior: float | None = None,
    prior_from: float | None = None,
    memory: Any = None,
    model_digest: str = "",
    advance: Callable[[int], Any] | None = None,
) -> float:
    """Score a stream of pairs and write the submission.

    Parameters
    ----------
    model : classifier of pairs
        As for `duplicate_probabilities`.
    rows : iterable of (id, text, text)
        At least one. `BLOCK` of them are in memory at a time. Ids are texts or numbers.
    path : str, path-like or text stream
        The CSV file to create or replace.
    prior : float in (0, 1), optional
        Share of duplicates among the pairs, 0.1746 in Kaggle's test set; Bayes' rule shifts
        probabilities to it. None: no shift.
    prior_from : float in (0, 1), optional
        Prior of the model's probabilities. None is its ``prior_``.
    memory : str or joblib.Memory, optional
        Cache of the scores, by pairs and ``model_digest``, so that a killed run continues. Use a
        private folder, because its files are unpickled.
    model_digest : str, default=""
        Identifies the model in ``memory``, for example by the hash of its file.
    advance : callable, optional
        Called after each block with its number of pairs.

    Returns
    -------
    mean : float
        Mean probability written. Memory does not grow with the pairs.

    Raises
    ------
    OSError
        As in `film.datasets.atomic_writer`.
    ValueError
        If a prior is outside (0, 1), or a probability is not in [0, 1].

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from estimators.pairs import write_submission
    >>> model = SimpleNamespace(predict_proba=lambda pairs: np.full((len(pairs), 2), 0.5))
    >>> file = io.StringIO()
    >>> write_submission(model, [("7", "a", "b")], file)
    0.5
    >>> file.getvalue().split()
    ['test_id,is_duplicate', '7,0.5']
    """
    shifted = _shift(model, prior, prior_from)
    score: Any = checked_memory(memory).cache(_scored, ignore=["model"], verbose=0)
    total, n = 0.0, 0
    is_path = isinstance(path, str | os.PathLike)
    with atomic_writer(path, newline="") if is_path else nullcontext(path) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("test_id", "is_duplicate"))
        stream = iter(rows)
        while block := list(islice(stream, BLOCK)):
            p = shifted(score(model, model_digest, check_pairs([row[1:] for row in block])))
            total, n = total + float(p.sum()), n + len(block)
            writer.writerows(zip((row[0] for row in block), p.tolist(), strict=True))
            if advance:
                advance(len(block))
    return total / n


def _scored(model: Any, model_digest: str, pairs: NDArray[np.object_]) -> NDArray[np.float64]:
    p = _probabilities(model, pairs)
    wrong = p[~((p >= 0) & (p <= 1))]
    if len(wrong):
        raise ValueError(
            f"probabilities must be finite and in [0, 1], got {wrong[0]}; {len(wrong)} such of "
            f"{len(p)}"
        )
    return p


def _shift(
    model: Any, prior: float | None, prior_from: float | None
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function that shifts probabilities to a prior; raise for invalid priors."""
    if prior is None:
        return lambda probabilities: probabilities
    start: Any = model.prior_ if prior_from is None else prior_from
    shift_prior([], start, prior)
    return lambda p: shift_prior(p, start, prior).astype(np.float64, copy=False)

"""Predictions of many pairs, and the submission file of Kaggle's question pairs competition."""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import as_records, check_pairs, duplicate_column
from estimators.pairs.stack.general_formula import (
    FEWEST_PAIRS,
    UnfamiliarTextsWarning,
    warn_of_unfamiliar,
)
from film.corpus import RowBlocks, cut_rows, map_blocks, write_blocks
from film.datasets import atomic_writer
from film.pairs import shift_prior

BLOCK = 20_000
"""Maximum number of pairs per call of the model; it bounds memory and changes no probability."""


def duplicate_probabilities(
    model: Any, pairs: Any, *, advance: Callable[[int], Any] | None = None
) -> NDArray[np.float64]:
    """Return probabilities of duplicates, computed `BLOCK` pairs at a time.

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
        some = pairs[start : start + BLOCK]
        probabilities[start : start + BLOCK] = _probabilities(model, some)
        if advance:
            advance(len(some))
    if hasattr(model, "familiarity") and len(pairs) >= FEWEST_PAIRS:
        warn_of_unfamiliar(model.familiarity(pairs), "pairs")
    return probabilities


def _probabilities(model: Any, pairs: Any) -> NDArray[np.float64]:
    """Return probabilities of duplicates, without a warning on each batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfamiliarTextsWarning)
        return duplicate_column(model.predict_proba(pairs), model)


def keep_pairs(rows: Iterable[tuple[Any, str, str]], folder: str | os.PathLike[str]) -> RowBlocks:
    """Write pairs with ids to blocks on disk, `BLOCK` pairs each, for `write_kept_predictions`.

    Parameters
    ----------
    rows : iterable of (id, text, text)
        A stream; one block is in memory at a time. Ids are texts or numbers.
    folder : path
        As in `film.corpus.write_blocks`, which continues an unfinished folder.

    Returns
    -------
    pairs : RowBlocks
        One JSON text per pair.
    """
    made_by = {"what": "named pairs"}
    return write_blocks(folder, cut_rows(map(json.dumps, rows), BLOCK), made_by=made_by)


def write_kept_predictions(
    model: Any,
    pairs: RowBlocks,
    path: str | os.PathLike[str] | IO[str],
    keep: str | os.PathLike[str],
    *,
    model_digest: str,
    prior: float | None = None,
    prior_from: float | None = None,
    n_jobs: int | None = None,
    advance: Callable[[int], Any] | None = None,
) -> float:
    """Score pairs in blocks on disk and write the submission; a killed run continues.

    Parameters
    ----------
    model : classifier of pairs
        As for `duplicate_probabilities`; picklable if several processes share the work.
    pairs : RowBlocks
        From `keep_pairs`.
    path : str, path-like or text stream
        The CSV file to create or replace.
    prior : float in (0, 1), optional
        Share of duplicates among the pairs, 0.1746 in Kaggle's test set; Bayes' rule shifts
        probabilities to it. None: no shift.
    prior_from : float in (0, 1), optional
        Prior of the model's probabilities. None is its ``prior_``.
    keep : path
        Folder of the scored blocks.
    model_digest : str
        Identifies the model, for example by the hash of its file, so that blocks scored by another
        model are not mixed in.
    n_jobs : int, default=None
        Processes, as in joblib; None uses `joblib.parallel_config`, otherwise one.
    advance : callable, optional
        Called with the number of pairs scored since the last call.

    Returns
    -------
    mean : float
        Mean probability written. Memory does not grow with the pairs.

    Raises
    ------
    FileExistsError, BlockingIOError, OSError
        As in `film.corpus.write_blocks`.
    ValueError
        If a prior is outside (0, 1).

    Examples
    --------
    >>> import io, tempfile
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from estimators.pairs import keep_pairs, write_kept_predictions
    >>> model = SimpleNamespace(predict_proba=lambda pairs: np.full((len(pairs), 2), 0.5))
    >>> file = io.StringIO()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pairs = keep_pairs([("7", "a", "b")], f"{folder}/pairs")
    ...     write_kept_predictions(model, pairs, file, f"{folder}/judged", model_digest="halves")
    0.5
    >>> file.getvalue().split()
    ['test_id,is_duplicate', '7,0.5']
    """
    shifted = _shift(model, prior, prior_from)
    done = 0

    def judged(text: str) -> None:
        nonlocal done
        # Blocks of a run before count when the first one of this run does.
        now = min(BLOCK * int(text.split()[1]), pairs.shape[0])
        if advance is not None:
            advance(now - done)
        done = now

    probabilities = map_blocks(
        partial(_judged, model),
        pairs,
        keep,
        made_by={"stage": "judge", "model": model_digest},
        n_jobs=n_jobs,
        progress=judged,
    )
    total = 0.0
    is_path = isinstance(path, str | os.PathLike)
    with atomic_writer(path, newline="") if is_path else nullcontext(path) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("test_id", "is_duplicate"))
        for rows, block in zip(pairs, probabilities, strict=True):
            p = shifted(block[:, 0])
            total += float(p.sum())
            names = (json.loads(row)[0] for row in rows)
            writer.writerows(zip(names, p.tolist(), strict=True))
    return total / pairs.shape[0]


def _judged(model: Any, rows: list[str], start: int) -> NDArray[np.float64]:
    pairs = check_pairs([tuple(json.loads(row)[1:]) for row in rows])
    p = _probabilities(model, pairs)
    wrong = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if len(wrong):
        raise ValueError(
            f"probabilities must be finite and in [0, 1], got {p[wrong[0]]} for pair "
            f"{start + wrong[0]}; {len(wrong)} such of {len(p)}"
        )
    return p[:, np.newaxis]


def _shift(
    model: Any, prior: float | None, prior_from: float | None
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function that shifts probabilities to a prior; raise for invalid priors."""
    if prior is None:
        return lambda probabilities: probabilities
    start: Any = model.prior_ if prior_from is None else prior_from
    shift_prior([], start, prior)
    return lambda p: shift_prior(p, start, prior).astype(np.float64, copy=False)

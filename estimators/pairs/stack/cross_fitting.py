"""Probabilities of training pairs by final models that did not see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone

from estimators.inputs import DisjointPairsKFold
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack import members as members_of
from estimators.pairs.stack.final_prior import prior_of, reaching_weights
from film.pairs import shift_prior


def nested_inputs(
    members: list[tuple[str, Any]],
    problem: PairProblem,
    fit_params: dict[str, dict[str, Any]],
    out_of_fold: NDArray[np.float64],
    fold_of_row: NDArray[Any],
    fit_member: Callable[..., Any] = members_of.fit_member,
    advance: Callable[[str], None] | None = None,
) -> NDArray[np.float64]:
    """Give the inputs that a final model may learn from to judge each fold.

    Row i out of fold comes from members that saw all folds but its own, the judged fold among
    them: through them its labels would reach the final model, with the right sign, and flatter
    (on 250 tables of 200 pairs of noise the AUC was .515 ± .004). So members are fitted anew
    without both folds.

    Parameters
    ----------
    members : list of (str, estimator)
        Clones are fitted.
    problem : PairProblem
        The training pairs.
    fit_params : dict of str to dict
        Metadata for each member's `fit`.
    out_of_fold : ndarray of float64, shape (n_pairs, n_features)
        Inputs from members that saw all folds but a row's own; those of the members first.
    fold_of_row : ndarray of int, shape (n_pairs,)
        The test fold of each pair.
    fit_member : callable
        `members.fit_member`, or the same with a cache.
    advance : callable, optional
        Called with a text after each fit.

    Returns
    -------
    inputs : ndarray of float64, shape (n_folds, n_pairs, n_features)
        To judge each fold: inputs of the other folds' rows without its labels, its own as they
        were.

    Notes
    -----
    With K folds, K (K − 1) / 2 fits of every member; with two, 4 fits to half a fold.
    """
    pairs = problem.pairs
    n_folds = int(fold_of_row.max()) + 1
    inputs = np.repeat(out_of_fold[None], n_folds, axis=0)
    tasks = list(_refits(problem, fold_of_row, n_folds))
    start = 0
    for name, member in members:
        stop = start + len(members_of.columns(member))
        for number, (train, judged) in enumerate(tasks):
            fitted = fit_member(
                member,
                problem.training_key,
                train,
                problem=problem,
                pairs=pairs,
                fit_params=fit_params[name],
            )
            for own, rows, held in judged:
                # Ranks count the same texts as those out of fold, which come without labels.
                counted = np.flatnonzero(fold_of_row != own)
                said = members_of.judge_fold(fitted, problem, pairs, counted, rows)
                inputs[held, rows, start:stop] = said
            if advance:
                advance(f"{name}, nested fit {number + 1} of {len(tasks)}")
        start = stop
    return inputs


def _refits(problem: PairProblem, fold_of_row: NDArray[Any], n_folds: int) -> Iterator[Any]:
    """Yield rows to fit to, and what to judge then: its fold, its rows, the fold held out."""
    rows_of = [np.flatnonzero(fold_of_row == fold) for fold in range(n_folds)]
    if n_folds > 2:
        for i, j in combinations(range(n_folds), 2):
            train = np.flatnonzero((fold_of_row != i) & (fold_of_row != j))
            yield train, [(i, rows_of[i], j), (j, rows_of[j], i)]
        return
    groups = problem.groups[problem.codes[:, 0]]
    for fold, rows in enumerate(rows_of):
        halves = DisjointPairsKFold(2, random_state=problem.seed)
        for train, test in halves.split(rows, problem.labels[rows], groups[rows]):
            yield rows[train], [(fold, rows[test], 1 - fold)]


def cross_fitted_probabilities(
    final: Any,
    inputs: NDArray[np.float64],
    labels: NDArray[Any],
    fold_of_row: NDArray[Any],
    fit_params: dict[str, Any],
    prior: float,
    routing: bool,
) -> NDArray[np.float64]:
    """Judge each fold by a clone of the final model, fitted to the other folds.

    Parameters
    ----------
    final : classifier
        Fitted or not; clones are fitted.
    inputs : ndarray of float64, shape (n_folds, n_pairs, n_features)
        To judge each fold, from `nested_inputs`.
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
    for fold, known in enumerate(inputs):
        train, test = np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)
        if len(np.unique(labels[train])) < 2:
            raise ValueError(
                f"outside of fold {fold} all {len(train)} training pairs have one label, so that "
                "nothing can be told out of fold: train on more pairs, or with fewer folds"
            )
        sliced = {
            key: members_of.take_rows(value, train, len(labels))
            for key, value in fit_params.items()
        }
        with sklearn.config_context(enable_metadata_routing=routing):
            model: Any = clone(final)
            model.fit(known[train], labels[train], **sliced)
            weights = reaching_weights(model, sliced)
        held = prior_of(model, labels[train], known[train], weights)
        said = model.predict_proba(known[test])[:, 1].astype(np.float64)
        probabilities[test] = shift_prior(said, held, prior)
    return probabilities


def fold_numbers(folds: Sequence[Any], n: int) -> NDArray[np.int32]:
    """Give the number of the test fold of each row."""
    numbers = np.empty(n, dtype=np.int32)
    for number, (_, test) in enumerate(folds):
        numbers[test] = number
    return numbers

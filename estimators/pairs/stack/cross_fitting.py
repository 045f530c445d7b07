"""Cross-fitting: members and final models score pairs that they did not see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone

from estimators.inputs import Advance, DisjointPairsKFold, progress_bar
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack import member_columns
from estimators.pairs.stack import members as members_of
from estimators.pairs.stack.encodings import Encodings
from estimators.pairs.stack.final_model import prior_of, reaching_weights
from estimators.pairs.stack.member_folds import MemberPlan, is_frozen
from film.pairs import shift_prior

EMBEDDER_STEPS, NETWORK_STEPS = 3, 30
"""Steps of a progress bar for a fit, relative to the fit of a plain predictor."""


def fit_members(
    plans: list[MemberPlan],
    problem: PairProblem,
    neighbourhood: int | None,
    fit_params: dict[str, dict[str, Any]],
    cache: Any,
    advance: Advance | None,
    verbose: int,
) -> tuple[NDArray[np.float64], list[tuple[str, Any]], dict[str, member_columns.Collection]]:
    """Score each fold by members fitted on the other folds, and fit members on all pairs.

    Clones of members are fitted, each with its ``fit_params``; ``cache`` is `joblib.Memory.cache`.
    ``advance`` moves by `count_steps` in total; with ``verbose``, members show their own progress.
    Returns the out-of-fold columns of all members, the members fitted on all pairs, and, for
    embedders, the texts that ranks count.
    """
    fit_member = cached_fit(cache)
    judge = cache(_fit_on_fold, ignore=["problem", "fit_member", "encodings", "verbose"])
    judge_all = cache(_frozen_columns, ignore=["problem", "fitted", "encodings"])
    everything = np.arange(len(problem.pairs))
    encodings = Encodings()
    blocks, fitted, collections = [], [], {}
    finished: list[str] = []
    for plan in plans:
        given = {
            "problem": problem,
            "fit_params": fit_params[plan.name],
            "encodings": encodings,
            "verbose": verbose,
        }

        done: list[str] = []

        def begin(what: str, plan: MemberPlan = plan) -> None:
            if advance:
                advance(f"{plan.name}, {what}", 0)

        def step(what: str, plan: MemberPlan = plan, done: list[str] = done) -> None:
            done.append(f"{plan.name}, {what}")
            if advance:
                advance(done[-1], _steps(plan.member))

        stage = "the fit to all pairs"
        try:
            if not plan.is_frozen:
                width = len(members_of.columns_of(plan.member, neighbourhood))
                block = np.empty((len(problem.pairs), width))
                for number, (train, test) in enumerate(plan.folds):
                    stage = f"fold {number + 1} of {len(plan.folds)}, a fit to {len(train)} pairs"
                    begin(f"fold {number + 1} of {len(plan.folds)}")
                    block[test] = judge(
                        plan.member,
                        problem.key,
                        train,
                        test,
                        **given,
                        neighbourhood=neighbourhood,
                        fit_member=fit_member,
                    )
                    step(f"fold {number + 1} of {len(plan.folds)}")
                stage = "the fit to all pairs"
            begin("all pairs")
            whole = fit_member(plan.member, problem.training_key, everything, **given)
            if plan.is_frozen:
                stage = "scoring all pairs"
                block = judge_all(
                    plan.member, problem.key, plan.folds, whole, problem, neighbourhood, encodings
                )
            if not members_of.is_predictor(plan.member):
                collections[plan.name] = member_columns.make_collection(
                    whole, problem, plan.folds[0][0], encodings
                )
        except Exception as error:
            error.add_note(_what_failed(plan.name, stage, finished + done, cache))
            raise
        step("all pairs")
        finished.append(done[-1])
        blocks.append(block)
        fitted.append((plan.name, whole))
    return np.column_stack([np.empty((len(problem.labels), 0)), *blocks]), fitted, collections


def count_steps(plans: list[MemberPlan]) -> int:
    """Return the number of steps of `fit_members`."""
    return sum(
        _steps(plan.member) * (1 if plan.is_frozen else len(plan.folds) + 1) for plan in plans
    )


def _steps(member: Any) -> int:
    """Return the steps of the progress bar for one fit of a member."""
    params = member.get_params(deep=True)
    trains = any(value for name, value in params.items() if name.rpartition("__")[2] == "epochs")
    if trains and not is_frozen(member):
        return NETWORK_STEPS
    return 1 if members_of.is_predictor(member) else EMBEDDER_STEPS


def _what_failed(name: str, stage: str, finished: list[str], cache: Any) -> str:
    """Return which member failed where, what is kept, and how to continue."""
    kept = _location_of(cache)
    done = "; ".join(finished) or "nothing"
    where = (
        f"in {kept}: fix the cause and fit again with memory={str(kept)!r}, which continues from "
        "there"
        if kept
        else "nowhere: with memory='FOLDER' another fit would continue from there"
    )
    return f"member {name!r} failed in {stage}. Finished: {done}; kept {where}"


def cached_fit(cache: Any) -> Callable[..., Any]:
    """Return `members.fit_member` with a cache."""
    return cache(members_of.fit_member, ignore=["problem", "encodings", "verbose"])


def _location_of(cache: Any) -> Any:
    """Return the folder of the `joblib.Memory` with the method ``cache``, or None."""
    return getattr(getattr(cache, "__self__", None), "location", None)


def _fit_on_fold(
    member: Any,
    key: str,
    train: np.ndarray,
    test: np.ndarray,
    problem: PairProblem,
    neighbourhood: int | None,
    fit_params: dict[str, Any],
    fit_member: Any,
    encodings: Encodings,
    verbose: int,
) -> np.ndarray:
    fitted = fit_member(
        member,
        problem.training_key,
        train,
        problem=problem,
        fit_params=fit_params,
        encodings=encodings,
        verbose=verbose,
    )
    return member_columns.columns_of_fold(fitted, problem, train, test, neighbourhood, encodings)


def _frozen_columns(
    member: Any,
    key: str,
    folds: Any,
    fitted: Any,
    problem: PairProblem,
    neighbourhood: int | None,
    encodings: Encodings,
) -> np.ndarray:
    return member_columns.columns_out_of_fold(fitted, problem, folds, neighbourhood, encodings)


def nested_inputs(
    members: list[tuple[str, Any]],
    has_own_folds: set[str],
    problem: PairProblem,
    neighbourhood: int | None,
    fit_params: dict[str, dict[str, Any]],
    out_of_fold: NDArray[np.float64],
    fold_of_row: NDArray[Any],
    cache: Any,
    verbose: int,
) -> NDArray[np.float64]:
    """Return the inputs that a final model may learn from to predict each fold.

    An out-of-fold input of row i comes from members that were trained on all other folds, including
    the fold to predict. That fold's labels would reach the final model through them and inflate its
    score. Therefore, members are fitted again without both folds: K (K − 1) / 2 fits of each member
    for K folds; for two folds, 4 fits to half a fold each. Frozen members need no other fit, and
    members with folds of their own get none: `rows_to_learn_from` leaves out the rows that the fold
    to predict has reached.

    Returns inputs of shape (n_folds, n_pairs, n_features): for each fold, the inputs of the other
    folds' rows without its labels, and its own out-of-fold inputs.
    """
    n_folds = int(fold_of_row.max()) + 1
    inputs = np.repeat(out_of_fold[None], n_folds, axis=0)
    tasks = list(_refits(problem, fold_of_row, n_folds))
    fit_member, encodings, finished = cached_fit(cache), Encodings(), []
    refitted = [
        (name, member, columns)
        for name, member, columns in members_of.with_columns(members, neighbourhood)
        if name not in has_own_folds and not is_frozen(member)
    ]
    total = len(tasks) * sum(_steps(member) for _, member, _ in refitted)
    with progress_bar(verbose if total else 0, "out of fold", total) as advance:
        for name, member, columns in refitted:
            given = {
                "problem": problem,
                "fit_params": fit_params[name],
                "encodings": encodings,
                "verbose": verbose,
            }
            for number, (train, judged) in enumerate(tasks):
                what = f"{name}, nested fit {number + 1} of {len(tasks)}"
                if advance:
                    advance(what, 0)
                try:
                    fitted = fit_member(member, problem.training_key, train, **given)
                    for own, rows, held in judged:
                        # Ranks count the texts of those out of fold, which come without labels.
                        counted = np.flatnonzero(fold_of_row != own)
                        found = member_columns.columns_of_fold(
                            fitted, problem, counted, rows, neighbourhood, encodings
                        )
                        inputs[held, rows[:, None], columns] = found
                except Exception as error:
                    of = " and ".join(f"fold {own + 1}" for own, _, _ in judged)
                    stage = f"nested fit {number + 1} of {len(tasks)}, which scores {of}"
                    done = f"{name}, {number} of {len(tasks)} nested fits"
                    error.add_note(_what_failed(name, stage, [*finished, done], cache))
                    raise
                if advance:
                    advance(what, _steps(member))
            finished.append(f"{name}, {len(tasks)} of {len(tasks)} nested fits")
    return inputs


def _refits(problem: PairProblem, fold_of_row: NDArray[Any], n_folds: int) -> Iterator[Any]:
    """Yield training rows, and the rows to score with their fold and the held-out fold."""
    rows_of = [np.flatnonzero(fold_of_row == fold) for fold in range(n_folds)]
    if n_folds > 2:
        for i, j in combinations(range(n_folds), 2):
            train = np.flatnonzero((fold_of_row != i) & (fold_of_row != j))
            yield train, [(i, rows_of[i], j), (j, rows_of[j], i)]
        return
    for fold, rows in enumerate(rows_of):
        halves = DisjointPairsKFold(2, random_state=problem.seed)
        # Labels outside the fold must not change how it is halved.
        groups = problem.groups_among(rows)
        for train, test in halves.split(rows, problem.labels[rows], groups):
            yield rows[train], [(fold, rows[test], 1 - fold)]


def rows_to_learn_from(
    fold: int, fold_of_row: NDArray[Any], part_of_fold: NDArray[Any] | None
) -> NDArray[np.intp]:
    """Return the rows of other folds whose inputs do not depend on labels of a fold.

    If members have their own folds, each a union of several folds, rows of another union were
    scored by members that saw the fold; rows of the same union were not.
    """
    others = fold_of_row != fold
    if part_of_fold is not None:
        others &= part_of_fold[fold_of_row] == part_of_fold[fold]
    return np.flatnonzero(others)


def cross_fitted_probabilities(
    final: Any,
    inputs: NDArray[np.float64],
    labels: NDArray[Any],
    fold_of_row: NDArray[Any],
    part_of_fold: NDArray[Any] | None,
    fit_params: dict[str, Any],
    prior: float,
    routing: bool,
) -> NDArray[np.float64]:
    """Score each fold by a clone of the final model, fitted on the other folds.

    ``inputs`` come from `nested_inputs`. ``fit_params`` are those of ``final.fit`` on all pairs,
    from metadata routing if ``routing``; parameters with one entry per pair are split by folds.
    Probabilities are at ``prior``.
    """
    probabilities = np.empty(len(labels))
    for fold, known in enumerate(inputs):
        train = rows_to_learn_from(fold, fold_of_row, part_of_fold)
        test = np.flatnonzero(fold_of_row == fold)
        if len(np.unique(labels[train])) < 2:
            raise ValueError(
                f"all {len(train)} training pairs outside fold {fold + 1} have the same label, so "
                "nothing can be measured out of fold: train on more pairs, or with fewer folds"
            )
        probabilities[test] = _scored(final, known, labels, train, test, fit_params, prior, routing)
    return probabilities


def probabilities_without_each_fold(
    final: Any,
    inputs: NDArray[np.float64],
    labels: NDArray[Any],
    fold_of_row: NDArray[Any],
    part_of_fold: NDArray[Any] | None,
    linked: NDArray[Any],
    fit_params: dict[str, Any],
    prior: float,
    routing: bool,
) -> NDArray[np.float64]:
    """Score the other rows of each fold out of fold, without any label of that fold.

    What is learned from these probabilities can be applied to the fold. ``linked`` holds the group
    of each pair: a single other fold is split by it. The other arguments are those of
    `cross_fitted_probabilities`. Returns (n_folds, n_pairs), NaN where nothing can be learned.
    """
    found = np.full((len(inputs), len(labels)), np.nan)
    for fold, known in enumerate(inputs):
        rows = rows_to_learn_from(fold, fold_of_row, part_of_fold)
        parts = fold_of_row[rows]
        if len(np.unique(parts)) < 2:
            parts = linked[rows] % 2
        for part in np.unique(parts):
            train, test = rows[parts != part], rows[parts == part]
            if len(np.unique(labels[train])) == 2:
                found[fold, test] = _scored(
                    final, known, labels, train, test, fit_params, prior, routing
                )
    return found


def _scored(
    final: Any,
    inputs: NDArray[np.float64],
    labels: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    fit_params: dict[str, Any],
    prior: float,
    routing: bool,
) -> NDArray[np.float64]:
    """Score some rows by a clone of the final model, fitted on others."""
    n = len(labels)
    sliced = {key: members_of.take_rows(value, train, n) for key, value in fit_params.items()}
    with sklearn.config_context(enable_metadata_routing=routing):
        model: Any = clone(final)
        model.fit(inputs[train], labels[train], **sliced)
        weights = reaching_weights(model, sliced)
    p = model.predict_proba(inputs[test])[:, 1].astype(np.float64)
    return np.asarray(shift_prior(p, prior_of(labels[train], weights), prior), dtype=np.float64)

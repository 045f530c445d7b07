"""Folds that an estimator learns out of: each pair tested once, no question on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import AllowSharedQuestions, DisjointPairsKFold, check_integer
from estimators.pairs.pair_problem import PairProblem

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def splitter_of(cv: Any, random_state: int) -> Any:
    """Give the splitter that the parameter ``cv`` stands for.

    Raises
    ------
    TypeError, ValueError
        If cv is neither a splitter nor an integer from 2 on.
    """
    if not isinstance(cv, str) and hasattr(cv, "split"):
        return cv
    return DisjointPairsKFold(check_integer("cv", cv, 2), random_state=random_state)


def question_folds(splitter: Any, problem: PairProblem) -> list[Fold]:
    """Give the rows of training and test of each fold, after checking them.

    Parameters
    ----------
    splitter : splitter
        From `splitter_of`. Its X are the pairs' sentence numbers, as strings.
    problem : PairProblem
        The training pairs.

    Returns
    -------
    folds : list of (ndarray, ndarray)
        Rows of training and test.

    Raises
    ------
    ValueError
        If a pair is not in exactly one test fold, or a question stands on both sides of a fold
        and the splitter is no `AllowSharedQuestions`.
    """
    # Sentences, not their spellings, are what folds must not share.
    codes = problem.sentences[problem.codes]
    folds = list(splitter.split(codes.astype(str).astype(object), problem.labels))
    everything = np.arange(len(codes))
    tested = np.sort(np.concatenate([everything[test] for _, test in folds]))
    if not np.array_equal(tested, everything):
        raise ValueError(
            f"cv={splitter!r} must test each of the {len(codes)} pairs in exactly one fold; "
            "give a number of folds, or a splitter such as DisjointPairsKFold(5)"
        )
    if isinstance(splitter, AllowSharedQuestions):
        return folds
    # Texts without words are all one text, and teach nothing about each other.
    seen = [np.intersect1d(codes[train], codes[test]) for train, test in folds]
    shared = np.setdiff1d(np.concatenate(seen), problem.sentences[[problem.null]])
    if len(shared):
        first = problem.texts[int(np.flatnonzero(problem.sentences == shared[0])[0])]
        raise ValueError(
            f"cv={splitter!r} lets {len(shared)} questions stand in training and in test of the "
            f"same fold, the first {first!r}; what is measured out of fold "
            "would flatter. Give a number of folds or DisjointPairsKFold(5), or, where that is "
            f"what you want, AllowSharedQuestions({splitter!r})"
        )
    return folds

"""Pairs of texts that are most worth a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier

from estimators._pairs import check_pair_labels, check_pairs, normalized_codes
from estimators._validation import check_integer
from estimators.lexical import LexicalFeatures
from film.suggestion import design_rows, select_informative

CANDIDATES = 2000
"""So many pairs, drawn at random, stand for a larger pool: an answer takes a few seconds."""


def suggest_pairs(
    pairs: Any, n: int, *, labelled: Any = None, y: Any = None, random_state: int = 0
) -> NDArray[np.intp]:
    """Choose the pairs to label next.

    On `LexicalFeatures`, those are chosen that lessen the variance of predictions over all pairs
    most (`film.suggestion.select_informative`). Once there are answers of both kinds, trees fitted
    to them say which features matter and where predictions are uncertain. Without answers
    features and pairs count alike.

    Parameters
    ----------
    pairs : array-like of str, shape (n_pairs, 2)
        All pairs, labelled or not.
    n : int
        How many to choose.
    labelled : array-like of int, shape (n_labelled,), default=None
        Rows of pairs that have been asked. They, and the same pairs in other order or spelling,
        are not suggested again.
    y : array-like of shape (n_labelled,), default=None
        Their answers, of two classes; None or NaN where the answer was skipped. None for the
        whole leaves the rows out and learns nothing from them.
    random_state : int, default=0
        Seeds the draw of candidates and the trees. The same input gives the same rows.

    Returns
    -------
    rows : ndarray of intp, shape (n,)
        Rows of pairs, the most informative first; fewer, or none, where fewer are left. No pair
        is there twice, in whatever order or spelling, and two pairs share a text only where
        there are no others.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, rows are no integers or out of range, or y does not fit them.

    See Also
    --------
    few_label_duplicates : A classifier for the labels.

    Notes
    -----
    From a pool larger than `CANDIDATES`, as many unlabelled pairs are drawn. Texts are normalised
    in O(n_pairs); beside it, time is that of `LexicalFeatures` on candidates and labelled pairs.

    Examples
    --------
    >>> from estimators.suggestion import suggest_pairs
    >>> from film.datasets import make_question_pairs
    >>> data = make_question_pairs(300, random_state=0)
    >>> first = suggest_pairs(data.pairs, 20)
    >>> more = suggest_pairs(data.pairs, 10, labelled=first, y=data.y[first])
    >>> len(more), set(first) & set(more)
    (10, set())
    """
    pairs = check_pairs(pairs)
    n = check_integer("n", n, 1)
    seed = check_integer("random_state", random_state, 0)
    asked = _checked_rows(labelled, len(pairs))
    answered, answers = _checked_answers(y, asked)

    codes = np.sort(normalized_codes(pairs), axis=1)
    left = _unlike(codes, asked)
    if len(left) == 0:
        return left
    rng = np.random.default_rng(seed)
    if len(left) > CANDIDATES:
        left = np.sort(rng.choice(left, CANDIDATES, replace=False))
    lexical = LexicalFeatures().fit(pairs[np.concatenate([left, answered])])
    pool = lexical.transform(pairs[left])
    known = lexical.transform(pairs[answered]) if len(answered) else pool[:0]
    importance, weights = _judged(known, answers, pool, seed)
    chosen = select_informative(
        design_rows(pool, pool, importance),
        n,
        known=design_rows(known, pool, importance),
        weights=weights,
        members=codes[left],
    )
    return left[chosen]


def _unlike(codes: NDArray[np.intp], asked: NDArray[np.intp]) -> NDArray[np.intp]:
    """First row of every pair that reads like no asked one."""
    _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    is_asked = np.zeros(len(first), dtype=bool)
    is_asked[number.ravel()[asked]] = True
    return np.sort(first[~is_asked])


def _judged(known: np.ndarray, answers: np.ndarray, pool: np.ndarray, seed: int) -> tuple[Any, Any]:
    """Say how much features matter and how uncertain pairs are; None before both answers came."""
    if len(np.unique(answers)) < 2:
        return None, None
    trees = ExtraTreesClassifier(100, min_samples_leaf=3, random_state=seed).fit(known, answers)
    p = trees.predict_proba(pool)[:, 1]
    importance, weights = trees.feature_importances_, p * (1 - p)
    # A handful of answers may grow no branch, or leave no doubt.
    return (importance if importance.any() else None), (weights if weights.any() else None)


def _checked_rows(labelled: Any, n_pairs: int) -> NDArray[np.intp]:
    rows = np.asarray([] if labelled is None else labelled)
    if rows.ndim != 1:
        raise ValueError(f"labelled must have shape (n_labelled,), got {rows.shape}: give rows")
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    if rows.dtype.kind not in "iu":
        raise TypeError(
            f"labelled must hold row numbers, got dtype {rows.dtype}; of a mask give "
            "numpy.flatnonzero(mask)"
        )
    outside = (rows < 0) | (rows >= n_pairs)
    if outside.any():
        raise ValueError(
            f"labelled holds row {rows[outside][0]}, but pairs have rows 0 to {n_pairs - 1}"
        )
    return rows.astype(np.intp)


def _checked_answers(y: Any, asked: NDArray[np.intp]) -> tuple[NDArray[np.intp], np.ndarray]:
    """Rows that were answered, and their answers."""
    if y is None:
        return asked[:0], np.empty(0)
    answers = np.asarray(y)
    if answers.shape != asked.shape:
        raise ValueError(
            f"y has shape {answers.shape}, but {len(asked)} rows are labelled: give one answer a "
            "row, None or NaN where it was skipped"
        )
    # NaN alone is unlike itself.
    given = np.array([a is not None and bool(a == a) for a in answers.tolist()], dtype=bool)
    rows, answers = asked[given], np.asarray(answers[given].tolist())
    if len(rows):
        check_pair_labels(answers, len(rows), allow_one_class=True)
    return rows, answers

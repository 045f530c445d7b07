"""Pairs of texts that are most useful to label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import TextIndex, check_integer, check_pair_labels, check_pairs
from estimators.pairs.lexical import LexicalFeatures
from film.pairs import checked_integers, select_representative, standard_scores

CANDIDATES = 2000
"""So many pairs, drawn at random, stand for a larger pool: an answer takes a few seconds."""


def suggest_pairs(
    pairs: Any, n: int, *, labelled: Any = None, y: Any = None, random_state: int = 0
) -> NDArray[np.intp]:
    """Choose the pairs to label next, so that the labelled ones stand for all pairs.

    On standardised `LexicalFeatures`, pairs are chosen whose plain averages come as close to those
    of all pairs as they can (`film.pairs.select_representative`). Choices depend on texts
    alone, never on answers, so they bias no probability: fit a classifier to the labels as they
    are, without weights. Pairs labelled for another reason count as labelled; later choices fill
    up what they left out.

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
        Their answers, of two classes; None or NaN where the answer was skipped: such a row stands
        for nothing, another one like it is chosen. None for the whole means all have an answer.
    random_state : int, default=0
        Seeds the draw of candidates. The same input gives the same rows.

    Returns
    -------
    rows : ndarray of intp, shape (n,)
        Rows of pairs, in order of choice; fewer, or none, where fewer are left. No pair is there
        twice, in whatever order or spelling, and two pairs share a text only where there are no
        others.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, rows are no integers or out of range, or y does not fit them.

    See Also
    --------
    few_label_duplicates : A classifier for the labels.

    Notes
    -----
    From a pool larger than `CANDIDATES`, as many unlabelled pairs are drawn, every one with the
    same probability. Texts are normalised in O(n_pairs); beside it, time is that of
    `LexicalFeatures` on candidates and labelled pairs, and of their pairwise distances.

    Examples
    --------
    >>> from estimators.pairs import suggest_pairs
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
    asked = checked_integers("labelled", [] if labelled is None else labelled, below=len(pairs))
    answered = _answered(y, asked)

    codes = np.sort(TextIndex().add_pairs(pairs), axis=1)
    asked, left = _unlike(codes, asked), _unlike(codes, np.arange(len(pairs)), without=asked)
    if len(left) == 0:
        return left
    drawn = left
    if len(left) > CANDIDATES:
        drawn = np.sort(np.random.default_rng(seed).choice(left, CANDIDATES, replace=False))
    # The asked ones belong to what the labels are to stand for.
    rows = np.concatenate([drawn, asked])
    features = LexicalFeatures().fit(pairs[rows]).transform(pairs[rows])
    chosen = select_representative(
        standard_scores(features),
        n,
        weights=np.repeat([len(left) / len(drawn), 1.0], [len(drawn), len(asked)]),
        known=len(drawn) + np.flatnonzero(_alike(codes, asked, answered)),
        barred=np.arange(len(drawn), len(rows)),
        members=codes[rows],
    )
    return rows[chosen]


def _unlike(
    codes: NDArray[np.intp], rows: NDArray[np.intp], without: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Keep the first of rows that read alike, and none that reads like one of others."""
    _, first = np.unique(codes[rows], axis=0, return_index=True)
    kept = np.sort(rows[np.sort(first)])
    return kept if without is None else kept[~_alike(codes, kept, without)]


def _alike(
    codes: NDArray[np.intp], rows: NDArray[np.intp], others: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Say which rows read like one of the others."""
    read = {tuple(code) for code in codes[others].tolist()}
    return np.array([tuple(code) in read for code in codes[rows].tolist()], dtype=bool)


def _answered(y: Any, asked: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows whose answer was not skipped."""
    if y is None:
        return asked
    answers = np.asarray(y)
    if answers.shape != asked.shape:
        raise ValueError(
            f"y has shape {answers.shape}, but {len(asked)} rows are labelled: give one answer per "
            "row, None or NaN where it was skipped"
        )
    # NaN alone is unlike itself.
    given = np.array([a is not None and bool(a == a) for a in answers.tolist()], dtype=bool)
    rows, answers = asked[given], np.asarray(answers[given].tolist())
    if len(rows):
        check_pair_labels(answers, len(rows), allow_one_class=True)
    return rows

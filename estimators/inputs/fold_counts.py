"""How many folds a few labelled pairs can fill."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimators.inputs.folds import DisjointPairsKFold, question_groups

_PLENTY = 20


def usable_folds(pairs: NDArray[np.object_], y: NDArray[np.int64], wanted: int, seed: int) -> int:
    """Give the most question-disjoint folds, up to those wanted, that leave both classes to learn.

    Parameters
    ----------
    pairs : ndarray of str, shape (n, 2)
        Texts.
    y : ndarray of int, shape (n,)
        1 for duplicates, 0 for others.
    wanted : int
        Folds, at least 2.
    seed : int
        Of the shuffle, as in `fast_duplicates`.

    Returns
    -------
    folds : int
        0 where even two are too many.
    """
    if y.min() == y.max():
        return 0
    groups = question_groups(pairs)
    least = min(len(np.unique(groups[y == value])) for value in (0, 1))
    if least >= _PLENTY * wanted:
        return wanted
    for folds in range(min(wanted, least), 1, -1):
        splits = DisjointPairsKFold(folds, random_state=seed).split(pairs, y)
        if all(0 < y[train].mean() < 1 for train, _ in splits):
            return folds
    return 0

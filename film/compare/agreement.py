"""Levels of agreement between two cells of a column, which are comparable across tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from film.compare.kinds import kilometres

__all__ = ["LEVELS_OF_SIMILARITY", "N_LEVELS", "agreement_levels", "number_agreement"]

Floats = NDArray[np.float64]

_SIMILARITY = np.array([0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.999])
_INFORMATION = np.array([0.3, 0.6, 1.0, 1.5])
_RELATIVE = np.array([0.5, 0.2, 0.05, 0.01, 1e-12])
_DAYS = np.array([36_600, 3660, 366, 31, 0.5])
_KILOMETRES = np.array([100, 10, 1, 0.1, 0.01])

BOTH_MISSING, ONE_MISSING, _FIRST = 0, 1, 2
LEVELS_OF_SIMILARITY = len(_SIMILARITY) + 1
"""Consecutive levels of one amount of information, from the least similar on."""

N_LEVELS = _FIRST + (len(_INFORMATION) + 1) * LEVELS_OF_SIMILARITY


def agreement_levels(
    similarity: Floats, information: Floats, n_missing: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the level of agreement of pairs of cells of text.

    Parameters
    ----------
    similarity : ndarray of float64, shape (n,)
        Similarity of the two cells, 0 to 1.
    information : ndarray of float64, shape (n,)
        Information of the cell that has less of it: the sum over its words of
        log(n_rows / rows with the word) / log(n_rows), so that a word of one row has 1.
    n_missing : ndarray of int, shape (n,)
        Number of empty cells, 0 to 2.

    Returns
    -------
    levels : ndarray of int, shape (n,)
        0 if both cells are empty, 1 if one is. Otherwise 2 + 8 i + s, where s counts the
        similarities .2, .35, .5, .65, .8, .9 and .999 that are reached, and i the amounts .3, .6,
        1 and 1.5 of shared information: that of the cell times the similarity.

    Examples
    --------
    >>> import numpy as np
    >>> from film.compare import agreement_levels
    >>> none = np.array([0, 0, 1])
    >>> agreement_levels(np.array([1.0, 0.7, 0.0]), np.array([2.0, 0.2, 0.0]), none).tolist()
    [41, 6, 1]
    """
    shared = np.digitize(information * similarity, _INFORMATION)
    levels = _FIRST + shared * LEVELS_OF_SIMILARITY + np.digitize(similarity, _SIMILARITY)
    return np.where(n_missing == 0, levels, np.where(n_missing == 1, ONE_MISSING, BOTH_MISSING))


def number_agreement(
    first: NDArray[Any], second: NDArray[Any], n_missing: NDArray[np.intp], kind: str
) -> NDArray[np.intp]:
    """Return the level of agreement of pairs of numbers, dates or points.

    Parameters
    ----------
    first, second : ndarray, shape (n,)
        From `film.compare.parsed`, NaN for a cell that is empty or does not parse.
    n_missing : ndarray of int, shape (n,)
        Number of NaN, 0 to 2.
    kind : {"number", "date", "point"}
        What is compared.

    Returns
    -------
    levels : ndarray of int, shape (n,)
        0 if both are missing, 1 if one is. Otherwise 2 + the number of bounds that the difference
        does not exceed: for numbers a half, a fifth, .05, .01 and 0 of the larger one, for dates a
        hundred years, ten, one, a month and a day's half, for points 100, 10 and 1 km, 100 and
        10 m.

    Examples
    --------
    >>> import numpy as np
    >>> from film.compare import number_agreement
    >>> none = np.zeros(2, dtype=int)
    >>> number_agreement(np.array([20.0, 20.0]), np.array([20.0, 21.0]), none, "number").tolist()
    [7, 5]
    """
    if kind == "point":
        reached = kilometres(first, second)[:, None] <= _KILOMETRES
    elif kind == "date":
        reached = np.abs(first - second)[:, None] <= _DAYS
    else:
        larger = np.maximum(np.maximum(np.abs(first), np.abs(second)), 1e-300)
        reached = np.abs(first - second)[:, None] <= _RELATIVE * larger[:, None]
    levels = _FIRST + reached.sum(axis=1)
    return np.where(n_missing == 0, levels, np.where(n_missing == 1, ONE_MISSING, BOTH_MISSING))

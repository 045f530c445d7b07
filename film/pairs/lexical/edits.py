"""Edit distances between the letters of two texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rapidfuzz import distance, fuzz, process

from film.pairs.lexical.coded_tokens import check_sides, cut
from film.threads import usable_cores

EDIT_CHARACTERS = 1000
"""Number of compared characters per text; the time grows with its square."""

EDIT_NAMES = (
    "edit similarity",
    "best part's edit similarity",
    "edit similarity of sorted words",
    "edit similarity of word sets",
    "Jaro-Winkler similarity",
)


def edit_features(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Compare letters by edit distances, as defined by the library RapidFuzz.

    Parameters
    ----------
    first, second : sequence of n str
        The two texts of each pair. Only the first `EDIT_CHARACTERS` characters are compared.

    Returns
    -------
    features : ndarray of float64, shape (n, 5)
        Columns `EDIT_NAMES`, in [0, 1]. Swapping the texts changes nothing.

    Notes
    -----
    O(Σ L²/64) for texts of L characters.

    Examples
    --------
    >>> from film.pairs import edit_features
    >>> edit_features(["red car"], ["car red"]).round(2)
    array([[0.43, 0.6 , 1.  , 1.  , 0.62]])
    """
    check_sides(first, second)
    sides = [cut(texts, EDIT_CHARACTERS) for texts in (first, second)]
    scorers: list[tuple[Any, float]] = [
        (fuzz.ratio, 100),
        (fuzz.partial_ratio, 100),
        (fuzz.token_sort_ratio, 100),
        (fuzz.token_set_ratio, 100),
        (distance.JaroWinkler.similarity, 1),
    ]
    cores = usable_cores()
    columns = [
        process.cpdist(*sides, scorer=scorer, dtype=np.float64, workers=cores) / most
        for scorer, most in scorers
    ]
    return np.column_stack(columns)

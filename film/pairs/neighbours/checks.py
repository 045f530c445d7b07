"""Checks of points and of corpus rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from film.pairs.checks import checked_integers
from film.pairs.neighbours.cosines import Floats, Integers


def checked_points(points: ArrayLike) -> Floats:
    """Return points as an array of float32 or float64, or raise an error for an invalid row."""
    array = np.asarray(points)
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"points must be a dense array of numbers, got {type(points).__name__} of dtype "
            f"{array.dtype}: give embeddings; a sparse matrix needs toarray() or a projection."
        )
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"points must have shape (n, d), both at least 1, got shape {array.shape}: "
            "give one row per point."
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise ValueError(
            f"points[{row}, {column}] is {array[row, column]}; entries must be finite: drop the "
            "row, or set it to zeros for a point without direction."
        )
    return array


def checked_corpus(corpus: ArrayLike | None, n: int) -> Integers:
    """Return the rows to count; all n rows if ``corpus`` is None."""
    if corpus is None:
        return np.arange(n)
    array = checked_integers("corpus", corpus, below=n)
    if len(array) == 0:
        raise ValueError(
            "corpus is empty; ranks need points to count: give at least one row index, or None "
            "for all rows."
        )
    repeats = np.bincount(array, minlength=n)
    if repeats.max() > 1:
        raise ValueError(
            f"corpus names row {int(repeats.argmax())} {int(repeats.max())} times; each index may "
            "come once: use numpy.unique."
        )
    return array

"""Checks of outcomes, probabilities, integers and points."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def binary_labels(y: ArrayLike) -> NDArray[np.bool_]:
    """Read outcomes given as 0 and 1 or as booleans.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, as integers, floats or booleans.

    Returns
    -------
    outcome : ndarray of bool, shape (n,)
        True if y is 1.

    Raises
    ------
    ValueError
        If y is empty, not one-dimensional, or contains a value other than 0 and 1; the error names
        the row.

    Examples
    --------
    >>> from film.checks import binary_labels
    >>> binary_labels([0.0, 1.0])
    array([False,  True])
    """
    array = np.asarray(y)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"y must have shape (n,) with n at least 1, got shape {array.shape}: "
            "give one outcome per row."
        )
    if array.dtype == np.bool_:
        return array
    one = array == 1
    other = ~(one | (array == 0))
    if other.any():
        row = int(other.argmax())
        raise ValueError(
            f"y[{row}] is {array[row]!r}; outcomes must be 0 or 1: recode the labels, and drop "
            "rows without one."
        )
    return one


def both_classes(y: ArrayLike) -> NDArray[np.bool_]:
    """Read outcomes like `binary_labels`, and raise ValueError unless both classes occur."""
    outcome = binary_labels(y)
    if outcome.all() or not outcome.any():
        raise ValueError(
            f"y holds only the class {int(outcome[0])}, so that shares of the other are undefined: "
            "give rows of both classes."
        )
    return outcome


def checked_probabilities(p: ArrayLike) -> NDArray[np.floating[Any]]:
    """Read probabilities of any shape as floats, or raise ValueError."""
    array = np.asarray(p)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"p must hold numbers in [0, 1], got dtype {array.dtype}: convert it.")
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    # Not "outside the range": NaN compares false with all values and must not pass.
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"p must lie in [0, 1], but entry {row} is {array.flat[row]:.6g}: give probabilities, "
            "not scores or log odds."
        )
    return array


def check_length(name: str, array: NDArray[Any], n: int) -> None:
    """Raise ValueError unless an array has one entry per outcome."""
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have shape ({n},), as y has, got shape {array.shape}: give one value "
            "per row, of predict_proba the column of outcome 1."
        )


def check_share(name: str, value: float, example: float = 0.95) -> float:
    """Return a share strictly between 0 and 1, or raise TypeError or ValueError."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}: give for instance {example}.")
    if not 0 < value < 1:
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, got {value!r}: give for instance {example}."
        )
    return float(value)


def check_at_least_one(name: str, value: int) -> int:
    """Return a positive integer, or raise TypeError or ValueError."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}: convert it with int().")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}: give a positive integer.")
    return int(value)


def checked_integers(
    name: str, values: ArrayLike, width: int | None = None, below: int | None = None
) -> NDArray[np.intp]:
    """Read integers of shape (n,) or (n, width), from 0 up to ``below``, or raise."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim <= 2:
        array = np.empty((0,) if width is None else (0, width), dtype=np.intp)
    shape = "(n,)" if width is None else f"(n, {width})"
    if array.ndim != (1 if width is None else 2) or (width and array.shape[1] != width):
        raise ValueError(f"{name} must have shape {shape}, got shape {array.shape}: reshape it.")
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must hold integers, got dtype {array.dtype}: convert with astype(int), or "
            "use numpy.flatnonzero for a mask."
        )
    wrong = (array < 0) | (array >= (np.inf if below is None else below))
    if wrong.any():
        row = int(wrong.reshape(len(array), -1).any(axis=1).argmax())
        wanted = "must not be negative" if below is None else f"must lie between 0 and {below - 1}"
        raise ValueError(f"{name}[{row}] is {array[row].tolist()}, but {name} {wanted}.")
    return array.astype(np.int64, copy=False)


def checked_points(points: ArrayLike) -> NDArray[np.floating[Any]]:
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


def checked_corpus(corpus: ArrayLike | None, n: int) -> NDArray[np.integer[Any]]:
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

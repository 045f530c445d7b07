"""Validation of pairs of texts and their labels, for all estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from numbers import Integral, Real
from reprlib import Repr
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from estimators.inputs.records import CELL_END, as_records
from estimators.inputs.texts import TextIndex, as_texts, check_encodable

# Questions can have 20,000 characters; error messages must stay readable.
_shortener = Repr()
_shortener.maxstring = _shortener.maxother = 60
_short = _shortener.repr


def check_pairs(
    pairs: Any,
    *,
    n_columns: int = 2,
    name: str = "pairs",
    encodable: bool = False,
    fits: bool = False,
) -> NDArray[np.object_]:
    """Convert rows of texts to an object array of str, or raise an error that names the wrong row.

    Parameters
    ----------
    pairs : list of tuple, ndarray or frame, shape (n, n_columns)
        Rows of texts, which may be empty texts; frames may be from pandas, polars, pyarrow or
        anything with ``columns``. `RecordPairs`, and frames with the columns of two records
        (`record_pairs`), become texts of joined cells.
    n_columns : int, default=2
        Texts per row; 3 if each pair has a hard negative.
    name : str, default="pairs"
        Name of the argument in error messages.
    encodable : bool, default=False
        Whether to reject lone surrogates, as tokenizers do, and to write a space between the cells
        of a record, whose words tokenizers would join.
    fits : bool, default=False
        Whether to require a text that is not empty, as for fitting.

    Returns
    -------
    checked : ndarray of object, shape (n, n_columns)
        Every entry is a str. A valid object array is returned itself; fixed-width string arrays
        are converted, because every entry takes the memory of the longest.

    Raises
    ------
    TypeError
        If an entry is not a str, a row is a single text, or ``pairs`` is not a table.
    ValueError
        If an entry is missing (None, NaN, NA), the number of columns is wrong, there are no rows,
        or all texts are empty although ``fits`` is True. Messages count rows and columns from 0.

    Examples
    --------
    >>> from estimators.inputs import check_pairs
    >>> check_pairs([("What is AI?", None)])
    Traceback (most recent call last):
        ...
    ValueError: pairs row 0, column 1 is missing (None): drop the row or put "" in its place.
    """
    table = _as_table(pairs, n_columns, name)
    if table.shape[0] == 0:
        raise ValueError(f"{name} is empty: give at least one row of {n_columns} texts.")
    if table.ndim != 2 or table.shape[1] != n_columns:
        raise ValueError(
            f"{name} has shape {table.shape}, but each row must hold {n_columns} texts: "
            f"select the {n_columns} text columns."
        )

    def place_of(place: int) -> str:
        return f"{name} row {place // n_columns}, column {place % n_columns}"

    if not all(issubclass(kind, str) for kind in set(map(type, table.ravel().tolist()))):
        _raise_first_bad_text(table, place_of)
    if encodable:
        texts = table.ravel().tolist()
        check_encodable(texts, place_of)
        if any(CELL_END in text for text in texts):
            table = as_texts([text.replace(CELL_END, " ") for text in texts]).reshape(table.shape)
    if fits and not any(map(str.strip, table.ravel().tolist())):
        raise ValueError(
            f"{name} holds no text: all {n_columns} columns are empty in each of {len(table)} "
            "rows; give the columns that hold the texts."
        )
    return table


def check_pair_labels(y: ArrayLike, n: int, *, allow_one_class: bool = False) -> NDArray[Any]:
    """Check the labels of n pairs: 0 and 1, bool, or any two classes.

    Parameters
    ----------
    y : array-like, shape (n,)
        Labels.
    n : int
        Number of pairs.
    allow_one_class : bool, default=False
        Whether labels of a single class are valid, as for prediction.

    Returns
    -------
    labels : ndarray, shape (n,)
        The labels as an array, with their values unchanged.

    Raises
    ------
    ValueError
        If the length is not n, a label is missing, values are continuous, there are more
        than two classes, or only one and ``allow_one_class`` is False.

    Examples
    --------
    >>> from estimators.inputs import check_pair_labels
    >>> check_pair_labels([1, 1, 1], 3)
    Traceback (most recent call last):
        ...
    ValueError: y holds one class only (1): give pairs of both classes, \
duplicates and non-duplicates.
    """
    labels = column_or_1d(y, warn=True)
    if len(labels) != n:
        raise ValueError(f"y has {len(labels)} labels for {n} pairs: give one label per pair.")
    if labels.dtype.kind in "fOT":
        for row, label in enumerate(labels.tolist()):
            if is_missing(label):
                raise ValueError(f"y row {row} is missing ({label!r}): label the pair or drop it.")
    if labels.dtype == object and all(isinstance(label, Integral) for label in labels):
        # scikit-learn rejects object arrays of numbers; mixed types should be rejected.
        labels = np.asarray(labels.tolist())
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) > 2:
        raise ValueError(
            f"y holds {len(classes)} classes ({_short(classes.tolist())}), but pairs have "
            "two: map the labels to 0 (different) and 1 (duplicate)."
        )
    if len(classes) < 2 and not allow_one_class:
        raise ValueError(
            f"y holds one class only ({_short(classes.tolist()[0])}): give pairs of both "
            "classes, duplicates and non-duplicates."
        )
    return labels


def check_pair_scores(y: Any, n_pairs: int) -> NDArray[np.float64]:
    """Return scores of pairs, in any unit, as finite floats that are not all equal.

    Raises
    ------
    ValueError
        If a score is missing or not a number, their count is wrong, or all are equal.

    Examples
    --------
    >>> from estimators.inputs import check_pair_scores
    >>> check_pair_scores([0, 5], 2)
    array([0., 5.])
    """
    scores = column_or_1d(y)
    if len(scores) != n_pairs:
        raise ValueError(f"y has {len(scores)} scores for {n_pairs} pairs: give one per pair.")
    values = scores.tolist()
    wrong = [
        row
        for row, value in enumerate(values)
        if not (isinstance(value, Real) and np.isfinite(float(value)))
    ]
    if wrong:
        raise ValueError(
            f"y row {wrong[0]} is {_short(values[wrong[0]])}, not a finite number ({len(wrong)} "
            "in all): convert it, or drop the pair."
        )
    scores = scores.astype(np.float64)
    if scores.min() == scores.max():
        raise ValueError(
            f"y is {scores[0]:g} for all {n_pairs} pairs: give pairs of different similarity."
        )
    return scores


def conflicting_pairs(pairs: Any, y: ArrayLike) -> list[NDArray[np.intp]]:
    """Find pairs that occur with both labels.

    Texts are compared after `film.text.normalize_text`, and (a, b) is the same pair as (b, a).

    Returns
    -------
    conflicts : list of ndarray of intp
        For each pair with both labels, all its rows, ascending; the list is in order of the
        first row.

    Examples
    --------
    >>> from estimators.inputs import conflicting_pairs
    >>> pairs = [("Who am I?", "Who is he?"), ("a", "b"), ("who is he", "who am I")]
    >>> conflicting_pairs(pairs, [0, 1, 1])
    [array([0, 2])]
    """
    checked = check_pairs(pairs)
    labels = check_pair_labels(y, len(checked), allow_one_class=True)
    codes = np.sort(TextIndex().add_pairs(checked), axis=1)
    keys = codes[:, 0] * (codes.max() + 1) + codes[:, 1]
    _, pair_of_row, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rows_of: dict[int, list[int]] = {}
    for row in np.flatnonzero(counts[pair_of_row] > 1).tolist():
        rows_of.setdefault(int(pair_of_row[row]), []).append(row)
    groups = [np.array(rows, dtype=np.intp) for rows in rows_of.values()]
    return [rows for rows in groups if len(np.unique(labels[rows])) > 1]


def _as_table(pairs: Any, n_columns: int, name: str) -> NDArray[np.object_]:
    """Convert any accepted container to an object array; texts are checked later."""
    records = as_records(pairs) if n_columns == 2 else None
    if records is not None:
        return records.texts()
    if hasattr(pairs, "columns"):
        return _frame_table(pairs, n_columns, name)
    if isinstance(pairs, np.ndarray) and pairs.ndim >= 2:
        return pairs.astype(object, copy=False)
    if isinstance(pairs, (str, bytes, Mapping, Set)) or not hasattr(pairs, "__iter__"):
        raise TypeError(
            f"{name} is {_short(pairs)} ({type(pairs).__name__}), but a table of {n_columns} texts "
            "per row is needed: give a list of tuples, an object array or a frame."
        )
    rows = list(pairs)
    for index, row in enumerate(rows):
        if not (isinstance(row, (tuple, list)) and len(row) == n_columns):
            _check_row(row, n_columns, f"{name} row {index}")
    table = np.empty((len(rows), n_columns), dtype=object)
    for column in range(n_columns):
        # fromiter keeps a list as one object; assignment would unpack it.
        table[:, column] = np.fromiter((row[column] for row in rows), object, len(rows))
    return table


def _frame_table(frame: Any, n_columns: int, name: str) -> NDArray[np.object_]:
    columns = list(getattr(frame, "column_names", frame.columns))  # pyarrow has column_names
    if len(columns) != n_columns:
        shown = ", ".join(map(str, columns[:8])) + (", ..." if len(columns) > 8 else "")
        raise ValueError(
            f"{name} has {len(columns)} columns ({shown}), but {n_columns} text columns are "
            f'needed: select them, for example frame[["question1", "question2"]].'
        )
    if hasattr(frame, "to_numpy"):
        return np.asarray(frame.to_numpy(), dtype=object)
    rows = zip(*(np.asarray(frame[column], dtype=object) for column in columns), strict=True)
    return _as_table(list(rows), n_columns, name)


def _check_row(row: Any, n_columns: int, where: str) -> None:
    wanted = f"where a tuple of {n_columns} texts is needed, for example from zip(first, second)."
    if isinstance(row, (str, bytes)):
        raise TypeError(f"{where} is one text, {_short(row)}, {wanted}")
    if is_missing(row):
        raise ValueError(f"{where} is missing ({row!r}): drop the row.")
    if not isinstance(row, (tuple, list)) and not (isinstance(row, np.ndarray) and row.ndim):
        raise TypeError(f"{where} is {_short(row)} ({type(row).__name__}), {wanted}")
    if len(row) != n_columns:
        raise ValueError(f"{where} holds {len(row)} entries, {_short(list(row))}, {wanted}")


def _raise_first_bad_text(table: NDArray[np.object_], place_of: Callable[[int], str]) -> None:
    for place, value in enumerate(table.ravel().tolist()):
        if is_missing(value):
            raise ValueError(
                f'{place_of(place)} is missing ({value!r}): drop the row or put "" in its place.'
            )
        if not isinstance(value, str):
            remedy = "decode it" if isinstance(value, bytes) else "convert it with str()"
            raise TypeError(
                f"{place_of(place)} is {_short(value)} ({type(value).__name__}), but a str is "
                f"needed: {remedy}."
            )


def is_missing(value: Any) -> bool:
    """Whether a scalar is None, NaN or a frame library's NA, without importing that library."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))

"""Find out which of two labels means duplicates."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

_DUPLICATE = frozenset(
    "1 1.0 true t yes y duplicate duplicates duplicated dup match matches matched matching same "
    "similar alike equal equivalent identical paraphrase positive pos related linked".split()
)
_OTHER = frozenset(
    "0 0.0 -1 -1.0 false f no n different differ distinct other others unique negative neg".split()
)
_NEGATED = re.compile(r"(?:not|non|no|un|dis|mis)(.+)")


def is_duplicate_label(label: Any) -> bool | None:
    """Return whether a word means duplicates, ignoring case; None if it is unknown.

    Examples
    --------
    >>> from estimators.inputs import is_duplicate_label
    >>> [is_duplicate_label(word) for word in ("Match", "non-match", "not_duplicate", "gleich")]
    [True, False, False, None]
    """
    word = str(label).casefold().strip()
    if word not in _OTHER:
        word = re.sub(r"[\s_-]+", "", word)
    if word in _DUPLICATE or word in _OTHER:
        return word in _DUPLICATE
    negated = _NEGATED.fullmatch(word)
    if negated and (negated[1] in _DUPLICATE or negated[1] in _OTHER):
        return negated[1] in _OTHER
    return None


def duplicate_class(classes: Any) -> Any:
    """Return the label that means duplicates.

    Parameters
    ----------
    classes : sequence of two labels
        Two numbers or bools, of which the greater means duplicates; or two known words, one for
        duplicates and one for different texts, in any order.

    Returns
    -------
    label : object
        One of the two, unchanged.

    Raises
    ------
    ValueError
        If the words are unknown.

    Examples
    --------
    >>> from estimators.inputs import duplicate_class
    >>> duplicate_class(["match", "nonmatch"]), duplicate_class([0, 1])
    ('match', 1)
    """
    first, second = np.asarray(classes).tolist()
    if isinstance(first, Real) and isinstance(second, Real):
        return max(first, second)
    said = [is_duplicate_label(first), is_duplicate_label(second)]
    if sorted(map(str, said)) != ["False", "True"]:
        raise ValueError(
            f"the classes are {first!r} and {second!r}; it is unclear which means duplicates: "
            "label duplicates 1 and other pairs 0, or use words such as 'duplicate' and "
            "'not_duplicate'"
        )
    return first if said[0] else second


def encode_labels(labels: Any) -> tuple[NDArray[Any], Any, NDArray[np.intp]]:
    """Return the sorted classes, the one that means duplicates, and 1 for each label of it.

    Raises
    ------
    ValueError
        As `duplicate_class`.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    duplicate = duplicate_class(classes)
    return classes, duplicate, codes if classes[1] == duplicate else 1 - codes


def duplicate_class_of(estimator: Any) -> Any:
    """Return a fitted estimator's label of duplicates: 1 if it has no classes.

    Raises
    ------
    ValueError
        As `duplicate_class`.
    """
    known = getattr(estimator, "duplicate_class_", None)
    return duplicate_class(getattr(estimator, "classes_", (0, 1))) if known is None else known


def duplicate_column(probabilities: Any, classifier: Any) -> NDArray[np.float64]:
    """Return the column of duplicates of ``predict_proba``, shape (n, 2).

    Raises
    ------
    ValueError
        As `duplicate_class`.
    """
    classes = np.asarray(getattr(classifier, "classes_", (0, 1))).tolist()
    column = classes.index(duplicate_class_of(classifier))
    return np.asarray(probabilities, dtype=np.float64)[:, column]


class TwoLabels:
    """Labels of a fitted classifier; either may mean duplicates."""

    classes_: Any
    _duplicate_column: int

    @property
    def duplicate_class_(self) -> Any:
        """The label of duplicates."""
        check_is_fitted(self, "classes_")
        return self.classes_[self._duplicate_column]

    def _set_labels(self, classes: Any, duplicate: Any) -> None:
        self.classes_ = classes
        self._duplicate_column = classes.tolist().index(duplicate)

    def _columns(self, p: Any) -> NDArray[np.float64]:
        """Return both columns of ``predict_proba`` from the probability of a duplicate."""
        return np.column_stack([p, 1 - p] if self._duplicate_column == 0 else [1 - p, p])

    def _label_where(self, duplicate: Any) -> NDArray[Any]:
        """Return the label of duplicates where the mask is true, else the other label."""
        return self.classes_[
            np.where(duplicate, self._duplicate_column, 1 - self._duplicate_column)
        ]

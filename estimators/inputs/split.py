"""Group pairs that share questions, and split pairs without dividing groups."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from estimators.inputs.pairs import check_pairs
from estimators.inputs.parameters import check_seed
from estimators.inputs.texts import TextIndex
from film.corpus import connected_groups


def question_groups(pairs: Any) -> NDArray[np.intp]:
    """Group pairs that are linked by shared questions, directly or through other pairs.

    Questions are compared after `film.text.normalize_text`, and pairs link them regardless of
    labels. Pairs of different groups have no question in common.

    Parameters
    ----------
    pairs : list of tuple, ndarray or frame, shape (n, 2)
        Pairs of texts.

    Returns
    -------
    groups : ndarray of intp, shape (n,)
        Group of each pair, 0, 1, 2, … in order of first appearance.

    See Also
    --------
    DisjointPairsKFold : Folds over these groups.

    Examples
    --------
    >>> from estimators.inputs import question_groups
    >>> question_groups([("a", "b"), ("c", "d"), ("B?", "e"), ("f", "f")])
    array([0, 1, 0, 2])
    """
    codes = TextIndex().add_pairs(check_pairs(pairs))
    return connected_groups(codes, int(codes.max()) + 1)[codes[:, 0]]


def disjoint_pairs_split(
    pairs: Any,
    y: Any = None,
    *arrays: Any,
    test_size: float | int = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> list[Any]:
    """Split pairs into train and test that share no question.

    Works like scikit-learn's `train_test_split`, but assigns whole groups of `question_groups`
    to the test set, in random order, while they fit into its size. Labels are not stratified.

    Parameters
    ----------
    pairs : list of tuple, ndarray or frame, shape (n, 2)
        Pairs of texts.
    y : array-like, shape (n,), default=None
        Labels; not returned if None.
    *arrays : array-like, shape (n, ...)
        Further arrays to split in the same way.
    test_size : float or int, default=0.2
        Share of the pairs in (0, 1), or their number in [1, n - 1]. The test set is never larger,
        unless every group is; it then consists of the smallest group.
    random_state : int, RandomState or None, default=None
        Order of the groups; pass an int for the same split each time.

    Returns
    -------
    splits : list
        ``[pairs_train, pairs_test, y_train, y_test, ...]``, each of its input type, rows in
        their original order.

    Raises
    ------
    TypeError, ValueError
        As `check_pairs`, or if lengths differ, ``test_size`` is out of range, or all pairs form
        one group.

    See Also
    --------
    DisjointPairsKFold : Several folds, stratified by label.

    Examples
    --------
    >>> from estimators.inputs import disjoint_pairs_split
    >>> pairs = [("a", "b"), ("b", "c"), ("d", "e"), ("f", "g"), ("h", "i")]
    >>> train, test, y_train, y_test = disjoint_pairs_split(
    ...     pairs, [1, 1, 0, 0, 1], test_size=2, random_state=0)
    >>> len(train), len(test), len(y_train), len(y_test)
    (3, 2, 3, 2)
    """
    everything = [pairs] if y is None else [pairs, y]
    everything.extend(arrays)
    groups = question_groups(pairs)
    check_consistent_length(groups, *everything)
    n_test = _test_count(test_size, len(groups))
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise ValueError(
            f"shared questions link all {len(groups)} pairs, so no split leaves "
            "both sides without a common question: give more pairs."
        )
    order = check_seed(random_state).permutation(len(sizes))
    chosen = np.zeros(len(sizes), dtype=bool)
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        if size <= n_test:
            chosen[group] = True
            n_test -= size
    if not chosen.any():
        chosen[order[np.argmin(sizes[order])]] = True
    in_test = chosen[groups]
    sides = np.flatnonzero(~in_test), np.flatnonzero(in_test)
    return [_take(values, rows) for values in everything for rows in sides]


def _test_count(test_size: float | int, n: int) -> int:
    if isinstance(test_size, Integral) and not isinstance(test_size, bool):
        if 1 <= test_size < n:
            return int(test_size)
    elif isinstance(test_size, Real) and 0 < test_size < 1:
        # Rounded up as in train_test_split; 1 - 1/n of few pairs must still leave one.
        return min(int(np.ceil(test_size * n)), n - 1)
    raise ValueError(
        f"test_size is {test_size!r}, but must be a share strictly between 0 and 1 or a number "
        f"of pairs from 1 to {n - 1}: the usual share is 0.2."
    )


def _take(values: Any, rows: NDArray[np.intp]) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "shape"):
        return values[rows]
    return [values[row] for row in rows]

"""Splits that share no question: folds, a train-test split, and triplets as samples."""

from __future__ import annotations

from collections.abc import Generator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, GroupKFold, StratifiedGroupKFold
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from estimators.inputs.pairs import check_pairs, normalized_codes
from estimators.inputs.triplets import Triplets
from estimators.persistence import savable
from film.corpus import connected_groups

__all__ = [
    "AllowSharedQuestions",
    "DisjointPairsKFold",
    "Triplets",
    "disjoint_pairs_split",
    "question_groups",
]

Folds = Generator[tuple[NDArray[np.intp], NDArray[np.intp]], Any, None]


def question_groups(pairs: Any) -> NDArray[np.intp]:
    """Group pairs that a chain of shared questions joins.

    Questions are nodes, compared after `film.text.normalize_text`; pairs are links whatever
    their label. Pairs of different groups have no question in common, so splitting by
    group lets no question of training stand in the test.

    Parameters
    ----------
    pairs : list of tuple, ndarray or frame, shape (n, 2)
        Pairs of texts.

    Returns
    -------
    groups : ndarray of intp, shape (n,)
        Group of each pair, 0, 1, 2, … in order of first appearance.

    Raises
    ------
    TypeError, ValueError
        If ``pairs`` is no table of two texts a row; the first bad row is named.

    See Also
    --------
    DisjointPairsKFold : Folds over these groups.

    Notes
    -----
    O(n) time and memory beside the normalisation of each distinct text.

    Examples
    --------
    >>> from estimators.inputs import question_groups
    >>> question_groups([("a", "b"), ("c", "d"), ("B?", "e"), ("f", "f")])
    array([0, 1, 0, 2])
    """
    codes = normalized_codes(check_pairs(pairs))
    return connected_groups(codes, int(codes.max()) + 1)[codes[:, 0]]


@savable
class DisjointPairsKFold(BaseCrossValidator):
    """Shuffled, stratified K-fold over pairs, no question on both sides.

    Ordinary K-fold puts one question's pairs on both sides, and a model that memorises
    questions then scores far above what it does on new ones. Here whole groups of
    `question_groups` go to one side, in proportion of the labels where y holds classes.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to shuffle groups before they are dealt to folds.
    random_state : int, RandomState or None, default=None
        Order of the shuffle. None draws anew at every call of ``split``; pass an int for
        the same folds each time. Must be None when ``shuffle`` is False.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    See Also
    --------
    question_groups : The groups that stay together.
    disjoint_pairs_split : One split instead of several folds.

    Notes
    -----
    The folds are those of scikit-learn's `StratifiedGroupKFold` where y is given and each
    of its values fills all folds (always with two classes), and of `GroupKFold` otherwise,
    so continuous scores may be given too. `StratifiedGroupKFold` takes about 0.1 ms a group.

    Samples may be `Triplets`: folds are then disjoint in points, and y is not used. When the
    points that triplets link, by any of the three, form groups small enough to fill folds
    evenly, each triplet is tested once. Otherwise (random negatives link nearly everything)
    only anchor and similar stay together, and **triplets that reach from one side to the
    other are left out of that fold**, in training and in test; with random negatives a test
    holds about 1 / n_splits² of the triplets.

    Examples
    --------
    >>> from estimators.inputs import DisjointPairsKFold
    >>> pairs = [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f"), ("g", "h"), ("h", "i")]
    >>> folds = DisjointPairsKFold(3, random_state=0)
    >>> sorted(test.tolist() for _, test in folds.split(pairs, [0, 1, 0, 1, 0, 1]))
    [[0, 1], [2, 3], [4, 5]]
    """

    # scikit-learn's documented switch: with metadata routing, groups are handed to split.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, Integral):
            raise TypeError(f"n_splits must be an integer, at least 2, got {n_splits!r}.")
        if n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {n_splits}: give 2 or more folds.")
        if not isinstance(shuffle, bool):
            raise TypeError(f"shuffle must be True or False, got {shuffle!r}.")
        if not shuffle and random_state is not None:
            raise ValueError(
                f"random_state is {random_state!r}, but has no effect with shuffle=False: "
                "leave it None or set shuffle=True."
            )
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    # The base class is unannotated and abstract, so its type is inferred as None.
    def get_n_splits(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, default=None
            Not used, there for the splitter interface.

        Returns
        -------
        n_splits : int
            Number of folds.
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Folds:
        """Yield the rows of training and test of each fold.

        Parameters
        ----------
        X : list of tuple, ndarray or frame, shape (n, 2), or Triplets
            Pairs of texts, or triplets over points.
        y : array-like, shape (n,), default=None
            Labels, kept in proportion; continuous scores are accepted and not used.
        groups : array-like, shape (n,), default=None
            Groups of the samples instead of those that X gives; X is not looked into then.

        Yields
        ------
        train : ndarray of intp
            Rows of the fold's training samples, ascending.
        test : ndarray of intp
            Rows of the fold's test samples, ascending.

        Raises
        ------
        TypeError, ValueError
            If X is no table of pairs, lengths differ, there are fewer groups than folds, or
            triplets link the points so that a fold has none.
        """
        check_consistent_length(X, y, groups)
        if isinstance(X, Triplets):
            if groups is None:
                return self._split_triplets(X)
            y = None
        groups = question_groups(X) if groups is None else column_or_1d(groups)
        return self._split_groups(groups, self._classes(y))

    def _split_groups(self, groups: NDArray[Any], classes: NDArray[np.intp] | None) -> Folds:
        n_groups = len(np.unique(groups))
        if n_groups < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits}, but the {len(groups)} samples form only {n_groups} "
                "group(s) that share no question: lower n_splits or give more data."
            )
        kind = GroupKFold if classes is None else StratifiedGroupKFold
        folds = kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        for train, test in folds.split(np.empty((len(groups), 0)), classes, groups):
            if len(test) == 0:
                raise ValueError(
                    f"one of {self.n_splits} folds is empty, since a few groups hold most of the "
                    f"{len(groups)} samples: lower n_splits or give more data."
                )
            yield train, test

    def _split_triplets(self, samples: Triplets) -> Folds:
        triplets = samples.triplets
        # Only points in use are dealt, so that folds are even in them.
        used, local = np.unique(triplets, return_inverse=True)
        local = local.reshape(triplets.shape)
        similar = local[:, :2]
        groups = connected_groups(np.vstack([similar, local[:, 1:]]), len(used))
        if np.bincount(groups[local[:, 0]]).max() * self.n_splits > len(triplets):
            groups = connected_groups(similar, len(used))
        linked = (
            f"triplets link nearly everything: {len(triplets)} triplets over {len(used)} points "
            f"leave no {self.n_splits} folds without common points"
        )
        remedy = "lower n_splits, mine triplets inside smaller clusters, or give more triplets."
        if groups.max() + 1 < self.n_splits:
            raise ValueError(
                f"{linked} (anchor and similar form {groups.max() + 1} group(s)): {remedy}"
            )
        for _, test_points in self._split_groups(groups, None):
            in_test = np.zeros(len(used), dtype=bool)
            in_test[test_points] = True
            members_in_test = in_test[local].sum(axis=1)
            train = np.flatnonzero(members_in_test == 0)
            test = np.flatnonzero(members_in_test == 3)
            if len(train) == 0 or len(test) == 0:
                side = "training" if len(train) == 0 else "test"
                raise ValueError(f"{linked} (the {side} side of a fold is empty): {remedy}")
            yield train, test

    def _classes(self, y: Any) -> NDArray[np.intp] | None:
        """Code y as classes where folds can keep them in proportion, else None."""
        if y is None:
            return None
        y = np.asarray(y)
        if y.ndim != 1 and y.size != len(y):
            return None
        try:
            values, classes, counts = np.unique(y.ravel(), return_inverse=True, return_counts=True)
        except TypeError:
            raise TypeError(
                "y mixes types that cannot be compared, such as None or str beside numbers: "
                "give labels of one type, none missing."
            ) from None
        if len(values) == 2 or counts.min() >= self.n_splits:
            return classes
        return None


@savable
class AllowSharedQuestions(BaseCrossValidator):
    """Folds in which a question may stand in training and in test, because one means it.

    Estimators that learn out of fold (`DuplicateClassifier`, `PairwiseKNNClassifier`) refuse a
    splitter whose folds share questions, since what they then measure flatters. Wrapped in this,
    the same splitter passes. It is right where the texts to be judged are known ones, paired
    anew, for instance a fixed set of questions that every pair is drawn from.

    Parameters
    ----------
    cv : splitter
        Has ``split`` and ``get_n_splits``, such as `sklearn.model_selection.KFold`.

    Raises
    ------
    TypeError
        If cv is no splitter.

    See Also
    --------
    DisjointPairsKFold : Folds that share no question, the default.

    Notes
    -----
    A wrapper and no parameter of each estimator: the exception is stated at the folds that it is
    about, shows in their repr, and holds wherever a ``cv`` is taken.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from estimators.inputs import AllowSharedQuestions
    >>> folds = AllowSharedQuestions(KFold(2))
    >>> [test.tolist() for _, test in folds.split([("a", "b"), ("a", "c")])]
    [[0], [1]]
    """

    def __init__(self, cv: Any) -> None:
        if isinstance(cv, str) or not (hasattr(cv, "split") and hasattr(cv, "get_n_splits")):
            raise TypeError(
                f"cv={cv!r} is no splitter: give for instance KFold(5); a number of folds never "
                "shares questions"
            )
        self.cv = cv

    def get_n_splits(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, default=None
            Handed to the wrapped splitter.

        Returns
        -------
        n_splits : int
            Number of folds.
        """
        return self.cv.get_n_splits(X, y, groups)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Folds:
        """Yield the rows of training and test of each fold, as the wrapped splitter does.

        Parameters
        ----------
        X, y, groups : object
            Handed to the wrapped splitter.

        Yields
        ------
        train, test : ndarray of intp
            Rows.
        """
        yield from self.cv.split(X, y, groups)


def disjoint_pairs_split(
    pairs: Any,
    y: Any = None,
    *arrays: Any,
    test_size: float | int = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> list[Any]:
    """Split pairs into train and test that share no question.

    The form of scikit-learn's `train_test_split`: whole groups of `question_groups`, in
    random order, go to the test while they fit into its size. Proportions of labels are
    kept only by chance.

    Parameters
    ----------
    pairs : list of tuple, ndarray or frame, shape (n, 2)
        Pairs of texts.
    y : array-like, shape (n,), default=None
        Labels; left out of the result when None.
    *arrays : array-like, shape (n, ...)
        More arrays to split alike.
    test_size : float or int, default=0.2
        Share of the pairs in (0, 1), or their number in [1, n - 1]. The test is never
        larger, unless even the smallest group is; it is then that one.
    random_state : int, RandomState or None, default=None
        Order of the groups; pass an int for the same split each time.

    Returns
    -------
    splits : list
        ``[pairs_train, pairs_test, y_train, y_test, ...]``, each of the type it came in,
        rows in their first order.

    Raises
    ------
    TypeError, ValueError
        If ``pairs`` is no table of pairs, lengths differ, ``test_size`` is out of range, or
        all pairs form one group.

    See Also
    --------
    DisjointPairsKFold : Several folds, labels in proportion.

    Notes
    -----
    O(n) time beside the normalisation of each distinct text.

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
            f"all {len(groups)} pairs hang together by shared questions, so no split leaves "
            "both sides without a common question: give more pairs."
        )
    order = check_random_state(random_state).permutation(len(sizes))
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
        # As in train_test_split, rounded up; 1 - 1/n of few pairs must still leave one.
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

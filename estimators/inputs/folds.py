"""Folds over pairs and triplets with no question, or no point, on both sides."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, GroupKFold, StratifiedGroupKFold
from sklearn.utils import check_consistent_length, column_or_1d

from estimators.inputs.parameters import check_bool, check_integer
from estimators.inputs.split import question_groups
from estimators.inputs.triplets import Triplets
from estimators.persistence import savable
from film.corpus import connected_groups

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
Folds = Generator[Fold, Any, None]
_PLENTY = 20
"""Groups of pairs of each class per fold, from which on folds need not be tried."""


@savable
class DisjointPairsKFold(BaseCrossValidator):
    """Shuffled, stratified K-fold over pairs, no question on both sides.

    Ordinary K-fold puts one question's pairs on both sides, and a model that memorises questions
    then scores far above what it does on new ones. Here whole groups of `question_groups` go to
    one side, in proportion of the labels where y holds classes.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to shuffle groups before they are dealt to folds.
    random_state : int, RandomState or None, default=None
        Order of the shuffle. None draws again at every call of ``split``; pass an int for
        the same folds each time. Must be None when ``shuffle`` is False.

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
        self.n_splits = check_integer("n_splits", n_splits, 2)
        self.shuffle = check_bool("shuffle", shuffle)
        if not shuffle and random_state is not None:
            raise ValueError(
                f"random_state={random_state!r} has no effect with shuffle=False: leave it None "
                "or set shuffle=True"
            )
        self.random_state = random_state

    # The base class is unannotated and abstract, so its type is inferred as None.
    def get_n_splits(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> int:
        """Return the number of folds; the arguments are not used."""
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
        train, test : ndarray of intp
            Rows of the fold's samples, ascending.

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
                "group(s) that share no question: lower n_splits (cv of an estimator) or give more "
                "data."
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
    """Folds in which a question may stand in training and in test, on purpose.

    Estimators that learn out of fold (`DuplicateClassifier`, `PairwiseKNNClassifier`) refuse a
    splitter whose folds share questions, since what they then measure flatters. Wrapped in this,
    the same splitter passes. It is right where the texts to be judged are known ones, paired
    anew, for instance a fixed set of questions that every pair is drawn from.

    Parameters
    ----------
    cv : splitter
        Has ``split`` and ``get_n_splits``, such as `sklearn.model_selection.KFold`.

    See Also
    --------
    DisjointPairsKFold : Folds that share no question, the default.

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
        """Return the number of folds of the wrapped splitter."""
        return self.cv.get_n_splits(X, y, groups)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Folds:
        """Yield the rows of training and test of each fold, as the wrapped splitter does."""
        yield from self.cv.split(X, y, groups)


def splitter_of(cv: Any, random_state: int) -> Any:
    """Give the splitter that ``cv`` stands for, itself or a number of folds from 2 on."""
    if not isinstance(cv, str) and hasattr(cv, "split"):
        return cv
    return DisjointPairsKFold(check_integer("cv", cv, 2), random_state=random_state)


def question_folds(
    splitter: Any,
    questions: NDArray[np.intp],
    y: NDArray[Any],
    texts: Mapping[int, str],
    wordless: int,
) -> list[Fold]:
    """Give the rows of training and test of each fold, after checking them.

    Parameters
    ----------
    splitter : splitter
        From `splitter_of`. Its X are the questions' numbers, as strings.
    questions : ndarray of int, shape (n, 2)
        Numbers of the questions of each pair.
    y : ndarray, shape (n,)
        Labels of the pairs.
    texts : mapping of int to str
        Text of each question, for messages.
    wordless : int
        Number of the texts without words, which are all one text and may stand on both sides:
        they teach nothing about each other.

    Raises
    ------
    ValueError
        If a pair is not in exactly one test fold, or a question stands on both sides of a fold
        and the splitter is no `AllowSharedQuestions`.
    """
    folds = list(splitter.split(questions.astype(str).astype(object), y))
    everything = np.arange(len(questions))
    tested = np.sort(np.concatenate([everything[test] for _, test in folds]))
    if not np.array_equal(tested, everything):
        raise ValueError(
            f"cv={splitter!r} must test each of the {len(questions)} pairs in exactly one fold; "
            "give a number of folds, or a splitter such as DisjointPairsKFold(5)"
        )
    if isinstance(splitter, AllowSharedQuestions):
        return folds
    seen = [np.intersect1d(questions[train], questions[test]) for train, test in folds]
    shared = np.setdiff1d(np.concatenate(seen), [wordless])
    if len(shared):
        raise ValueError(
            f"cv={splitter!r} lets {len(shared)} questions stand in training and in test of the "
            f"same fold, the first {texts[int(shared[0])]!r}; what is measured out of fold "
            "would flatter. Give a number of folds or DisjointPairsKFold(5), or, where that is "
            f"what you want, AllowSharedQuestions({splitter!r})"
        )
    return folds


def usable_folds(pairs: NDArray[np.object_], y: NDArray[np.int64], wanted: int, seed: int) -> int:
    """Give the most question-disjoint folds, up to those wanted, that leave both classes to learn.

    ``y`` is 1 for duplicates and 0 for others, ``seed`` that of `DisjointPairsKFold`. The result
    is 0 where even two folds are too many.
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

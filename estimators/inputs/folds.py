"""Folds of pairs and triplets whose sides share no question or point."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, GroupKFold, StratifiedGroupKFold
from sklearn.utils import check_consistent_length, column_or_1d

from estimators.inputs.pairs import check_pairs
from estimators.inputs.parameters import check_bool, check_integer
from estimators.inputs.split import question_groups
from estimators.inputs.texts import TextIndex
from estimators.inputs.triplets import Triplets
from estimators.persistence import savable
from film.corpus import connected_groups, groups_for_folds

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
Folds = Generator[Fold, Any, None]
_PLENTY = 20
"""Groups of pairs per class and fold that are enough without trying."""


@savable
class DisjointPairsKFold(BaseCrossValidator):
    """Shuffled, stratified K-fold for pairs; no question is in both training and test.

    Ordinary K-fold puts pairs of one question on both sides, so that models that memorise
    questions score much higher than on new questions. Here all pairs of a group of
    `question_groups` are on one side, stratified if y holds classes.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to shuffle the groups before assigning them to folds.
    random_state : int, RandomState or None, default=None
        Seeds the shuffle. With None, every call of ``split`` shuffles anew; pass an int for
        the same folds each time. Must be None if ``shuffle`` is False.

    See Also
    --------
    question_groups : The groups that stay together.
    disjoint_pairs_split : One split instead of several folds.

    Notes
    -----
    The folds are those of scikit-learn's `StratifiedGroupKFold` if each value of y occurs in
    enough pairs to fill all folds (always with two classes), else those of `GroupKFold`. So
    y may hold continuous scores.

    Samples may be `Triplets`: the folds then share no point, and y is ignored. If the groups of
    points linked by triplets are small enough to fill the folds evenly, each triplet is tested
    once. Otherwise (random negatives link nearly everything) only anchor and similar stay
    together, and **each fold leaves out the triplets that link its two sides**; with random
    negatives a test holds about 1 / n_splits² of the triplets.

    Examples
    --------
    >>> from estimators.inputs import DisjointPairsKFold
    >>> pairs = [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f"), ("g", "h"), ("h", "i")]
    >>> folds = DisjointPairsKFold(3, random_state=0)
    >>> sorted(test.tolist() for _, test in folds.split(pairs, [0, 1, 0, 1, 0, 1]))
    [[0, 1], [2, 3], [4, 5]]
    """

    # scikit-learn's documented switch: metadata routing then passes groups to split.
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
                f"random_state={random_state!r} has no effect with shuffle=False: set it to None "
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
        """Yield the training and test rows of each fold.

        Parameters
        ----------
        X : list of tuple, ndarray or frame, shape (n, 2), or Triplets
            Pairs of texts, or triplets over points.
        y : array-like, shape (n,), default=None
            Labels to stratify by; continuous scores are ignored.
        groups : array-like, shape (n,), default=None
            Groups of the samples; replace those of X, which is then not read.

        Yields
        ------
        train, test : ndarray of intp
            Rows of the fold's samples, ascending.

        Raises
        ------
        TypeError, ValueError
            If X is not a table of pairs, lengths differ, there are fewer groups than folds, or
            triplets link the points so much that a fold is empty.
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
        # Unused points are left out, so that the folds are even.
        used, local = np.unique(triplets, return_inverse=True)
        local = local.reshape(triplets.shape)
        similar = local[:, :2]
        groups = connected_groups(np.vstack([similar, local[:, 1:]]), len(used))
        if np.bincount(groups[local[:, 0]]).max() * self.n_splits > len(triplets):
            groups = connected_groups(similar, len(used))
        linked = (
            f"triplets link nearly everything: {len(triplets)} triplets over {len(used)} points "
            f"cannot form {self.n_splits} folds without common points"
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
        """Return y as class codes if the folds can be stratified by it, else None."""
        if y is None:
            return None
        y = np.asarray(y)
        if y.ndim != 1 and y.size != len(y):
            return None
        try:
            values, classes, counts = np.unique(y.ravel(), return_inverse=True, return_counts=True)
        except TypeError:
            raise TypeError(
                "y mixes types that cannot be compared, such as None and numbers: "
                "give labels of one type, none missing."
            ) from None
        if len(values) == 2 or counts.min() >= self.n_splits:
            return classes
        return None


@savable
class AllowSharedQuestions(BaseCrossValidator):
    """Wrap a splitter to allow the same question in training and test.

    Estimators that learn out of fold (`DuplicateClassifier`, `PairwiseKNNClassifier`) reject
    splitters whose folds share questions, because such folds overestimate their quality. Wrap the
    splitter if you will only predict new pairs of known texts, for instance of a fixed set of
    questions.

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
                f"cv={cv!r} is not a splitter: give for instance KFold(5); a number of folds never "
                "shares questions"
            )
        self.cv = cv

    def get_n_splits(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> int:
        """Return the number of folds of the wrapped splitter."""
        return self.cv.get_n_splits(X, y, groups)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Folds:
        """Yield the training and test rows of each fold of the wrapped splitter."""
        yield from self.cv.split(X, y, groups)


def splitter_of(cv: Any, random_state: int) -> Any:
    """Return ``cv`` itself if it is a splitter, or one for a number of folds, at least 2."""
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
    """Return the training and test rows of each fold, after checking them.

    Parameters
    ----------
    splitter : splitter
        From `splitter_of`. Its X are the numbers of the questions, as strings.
    questions : ndarray of int, shape (n, 2)
        Numbers of the questions of each pair.
    y : ndarray, shape (n,)
        Labels of the pairs.
    texts : mapping of int to str
        Text of each question, for messages.
    wordless : int
        Number of the texts without words. They count as one text, which may be on both sides,
        because they carry no information.

    Raises
    ------
    ValueError
        If a pair is not in exactly one test fold, or a question is on both sides of a fold
        and the splitter is not an `AllowSharedQuestions`.
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
            f"cv={splitter!r} puts {len(shared)} questions into both training and test of a "
            f"fold, the first {texts[int(shared[0])]!r}; out-of-fold results would be "
            "overestimated. Use a number of folds or DisjointPairsKFold(5) or, if you intend "
            f"this, AllowSharedQuestions({splitter!r})"
        )
    return folds


def usable_folds(pairs: NDArray[np.object_], y: NDArray[np.int64], wanted: int, seed: int) -> int:
    """Return the largest usable number of folds, at most ``wanted``.

    Pairs stay together as in `film.corpus.groups_for_folds`. Folds are usable if all training sides
    have both classes. ``y`` is 1 for duplicates, else 0; ``seed`` is that of `DisjointPairsKFold`.
    The result is 0 if two folds are too many.
    """
    if y.min() == y.max():
        return 0
    codes = TextIndex().add_pairs(check_pairs(pairs))
    groups = groups_for_folds(codes, y, int(codes.max()) + 1)
    least = min(len(np.unique(groups[y == value])) for value in (0, 1))
    if least >= _PLENTY * wanted:
        return wanted
    for folds in range(min(wanted, least), 1, -1):
        splits = DisjointPairsKFold(folds, random_state=seed).split(pairs, y, groups)
        if all(0 < y[train].mean() < 1 for train, _ in splits):
            return folds
    return 0

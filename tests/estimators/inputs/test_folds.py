"""Question-disjoint splits and triplets as samples, against brute force and scikit-learn."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import (
    BaseCrossValidator,
    KFold,
    check_cv,
    cross_val_score,
    cross_validate,
)
from sklearn.utils import check_array, check_consistent_length, indexable

from estimators.inputs import DisjointPairsKFold, Triplets, disjoint_pairs_split, question_groups


def normal(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def noisy_pairs(n, n_questions, seed):
    """Random pairs whose questions recur in other spellings."""
    rng = np.random.default_rng(seed)
    spellings = ["What is q{}?", "what is Q{}", "  WHAT is q{} !", "what, is q{}"]
    return [
        tuple(spellings[rng.integers(4)].format(q) for q in rng.integers(0, n_questions, size=2))
        for _ in range(n)
    ]


def questions(pairs, rows):
    return {normal(text) for row in rows for text in pairs[row]}


def folds_of(splitter, *data):
    return [(train.tolist(), test.tolist()) for train, test in splitter.split(*data)]


@pytest.mark.parametrize("seed", range(4))
def test_question_groups_equal_brute_force(seed):
    pairs = noisy_pairs(60, 70, seed)
    groups = question_groups(pairs)
    merged = [{row} for row in range(len(pairs))]
    for row, pair in enumerate(pairs):
        for other in range(row):
            if {*map(normal, pair)} & {*map(normal, pairs[other])}:
                joined = merged[row] | merged[other]
                for member in joined:
                    merged[member] = joined
    assert 1 < len(set(groups.tolist())) < 60
    for row in range(len(pairs)):
        assert set(np.flatnonzero(groups == groups[row])) == merged[row]


def test_question_groups_do_not_depend_on_pair_order():
    pairs = noisy_pairs(50, 60, 0)
    assert (question_groups(pairs) == question_groups([pair[::-1] for pair in pairs])).all()
    with pytest.raises(ValueError, match="row 1, column 0 is missing"):
        question_groups([("a", "b"), (None, "c")])


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("with_y", ["none", "binary", "scores"])
@pytest.mark.parametrize("seed", range(3))
def test_folds_share_no_question_and_test_each_pair_once(seed, with_y, shuffle):
    pairs = noisy_pairs(200, 260, seed)
    rng = np.random.default_rng(seed)
    y = {"none": None, "binary": rng.integers(0, 2, size=200), "scores": rng.random(200)}[with_y]
    splitter = DisjointPairsKFold(4, shuffle=shuffle, random_state=seed if shuffle else None)
    tested = []
    for train, test in splitter.split(pairs, y):
        assert not questions(pairs, train) & questions(pairs, test)
        assert sorted([*train, *test]) == list(range(200))
        tested.extend(test)
    assert sorted(tested) == list(range(200))


def test_folds_keep_the_proportion_of_labels():
    pairs = noisy_pairs(1200, 2400, 0)
    # Labels in a block, which plain contiguous folds would keep apart.
    y = np.array(["no"] * 900 + ["yes"] * 300)
    for _, test in DisjointPairsKFold(4, random_state=0).split(pairs, y):
        assert np.mean(y[test] == "yes") == pytest.approx(0.25, abs=0.03)
        assert len(test) == pytest.approx(300, abs=30)


def test_seed_fixes_the_folds_and_none_draws_anew():
    pairs = noisy_pairs(100, 300, 0)
    assert folds_of(DisjointPairsKFold(random_state=1), pairs) == folds_of(
        DisjointPairsKFold(random_state=1), pairs
    )
    assert folds_of(DisjointPairsKFold(random_state=1), pairs) != folds_of(
        DisjointPairsKFold(random_state=2), pairs
    )
    fresh = DisjointPairsKFold()
    assert folds_of(fresh, pairs) != folds_of(fresh, pairs)


def test_given_groups_replace_those_of_the_questions():
    pairs = [("a", "b")] * 6
    groups = [0, 0, 1, 1, 2, 2]
    for train, test in DisjointPairsKFold(3, random_state=0).split(pairs, None, groups):
        assert not {groups[row] for row in train} & {groups[row] for row in test}


def test_splitter_face():
    splitter = DisjointPairsKFold(3, random_state=7)
    assert isinstance(splitter, BaseCrossValidator)
    assert repr(splitter) == "DisjointPairsKFold(n_splits=3, random_state=7, shuffle=True)"
    assert splitter.get_n_splits() == 3
    assert check_cv(splitter) is splitter
    assert repr(pickle.loads(pickle.dumps(splitter))) == repr(splitter)
    assert repr(copy.deepcopy(splitter)) == repr(splitter)
    assert clone(splitter, safe=False).random_state == 7


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n_splits": 1}, ValueError, "n_splits=1 must be 2 or more"),
        ({"n_splits": 2.5}, TypeError, "n_splits=2.5 must be an integer"),
        ({"n_splits": True}, TypeError, "n_splits=True must be an integer"),
        ({"shuffle": 1}, TypeError, "shuffle=1 must be True or False"),
        ({"shuffle": False, "random_state": 0}, ValueError, "no effect with shuffle=False"),
    ],
)
def test_bad_parameters(arguments, error, words):
    with pytest.raises(error, match=words):
        DisjointPairsKFold(**arguments)


@pytest.mark.parametrize(
    ("pairs", "y", "error", "words"),
    [
        (["ab", "bc", "cd", "ef"], None, ValueError, "n_splits=3.*4 samples form only 2 group.*lo"),
        (["ab", "cd"], [0, 1, 1], ValueError, "inconsistent numbers of samples"),
        (["ab", "cd"], [0, None], TypeError, "y mixes types"),
    ],
)
def test_too_few_groups_and_bad_labels(pairs, y, error, words):
    with pytest.raises(error, match=words):
        list(DisjointPairsKFold(3).split([tuple(pair) for pair in pairs], y))


@pytest.mark.parametrize("seed", range(4))
def test_split_shares_no_question_and_has_the_asked_size(seed):
    pairs = noisy_pairs(400, 1200, seed)
    y = np.arange(400) % 2
    weights = sparse.csr_array(np.arange(400.0)[:, None])
    train, test, y_train, y_test, w_train, w_test = disjoint_pairs_split(
        pairs, y, weights, test_size=0.3, random_state=seed
    )
    assert isinstance(train, list) and isinstance(train[0], tuple)
    assert not questions(train, range(len(train))) & questions(test, range(len(test)))
    # Groups of one pair always fill what the larger ones left free.
    assert (len(train), len(test)) == (280, 120)
    # The third array holds each row's number, so it shows that all were split alike.
    for side, labels, numbers in ((train, y_train, w_train), (test, y_test, w_test)):
        rows = numbers.toarray().ravel().astype(int)
        assert [pairs[row] for row in rows] == side
        assert (labels == rows % 2).all()
        assert (np.diff(rows) > 0).all()


def test_split_order_types_and_seed():
    frame = pd.DataFrame(noisy_pairs(50, 200, 0), columns=["a", "b"])
    y = pd.Series(range(50))
    parts = disjoint_pairs_split(frame, y, test_size=10, random_state=0)
    assert [type(part) for part in parts] == [pd.DataFrame] * 2 + [pd.Series] * 2
    assert parts[0].index.equals(parts[2].index) and len(parts[1]) == 10
    assert len(disjoint_pairs_split(frame)) == 2
    again = disjoint_pairs_split(frame, y, test_size=10, random_state=0)
    assert parts[1].equals(again[1])
    other = disjoint_pairs_split(frame, y, test_size=10, random_state=1)
    assert not parts[1].equals(other[1])


def test_split_always_leaves_two_sides():
    pairs = [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f"), ("f", "g")]
    for test_size in (0.01, 1, 4, 0.99):
        train, test = disjoint_pairs_split(pairs, test_size=test_size, random_state=0)
        assert train and test
        assert not questions(train, range(len(train))) & questions(test, range(len(test)))
    with pytest.raises(ValueError, match="link all 2 pairs"):
        disjoint_pairs_split(pairs[:2])


@pytest.mark.parametrize("test_size", [0, 3, 0.0, 1.0, -0.5, "half", True, None])
def test_split_size_out_of_range(test_size):
    with pytest.raises(ValueError, match=r"test_size is .*from 1 to 2"):
        disjoint_pairs_split([("a", "b"), ("c", "d"), ("e", "f")], test_size=test_size)


POINTS = np.arange(24.0).reshape(8, 3)
ROWS = [[0, 1, 2], [1, 0, 3], [4, 5, 6], [5, 4, 7]]


@pytest.mark.parametrize(
    "points",
    [POINTS, pd.DataFrame(POINTS), sparse.csr_array(POINTS), sparse.coo_array(POINTS)],
    ids=["dense", "frame", "csr", "coo"],
)
def test_triplets_hold_the_points_themselves(points):
    view = Triplets(points, ROWS)
    assert view.points is points
    assert view[[1, 3], ...].points is points
    assert view.n_points == view[:1].n_points == 8
    assert view.shape == (4, 3) and view.ndim == 2 and len(view) == 4
    assert repr(view) == "Triplets(n_triplets=4, n_points=8, n_features=3)"


@pytest.mark.parametrize(
    ("key", "chosen"),
    [
        ([3, 0], [3, 0]),
        (np.array([2, 2]), [2, 2]),
        (np.array([True, False, False, True]), [0, 3]),
        ([False, True, False, False], [1]),
        (slice(1, None), [1, 2, 3]),
        (slice(None, None, 2), [0, 2]),
        (2, [2]),
        (np.int64(-1), [3]),
    ],
)
def test_triplets_index_like_samples(key, chosen):
    expected = [ROWS[row] for row in chosen]
    view = Triplets(POINTS, ROWS)
    for selection in (view[key], view[key, ...]):
        assert isinstance(selection, Triplets)
        assert selection.triplets.tolist() == expected
        assert selection.triplets.dtype == np.intp


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (4, IndexError, "out of bounds"),
        ([True, False], IndexError, "boolean"),
        ([], ValueError, "none of the 4 triplets"),
        (np.zeros(4, dtype=bool), ValueError, "none of the 4 triplets"),
        (slice(4, None), ValueError, "none of the 4 triplets"),
    ],
)
def test_bad_selections(key, error, words):
    with pytest.raises(error, match=words):
        Triplets(POINTS, ROWS)[key]


@pytest.mark.parametrize("points", [[[0.0, 1.0]], np.zeros(3), ["a", "b", "c"]])
def test_points_of_wrong_form(points):
    with pytest.raises(TypeError, match="X must be an array, sparse matrix or frame"):
        Triplets(points, [[0, 1, 2]])
    with pytest.raises(TypeError, match="already Triplets"):
        Triplets(Triplets(POINTS, ROWS), ROWS)


def test_scikit_learn_takes_triplets_as_samples():
    view = Triplets(POINTS, ROWS)
    assert indexable(view, None)[0] is view
    check_consistent_length(view, [0] * 4)
    with pytest.raises(ValueError, match="inconsistent"):
        check_consistent_length(view, [0] * 8)
    # As features they would be wrong without notice: no row of X is the triplet.
    for convert in (np.asarray, check_array):
        with pytest.raises(TypeError, match="transform X first"):
            convert(view)


def test_triplets_survive_pickle_and_copy():
    view = Triplets(sparse.csr_array(POINTS), ROWS)[1:]
    for twin in (pickle.loads(pickle.dumps(view)), copy.deepcopy(view)):
        assert twin.triplets.tolist() == ROWS[1:]
        assert (twin.points.toarray() == POINTS).all()
        assert twin.n_points == 8


class Recorder(BaseEstimator):
    """Remember the triplets of fit; score the share of them that recur, or their number."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None):
        assert isinstance(X, Triplets) and X.points.shape[0] == X.n_points
        self.seen_ = {tuple(row) for row in X.triplets.tolist()}
        self.points_seen_ = set(X.triplets.ravel().tolist())
        return self

    def score(self, X, y=None):
        assert isinstance(X, Triplets)
        return self.scale * np.mean([tuple(row) in self.seen_ for row in X.triplets.tolist()])


class PointOverlap(Recorder):
    """Score the share of test points that training has seen."""

    def score(self, X, y=None):
        points = set(X.triplets.ravel().tolist())
        return self.scale * len(points & self.points_seen_) / len(points)


def clustered_triplets(n_clusters=24, size=4, across=False, seed=0, sparse_points=False):
    """Triplets in clusters: dissimilar from the same cluster of points, or from any other."""
    rng = np.random.default_rng(seed)
    n = n_clusters * size
    rows = []
    for anchor in range(n):
        start = anchor - anchor % size
        similar = anchor ^ 1
        near = int(rng.choice([p for p in range(start, start + size) if p // 2 != anchor // 2]))
        far = int(rng.choice(np.delete(np.arange(n), range(start, start + size))))
        rows.append([anchor, similar, far if across else near])
    points = rng.standard_normal((n, 6))
    return Triplets(sparse.csr_array(points) if sparse_points else points, rows)


@pytest.mark.parametrize("sparse_points", [False, True])
def test_cross_validation_of_triplets(sparse_points):
    view = clustered_triplets(sparse_points=sparse_points)
    plain = cross_validate(PointOverlap(), view, cv=KFold(4), return_estimator=True)
    for fitted, (train, _) in zip(plain["estimator"], KFold(4).split(view), strict=True):
        assert fitted.seen_ == {tuple(row) for row in view.triplets[train].tolist()}
    disjoint = cross_val_score(PointOverlap(), view, cv=DisjointPairsKFold(4, random_state=0))
    assert disjoint.tolist() == [0.0] * 4


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_triplet_folds_share_no_point(across, seed):
    view = clustered_triplets(across=across, seed=seed)
    tested = []
    for train, test in DisjointPairsKFold(4, random_state=seed).split(view):
        left, right = set(view.triplets[train].ravel()), set(view.triplets[test].ravel())
        assert left and right and not left & right
        # Nothing is left out but triplets that reach across the sides.
        for row in set(range(len(view))) - {*train, *test}:
            assert not set(view.triplets[row]) <= right
            assert not set(view.triplets[row]) <= left
        tested.extend(test.tolist())
    assert len(tested) == len(set(tested))
    if not across:
        assert sorted(tested) == list(range(len(view)))


def test_unused_points_do_not_count():
    small = clustered_triplets(n_clusters=8, across=True)
    padded = Triplets(np.vstack([small.points, np.zeros((1000, 6))]), small.triplets)
    splitter = DisjointPairsKFold(2, random_state=0)
    assert folds_of(splitter, small) == folds_of(splitter, padded)


def test_given_groups_of_triplets():
    view = clustered_triplets(n_clusters=4)
    groups = view.triplets[:, 0] // 8
    for train, test in DisjointPairsKFold(2, random_state=0).split(view, None, groups):
        assert not set(groups[train]) & set(groups[test])
        assert len(train) + len(test) == len(view)


def test_triplets_that_link_everything():
    # Two classes, each one chain of similar points.
    chain = [[i, i + 2, i + 1] for i in range(8)]
    view = Triplets(np.zeros((10, 2)), chain)
    with pytest.raises(ValueError, match=r"link nearly everything.*form 2 group.*lower n_splits"):
        list(DisjointPairsKFold(3).split(view))
    # Enough groups, but every dissimilar point is on the other side.
    stars = [[2 * i, 2 * i + 1, 2 * ((i + 1) % 3)] for i in range(3)]
    told = r"link nearly everything.*the test side of a fold is empty.*lower n_splits"
    with pytest.raises(ValueError, match=told):
        list(DisjointPairsKFold(3).split(Triplets(np.zeros((6, 2)), stars)))
    # The first fold tests three of the four points, and each triplet has one of them.
    reaching = Triplets(np.zeros((4, 2)), [[1, 2, 3], [0, 2, 1]])
    with pytest.raises(ValueError, match="the training side of a fold is empty"):
        list(DisjointPairsKFold(2, shuffle=False).split(reaching))

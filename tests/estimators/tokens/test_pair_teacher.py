"""PairTeacher: folds that no teacher sees, and near pairs of the fold alone."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator

from estimators import CrossEncoderRegressor, DisjointPairsKFold, PairTeacher
from film.datasets import make_question_pairs
from film.text import normalize_text

DATA = make_question_pairs(60, random_state=0)
SEEN: list = []
"""What recording teachers were fitted on and asked, in the order of their folds."""


def readings(pairs):
    return {normalize_text(text) for pair in pairs for text in pair}


class Recorder(RegressorMixin, BaseEstimator):
    """Scores a pair by the length of its texts, and keeps what it saw."""

    def fit(self, pairs, y):
        self.record_ = {"fitted": pairs, "y": y, "asked": []}
        SEEN.append(self.record_)
        return self

    def predict(self, pairs):
        self.record_["asked"].append(pairs)
        return np.array([0.01 * sum(map(len, pair)) for pair in pairs])


class Certain(ClassifierMixin, BaseEstimator):
    def fit(self, pairs, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, pairs):
        return np.tile([0.25, 0.75], (len(pairs), 1))


@pytest.fixture(autouse=True)
def _forget():
    SEEN.clear()


def teacher(**params):
    return PairTeacher(**{"estimator": Recorder(), "random_state": 0} | params)


@pytest.mark.parametrize("cv", [2, 3])
@pytest.mark.parametrize("n_pairs", [None, 11])
def test_no_teacher_scores_a_text_that_it_was_fitted_on(cv, n_pairs):
    model = teacher(cv=cv, n_pairs=n_pairs).fit(DATA.pairs, DATA.y)
    assert len(SEEN) == cv
    for number, record in enumerate(SEEN):
        asked = np.concatenate(record["asked"])
        assert not readings(record["fitted"]) & readings(asked)
        near = model.pairs_[model.folds_ == number]
        assert {tuple(pair) for pair in near.tolist()} <= {tuple(p) for p in asked.tolist()}
        assert len(near)
    # Every labelled pair is scored once, by the teacher that did not learn from it.
    assert sum(len(record["fitted"]) for record in SEEN) == (cv - 1) * len(DATA.pairs)
    expected = [0.01 * sum(map(len, pair)) for pair in DATA.pairs]
    assert model.out_of_fold_ == pytest.approx(np.clip(expected, 0, 1))


def test_a_teacher_within_a_fold_of_a_student_sees_nothing_of_the_rest():
    train, test = next(DisjointPairsKFold(3, random_state=1).split(DATA.pairs, DATA.y))
    teacher().fit(DATA.pairs[train], DATA.y[train])
    held = readings(DATA.pairs[test])
    for record in SEEN:
        assert not held & readings(record["fitted"])
        assert not held & readings(np.concatenate(record["asked"]))


def test_near_pairs_are_new_different_and_each_once():
    model = teacher(n_neighbors=2).fit(DATA.pairs, DATA.y)
    known = {frozenset(map(normalize_text, pair)) for pair in DATA.pairs}
    near = [frozenset(map(normalize_text, pair)) for pair in model.pairs_]
    assert len(set(near)) == len(near) and not known & set(near)
    assert all(len(pair) == 2 for pair in near)
    assert model.scores_.shape == model.folds_.shape == (len(near),)
    assert model.scores_.min() >= 0 and model.scores_.max() <= 1


def test_so_many_pairs_as_asked_for():
    every = teacher().fit(DATA.pairs, DATA.y)
    few = teacher(n_pairs=7).fit(DATA.pairs, DATA.y)
    assert len(few.pairs_) == 7 and np.bincount(few.folds_).tolist() == [4, 3]
    assert {tuple(p) for p in few.pairs_} <= {tuple(p) for p in every.pairs_}


def test_neighbours_are_those_of_the_embedder():
    class Alphabet(BaseEstimator):
        def fit_transform(self, texts, y=None):
            return np.array([[len(text), 1.0] for text in texts])

        def fit(self, texts, y=None):
            return self

        transform = fit_transform

    by_length = teacher(embedder=Alphabet(), n_neighbors=1).fit(DATA.pairs, DATA.y)
    gaps = [abs(len(a) - len(b)) for a, b in by_length.pairs_]
    words = teacher(embedder=TfidfVectorizer(), n_neighbors=1).fit(DATA.pairs, DATA.y)
    assert np.mean(gaps) < np.mean([abs(len(a) - len(b)) for a, b in words.pairs_])


def test_labels_of_any_kind_reach_the_teacher_as_0_and_1():
    names = np.where(DATA.y == 1, "same", "other")
    model = teacher().fit(DATA.pairs, names)
    assert model.classes_.tolist() == ["other", "same"]
    assert all(set(record["y"].tolist()) == {0, 1} for record in SEEN)


def test_a_classifier_teaches_its_probabilities():
    model = teacher(estimator=Certain()).fit(DATA.pairs, DATA.y)
    assert set(model.scores_.tolist()) == set(model.out_of_fold_.tolist()) == {0.75}


def test_a_frozen_teacher_is_not_fitted_again():
    fitted = Recorder().fit(DATA.pairs[:2], DATA.y[:2])
    SEEN.clear()
    model = teacher(estimator=FrozenEstimator(fitted)).fit(DATA.pairs, DATA.y)
    assert not SEEN and len(model.scores_)


def test_ctrl_c_in_a_network_ends_the_fit(tiny_model, monkeypatch):
    """Fitted alone, the network would keep what it has learned by then, and go on."""
    training = pytest.importorskip("estimators.training.loop", exc_type=ImportError)
    lengths = {"max_length": 64, "train_max_length": 64}
    network = CrossEncoderRegressor(
        tiny_model, objective="binary", train_batch_size=10, device="cpu", random_state=0, **lengths
    )
    step, steps = training.Training._take_step, []

    def interrupted(self):
        steps.append(self.step)
        if steps.count(0) == 2 and self.step == 1:
            raise KeyboardInterrupt
        step(self)

    monkeypatch.setattr(training.Training, "_take_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        teacher(estimator=network, n_pairs=10).fit(DATA.pairs, DATA.y)
    assert steps.count(0) == 2 and steps[-2:] == [0, 1]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": TfidfVectorizer()}, TypeError, "must be a classifier or regressor of pairs"),
        ({"embedder": Recorder()}, TypeError, "embedder=.*fit and transform"),
        ({"n_pairs": 0}, ValueError, "n_pairs"),
    ],
)
def test_what_is_wrong_is_named_before_any_work(params, error, message):
    with pytest.raises(error, match=message):
        teacher(**params).fit(DATA.pairs, DATA.y)
    assert not SEEN


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_a_fold_without_a_label_is_refused_before_any_work():
    y = np.zeros(60, dtype=int)
    y[0] = 1
    with pytest.raises(ValueError):
        teacher().fit(DATA.pairs, y)
    assert not SEEN


def test_texts_of_a_corpus_are_paired_in_place_of_the_labelled_ones():
    """One teacher of all labelled pairs scores them; it has learned from none of their texts."""
    train, test = next(DisjointPairsKFold(3, random_state=1).split(DATA.pairs, DATA.y))
    labelled, others = DATA.pairs[train], DATA.pairs[test].ravel().tolist()
    corpus = [labelled[0, 0].upper(), *others, others[0], others[1].upper(), "?"]
    model = teacher(corpus=iter(corpus), cv=2).fit(labelled, DATA.y[train])
    (record,) = SEEN
    np.testing.assert_array_equal(record["fitted"], labelled)
    np.testing.assert_array_equal(np.concatenate(record["asked"]), model.pairs_)
    assert len(model.pairs_) and readings(model.pairs_) <= readings([others])
    assert not readings(model.pairs_) & readings(labelled)
    # Pairs of the corpus that a file lists as labelled elsewhere are unknown here: they may stand.
    unique = {frozenset(map(normalize_text, pair)) for pair in model.pairs_}
    assert len(unique) == len(model.pairs_) and all(len(pair) == 2 for pair in unique)
    assert set(model.folds_) == {0} and model.out_of_fold_ is None
    expected = [0.01 * sum(map(len, pair)) for pair in model.pairs_]
    assert model.scores_ == pytest.approx(np.clip(expected, 0, 1))
    few = teacher(corpus=corpus, n_pairs=5).fit(labelled, DATA.y[train])
    assert len(few.pairs_) == 5
    assert {tuple(pair) for pair in few.pairs_} <= {tuple(pair) for pair in model.pairs_}


@pytest.mark.parametrize(
    ("corpus", "error", "message"),
    [
        (["a text", "A text!"], ValueError, "corpus has 1 texts that no labelled pair holds"),
        (DATA.pairs.ravel().tolist(), ValueError, "corpus has 0 texts that no labelled pair"),
    ],
)
def test_a_corpus_that_leaves_nothing_to_score_is_refused_before_any_work(corpus, error, message):
    with pytest.raises(error, match=message):
        teacher(corpus=corpus).fit(DATA.pairs, DATA.y)
    assert not SEEN

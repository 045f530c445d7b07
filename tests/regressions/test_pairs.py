"""Judging pairs: priors, corpus sizes, folds, thresholds."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from estimators import DuplicateClassifier, PairwiseKNNClassifier, few_label_duplicates
from estimators.model_selection import AllowSharedQuestions, question_groups
from estimators.submission import write_predictions
from film.datasets import make_question_pairs
from film.metrics import prior_weights, shift_prior

DATA = make_question_pairs(900, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:600], np.asarray(DATA.y)[:600]
NEW, NEW_Y = np.asarray(DATA.pairs, dtype=object)[600:], np.asarray(DATA.y)[600:]
LOW = 0.1746


def letters():
    """An embedder that learns nothing from labels and takes no time."""
    dense = FunctionTransformer(lambda X: X.toarray(), accept_sparse=True)
    return make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(2, 2)), Untaught(dense))


class Untaught(FunctionTransformer):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.toarray()


def classifier(final=None, **params):
    return DuplicateClassifier([("letters", letters())], final, cv=3, **params)


@pytest.fixture(scope="module")
def weighted():
    return classifier().fit(PAIRS, Y, sample_weight=prior_weights(Y, LOW))


def test_05_the_training_prior_is_the_weighted_one(weighted):
    assert weighted.train_prior_ == pytest.approx(LOW, abs=1e-12)
    assert weighted.prior_ == weighted.train_prior_
    assert classifier().fit(PAIRS, Y).train_prior_ == Y.mean()


def test_05_a_prior_equal_to_the_weighted_one_changes_nothing(weighted):
    plain = weighted.predict_proba(NEW)[:, 1]
    told = classifier(prior=LOW).fit(PAIRS, Y, sample_weight=prior_weights(Y, LOW))
    assert np.allclose(told.predict_proba(NEW)[:, 1], plain, atol=1e-12)
    only_prior = classifier(prior=LOW).fit(PAIRS, Y).predict_proba(NEW)[:, 1]
    weights = prior_weights(NEW_Y, LOW)
    losses = [log_loss(NEW_Y, p, sample_weight=weights) for p in (plain, only_prior)]
    assert losses[0] == pytest.approx(losses[1], abs=0.02)


def test_05_submissions_shift_from_the_weighted_prior(weighted, tmp_path):
    p = weighted.predict_proba(NEW)[:, 1]
    ids = [str(row) for row in range(len(NEW))]
    written = write_predictions(weighted, NEW, ids, tmp_path / "out.csv", prior=0.4)
    assert np.allclose(written, shift_prior(p, LOW, 0.4), atol=1e-12)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("piped", [False, True])
def test_05_weights_count_where_they_reach_the_final_model(routing, piped):
    weights = prior_weights(Y, LOW)
    with sklearn.config_context(enable_metadata_routing=routing):
        final, scaler = LogisticRegression(solver="newton-cholesky"), StandardScaler()
        if routing:
            final.set_fit_request(sample_weight=True)
            scaler.set_fit_request(sample_weight=False)
        final = make_pipeline(scaler, final) if piped else final
        model = classifier(final).fit(PAIRS, Y, sample_weight=weights)
    assert model.train_prior_ == pytest.approx(LOW, abs=1e-12)


class Lengths(ClassifierMixin, BaseEstimator):
    """Judge pairs by their lengths, and take weights."""

    def fit(self, pairs, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, pairs):
        return np.array([len(first) - len(second) for first, second in pairs])


def test_05_weights_that_a_member_alone_asks_for_leave_the_prior():
    with sklearn.config_context(enable_metadata_routing=True):
        member = Lengths().set_fit_request(sample_weight=True)
        final = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression().set_fit_request(sample_weight=False),
        )
        model = DuplicateClassifier([("lengths", member)], final, cv=3)
        model.fit(PAIRS, Y, sample_weight=prior_weights(Y, LOW))
    assert model.train_prior_ == Y.mean()


@pytest.mark.parametrize("weights", [None, prior_weights(Y, LOW)], ids=["rows", "weights"])
@pytest.mark.parametrize(
    "final",
    [
        LogisticRegression(solver="newton-cholesky", class_weight="balanced"),
        LogisticRegression(solver="newton-cholesky", class_weight={0: 3.0, 1: 1.0}),
        make_pipeline(
            StandardScaler(), LogisticRegression(solver="newton-cholesky", class_weight="balanced")
        ),
        RandomForestClassifier(200, class_weight="balanced", min_samples_leaf=5, random_state=0),
        HistGradientBoostingClassifier(class_weight="balanced", max_iter=40, random_state=0),
        GridSearchCV(
            LogisticRegression(solver="newton-cholesky", class_weight="balanced"),
            {"C": [1.0]},
            cv=2,
        ),
    ],
    ids=["balanced", "named", "piped", "forest", "boosting", "search"],
)
def test_05_the_prior_is_that_at_which_the_final_model_speaks(final, weights):
    # With rows weighted to the prior at which a model speaks, its mean probability is the prior.
    given = {} if weights is None else {"sample_weight": weights}
    model = classifier(final).fit(PAIRS, Y, **given)
    p = model.final_estimator_.predict_proba(model.out_of_fold_)[:, 1]
    mean = np.average(p, weights=prior_weights(Y, model.train_prior_))
    assert mean == pytest.approx(model.train_prior_, abs=0.02)
    share = np.average(Y, weights=weights)
    assert abs(model.train_prior_ - share) > 0.05


def test_05_a_prior_told_to_the_final_model_counts():
    assert classifier(GaussianNB(priors=[0.8, 0.2])).fit(PAIRS, Y).train_prior_ == 0.2


def test_05_weights_that_empty_a_class_are_refused_before_the_work():
    for weights, words in [(1.0 - Y, "duplicates"), (np.where(Y, 1, -1.0), "not negative")]:
        with pytest.raises(ValueError, match=words):
            classifier().fit(PAIRS, Y, sample_weight=weights)


def shared_questions(cv):
    """Count the questions that stand on both sides of a fold, with sets."""
    found = set()
    for train, test in cv.split(PAIRS, Y):
        found |= {*PAIRS[train].ravel()} & {*PAIRS[test].ravel()}
    return len(found)


ESTIMATORS = {
    "stack": lambda cv: classifier().set_params(cv=cv),
    "rule": lambda cv: PairwiseKNNClassifier(letters(), k=3, cv=cv),
    "few labels": lambda cv: few_label_duplicates(PAIRS, rank=10, cv=cv),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_08_folds_that_share_questions_are_refused_with_their_number(name):
    cv = KFold(5)
    number = shared_questions(cv)
    assert number > 20
    with pytest.raises(ValueError, match=rf"lets {number} questions .*AllowSharedQuestions\(KFold"):
        ESTIMATORS[name](cv).fit(PAIRS, Y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_08_who_means_it_says_so(name):
    model = ESTIMATORS[name](AllowSharedQuestions(KFold(3)))
    assert model.fit(PAIRS, Y).predict_proba(NEW[:5]).shape == (5, 2)


def test_08_disjoint_folds_of_ones_own_pass():
    groups = question_groups(PAIRS)
    fold = np.empty(len(PAIRS), dtype=int)
    for number, (_, test) in enumerate(GroupKFold(3).split(PAIRS, Y, groups)):
        fold[test] = number
    for make in ESTIMATORS.values():
        make(PredefinedSplit(fold)).fit(PAIRS, Y)


def test_08_only_a_splitter_can_share():
    with pytest.raises(TypeError, match="cv=5 is no splitter"):
        AllowSharedQuestions(5)
    assert AllowSharedQuestions(KFold(4)).get_n_splits() == 4

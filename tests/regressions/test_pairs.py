"""Judging pairs: priors, corpus sizes, folds, thresholds."""

import copy
import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from estimators import (
    DuplicateClassifier,
    PairwiseKNNClassifier,
    WordDifferences,
    fast_duplicates,
    few_label_duplicates,
    load_model,
    save_model,
)
from estimators.inputs import AllowSharedQuestions, DisjointPairsKFold, question_groups
from estimators.inspection import plot_thresholds
from estimators.pairs.submission import write_submission
from film.datasets import make_question_pairs
from film.pairs.priors import prior_weights, shift_prior
from film.pairs.thresholds import threshold_curve, threshold_for_precision
from tests.estimators.cli.commands import refused, run, write_csv

mpl.use("Agg")

DATA = make_question_pairs(440, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:240], np.asarray(DATA.y)[:240]
NEW, NEW_Y = np.asarray(DATA.pairs, dtype=object)[240:], np.asarray(DATA.y)[240:]
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
    rows = ((str(row), *pair) for row, pair in enumerate(NEW))
    written = write_submission(weighted, rows, tmp_path / "out.csv", prior=0.4)
    assert np.isclose(written, shift_prior(p, LOW, 0.4).mean(), atol=1e-12)


@pytest.mark.parametrize(
    "final",
    [
        LogisticRegression(class_weight="balanced"),
        make_pipeline(StandardScaler(), LogisticRegression(class_weight={0: 3.0, 1: 1.0})),
        GridSearchCV(LogisticRegression(class_weight="balanced"), {"C": [1.0]}),
        GridSearchCV(LogisticRegression(), {"class_weight": ["balanced", None]}),
        GaussianNB(priors=[0.8, 0.2]),
        BernoulliNB(class_prior=[0.8, 0.2]),
    ],
    ids=["balanced", "piped", "search", "searched", "gaussian", "bernoulli"],
)
def test_05_a_final_model_with_a_prior_of_its_own_is_refused(final):
    with pytest.raises(ValueError, match=r"final_estimator sets .*(class_weight|prior)"):
        classifier(final).fit(PAIRS, Y)


@pytest.mark.parametrize(
    ("final", "weights"),
    [
        (LogisticRegression(solver="newton-cholesky"), None),
        # With its bootstrap, what trees say of rows they did not draw would move the mean.
        (
            RandomForestClassifier(50, min_samples_leaf=5, bootstrap=False, random_state=0),
            prior_weights(Y, LOW),
        ),
        (HistGradientBoostingClassifier(max_iter=10, random_state=0), prior_weights(Y, LOW)),
    ],
    ids=["logistic", "forest", "boosting"],
)
def test_05_the_prior_is_the_share_that_the_final_model_learned_with(final, weights):
    given = {} if weights is None else {"sample_weight": weights}
    model = classifier(final).fit(PAIRS, Y, **given)
    assert model.train_prior_ == pytest.approx(Y.mean() if weights is None else LOW, abs=1e-12)
    p = model.final_estimator_.predict_proba(model.out_of_fold_)[:, 1]
    assert np.average(p, weights=weights) == pytest.approx(model.train_prior_, abs=0.02)


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
    with pytest.raises(ValueError, match=rf"puts {number} questions .*AllowSharedQuestions\(KFold"):
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
    with pytest.raises(TypeError, match="cv=5 is not a splitter"):
        AllowSharedQuestions(5)
    assert AllowSharedQuestions(KFold(4)).get_n_splits() == 4


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(PAIRS, Y, similar=[("a further text", "its further copy")])


def test_08_every_text_of_the_training_is_recognised(fitted):
    assert fitted.trained_on(PAIRS).all()
    respelled = [(first.upper() + "?!", "never met before") for first, _ in PAIRS]
    assert fitted.trained_on(respelled).all()
    met = {text for pair in PAIRS for text in pair}
    wanted = [first in met or second in met for first, second in NEW]
    assert 0 < sum(wanted) < len(NEW)
    assert fitted.trained_on(NEW).tolist() == wanted
    assert fitted.trained_on([("a further text", "no")]).tolist() == [True]


def test_08_models_of_pair_members_alone_recognise_texts_too():
    words = make_pipeline(WordDifferences(), LogisticRegression())
    model = DuplicateClassifier([("words", words)], cv=2).fit(PAIRS, Y)
    assert model.trained_on(PAIRS).all()


def test_08_a_collection_is_no_training():
    model = classifier(corpus=[*NEW.flat]).fit(PAIRS, Y)
    assert model.trained_on(PAIRS).all()
    assert not model.trained_on(NEW).all()


def by_hand(y, p, threshold, weights):
    called = p >= threshold
    both = weights[called & (y == 1)].sum()
    precision, recall = both / weights[called].sum(), both / weights[y == 1].sum()
    return precision, recall, 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("seed", range(3))
def test_17_precision_recall_and_f1_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 60, 300) / 60
    y = (rng.random(300) < p).astype(int)
    weights = rng.uniform(0.5, 2, 300)
    curve = threshold_curve(y, p, weights=weights, groups=rng.integers(0, 90, 300))
    assert curve.thresholds.tolist() == np.unique(p).tolist()
    for at, threshold in enumerate(curve.thresholds):
        found = curve.precision[at], curve.recall[at], curve.f1[at]
        assert found == pytest.approx(by_hand(y, p, threshold, weights))
        assert curve.selected[at] == (p >= threshold).sum()


def test_17_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(2)
    thresholds, rounds = [0.3, 0.6, 0.9], 300
    held = np.zeros(3)
    for _ in range(rounds):
        groups = np.repeat(np.arange(300), rng.geometric(1 / 3, 300))
        # Pairs of a group share half of the variance, in their scores and their outcomes.
        shared = rng.normal(size=(2, 300))[:, groups] * np.sqrt(0.5)
        p, luck = norm.cdf(shared + rng.normal(size=(2, len(groups))) * np.sqrt(0.5))
        curve = threshold_curve(luck < p, p, groups=groups, thresholds=thresholds)
        truth = (1 + curve.thresholds) / 2
        low, high = curve.precision_interval.T
        held += (low <= truth) & (truth <= high)
    # Binomial spread of the share is 0.0126; below 0.90 has a chance of 4e-5 at 0.95.
    assert (held / rounds > 0.90).all()


def test_17_the_threshold_for_a_precision_keeps_it_on_new_pairs():
    rng = np.random.default_rng(3)
    short, plain_short, rounds = 0, 0, 200
    for _ in range(rounds):
        p = rng.random(2000)
        curve = threshold_curve(rng.random(2000) < p, p)
        chosen = threshold_for_precision(curve, 0.85)
        # Scores are uniform and calibrated, so the precision from t on is (1 + t) / 2.
        short += (1 + curve.thresholds[chosen]) / 2 < 0.85
        first = int(np.argmax(curve.precision >= 0.85))
        plain_short += (1 + curve.thresholds[first]) / 2 < 0.85
    assert short / rounds < 0.1 < 0.4 < plain_short / rounds


def test_17_out_of_fold_probabilities_come_from_models_that_did_not_see_the_pair():
    words = make_pipeline(WordDifferences(), LogisticRegression())
    model = DuplicateClassifier([("words", words)], LogisticRegression(), features=None, cv=3)
    model.fit(PAIRS, Y)._general = None  # of the stack alone
    p = model.out_of_fold_probabilities()
    tests = [test for _, test in DisjointPairsKFold(3, random_state=0).split(PAIRS, Y)]

    def log_odds(train, rows):
        return clone(words).fit(PAIRS[train], Y[train]).decision_function(PAIRS[rows])[:, None]

    for a, b, held in [(tests[i - 2], tests[i - 1], tests[i]) for i in range(3)]:
        rest, inputs = np.sort(np.append(a, b)), np.empty((len(Y), 1))
        # What the final model learns from comes from members that saw neither its fold nor this.
        inputs[a], inputs[b] = log_odds(b, a), log_odds(a, b)
        final = LogisticRegression().fit(inputs[rest], Y[rest])
        said = final.predict_proba(log_odds(rest, held))[:, 1]
        # Each fold's model speaks at its own share of duplicates.
        assert np.allclose(p[held], shift_prior(said, Y[rest].mean(), Y.mean()), atol=1e-12)


@pytest.mark.parametrize("folds", [2, 3])
def test_no_label_of_a_fold_reaches_the_models_that_judge_it(folds):
    pairs, y = PAIRS[:120], Y[:120]
    groups = question_groups(pairs) % folds
    held = groups == 0
    turned = y.copy()
    turned[held] = np.random.default_rng(0).permutation(y[held])

    def judged(y):
        model = fast_duplicates(d=16, rank=20, cv=PredefinedSplit(groups)).fit(pairs, y)
        return model.out_of_fold_probabilities()

    before, after = judged(y), judged(turned)
    assert np.array_equal(before[held], after[held])
    assert not np.allclose(before[~held], after[~held], atol=0.01)


def test_folds_too_small_to_be_nested_are_told():
    pairs, y = [(f"cat {i}", f"dog {i}") for i in range(4)], [0, 1, 1, 0]
    model = DuplicateClassifier([("letters", letters())], cv=2).fit(pairs, y)
    with pytest.warns(UserWarning, match="a little too good: folds are too small"):
        p = model.out_of_fold_probabilities()
    assert ((p > 0) & (p < 1)).all()


def test_17_out_of_fold_probabilities_heed_weights_and_prior(weighted):
    p = weighted.out_of_fold_probabilities()
    assert np.average(p, weights=prior_weights(Y, LOW)) == pytest.approx(LOW, abs=0.02)
    told = copy.deepcopy(weighted).set_params(prior=0.5)
    assert np.allclose(told.out_of_fold_probabilities(), shift_prior(p, LOW, 0.5), atol=1e-12)


def test_17_a_fitted_classifier_gives_the_threshold_for_a_precision(fitted):
    curve = fitted.threshold_curve()
    wanted = float(np.max(curve.precision_interval[:, 0])) - 0.02
    threshold = fitted.threshold_for(wanted)
    called = fitted.out_of_fold_probabilities() >= threshold
    assert Y[called].mean() >= wanted
    assert fitted.threshold_for(wanted - 0.1) < threshold
    # With fewer duplicates about, the same precision asks for a higher one of the odds at which
    # the model speaks.
    rarer = fitted.threshold_for(wanted - 0.1, prior=0.3)
    assert shift_prior(rarer, 0.3, fitted.prior_) > fitted.threshold_for(wanted - 0.1)


def test_17_a_precision_that_is_not_known_to_be_reached_is_refused(fitted):
    with pytest.raises(ValueError, match=r"precision 0\.999: no threshold is known to reach it"):
        fitted.threshold_for(0.999)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        fitted.threshold_for(1.5)
    for wrong in ({"precision": "a"}, {"prior": "a"}, {"confidence": "a"}):
        with pytest.raises(TypeError, match="must be a number, got 'a': give for instance 0"):
            fitted.threshold_for(**{"precision": 0.5} | wrong)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["both", "either"])
def test_07_the_share_inside_k_is_that_of_the_training(mode):
    data = make_question_pairs(6000, random_state=3)
    pairs, y = np.asarray(data.pairs, dtype=object), np.asarray(data.y)
    train, test = next(DisjointPairsKFold(2, random_state=0).split(pairs, y))
    knn = PairwiseKNNClassifier(letters(), k=10, mode=mode, cv=2).fit(pairs[train], y[train])
    reduce = {"both": np.max, "either": np.min}[mode]
    for k in (3, 10, 40):
        known = reduce(knn.out_of_fold_ranks_, axis=1) < k
        new = reduce(knn.rank(pairs[test]), axis=1) < k
        # Shares of groups of linked pairs, since these are what was drawn.
        spread = np.hypot(
            *(spread_of_share(*side) for side in ((pairs[train], known), (pairs[test], new)))
        )
        assert abs(known.mean() - new.mean()) < 3.3 * spread
        assert 3.3 * spread < 0.2 * known.mean()


def spread_of_share(pairs, inside):
    """Standard error of a share, groups of linked pairs drawn together."""
    groups = question_groups(pairs)
    rests = np.bincount(groups, weights=inside - inside.mean())
    return np.sqrt(np.sum(rests**2)) / len(pairs)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with a model of word differences and labelled pairs that it has not seen."""
    folder = tmp_path_factory.mktemp("shelf")
    words = make_pipeline(WordDifferences(), LogisticRegression())
    save_model(DuplicateClassifier([("words", words)], cv=2).fit(PAIRS, Y), folder / "model.skops")
    met = {text for pair in PAIRS for text in pair}
    other = make_question_pairs(500, random_state=1)
    rows = [[*pair, y] for pair, y in zip(other.pairs, other.y, strict=True) if not met & {*pair}]
    write_csv(folder / "dev.csv", ["question1", "question2", "is_duplicate"], rows)
    return folder


def evaluate(shelf, *arguments, pairs="dev.csv"):
    return run("evaluate", shelf / pairs, "--model", shelf / "model.skops", *arguments)


def test_17_evaluate_shows_figures_by_threshold_and_suggests_one(shelf):
    ran = evaluate(shelf, "--precision", 0.55, "--format", "json")
    found = json.loads(ran.out)["thresholds"]
    frame = pd.read_csv(shelf / "dev.csv")
    pairs, y = frame[["question1", "question2"]].to_numpy(), frame["is_duplicate"].to_numpy()
    p = load_model(shelf / "model.skops").predict_proba(pairs)[:, 1]
    for row in found["at"]:
        precision, recall, f1 = by_hand(y, p, row["threshold"], np.ones(len(y)))
        assert (row["precision"], row["recall"], row["F1"]) == pytest.approx(
            (precision, recall, f1)
        )
        assert row["precision low"] < precision <= row["precision high"]
    suggested = found["suggested"]
    assert suggested["precision low"] >= 0.55
    assert suggested["pairs"] == (p >= suggested["threshold"]).sum()
    text = evaluate(shelf, "--precision", 0.55).out
    assert "Wilson" in text
    assert f"for precision 0.55: threshold {suggested['threshold']:.6g}" in text


def test_17_evaluate_says_when_no_threshold_is_known_to_do(shelf):
    ran = evaluate(shelf, "--precision", 0.9999)
    assert ran.code == 0
    assert "for precision 0.9999: no threshold is known to reach it" in ran.out


def test_17_evaluate_weights_thresholds_to_the_prior(shelf):
    arguments = ["--format", "json", "--prior", 0.1]
    rare = json.loads(evaluate(shelf, *arguments).out)["thresholds"]
    plain = json.loads(evaluate(shelf, "--format", "json").out)["thresholds"]
    assert rare["share of duplicates"] == 0.1
    # From the least threshold on nearly all are called duplicates.
    assert rare["at"][0]["precision"] < plain["at"][0]["precision"]


@pytest.mark.parametrize(("name", "start"), [("a.html", b"<!doctype html>"), ("a.PDF", b"%PDF")])
def test_17_evaluate_draws_pages_and_images(shelf, tmp_path, name, start):
    ran = evaluate(shelf, "--html", tmp_path / name, "--precision", 0.5)
    assert ran.code == 0, ran.err
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    if name == "a.html":
        page = content.decode()
        assert "for precision 0.5: threshold" in page
        assert page.count("data:image/png;base64,") == 2
        assert "<script" not in page and "://" not in page


def test_17_a_plot_marks_the_threshold(fitted):
    p = fitted.predict_proba(NEW)[:, 1]
    curve = threshold_curve(NEW_Y, p, groups=question_groups(NEW))
    ax = plot_thresholds(curve, 0.5)
    wanted = curve.thresholds[np.argmax(curve.precision_interval[:, 0] >= 0.5)]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["precision", "recall", "F1", f"threshold {wanted:.3g} for precision 0.5"]
    assert ax.lines[1].get_ydata().tolist() == curve.recall.tolist()
    assert ax.lines[-1].get_xdata()[0] == wanted
    assert ax.get_title()


@pytest.mark.parametrize("value", ["nan", "NaN", "0", "1", "-0.2", "inf"])
@pytest.mark.parametrize("option", ["--prior", "--precision"])
def test_10_shares_that_are_none_are_refused(shelf, option, value):
    pairs, model = shelf / "dev.csv", shelf / "model.skops"
    assert option in refused("evaluate", pairs, "--model", model, option, value)
    if option == "--prior":
        out = ["--out", shelf / "submission.csv"]
        assert option in refused("submit", pairs, "--model", model, option, value, *out)
        assert option in refused("train", pairs, "--model", shelf / "other.skops", option, value)


def test_08_evaluate_counts_every_text_of_the_training(shelf):
    frame = pd.DataFrame(PAIRS[:200], columns=["question1", "question2"])
    frame.assign(is_duplicate=Y[:200]).to_csv(shelf / "seen.csv", index=False)
    ran = evaluate(shelf, pairs="seen.csv")
    assert "warning: 200 of 200 pairs contain a text of the training data" in ran.err
    assert "warning" not in evaluate(shelf).err


def test_17_duplicates_are_found_with_a_precision(shelf):
    model = load_model(shelf / "model.skops")
    texts = write_csv(shelf / "texts.csv", ["text"], [[text] for text in sorted({*NEW.flat})[:40]])
    wanted = model.threshold_for(0.4)
    ran = run("duplicates", texts, "--model", shelf / "model.skops", "--precision", 0.4)
    assert ran.code == 0, ran.err
    assert f"from {wanted:.6g} on, probabilities have a precision of at least 0.4" in ran.err
    plain = run("duplicates", texts, "-m", shelf / "model.skops", "--threshold", repr(wanted))
    assert ran.out == plain.out
    arguments = ["duplicates", texts, "-m", shelf / "model.skops", "--precision", 0.4, "--prior"]
    assert f"{model.threshold_for(0.4, prior=0.5):.6g}" in run(*arguments, 0.5).err
    estimated = run(*arguments, "estimate")
    assert estimated.code == 0, estimated.err
    assert "a precision of at least 0.4" in estimated.err


def test_17_a_precision_needs_a_model_and_no_other_limit(shelf):
    texts = shelf / "dev.csv"
    assert "--model" in refused("duplicates", texts, "-t", "question1", "--precision", 0.9)
    arguments = ["-t", "question1", "-m", shelf / "model.skops", "--precision", 0.9999]
    assert "--budget" in refused("duplicates", texts, *arguments, "--budget", 3)
    assert "no threshold is known to reach it" in refused("duplicates", texts, *arguments)


def test_17_copies_are_certain_out_of_fold_too():
    pairs = np.vstack([PAIRS, np.repeat(PAIRS[:6, :1], 2, axis=1)])
    y = np.append(Y, np.ones(6, dtype=int))
    model = classifier(prior=0.05).fit(pairs, y)
    assert (model.out_of_fold_probabilities()[-6:] > 0.999).all()

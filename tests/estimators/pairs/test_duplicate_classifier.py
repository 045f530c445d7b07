"""The stacked duplicate classifier, against its definition written with loops and dictionaries."""

import copy
import pickle
import re

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from estimators import (
    FILM,
    DisjointPairsKFold,
    DuplicateClassifier,
    LexicalFeatures,
    WordDifferences,
    fast_duplicates,
)
from film.datasets import make_question_pairs
from film.pairs.priors import shift_prior
from film.text import normalize_text
from tests.estimators.pairs.by_hand import TextsByHand, WordVectors, lines_of, write_line

DATA = make_question_pairs(180, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:120], np.asarray(DATA.y)[:120]
NEW = np.asarray(DATA.pairs, dtype=object)[120:]
ODD = np.array(
    [
        (PAIRS[0, 0], f"  {PAIRS[0, 1].upper()} ?!"),
        (PAIRS[0, 0], PAIRS[0, 0].upper()),
        (NEW[0, 0], NEW[0, 0]),
        ("Zyx wvu?", "zyx WVU"),
        ("Zyx wvu tsr", PAIRS[1, 0]),
        ("", PAIRS[1, 0]),
        ("", ""),
        ("?!", "..."),
        ("¿Dónde está el río?", "東京はどこですか"),
        ("Где находится Москва", "где Москва находится"),
        ("where is the river " * 5000, "where is the river"),
        ("\ud800 broken", "nul \x00"),
    ],
    dtype=object,
)


class WordSum(WordVectors):
    """Writes the texts of each fit."""

    def fit(self, texts, triplets):
        if self.path:
            write_line(self.path, sorted(texts))
        self.fitted_ = True
        return self


class FirstText(ClassifierMixin, BaseEstimator):
    """Pair classifier that looks at the first text only; logs pairs and weights of each fit."""

    def __init__(self, path="", saturated=False):
        self.path = path
        self.saturated = saturated

    def fit(self, pairs, y, sample_weight=None):
        if self.path:
            weight = None if sample_weight is None else list(map(float, sample_weight))
            write_line(self.path, {"pairs": pairs.tolist(), "y": y.tolist(), "weight": weight})
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, pairs):
        p = np.array([1 / (2 + len(first) % 7) for first, _ in pairs])
        p = np.round(p) if self.saturated else p
        return np.column_stack([1 - p, p])


class Threshold(ClassifierMixin, BaseEstimator):
    """Pair classifier without probabilities."""

    def fit(self, pairs, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, pairs):
        return np.array([len(first) - 3.0 * len(second) for first, second in pairs])


class Lengths(RegressorMixin, BaseEstimator):
    """Pair regressor that depends on the order of a pair."""

    def fit(self, pairs, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, pairs):
        return np.array([self.mean_ + len(first) - 2.0 * len(second) for first, second in pairs])


class Both(FirstText):
    """Pair classifier whose decision function is no log-odds."""

    def decision_function(self, pairs):
        return np.zeros(len(pairs))


def film(d=16, rank=25, **options):
    steps = [("tfidf", TfidfVectorizer()), ("film", FILM(d, rank=rank, random_state=0, **options))]
    return Pipeline(steps)


def words():
    return make_pipeline(WordDifferences(), LogisticRegression(C=0.1, solver="liblinear"))


def cheap(member=None, **params):
    """A stack of one member."""
    params = {"features": None, "cv": 2} | params
    return DuplicateClassifier([("one", member or FirstText())], **params)


@pytest.fixture(scope="module")
def fitted():
    return fast_duplicates(d=16, rank=25, cv=3).fit(PAIRS, Y)


@pytest.fixture(scope="module")
def collected():
    return fast_duplicates(d=16, rank=25, cv=2, corpus=[*NEW.flat, *ODD.flat]).fit(PAIRS, Y)


class ByHand(TextsByHand):
    """What an embedder says out of fold and about new pairs, as the documentation defines it."""

    def counted(self, rows):
        if self.corpus is None:
            return {text for i in rows for text in self.pairs[i]}
        return self.corpus | {text for pair in self.pairs for text in pair}

    def columns(self, metric, judged, counted):
        known = {text for pair in self.pairs for text in pair} | (self.corpus or set())
        spelled = {
            text: self.spelling.get(text, text)
            for text in counted | {*map(normalize_text, judged.flat)}
        }
        new = {normalize_text(text): text for text in judged.flat}
        spelled |= {reading: text for reading, text in new.items() if reading not in known}
        vectors = metric.transform(np.array([*spelled.values()], dtype=object))
        points = dict(zip(spelled, vectors, strict=True))

        def cosine(x, z):
            norms = np.linalg.norm(points[x]) * np.linalg.norm(points[z])
            return float(points[x] @ points[z]) / norms if norms > 0 else 0.0

        def rank(x, other):
            if x == other:
                return 0
            if not (points[x].any() and points[other].any()):
                return len(counted)
            rivals = [text for text in counted - {x, other} if points[text].any()]
            # Points may have been kept in single precision.
            return sum(cosine(x, text) > cosine(x, other) + 1e-7 for text in rivals)

        said = []
        for pair in judged:
            x, z = map(normalize_text, pair)
            ranks = sorted([rank(x, z), rank(z, x)])
            said.append([cosine(x, z), *np.log1p(ranks)])
        return np.array(said)


EXTRA = np.array(
    [(pair[0], f"{pair[0]} please") for pair in PAIRS[:40:4]]
    + [("Is tea better than milk", "Is milk worse than tea")],
    dtype=object,
)


@pytest.mark.parametrize(("collection", "similar"), [(False, None), (False, EXTRA), (True, EXTRA)])
def test_members_say_what_the_definition_says(collection, similar):
    pairs, y = PAIRS[:90], Y[:90]
    # The words of known texts in another order: as near as those, and not nearer.
    turned = [(b, " ".join(reversed(a.split()))) for a, b in pairs[:6]]
    judged = np.array([*NEW[:12], *pairs[:8], *turned, ("", "some words")], dtype=object)
    corpus = list(judged.flat) if collection else None
    embedder = make_pipeline(TfidfVectorizer(), FILM(5, rank=20, random_state=0))
    model = cheap(embedder, corpus=corpus).fit(pairs, y, similar=similar)
    hand = ByHand(embedder, pairs, y, corpus=corpus, similar=() if similar is None else similar)
    folds = list(DisjointPairsKFold(2, random_state=0).split(pairs, y))
    for train, test in folds:
        wanted = hand.columns(hand.fit(train.tolist()), pairs[test], hand.counted(train))
        # The two differ in the order of sums; ranks are whole numbers.
        assert np.allclose(model.out_of_fold_[test], wanted, rtol=0, atol=1e-9)
    everything = hand.fit(range(90))
    wanted = hand.columns(everything, judged, hand.counted(folds[0][0]))
    assert np.allclose(model.inputs(judged), wanted, rtol=0, atol=1e-6)
    assert len(np.unique(wanted[:, 1:])) > 20


@pytest.mark.parametrize("collection", [False, True], ids=["inductive", "collection"])
def test_out_of_fold_members_are_fitted_on_the_other_folds_only(tmp_path, collection):
    corpus = list(NEW.flat) if collection else None
    logs = tmp_path / "texts", tmp_path / "pairs"
    members = [("texts", WordSum(str(logs[0]))), ("pairs", FirstText(str(logs[1])))]
    loud = np.array([[f" {text.upper()}?" for text in pair] for pair in PAIRS[:30]], dtype=object)
    pairs, y = np.vstack([PAIRS, loud]), np.append(Y, Y[:30])
    DuplicateClassifier(members, cv=3, corpus=corpus).fit(pairs, y)
    texts = [{*map(normalize_text, seen)} for seen in lines_of(logs[0])]
    told = lines_of(logs[1])
    folds = list(DisjointPairsKFold(3, random_state=0).split(pairs, y))
    assert len(texts) == len(told) == 4
    everything = np.arange(len(y))
    for number, train in enumerate([*(train for train, _ in folds), everything]):
        assert texts[number] == {"", *map(normalize_text, pairs[train].flat)}
        assert told[number]["pairs"] == pairs[train].tolist()
        assert told[number]["y"] == y[train].tolist()
    held_out = {*map(normalize_text, pairs[folds[0][1]].flat)}
    assert not texts[0] & held_out and held_out


def default_trees(model, weights):
    """The default final model of few pairs."""
    rising = tuple(": cosine,: verdict,spelled alike,general formula".split(","))
    falling = "numbers unshared,negation on one side,different question words,symbols unshared"
    falling = {*falling.split(","), "negated words unshared"}
    signs = [name.endswith(rising) - (name in falling) for name in model.feature_names_out_]
    n_trees = model.final_estimator_.n_estimators
    trees = ExtraTreesClassifier(n_trees, min_samples_leaf=3, random_state=0, monotonic_cst=signs)
    return trees.fit(model.out_of_fold_, Y, sample_weight=weights)


def test_the_final_model_learns_from_what_was_said_out_of_fold(fitted):
    names = fitted.feature_names_out_
    assert names[:4] == [
        "film: cosine",
        "film: rank from the nearer side",
        "film: rank from the farther side",
        "words: verdict",
    ]
    assert names[4:] == [*LexicalFeatures().get_feature_names_out(), "general formula"]
    lexical = LexicalFeatures().fit(PAIRS)
    assert np.array_equal(fitted.out_of_fold_[:, 4:-1], lexical.transform(PAIRS))
    assert np.array_equal(fitted.inputs(NEW)[:, 4:-1], lexical.transform(NEW))
    final = default_trees(fitted, np.ones(len(Y)))
    probabilities = fitted.predict_proba(NEW)
    alone = fitted.probabilities_of(fitted.inputs(NEW))
    assert np.allclose(alone[:, 1], final.predict_proba(fitted.inputs(NEW))[:, 1])
    assert np.allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-15)
    assert np.array_equal(fitted.predict(NEW), (probabilities[:, 1] > 0.5).astype(int))
    assert np.array_equal(fitted.probabilities_of(fitted.inputs(NEW), NEW), probabilities)
    assert np.array_equal(fitted.typical_, np.median(fitted.out_of_fold_, axis=0))
    assert fitted.train_prior_ == fitted.prior_ == Y.mean()


def test_in_collection_mode_lexical_features_know_the_corpus(collected):
    known = [(text, text) for text in [*NEW.flat, *ODD.flat]]
    lexical = LexicalFeatures().fit([*PAIRS, *known])
    assert np.array_equal(collected.out_of_fold_[:, 4:-1], lexical.transform(PAIRS))
    assert np.array_equal(collected.inputs(NEW)[:, 4:-1], lexical.transform(NEW))


def test_similar_pairs_train_embedders_and_enter_no_ranks(tmp_path):
    pairs = [(f"cat {i}", f"dog {i}") for i in range(8)]
    y = [1, 0] * 4
    # One is linked to the first fold, two to both by a chain, one stands alone.
    similar = [("cat 0", "kitten"), ("cat 1", "bridge"), ("bridge", "cat 6"), ("sun", "moon")]
    log = tmp_path / "log"
    for corpus, counted in [(None, 8), (["cat 0", "mouse"], 17)]:
        log.unlink(missing_ok=True)
        members = [("texts", WordSum(str(log))), ("pairs", FirstText(str(tmp_path / "pairs")))]
        splitter = PredefinedSplit(np.repeat([0, 1], 4))
        model = DuplicateClassifier(members, features=None, cv=splitter, corpus=corpus)
        model.fit(pairs, y, similar=similar)
        halves = [{text for pair in pairs[half] for text in pair} for half in np.s_[:4, 4:]]
        assert list(map(set, lines_of(log))) == [
            {"", "sun", "moon"} | halves[1],
            {"", "sun", "moon", "kitten"} | halves[0],
            {""} | halves[0] | halves[1] | {text for pair in similar for text in pair},
        ]
        assert np.allclose(model.inputs([("", "a b")])[:, 1:3], np.log1p(counted))
        assert model.out_of_fold_.shape == (8, 4)
        assert model.train_prior_ == 0.5
    assert {len(line["y"]) for line in lines_of(tmp_path / "pairs")} == {4, 8}


def test_spellings_that_embed_apart_are_symmetric_too():
    # "Zebra" has another vector than "zebra", and one of them may have none.
    model = cheap(WordSum()).fit(PAIRS, Y)
    judged = np.array([("Zebra", "zebra!"), ("?", ""), ("Red Car", "RED car")], dtype=object)
    assert np.array_equal(model.inputs(judged), model.inputs(judged[:, ::-1]))
    exact = TfidfVectorizer(lowercase=False, token_pattern=r"\w+")
    model = cheap(make_pipeline(exact, TruncatedSVD(3, random_state=0))).fit(PAIRS, Y)
    word = re.findall("[a-z]{4,}", PAIRS[0, 0])[0]
    judged = np.array([(word, word.upper()), (f"{word}!", word.title())], dtype=object)
    assert np.array_equal(model.inputs(judged), model.inputs(judged[:, ::-1]))


def test_members_that_judge_pairs_say_the_mean_of_both_orders():
    n1, n2 = np.array([[len(text) for text in pair] for pair in NEW], dtype=float).T
    said = cheap(Lengths()).fit(PAIRS, Y)
    assert np.allclose(said.inputs(NEW)[:, 0], Y.mean() - (n1 + n2) / 2, rtol=0, atol=1e-12)
    assert said.feature_names_out_ == ["one: verdict"]
    said = cheap(Threshold()).fit(PAIRS, Y)
    assert np.array_equal(said.inputs(NEW)[:, 0], -(n1 + n2))
    said = cheap(Both()).fit(PAIRS, Y)
    odds = -np.log(1 + n1 % 7) - np.log(1 + n2 % 7)  # of p = 1 / (2 + n % 7)
    assert np.allclose(said.inputs(NEW)[:, 0], odds / 2, rtol=0, atol=1e-12)
    said = cheap(FirstText(saturated=True)).fit(PAIRS, Y)
    certain = np.log(1e-6 / (1 - 1e-6))
    assert np.abs(said.inputs(NEW)).max() == pytest.approx(-certain)
    assert np.isfinite(said.out_of_fold_).all()
    said = cheap(make_pipeline(WordDifferences(), LinearSVC())).fit(PAIRS, Y)
    member = said.members_[0][1]
    assert np.allclose(said.inputs(NEW)[:, 0], member.decision_function(NEW))


def test_cosines_are_cosines_whatever_rounding_does():
    # Unclipped, multiples of one direction can have a cosine of 1 + 2e-16.
    known = re.findall("[a-z]+", " ".join(NEW.flat))[:300]
    said = (
        cheap(WordSum()).fit(PAIRS, Y).inputs([(f"{word} {word} {word}", word) for word in known])
    )
    assert said[:, 0].max() == 1


def test_the_default_final_model_changes_with_the_number_of_pairs():
    pairs = [(f"{'a' * (i % 9)}{i}", f"b{i}") for i in range(2000)]
    y = np.arange(2000) % 2
    model = cheap(cv=KFold(2)).fit(pairs, y)
    assert isinstance(model.final_estimator_, HistGradientBoostingClassifier)
    model.fit(pairs[1:], y[1:])
    assert isinstance(model.final_estimator_, ExtraTreesClassifier)


def test_a_final_model_of_your_own_is_cloned():
    own = GaussianNB()
    model = cheap(final_estimator=own).fit(PAIRS, Y)
    assert not hasattr(own, "theta_")
    assert np.array_equal(model.final_estimator_.theta_, own.fit(model.out_of_fold_, Y).theta_)


def test_features_of_your_own_are_named_or_numbered():
    lengths = FunctionTransformer(lambda pairs: [[len(a) + len(b), 1] for a, b in pairs])
    model = cheap(features=lengths).fit(PAIRS, Y)
    assert model.feature_names_out_ == ["one: verdict", "feature 0", "feature 1"]
    assert model.inputs([("ab", "c")])[0, 1:].tolist() == [3, 1]
    model = cheap(features=make_pipeline(lengths, StandardScaler())).fit(PAIRS, Y)
    assert model.feature_names_out_[1:] == ["feature 0", "feature 1"]
    scaled = make_pipeline(LexicalFeatures(), StandardScaler())
    assert cheap(features=scaled).fit(PAIRS, Y).feature_names_out_[1] == "word cosine"


def test_a_prior_shifts_probabilities_and_decisions(fitted):
    model = copy.deepcopy(fitted)
    plain = model.predict_proba(NEW)[:, 1]
    for prior in (0.1746, 0.9, np.float64(0.5)):
        shifted = model.set_params(prior=prior).predict_proba(NEW)
        assert model.prior_ == prior
        assert np.allclose(shifted[:, 1], shift_prior(plain, Y.mean(), prior), rtol=0, atol=1e-15)
        assert np.array_equal(model.predict(NEW), (shifted[:, 1] > 0.5).astype(int))
    assert np.allclose(
        model.set_params(prior=model.train_prior_).predict_proba(NEW)[:, 1], plain, atol=1e-12
    )
    counts = [model.set_params(prior=prior).predict(NEW).sum() for prior in (0.1, 0.5, 0.9)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]
    with pytest.raises(ValueError, match=r"prior=1\.0 must lie strictly between 0 and 1"):
        model.set_params(prior=1.0).predict_proba(NEW)


def test_parameters_are_nested_and_members_replaced_by_name():
    model, other = fast_duplicates(d=7), FirstText()
    params = model.get_params()
    assert (params["film__film__d"], params["words__logisticregression__C"]) == (7, 0.1)
    assert params["film"] is model.members[0][1] and "film" not in model.get_params(deep=False)
    before = model.members
    model.set_params(film__film__margin=2, cv=3, words=other)
    assert (before[0][1]["film"].margin, model.cv) == (2, 3)
    assert model.members == [before[0], ("words", other)] and before[1][1] is not other
    model.set_params(members=[("new", FirstText())], new__saturated=True)
    ((name, member),) = model.members
    assert name == "new" and member.saturated
    with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
        model.set_params(nobody=1)


def test_the_diagram_names_each_member_and_escapes_everything():
    members = [("texts", WordSum()), ("words", words()), ("<img src=x>", film())]
    page = DuplicateClassifier(members, GaussianNB())._repr_html_()
    assert "<img" not in page
    for name in ("texts", "&lt;img src=x", "WordSum", "WordDifferences", "FILM", "GaussianNB"):
        assert name in page
    assert "boosted or extremely randomised trees" in fast_duplicates()._repr_html_()


WEIGHT = np.random.default_rng(3).random(len(PAIRS)) + 0.1


def test_weights_go_to_the_final_model():
    for final, weighed in [
        (None, None),
        (LogisticRegression(), make_pipeline(LogisticRegression())),
        (make_pipeline(StandardScaler(), GaussianNB()), None),
    ]:
        model = cheap(words(), final_estimator=final).fit(PAIRS, Y, sample_weight=WEIGHT.tolist())
        plain = cheap(words(), final_estimator=final).fit(PAIRS, Y)
        assert np.array_equal(model.out_of_fold_, plain.out_of_fold_)
        assert not np.allclose(model.predict_proba(NEW), plain.predict_proba(NEW))
        if final is None:
            weighed = default_trees(model, WEIGHT)
        elif weighed is not None:
            weighed.fit(model.out_of_fold_, Y, logisticregression__sample_weight=WEIGHT)
        if weighed is not None:
            inputs = model.inputs(NEW)
            assert np.allclose(model.probabilities_of(inputs), weighed.predict_proba(inputs))


def test_weights_are_routed_to_who_asks(tmp_path):
    log = tmp_path / "log"
    with sklearn.config_context(enable_metadata_routing=True):
        member = FirstText(str(log)).set_fit_request(sample_weight=True)
        final = LogisticRegression().set_fit_request(sample_weight=False)
        model = cheap(member, final_estimator=final, cv=3).fit(PAIRS, Y, sample_weight=WEIGHT)
        unweighed = LogisticRegression().fit(model.out_of_fold_, Y)
        assert np.array_equal(model.final_estimator_.coef_, unweighed.coef_)
        assert model.train_prior_ == Y.mean()
        rows = [train for train, _ in DisjointPairsKFold(3, random_state=0).split(PAIRS, Y)]
        for line, train in zip(lines_of(log), [*rows, np.arange(len(Y))], strict=True):
            assert line["weight"] == WEIGHT[train].tolist()
            assert line["pairs"] == PAIRS[train].tolist()
        with pytest.raises(UnsetMetadataPassedError):
            cheap().fit(PAIRS, Y, sample_weight=WEIGHT)
        # The default final model takes weights, asked or not.
        deaf = FirstText().set_fit_request(sample_weight=False)
        routed = cheap(deaf).fit(PAIRS, Y, sample_weight=WEIGHT)
        none_given = cheap(deaf).fit(PAIRS, Y)
    assert all(line["weight"] for line in lines_of(log))
    plain = cheap().fit(PAIRS, Y, sample_weight=WEIGHT)
    assert np.array_equal(routed.predict_proba(NEW), plain.predict_proba(NEW))
    assert np.array_equal(none_given.predict_proba(NEW), cheap().fit(PAIRS, Y).predict_proba(NEW))


@pytest.mark.parametrize("takes", ["final", "member"])
def test_pairs_of_weight_zero_train_nothing_whoever_takes_the_weights(takes, tmp_path):
    weights, kept = np.where(np.arange(len(Y)) % 4, WEIGHT, 0), np.arange(len(Y)) % 4 > 0
    log = tmp_path / "log"
    with sklearn.config_context(enable_metadata_routing=True):
        name = "importance" if takes == "final" else False
        member = FirstText(str(log)).set_fit_request(sample_weight=takes == "member")
        final = LogisticRegression().set_fit_request(sample_weight=name)
        model = cheap(member, final_estimator=final, cv=2)
        given = "importance" if name else "sample_weight"
        weighted = clone(model).fit(PAIRS, Y, **{given: weights})
        without = clone(model).fit(PAIRS[kept], Y[kept], **{given: weights[kept]})
    assert lines_of(log)[2]["pairs"] == PAIRS[kept].tolist()
    assert np.array_equal(weighted.out_of_fold_, without.out_of_fold_)
    assert np.array_equal(weighted.predict_proba(NEW), without.predict_proba(NEW))


@pytest.mark.parametrize("routing", [False, True])
def test_a_search_hands_similar_pairs_and_weights_on(tmp_path, routing):
    log = tmp_path / "log"
    similar = [("sun rise", "moon rise")]
    with sklearn.config_context(enable_metadata_routing=routing):
        final = LogisticRegression()
        model = cheap(WordSum(str(log)), final_estimator=final)
        if routing:
            final.set_fit_request(sample_weight=True)
            model.set_fit_request(similar=True).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"prior": [None]}, cv=DisjointPairsKFold(2, random_state=0))
        search.fit(PAIRS, Y, similar=similar, sample_weight=WEIGHT)
        assert len(lines_of(log)) == 9
        assert all({"sun rise", "moon rise"} <= set(line) for line in lines_of(log))
        best = search.best_estimator_
        weighed = LogisticRegression().fit(best.out_of_fold_, Y, sample_weight=WEIGHT)
        assert np.array_equal(best.final_estimator_.coef_, weighed.coef_)
        assert best.train_prior_ == pytest.approx(np.average(Y, weights=WEIGHT))


def test_a_cache_spares_fits_and_changes_nothing(tmp_path):
    logs = tmp_path / "texts", tmp_path / "pairs"
    members = [("texts", WordSum(str(logs[0]))), ("pairs", FirstText(str(logs[1])))]
    plain = DuplicateClassifier(members, features=None, cv=3).fit(PAIRS, Y)

    def fits():
        found = [len(lines_of(log)) for log in logs]
        for log in logs:
            log.unlink(missing_ok=True)
        return found

    assert fits() == [4, 4]
    model = clone(plain).set_params(memory=str(tmp_path / "cache")).fit(PAIRS, Y)
    assert fits() == [4, 4]
    for changed, expected in [
        ({}, [0, 0]),
        ({"prior": 0.1, "final_estimator": GaussianNB(), "features": "lexical"}, [0, 0]),
        ({"corpus": list(NEW.flat)}, [0, 0]),  # other ranks of the same embedders
        ({"texts__d": 4}, [4, 0]),
    ]:
        again = clone(model).set_params(**changed).fit(PAIRS, Y)
        assert fits() == expected
        uncached = clone(again).set_params(memory=None).fit(PAIRS, Y)
        fits()
        assert np.array_equal(again.out_of_fold_, uncached.out_of_fold_)
        assert np.array_equal(again.predict_proba(NEW), uncached.predict_proba(NEW))
    assert np.array_equal(model.predict_proba(NEW), plain.predict_proba(NEW))
    again = clone(model).fit(PAIRS, 1 - Y)
    assert fits() == [4, 4]
    assert np.array_equal(pickle.loads(pickle.dumps(again)).predict(NEW), again.predict(NEW))


class Sparse(TransformerMixin, BaseEstimator):
    """Features that are refused."""

    def fit(self, pairs, y=None):
        self.differences_ = WordDifferences().fit(pairs)
        return self

    def transform(self, pairs):
        return self.differences_.transform(pairs)


WRONG = [
    ({"members": []}, TypeError, "members=[] is not a list of (name, estimator)"),
    ({"members": FILM()}, TypeError, "is not a list of (name, estimator)"),
    ({"members": [FILM()]}, TypeError, "not a (name, estimator)"),
    ({"members": [("a", FILM(), 1)]}, TypeError, "not a (name, estimator)"),
    ({"members": [(1, FILM())]}, TypeError, "not a (name, estimator)"),
    ({"members": [("", FILM())]}, ValueError, "the name '' is empty"),
    ({"members": [("a__b", FILM())]}, ValueError, "the name 'a__b' holds '__'; choose"),
    ({"members": [("cv", FILM())]}, ValueError, "the name 'cv' is that of a parameter"),
    ({"members": [("a", FILM()), ("a", FILM())]}, ValueError, "'a' is given to two members"),
    (
        {"members": [("a", FILM()), ("b", 5)]},
        TypeError,
        "member 'b' is int, which neither predicts",
    ),
    ({"members": [("a", object())]}, TypeError, "member 'a' is object, which neither predicts"),
    ({"final_estimator": LinearSVC()}, TypeError, "has no predict_proba"),
    ({"final_estimator": Lengths()}, TypeError, "has no predict_proba"),
    ({"final_estimator": "logistic"}, TypeError, "has no predict_proba"),
    ({"features": Sparse()}, TypeError, "features gives a sparse matrix"),
    ({"members": [("a", FILM)]}, TypeError, "member 'a' is a class; give an instance: FILM()"),
    ({"cv": ShuffleSplit(2, random_state=0)}, ValueError, "each of the 120 pairs in exactly one"),
    ({"cv": 500}, ValueError, "500"),
    ({"corpus": "text"}, TypeError, "corpus is one string"),
    ({"corpus": []}, ValueError, "corpus is empty"),
    ({"corpus": ["a", None]}, TypeError, "corpus[1] = None"),
]


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A fitted stack, and the file in which its member writes of each fit."""
    log = tmp_path_factory.mktemp("fits") / "log"
    return cheap(FirstText(str(log))).fit(PAIRS, Y), log


def check_refused(logged, params, error, message, pairs=PAIRS, y=Y, **fit_params):
    model, log = copy.copy(logged[0]), logged[1]
    log.unlink(missing_ok=True)
    before = dict(vars(model))
    fitted = {name for name in before if name.endswith("_") or name.startswith("_")}
    with pytest.raises(error, match=re.escape(message)):
        model.set_params(**params).fit(pairs, y, **fit_params)
    assert lines_of(log) == []
    assert all(vars(model)[name] is before[name] for name in fitted)
    assert vars(model).keys() == before.keys()


@pytest.mark.parametrize(("params", "error", "message"), WRONG)
def test_wrong_parameters_are_named_before_any_work(logged, params, error, message):
    check_refused(logged, params, error, message)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({"similar": [("a", "b", "c")]}, ValueError, "similar row 0 holds 3 entries"),
        ({"weights": np.ones(120)}, TypeError, "fit got ['weights']; without metadata routing"),
        ({"sample_weight": np.ones(5)}, ValueError, "sample_weight has 5 entries for 120 pairs"),
    ],
)
def test_wrong_data_is_named_before_any_work(logged, data, error, message):
    check_refused(logged, {}, error, message, **data)


def test_what_fails_at_work_leaves_the_fitted_state():
    model = cheap(film()).fit(PAIRS, Y)
    before = dict(vars(model))
    found = model.predict_proba(NEW)
    with pytest.raises(TypeError, match="embedder gives sparse vectors; end it with a step"):
        model.set_params(one=TfidfVectorizer()).fit(PAIRS, Y)
    alone, splitter = [(f"a{i}", f"b{i}") for i in range(4)], PredefinedSplit([0, 0, 1, 1])
    with pytest.raises(ValueError, match="no triplet can be mined from the 2 training pairs"):
        model.set_params(one=WordSum(), cv=splitter).fit(alone, [1, 0, 0, 0])
    assert vars(model).keys() == before.keys()
    assert np.array_equal(model.predict_proba(NEW), found)


@pytest.mark.parametrize("call", ["predict_proba", "explain"])
def test_pairs_to_judge_are_checked(fitted, call):
    with pytest.raises(ValueError, match="row 1, column 0 is missing"):
        getattr(fitted, call)([("a", "b"), (None, "c")])
    with pytest.raises(TypeError, match="row 0 is one text"):
        getattr(fitted, call)(["a"])

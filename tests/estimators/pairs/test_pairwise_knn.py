"""The Pairwise kNN classifier, against ranks, folds and rates computed by hand."""

import pickle
import re
import shutil

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import PredefinedSplit, ShuffleSplit
from sklearn.pipeline import Pipeline

from estimators import FILM, PairwiseKNNClassifier
from estimators.inputs import DisjointPairsKFold
from film.datasets import make_question_pairs
from film.pairs.ranks import INFINITE_RANK
from film.text import normalize_text
from tests.estimators.pairs.by_hand import (
    TextsByHand,
    WordVectors,
    clusters_of,
    lines_of,
    write_line,
)


class LoggingFILM(FILM):
    """FILM that leaves a line in a file for each fit."""

    def __init__(self, d=16, *, rank=30, margin=1.0, random_state=0, path=""):
        super().__init__(d=d, rank=rank, margin=margin, random_state=random_state)
        self.path = path

    def fit(self, X, y=None):
        if self.path:
            write_line(self.path, {"margin": self.margin})
        return super().fit(X, y)


class WordSum(WordVectors):
    """Writes the texts and triplets of each fit, and how many texts it maps."""

    def fit(self, texts, triplets):
        if self.path:
            named = [[texts[i] for i in row] for row in triplets]
            write_line(self.path, {"fit": list(texts), "triplets": named})
        self.fitted_ = True
        return self

    def transform(self, texts):
        if self.path:
            write_line(self.path, {"transform": len(texts)})
        return super().transform(texts)


def pipeline(**film):
    return Pipeline([("tfidf", TfidfVectorizer()), ("film", LoggingFILM(**film))])


DATA = make_question_pairs(300, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:240], np.asarray(DATA.y)[:240]
NEW, NEW_Y = np.asarray(DATA.pairs, dtype=object)[240:], np.asarray(DATA.y)[240:]


@pytest.fixture(scope="module")
def fitted():
    return PairwiseKNNClassifier(pipeline(), k=5, cv=3).fit(PAIRS, Y)


class ByHand(TextsByHand):
    """The estimator written as its definition, with dictionaries and float64 loops."""

    def __init__(self, *given, count="texts", copies=None, **texts):
        super().__init__(*given, **texts)
        self.count, self.copies = count, copies

    def counted(self, rows):
        pairs, labels = self.told(rows)
        texts = {text for pair in pairs for text in pair}
        if self.corpus is not None:
            texts = self.corpus | {text for pair in self.pairs + self.similar for text in pair}
        if self.count == "texts":
            return texts
        links = [pair for pair, label in zip(pairs, labels, strict=True) if label]
        clusters = clusters_of(links)
        by_spelling = sorted(texts, key=lambda text: self.spelling[text])
        seen, kept = set(), set()
        for text in by_spelling:
            if text not in seen:
                kept.add(text)
                seen |= clusters.get(text, {text})
        return kept

    def ranks(self, rows, judged, counted_rows=None):
        """Ranks of some pairs of texts, where the training pairs are those of some rows."""
        metric, counted = self.fit(rows), sorted(self.counted(counted_rows or rows))
        new = {normalize_text(text): text for text in np.ravel(judged)} | self.spelling
        points = dict(
            zip(new, metric.transform(np.array(list(new.values()), dtype=object)), strict=True)
        )
        unit = {}
        for text, point in points.items():
            norm = np.sqrt(np.sum(np.asarray(point, dtype=float) ** 2))
            unit[text] = point / norm if norm > 0 else None
        if self.copies is not None:
            kept = []
            for text in [text for text in self.spelling if text in counted]:
                close = [
                    unit[text] is not None
                    and unit[other] is not None
                    and unit[text] @ unit[other] > self.copies
                    for other in kept
                ]
                kept += [] if any(close) else [text]
            counted = kept

        def rank(x, other):
            if x == other:
                return 0
            if unit[x] is None or unit[other] is None:
                return INFINITE_RANK
            rivals = [unit[t] for t in counted if t not in (x, other) and unit[t] is not None]
            return int(np.sum(np.array(rivals) @ unit[x] > unit[x] @ unit[other] + 1e-12))

        named = [tuple(map(normalize_text, pair)) for pair in judged]
        return np.array([[rank(a, b), rank(b, a)] for a, b in named])


EXTRA = [(pair[0], f"{pair[0]} please") for pair in PAIRS[:60:2]] + [
    ("Is tea better than milk", "Is milk worse than tea"),
    ("Is milk worse than tea?", "Do people prefer tea to milk"),
]


@pytest.mark.parametrize(
    ("collection", "count", "copies", "similar"),
    [
        (False, "texts", None, None),
        (False, "questions", None, EXTRA),
        (False, "texts", 0.8, EXTRA),
        (True, "texts", None, EXTRA),
        (True, "questions", None, None),
        (True, "texts", 0.8, None),
    ],
)
def test_ranks_are_those_of_the_definition(collection, count, copies, similar):
    corpus = list(np.ravel(NEW)) if collection else None
    pairs, y, judged = PAIRS[:150], Y[:150], np.vstack([NEW[:25], PAIRS[:25]])
    counting = {"corpus": corpus, "count": count, "copies": copies}
    knn = PairwiseKNNClassifier(pipeline(), k=5, cv=3, **counting)
    knn.fit(pairs, y, similar=similar)
    hand = ByHand(pipeline(), pairs, y, similar=similar or (), **counting)
    out_of_fold = np.full((150, 2), -1)
    folds = list(DisjointPairsKFold(3, random_state=0).split(pairs, y))
    for train, test in folds:
        out_of_fold[test] = hand.ranks(train.tolist(), pairs[test])
    assert np.array_equal(knn.out_of_fold_ranks_, out_of_fold)
    # Predictions count as many texts as the folds did: those of the first one.
    wanted = hand.ranks(range(150), judged, folds[0][0].tolist())
    assert np.array_equal(knn.rank(judged), wanted)
    assert len(np.unique(wanted)) > 20


@pytest.mark.parametrize(("mode", "k"), [("both", 1), ("both", 40), ("either", 7)])
def test_predictions_are_the_rule_and_its_smoothed_rates(fitted, mode, k):
    knn = clone(fitted).set_params(k=k, mode=mode).fit(PAIRS, Y)
    reduce = {"both": max, "either": min}[mode]
    inside = np.array([reduce(row) < k for row in knn.rank(NEW).tolist()])
    assert np.array_equal(knn.predict(NEW), inside.astype(int))
    own = np.array([reduce(row) < k for row in knn.out_of_fold_ranks_.tolist()])
    inside_rate = (Y[own].sum() + 1) / (own.sum() + 2)
    outside_rate = (Y[~own].sum() + 1) / ((~own).sum() + 2)
    assert knn.inside_rate_ == pytest.approx(inside_rate, abs=1e-15)
    assert knn.outside_rate_ == pytest.approx(outside_rate, abs=1e-15)
    probabilities = knn.predict_proba(NEW)
    duplicate = np.where(inside, inside_rate, outside_rate)
    assert np.allclose(probabilities, np.column_stack([1 - duplicate, duplicate]), atol=1e-15)
    assert knn.score(NEW, NEW_Y) == np.mean(inside == NEW_Y)


@pytest.mark.parametrize("mode", ["both", "either"])
def test_the_curve_over_k_is_a_loop_over_k(fitted, mode):
    knn = clone(fitted).set_params(mode=mode).fit(PAIRS, Y)
    ks = [1, 2, 5, 17, 55]
    curve = knn.k_curve(NEW, NEW_Y, ks)
    for at, k in enumerate(ks):
        decided = knn.set_params(k=k).predict(NEW)
        assert curve.ks[at] == k
        assert curve.accuracy[at] == np.mean(decided == NEW_Y)
        assert curve.tpr[at] == np.mean(decided[NEW_Y == 1])
        assert curve.fpr[at] == np.mean(decided[NEW_Y == 0])
    assert knn.k_curve(NEW, NEW_Y).ks.tolist() == list(range(1, 56))


def test_which_spelling_stands_for_a_text_depends_on_no_order():
    # The embedder tells cases apart, the numbering does not.
    pairs = [("Red Car", "fast bus"), ("red car", "RED CAR now"), ("blue", "Blue sky"), ("a", "b")]
    y = [1, 0, 1, 0]
    knn = PairwiseKNNClassifier(WordSum(), k=1, cv=2).fit(pairs, y)
    other = PairwiseKNNClassifier(WordSum(), k=1, cv=2).fit([pair[::-1] for pair in pairs], y)
    judged = [("RED car", "bus"), ("fast bus", "red CAR"), ("BLUE", "sky a")]
    assert np.array_equal(knn.rank(judged), other.rank(judged))
    assert np.array_equal(knn.out_of_fold_ranks_, other.out_of_fold_ranks_[:, ::-1])


def test_spellings_of_one_new_text_do_not_stand_for_each_other():
    pairs, y = PAIRS[:80], Y[:80]
    knn = PairwiseKNNClassifier(WordSum(), k=1, cv=2).fit(pairs, y)
    for spelling, rival in [("zebra-zoo walk", "Zebra Zoo Walk"), ("ﬁsh soup", "fish soup")]:
        pair = (spelling, pairs[0][0])
        alone = knn.rank([pair])
        assert not np.array_equal(alone, knn.rank([(rival, pairs[0][0])]))
        assert np.array_equal(knn.rank([(rival, "dog"), pair])[1:], alone)
        assert (
            knn.rank([(spelling, rival), pair, (rival, spelling)])[[0, 2]].tolist() == [[0, 0]] * 2
        )


def test_texts_that_read_alike_have_rank_zero(fitted):
    known, new = PAIRS[0, 0], "Wholly new: words, never met?"
    pairs = [(text, f" {text.upper()} !!") for text in (known, new)] + [(new, new), ("", "?!")]
    assert fitted.rank(pairs).tolist() == [[0, 0]] * 4
    assert fitted.predict(pairs).tolist() == [1] * 4


ODD = [
    "",
    "   \t\n",
    "?!",
    "word",
    "x" * 20_000,
    "why not " * 2_500,
    "日本語の質問ですか",
    "هل هذا سؤال؟",
    "क्या यह प्रश्न है",
    "🙂🙃",
    "a\x00b \u202e\u200b",
    "e\u0301\u0327 ﬁ Ⅷ ß İ",
    "\ud800 alone",
    "zyx wvu tsr",
]


@pytest.mark.parametrize("collection", [False, True])
def test_odd_texts_give_finite_probabilities(fitted, collection):
    judged = [(odd, PAIRS[i, 0]) for i, odd in enumerate(ODD)]
    judged += [(first, second) for first in ODD for second in ODD]
    knn = fitted
    if collection:
        knn = clone(fitted).set_params(corpus=ODD).fit(PAIRS, Y)
    probabilities = knn.predict_proba(judged)
    assert np.all((probabilities > 0) & (probabilities < 1))
    assert np.allclose(probabilities.sum(axis=1), 1)
    for silent in ("", "   \t\n", "?!", "zyx wvu tsr", "🙂🙃"):
        pair = [(silent, PAIRS[0, 0])]
        assert np.all(knn.rank(pair) == INFINITE_RANK)
        assert knn.set_params(k=10**9).predict(pair).tolist() == [0]
        knn.set_params(k=5)


@pytest.mark.parametrize("count", ["texts", "questions"])
def test_odd_texts_can_be_learned_from(count):
    odd = [(odd, PAIRS[i, 0]) for i, odd in enumerate(ODD)]
    odd += [("", "lonely words here"), ("", "?"), (" ", "other lonely words")]
    odd += [(text, text) for text in ODD]
    pairs = np.vstack([PAIRS, np.array(odd, dtype=object)])
    for label in (0, 1):
        y = np.append(Y, np.full(len(odd), label))
        knn = PairwiseKNNClassifier(pipeline(), k=5, cv=2, count=count).fit(pairs, y)
        probabilities = knn.predict_proba(pairs)
        assert np.all((probabilities > 0) & (probabilities < 1))
        assert np.all(knn.out_of_fold_ranks_ >= 0)


def test_texts_without_words_are_never_mined(tmp_path):
    path = str(tmp_path / "log")
    pairs = [("a", "b"), ("", "c"), ("?", "d"), ("e", "f"), ("g", "h"), ("i", "j")]
    cv = PredefinedSplit([0, 0, 0, 0, 1, 1])
    PairwiseKNNClassifier(WordSum(path), cv=cv).fit(pairs, [1, 1, 1, 0, 1, 0])
    triplets = [line["triplets"] for line in lines_of(path) if "fit" in line][-1]
    mates = {(anchor, mate) for anchor, mate, _ in triplets}
    # Two texts are no duplicates for being both said to be duplicates of nothing.
    assert mates == {
        *[("a", "b"), ("b", "a"), ("g", "h"), ("h", "g")],
        *[(end, "") for end in "efij"],
    }


def test_duplicates_of_nothing_count_as_two_questions():
    pairs = [("", "blue red"), ("?", "red red blue blue"), ("e", "f"), ("g", "h"), ("i", "j")]
    pairs += [("k", "l"), ("m", "n"), ("o", "p")]
    cv = PredefinedSplit([0, 1, 0, 1, 0, 1, 0, 1])
    knn = PairwiseKNNClassifier(WordSum(), cv=cv, count="questions")
    judged = [("red blue", "red"), ("red blue", "blue")]
    ranks = [knn.fit(pairs, [told, told, 1, 1, 0, 0, 0, 0]).rank(judged) for told in (0, 1)]
    assert np.all(ranks[0][:, 0] >= 2)
    assert np.array_equal(ranks[1], ranks[0])


@pytest.mark.filterwarnings("ignore:rank=200")
def test_the_default_embedder_is_film_over_trigrams_and_counts_copies_once():
    knn = PairwiseKNNClassifier(cv=2).fit(PAIRS[:60], Y[:60])
    same = PairwiseKNNClassifier(knn.embedder_, copies=0.7, cv=2).fit(PAIRS[:60], Y[:60])
    assert np.array_equal(knn.out_of_fold_ranks_, same.out_of_fold_ranks_)
    assert np.array_equal(knn.rank(NEW), same.rank(NEW))
    assert [type(step).__name__ for _, step in knn.embedder_.steps] == ["TfidfVectorizer", "FILM"]
    assert knn.predict(NEW).shape == (len(NEW),)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_random": 0}, ValueError, "n_random=0 must be 1 or more"),
        ({"embedder": TfidfVectorizer()}, TypeError, "embedder gives sparse vectors"),
        (
            {"cv": ShuffleSplit(2, random_state=0)},
            ValueError,
            "must test each of the 240 pairs in exactly one fold",
        ),
    ],
)
def test_bad_settings_are_named_and_leave_the_fit_alone(fitted, settings, error, message):
    knn = pickle.loads(pickle.dumps(fitted)).set_params(**settings)
    with pytest.raises(error, match=re.escape(message)):
        knn.fit(PAIRS, Y)
    knn.set_params(**{name: getattr(fitted, name) for name in settings})
    assert np.array_equal(knn.predict_proba(NEW), fitted.predict_proba(NEW))


def test_a_pair_with_both_labels_warns_and_counts_as_similar(tmp_path):
    path = str(tmp_path / "log")
    pairs = [("a", "b"), ("c", "d"), ("B?", "A"), ("e", "f"), ("g", "h")]
    with pytest.warns(UserWarning, match=r"pairs with both labels: 1, .*rows \[0, 2\]"):
        PairwiseKNNClassifier(WordSum(path), cv=2).fit(pairs, [0, 1, 1, 0, 1])
    triplets = [line["triplets"] for line in lines_of(path) if "fit" in line][-1]
    told = {(anchor.lower(), mate.lower()) for anchor, mate, _ in triplets}
    assert {("a", "b?"), ("b?", "a")} <= told or {("a", "b"), ("b", "a")} <= told
    assert ("a", "") not in told and ("b", "") not in told


def test_a_pickle_outlives_the_cache_folder(fitted, tmp_path):
    folder = tmp_path / "cache"
    knn = clone(fitted).set_params(memory=str(folder)).fit(PAIRS, Y)
    saved = pickle.dumps(knn)
    shutil.rmtree(folder)
    again = pickle.loads(saved)
    assert np.array_equal(again.rank(NEW), fitted.rank(NEW))
    assert np.array_equal(again.embedder_.transform(["red"]), fitted.embedder_.transform(["red"]))


def test_a_cached_fit_is_read_not_repeated(tmp_path):
    path = str(tmp_path / "log")
    knn = PairwiseKNNClassifier(WordSum(path), k=5, cv=3, memory=str(tmp_path / "cache"))
    first = clone(knn).fit(PAIRS, Y).predict_proba(NEW)
    n_lines = len(lines_of(path))
    # Fits, and maps of the known texts by each of them and of the new ones by the last.
    assert n_lines == 4 + 4 + 1
    again = clone(knn).fit(PAIRS, Y)
    assert np.array_equal(again.predict_proba(NEW), first)
    wider = clone(knn).set_params(k=30, mode="either").fit(PAIRS, Y)
    assert not np.array_equal(wider.predict_proba(NEW), first)
    assert len(lines_of(path)) == n_lines
    # The fit itself was never run here, yet its embedder can be had.
    assert again.embedder_.fitted_
    assert again.embedder_.transform(["red", "blue"]).shape == (2, 5)
    for settings, more in [
        ({"embedder__d": 4}, {}),
        ({"n_random": 2}, {}),
        ({"random_state": 1}, {}),
        ({"count": "questions"}, {}),
        ({"corpus": ["red"]}, {}),
        ({"cv": 2}, {}),
        ({}, {"similar": EXTRA}),
    ]:
        before = len(lines_of(path))
        clone(knn).set_params(**settings).fit(PAIRS, Y, **more)
        assert len(lines_of(path)) > before, settings
    before = len(lines_of(path))
    clone(knn).fit(PAIRS, 1 - Y)
    clone(knn).fit(PAIRS[1:], Y[1:])
    assert len(lines_of(path)) == before + 2 * (4 + 4)


@pytest.mark.parametrize("memory", [True, False])
def test_fits_two_at_a_time_are_those_of_one(memory, tmp_path):
    folder = tmp_path if memory else None
    alone = PairwiseKNNClassifier(pipeline(), k=5, cv=3).fit(PAIRS, Y)
    with parallel_config("threading", n_jobs=2):
        knn = PairwiseKNNClassifier(pipeline(), k=5, cv=3, memory=folder).fit(PAIRS, Y)
    assert np.array_equal(knn.out_of_fold_ranks_, alone.out_of_fold_ranks_)
    assert np.array_equal(knn.rank(NEW), alone.rank(NEW))
    # What is saved has no points, and finds them again.
    read = pickle.loads(pickle.dumps(knn))
    assert not hasattr(read, "_points") and np.array_equal(read.rank(NEW), knn.rank(NEW))


def test_ranks_out_of_fold_are_those_of_a_fit_at_one_fit_less(tmp_path):
    data = make_question_pairs(200, random_state=0)
    log = str(tmp_path / "log")
    rule = PairwiseKNNClassifier(pipeline(path=log), cv=3, corpus=["a corpus"])
    ranks = rule.fit_out_of_fold(data.pairs[:150], data.y[:150], data.pairs[150:])
    assert len(lines_of(log)) == 3
    assert not hasattr(rule, "classes_")
    rule.fit(data.pairs[:150], data.y[:150], data.pairs[150:])
    np.testing.assert_array_equal(ranks, rule.out_of_fold_ranks_)
    assert len(lines_of(log)) == 3 + 4
    with pytest.raises(ValueError, match="k=0"):
        rule.set_params(k=0).fit_out_of_fold(data.pairs, data.y)


def test_ranks_of_the_first_folds_alone_are_those_of_all_folds(tmp_path):
    data = make_question_pairs(200, random_state=0)
    log = str(tmp_path / "log")
    rule = PairwiseKNNClassifier(pipeline(path=log), cv=3, memory=str(tmp_path / "cache"))
    some = rule.fit_out_of_fold(data.pairs, data.y, n_folds=2)
    assert len(lines_of(log)) == 2
    every = rule.fit_out_of_fold(data.pairs, data.y)
    assert len(lines_of(log)) == 3
    _, last = list(DisjointPairsKFold(3, random_state=0).split(data.pairs, data.y))[2]
    assert (some[last] == -1).all() and len(last) > 20
    there = np.setdiff1d(np.arange(len(some)), last)
    np.testing.assert_array_equal(some[there], every[there])
    assert every.min() >= 0
    with pytest.raises(ValueError, match="n_folds=0 must be 1 or more"):
        rule.fit_out_of_fold(data.pairs, data.y, n_folds=0)

"""Members of every kind in a stack: frozen ones, those with folds of their own, and failures."""

import json
import re
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    DuplicateClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenEncoder,
    TokenFILM,
    TokenMatchingRegressor,
    WordDifferences,
    load_model,
    save_model,
)
from estimators.inputs import DisjointPairsKFold
from estimators.pairs.stack import final_model
from estimators.pairs.stack.member_folds import is_frozen
from estimators.pairs.stack.members import EMBEDDER_COLUMNS
from film.datasets import make_question_pairs
from film.pairs import NEIGHBOURHOOD_NAMES, neighbour_ranks, neighbourhood_features
from film.text import token_text
from tests.estimators.tiny_model import make_tiny_model

# Small problems are reduced and left unconverged, and tiny models know few words.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
DATA = make_question_pairs(110, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:80], np.asarray(DATA.y)[:80]
NEW = np.asarray(DATA.pairs, dtype=object)[80:]


def film():
    return make_pipeline(TfidfVectorizer(), FILM(12, rank=20, random_state=0))


class Logged(ClassifierMixin, BaseEstimator):
    """Pair classifier that writes the rows of each fit, by the first text, and may fail."""

    def __init__(self, path="", fails_at=None, noise=0):
        self.path = path
        self.fails_at = fails_at
        self.noise = noise

    def fit(self, pairs, y):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([pair[0] for pair in pairs.tolist()]) + "\n")
        with open(self.path, encoding="utf-8") as file:
            if len(file.readlines()) == self.fails_at:
                raise ValueError("no convergence")
        self.known_ = {text: int(label) for (text, _), label in zip(pairs, y, strict=True)}
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, pairs):
        # It remembers every label that it saw: a leak cannot be overlooked.
        return np.array([2.0 * self.known_.get(text, 0.5) - 1 for text, _ in pairs])


def fits(path):
    if not path.exists():
        return []
    return [set(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def apart(n, seed=0):
    """Pairs that share no question, with labels of noise."""
    pairs = np.array([(f"left {i} x{i}", f"right {i} y{i}") for i in range(n)], dtype=object)
    return pairs, np.random.default_rng(seed).integers(0, 2, n)


def test_a_member_with_folds_of_its_own_is_fitted_for_each_part_and_for_all(tmp_path):
    pairs, y = apart(60)
    log = tmp_path / "log"
    fold = np.arange(60) % 5
    members = [("rare", Logged(str(log))), ("usual", Logged(str(tmp_path / "usual")))]
    model = DuplicateClassifier(
        members, features=None, cv=PredefinedSplit(fold), member_cv={"rare": 2}
    ).fit(pairs, y)
    part = np.array([0, 0, 0, 1, 1])[fold]
    texts = pairs[:, 0]
    assert fits(log) == [set(texts[part == 1]), set(texts[part == 0]), set(texts)]
    assert len(fits(tmp_path / "usual")) == 6
    # Who never saw a pair says 0 of it.
    assert np.array_equal(model.out_of_fold_, np.zeros((60, 2)))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"member_cv": 2}, TypeError, "member_cv=2 must be a dict of the names of members"),
        ({"member_cv": {"b": 2}}, ValueError, "member_cv names 'b'; members are one, two"),
        ({"member_cv": {"one": 1}}, ValueError, "member_cv['one']=1 must be 2 or more"),
        ({"member_cv": {"one": "2"}}, TypeError, "member_cv['one']='2' must be an integer"),
        ({"member_cv": {"one": 2, "two": 3}, "cv": 6}, ValueError, "give all members the same"),
        ({"member_cv": {"one": 3}}, ValueError, "member_cv=3 needs cv=6 or more"),
        ({"neighbourhood": 0}, ValueError, "neighbourhood=0 must be 1 or more"),
        ({"neighbourhood": "all"}, ValueError, "neighbourhood='all' must be one of 'auto'"),
        ({"neighbourhood": 1.5}, TypeError, "neighbourhood=1.5 must be an integer"),
    ],
)
def test_wrong_parameters_are_named_before_any_work(tmp_path, given, error, message):
    log = tmp_path / "log"
    members = [("one", Logged(str(log))), ("two", film())]
    with pytest.raises(error, match=re.escape(message)):
        DuplicateClassifier(members, **given).fit(PAIRS, Y)
    assert not log.exists()


def test_a_frozen_member_takes_no_folds_of_its_own():
    frozen = FrozenEstimator(Counted().fit([]))
    model = DuplicateClassifier([("frozen", frozen)], member_cv={"frozen": 2})
    with pytest.raises(ValueError, match="'frozen', which learns nothing and is fitted once"):
        model.fit(PAIRS, Y)


@pytest.mark.parametrize("memory", [False, True])
def test_a_failure_names_member_and_fold_and_what_is_kept(tmp_path, memory):
    log = tmp_path / "log"
    kept = str(tmp_path / "kept") if memory else None
    members = [("film", film()), ("rare", Logged(str(log), fails_at=2))]
    model = DuplicateClassifier(members, features=None, cv=3, memory=kept)
    with pytest.raises(ValueError, match="no convergence") as caught:
        model.fit(PAIRS, Y)
    (note,) = caught.value.__notes__
    assert "member 'rare' failed in fold 2 of 3" in note
    assert "Finished: film, all pairs; rare, fold 1 of 3; kept" in note
    assert (f"kept in {kept}" if memory else "kept nowhere: with memory='FOLDER'") in note
    if memory:
        # The same call goes on from the second fold.
        model.fit(PAIRS, Y)
        assert len(fits(log)) == 2 + 3


@pytest.mark.parametrize(("cv", "judged"), [(3, "fold 1 and fold 3"), (2, "fold 1")])
def test_a_failure_in_a_nested_fit_is_named_too(tmp_path, cv, judged):
    """Of two folds there are four nested fits, each to half a fold."""
    fails_at = cv + 1 + 2
    rare = Logged(str(tmp_path / "log"), fails_at=fails_at)
    members = [("film", film()), ("rare", rare)]
    model = DuplicateClassifier(members, features=None, cv=cv, memory=str(tmp_path / "kept"))
    model.fit(PAIRS, Y)
    n = {3: 3, 2: 4}[cv]
    said = (
        f"no convergence. member 'rare' failed in nested fit 2 of {n}, which scores {judged}. "
        f"Finished: film, {n} of {n} nested fits; rare, 1 of {n} nested fits; kept in {tmp_path}"
    )
    with pytest.warns(UserWarning, match=re.escape(said)):
        model.out_of_fold_probabilities()


class Counted(TransformerMixin, BaseEstimator):
    """Vectors by letters; counts the texts that it is given."""

    n_texts = 0

    def fit(self, texts, y=None):
        self.fitted_ = True
        return self

    def transform(self, texts):
        Counted.n_texts += len(texts)
        letters = "abcdefghijklmnopqrstuvwxyz"
        return np.array(
            [[text.lower().count(letter) for letter in letters] for text in texts], float
        )


@pytest.mark.parametrize("collection", [False, True])
def test_a_frozen_member_meets_every_text_once_or_twice_and_says_the_same(collection):
    corpus = list(NEW.flat) if collection else None
    frozen = FrozenEstimator(Counted().fit([]))
    options = {"features": None, "cv": 4, "corpus": corpus, "neighbourhood": 3}
    Counted.n_texts = 0
    model = DuplicateClassifier([("letters", frozen)], **options).fit(PAIRS, Y)
    known = {token_text(text) for text in [*PAIRS.flat, *(corpus or ())]}
    # Once for all folds, once for the corpus of predictions, and the near copies.
    assert Counted.n_texts <= 2 * len(known) + 60
    # The same member, fitted anew for each fold.
    again = DuplicateClassifier([("letters", Counted())], **options).fit(PAIRS, Y)
    assert np.array_equal(model.out_of_fold_, again.out_of_fold_)
    assert np.array_equal(model.predict_proba(NEW), again.predict_proba(NEW))


@pytest.mark.parametrize("collection", [False, True])
def test_columns_of_the_neighbourhood_are_those_of_the_definition(collection):
    corpus = list(NEW.flat) if collection else None
    frozen = FrozenEstimator(Counted().fit([]))
    model = DuplicateClassifier(
        [("letters", frozen)], features=None, cv=3, corpus=corpus, neighbourhood=4
    ).fit(PAIRS, Y)
    assert model.feature_names_out_[3:] == [f"letters: {name}" for name in NEIGHBOURHOOD_NAMES]
    for train, test in DisjointPairsKFold(3, random_state=0).split(PAIRS, Y):
        # One spelling of each text that reads alike, in the order of the alphabet.
        texts: dict[str, str] = {}
        for text in [*sorted({*PAIRS.flat}), *sorted(corpus or ())]:
            texts.setdefault(token_text(text), text)
        place = {key: number for number, key in enumerate(texts)}
        points = Counted().transform(list(texts.values()))
        counted = [*PAIRS[train].flat, *(PAIRS[test].flat if collection else ()), *(corpus or ())]
        counted = sorted({place[token_text(text)] for text in counted})
        codes = [[place[token_text(text)] for text in pair] for pair in PAIRS[test]]
        wanted = neighbourhood_features(points, codes, counted, k=4)
        found = model.out_of_fold_[test, 3:]
        ranks = np.log1p(np.minimum(neighbour_ranks(points, codes, counted), 4))
        assert np.allclose(model.out_of_fold_[test, 1:3], np.sort(ranks, axis=1))
        # Numbers of texts, which part ties, may differ: what ties leave open is left out.
        assert np.allclose(found[:, :5], wanted[:, :5], rtol=0, atol=1e-12)


def test_neighbourhoods_are_taken_where_pairs_are_many(monkeypatch):
    """Of few hundred labels a linear model learns less with their columns than without."""
    frozen = FrozenEstimator(Counted().fit([]))
    members = [("letters", frozen)]
    model = DuplicateClassifier(members, features=None, cv=3, neighbourhood="auto")
    few = clone(model).fit(PAIRS, Y)
    assert few.feature_names_out_ == [f"letters: {name}" for name in EMBEDDER_COLUMNS]
    for least, has_them in ((len(Y), True), (len(Y) + 1, False)):
        monkeypatch.setattr(final_model, "BOOSTING_PAIRS", least)
        fitted = clone(model).set_params(final_estimator=LogisticRegression()).fit(PAIRS, Y)
        assert (len(fitted.feature_names_out_) > 3) == has_them
        if has_them:
            twenty = clone(model).set_params(final_estimator=LogisticRegression(), neighbourhood=20)
            wanted = twenty.fit(PAIRS, Y).out_of_fold_
            assert np.array_equal(fitted.out_of_fold_, wanted)


def test_neighbourhoods_learn_nothing_from_noise():
    """Questions in several pairs, labels of noise: which pairs are listed must tell nothing."""
    rng = np.random.default_rng(0)
    vocabulary = [f"w{i}" for i in range(300)]
    pairs = []
    for _ in range(100):
        questions = [" ".join(rng.choice(vocabulary, 6)) for _ in range(4)]
        pairs += [(questions[i], questions[j]) for i in range(4) for j in range(i)]
    y = rng.integers(0, 2, len(pairs))
    members = [("film", film())]
    model = DuplicateClassifier(members, features=None, cv=3, neighbourhood=5).fit(pairs, y)
    areas = [roc_auc_score(y, column) for column in model.out_of_fold_.T]
    # The area of 600 pairs of noise spreads by .024; nine columns are looked at.
    assert np.abs(np.array(areas) - 0.5).max() < 0.085
    assert abs(roc_auc_score(y, model.out_of_fold_probabilities()) - 0.5) < 0.085


def test_which_members_are_frozen():
    nothing = [
        SentenceEncoder(),
        RCMDRegressor(),
        RCMDRegressor(weights="words"),
        TokenMatchingRegressor(),
        FrozenEstimator(LogisticRegression()),
        make_pipeline(SentenceEncoder()),
        RCMDRegressor(FrozenEstimator(TokenFILM())),
    ]
    something = [
        SentenceEncoder(whiten=8),
        RCMDRegressor(epochs=1),
        RCMDRegressor(weights="idf"),
        TokenMatchingRegressor(weights="idf"),
        make_pipeline(SentenceEncoder(), FILM()),
        RCMDRegressor(TokenFILM()),
        TokenMatchingRegressor(TokenFILM()),
        TfidfVectorizer(),
        film(),
    ]
    assert all(map(is_frozen, nothing)) and not any(map(is_frozen, something))


PLACE = "no/such/place"
NOT_THERE = "model='no/such/place': there is no"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda _: SentenceEncoder(device="cuda:77"), ValueError, "device='cuda:77' "),
        (lambda _: make_pipeline(SentenceEncoder(PLACE), FILM()), FileNotFoundError, NOT_THERE),
        (lambda _: RCMDRegressor(PLACE), FileNotFoundError, NOT_THERE),
        (lambda _: RCMDRegressor(TokenFILM(TokenEncoder(PLACE))), FileNotFoundError, NOT_THERE),
        (partial(SentenceEncoder, max_length=65), ValueError, "max_length=65 is more than the 64"),
        (
            lambda model: RCMDRegressor(TokenFILM(TokenEncoder(model, max_length=65))),
            ValueError,
            "max_length=65 is more than the 64",
        ),
        (
            partial(RCMDRegressor, epochs=1, max_length=64, train_max_length=65),
            ValueError,
            "train_max_length=65 is more than the 64",
        ),
        (lambda _: SentenceEncoder(5), TypeError, "model=5 must be the name of a model on the"),
        (lambda _: RCMDRegressor(5, epochs=1), TypeError, "model=5 must be the name of a model"),
    ],
)
def test_an_encoder_that_cannot_be_used_is_named_before_any_work(
    tmp_path, tiny_model, make, error, message
):
    pytest.importorskip("transformers", reason="needs the extra neural")
    log = tmp_path / "log"
    # A length that was right does not vouch for another.
    short = ("short", FrozenEstimator(SentenceEncoder(tiny_model, max_length=64).fit(["a"])))
    members = [("pairs", Logged(str(log))), short, ("far", make(tiny_model))]
    with pytest.raises(error, match=f"^member 'far': {message}"):
        DuplicateClassifier(members).fit(PAIRS, Y)
    assert not log.exists()


def test_an_encoder_that_changed_since_the_kept_fits_is_named(tmp_path):
    """Without this, folds by the former encoder and folds by the new one made one stack."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    place, kept, log = tmp_path / "encoder", str(tmp_path / "kept"), tmp_path / "log"
    make_tiny_model(place, seed=0)
    vectors = make_pipeline(SentenceEncoder(place, max_length=16), FILM(6, rank=8, random_state=0))
    members = [("vectors", vectors), ("rare", Logged(str(log), fails_at=1))]
    model = DuplicateClassifier(members, features=None, cv=2, memory=kept)
    with pytest.raises(ValueError, match="no convergence"):
        model.fit(PAIRS, Y)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    make_tiny_model(place, seed=1)
    message = f"member 'vectors': the files of model={place!r} are not those of the fits that"
    with pytest.raises(ValueError, match=re.escape(f"{message} memory={kept!r} keeps")):
        model.fit(PAIRS, Y)
    assert len(fits(log)) == 1
    # Another folder, none, or the former files are remedies.
    fresh = clone(model).set_params(memory=str(tmp_path / "other")).fit(PAIRS, Y)
    none = clone(model).set_params(memory=None).fit(PAIRS, Y)
    assert np.array_equal(fresh.out_of_fold_, none.out_of_fold_)
    for name, content in before.items():
        (place / name).write_bytes(content)
    former = model.fit(PAIRS, Y)
    assert not np.allclose(former.out_of_fold_[:, 0], none.out_of_fold_[:, 0])


def test_an_embedder_of_tokens_is_no_member(tiny_model):
    members = [("tokens", TokenEncoder(tiny_model, max_length=32))]
    with pytest.raises(TypeError, match="embedder returns Ragged, not one vector per text"):
        DuplicateClassifier(members, cv=2).fit(PAIRS, Y)


class CountedRegressor(RegressorMixin, BaseEstimator):
    """Symmetric regressor with a similarity; counts the pairs that it judges."""

    n_pairs = 0

    def fit(self, pairs, y=None):
        self.fitted_ = True
        return self

    def similarity(self, pairs):
        CountedRegressor.n_pairs += len(pairs)
        return np.array([-abs(len(a) - len(b)) for a, b in pairs], dtype=float)

    predict = similarity


def test_a_symmetric_regressor_is_asked_once():
    frozen = FrozenEstimator(CountedRegressor().fit([]))
    model = DuplicateClassifier([("one", CountedRegressor())], features=None, cv=2)
    model.fit(PAIRS, Y)
    CountedRegressor.n_pairs = 0
    found = model.inputs(NEW)
    assert CountedRegressor.n_pairs == len(NEW)
    assert np.array_equal(model.inputs(NEW[:, ::-1]), found)
    assert DuplicateClassifier([("one", frozen)], features=None, cv=2).fit(PAIRS, Y)


@pytest.fixture(scope="module")
def neural(tiny_model):
    """A stack of frozen and trained members on one tiny model, members with a memory."""
    cpu = {"model": str(tiny_model), "device": "cpu", "max_length": 32}
    trained = RCMDRegressor(
        objective="binary", epochs=0.5, train_batch_size=16, random_state=0, **cpu
    )
    members = [
        ("cosine", SentenceEncoder(**cpu)),
        ("film", make_pipeline(SentenceEncoder(**cpu), FILM(12, rank=16, random_state=0))),
        ("rcmd", trained),
        ("untrained", RCMDRegressor(**cpu)),
        ("matching", TokenMatchingRegressor(**cpu)),
    ]
    return DuplicateClassifier(members, cv=4, member_cv={"rcmd": 2}, neighbourhood=3)


def test_neural_members_share_one_encoder_and_are_kept(neural, tmp_path, monkeypatch):
    from estimators.encoders.frozen_encoder import SentenceEncoder as Encoder

    encoded = []
    transform = Encoder.transform

    def counting(self, texts):
        encoded.extend(texts)
        return transform(self, texts)

    monkeypatch.setattr(Encoder, "transform", counting)
    model = neural.set_params(memory=str(tmp_path / "memory")).fit(PAIRS, Y)
    # All texts once for all members, in place of once for each of eleven fits; near copies for the
    # final model, and a sample by which familiarity knows the texts.
    assert len(encoded) <= 2 * len({*PAIRS.flat}) + 2 * 20
    encoded.clear()
    model.inputs(NEW)
    assert len(encoded) == len(set(encoded))
    # Another fit reads everything that was learned from the folder.
    monkeypatch.setattr(RCMDRegressor, "fit", None)
    again = neural.fit(PAIRS, Y)
    assert np.array_equal(again.out_of_fold_, model.out_of_fold_)
    assert np.allclose(again.predict_proba(NEW), model.predict_proba(NEW), rtol=0, atol=1e-5)
    neural.set_params(memory=None)


def test_pipelines_on_shared_vectors_are_those_of_scikit_learn(tiny_model):
    cpu = {"model": str(tiny_model), "device": "cpu", "max_length": 32}
    embedder = make_pipeline(SentenceEncoder(**cpu), FILM(12, rank=16, random_state=0))
    model = DuplicateClassifier([("film", embedder)], features=None, cv=2).fit(PAIRS, Y)
    fitted = model.members_[0][1]
    first, second = (fitted.transform(side) for side in NEW.T)
    cosines = np.sum(first * second, axis=1) / np.linalg.norm(first, axis=1)
    cosines /= np.linalg.norm(second, axis=1)
    # Encodings of other batches differ by rounding of float32.
    assert np.allclose(model.inputs(NEW)[:, 0], cosines, rtol=0, atol=1e-4)


def test_a_map_of_tokens_is_learned_for_each_part(tiny_model, tmp_path):
    tokens = TokenFILM(
        TokenEncoder(model=str(tiny_model), device="cpu", max_length=32), d=8, random_state=0
    )
    members = [("tokens", RCMDRegressor(tokens, objective="binary"))]
    model = DuplicateClassifier(members, features=None, cv=4, member_cv={"tokens": 2})
    model.fit(PAIRS, Y)
    (verdict,) = model.explain(NEW[:1])
    words = verdict.words["tokens"]
    assert np.sum(words.contributions) == pytest.approx(words.similarity, abs=1e-6)
    save_model(model, tmp_path / "stack", self_contained=True)
    found = load_model(tmp_path / "stack").predict_proba(NEW)
    assert np.allclose(found, model.predict_proba(NEW), rtol=0, atol=1e-5)


def words():
    return make_pipeline(WordDifferences(), LogisticRegression(C=0.1, solver="liblinear"))


def test_a_pruned_classifier_is_the_one_fitted_with_those_members():
    members = [("film", film()), ("words", words()), ("letters", Counted())]
    options = {"cv": 2, "neighbourhood": 3, "final_estimator": LogisticRegression()}
    model = DuplicateClassifier(members, **options).fit(PAIRS, Y)
    before = model.predict_proba(NEW), dict(vars(model))
    for kept in (["words"], ["film", "letters"]):
        less = model.pruned(kept)
        alone = DuplicateClassifier([m for m in members if m[0] in kept], **options).fit(PAIRS, Y)
        assert [name for name, _ in less.members_] == kept
        assert less.feature_names_out_ == alone.feature_names_out_
        assert np.array_equal(less.out_of_fold_, alone.out_of_fold_)
        # Sums of arrays that lie otherwise in memory round otherwise.
        wanted = alone.predict_proba(NEW)
        assert np.allclose(less.predict_proba(NEW), wanted, rtol=0, atol=1e-9)
        measured = less.out_of_fold_probabilities(), alone.out_of_fold_probabilities()
        assert np.allclose(*measured, rtol=0, atol=1e-9)
        assert less.explain(NEW[:1])[0].probability == pytest.approx(wanted[0, 1])
        assert less.get_params().keys() == alone.get_params().keys()
    assert np.array_equal(model.predict_proba(NEW), before[0])
    assert all(vars(model)[name] is value for name, value in before[1].items())


@pytest.mark.parametrize("wrong", [[], ["one", "nobody"], "one", None])
def test_pruning_names_members_that_are_not_there(wrong):
    model = DuplicateClassifier([("one", words())], cv=2).fit(PAIRS, Y)
    with pytest.raises(ValueError, match="must list some of one"):
        model.pruned(wrong)

from functools import cache

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_validate

from estimators.contexts import (
    ContextModel,
    ContextRegressor,
    corpus_sentences,
    harvest,
)
from estimators.contexts import context_regressor as streaming
from film.contexts import make_corpus
from tests.estimators.contexts.stand_in import N_CONTEXTS, WORDS, Corpus, StandIn
from tests.estimators.tiny_documents import tiny_documents

PAIRS = [
    ("how do i learn chess", "what is the best way to learn chess"),
    ("the cat sat", "a dog sat on the mat"),
    ("old age", "the age of the earth"),
    ("run", "how well do i run"),
    ("the cat sat", "old age"),
    ("run", "the cat sat"),
]
SCORES = [5.0, 2.0, 1.0, 3.0, 0.5, 0.0]
REFERENCE = corpus_sentences(Corpus(), 8)
CENTRES = ["raw", "contexts", "reference", "whitened"]


@pytest.fixture
def model():
    return StandIn().fit()


def fitted(model, centre="contexts", **params):
    return ContextRegressor(model, centre=centre, **params).fit(PAIRS)


def expected(model, text1, text2, centre, n=None, weights=(1, 1, 1, 1)):
    """Eq. 3 and 4, one context at a time."""
    contexts = [*model.contexts_of([text1])[0][:n], *model.contexts_of([text2])[0][:n]]
    vectors = []
    for text in (text1, text2):
        scores = []
        for context in contexts:
            terms = terms_of(model, text, context)
            if centre in ("reference", "whitened"):
                others = [terms_of(model, each, context) for each in REFERENCE]
                terms = terms - np.mean(others, axis=0)
            scores.append(terms)
        scores = np.array(scores)
        if centre in ("contexts", "whitened"):
            scores = scores - scores.mean(axis=0)
        if centre == "whitened":
            scores[:, 0] = above_level(text, contexts) - means_of(contexts)
        vectors.append(sum(w * column for w, column in zip(weights, scores.T, strict=True)))
    if centre == "whitened":
        spread = np.array([above_level(each, contexts) - means_of(contexts) for each in SENTENCES])
        covariance = spread.T @ spread / len(SENTENCES)
        ridge = 0.1 * np.diag(covariance).mean() * np.eye(len(contexts))
        vectors = [np.linalg.solve(sqrtm(covariance + ridge), each) for each in vectors]
    v1, v2 = vectors
    return v1 @ v2 / np.sqrt((v1 @ v1) * (v2 @ v2))


SENTENCES = [" ".join(WORDS[i : i + 3]) for i in range(len(WORDS) - 2)]
"""By which contexts of a `StandIn` are compared."""


def terms_of(model, text, context):
    return model.terms([text], [context], counted=False)[0, 0].astype(float)


def above_level(text, contexts):
    """First terms less their mean over all contexts."""
    first = first_terms(text)
    return first[np.asarray(contexts) - 100] - first.mean()


def means_of(contexts):
    return np.mean([above_level(each, contexts) for each in SENTENCES], axis=0)


@cache
def first_terms(text):
    model = StandIn().fit()
    return np.array([terms_of(model, text, context)[0] for context in 100 + np.arange(N_CONTEXTS)])


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("n", [None, 3])
def test_the_similarity_is_equation_4(model, centre, n):
    found = fitted(model, centre, n_contexts=n).similarity(PAIRS)
    wanted = [expected(model, *pair, centre, n) for pair in PAIRS]
    # The terms are float32 of size 1 to 10; the rest is float64.
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("weights", [(0.0, 2.0, 0.5, 1.0), (3.0, 1.0, 0.0, 0.5)])
def test_weights_are_those_of_the_model_unless_given(model, weights, centre):
    found = fitted(model, centre, weights=weights).similarity(PAIRS)
    other = StandIn(weights=weights).fit()
    wanted = [expected(other, *pair, centre, weights=weights) for pair in PAIRS]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert model.weights == (1.0, 1.0, 1.0, 1.0)
    assert fitted(other).weights_.tolist() == list(weights)


def test_by_default_scores_are_whitened_by_the_discriminator_of_the_corpus(model):
    weights = (1.0, 0.0, 0.0, 0.0)
    regressor = ContextRegressor(model, weights=weights).fit(PAIRS)
    assert (regressor.centre, regressor.reference_) == ("whitened", [])
    other = StandIn(weights=weights).fit()
    wanted = [expected(other, *pair, "whitened", weights=weights) for pair in PAIRS]
    np.testing.assert_allclose(regressor.similarity(PAIRS), wanted, atol=1e-6)
    # Where generators have a weight, sentences of the corpus are their centre.
    regressor = ContextRegressor(model).fit(PAIRS)
    assert regressor.reference_ == REFERENCE and {*REFERENCE} <= {*Corpus.sentences}


@pytest.mark.parametrize("centre", CENTRES)
def test_equal_texts_have_similarity_1_and_blank_ones_0(model, centre):
    regressor = fitted(model, centre)
    pairs = [("the cat", "the cat"), ("", ""), ("?!", "the cat"), ("a", " "), ("zzz", "zzz")]
    assert regressor.similarity(pairs).tolist() == [1, 1, 0, 0, 1]
    sides = fitted(model, centre).similarity([("THE cat", "the cat")])
    np.testing.assert_allclose(sides, 1, atol=1e-6)


def test_texts_without_contexts(model):
    regressor = fitted(model)
    with pytest.warns(UserWarning, match="1 of 3 pairs have no context"):
        found = regressor.similarity([("zzz", "qqq"), ("zzz", "the cat"), ("the", "cat")])
    assert found[0] == 0 and found[1] == pytest.approx(
        expected(model, "zzz", "the cat", "contexts")
    )


def own_contexts(model, text):
    return tuple(StandIn().fit().contexts_of([text])[0])


def test_the_line_to_the_units_of_y(model):
    regressor = fitted(model).fit(PAIRS, SCORES)
    similarity = regressor.similarity(PAIRS)
    slope, intercept = np.polyfit(similarity, SCORES, 1)
    np.testing.assert_allclose(regressor.predict(PAIRS), slope * similarity + intercept)
    assert regressor.score(PAIRS, SCORES) == pytest.approx(
        spearmanr(regressor.predict(PAIRS), SCORES).statistic
    )
    assert fitted(model).predict(PAIRS).tolist() == similarity.tolist()


def test_cross_validation_does_not_fit_the_contexts_again(model, monkeypatch):
    monkeypatch.setattr(StandIn, "fit", None)
    for given in (model, FrozenEstimator(model)):
        regressor = ContextRegressor(given)
        result = cross_validate(regressor, np.array(PAIRS, dtype=object), SCORES, cv=2)
        assert np.isfinite(result["test_score"]).all()
        grid = {"centre": ["raw", "contexts"], "n_contexts": [2, 4]}
        search = GridSearchCV(regressor, grid, cv=2).fit(np.array(PAIRS, dtype=object), SCORES)
        assert search.best_estimator_.context_model_.points_ is model.points_
        twin = clone(regressor).fit(PAIRS)
        assert twin.similarity(PAIRS).tolist() == fitted_similarity(model)


def fitted_similarity(model):
    return ContextRegressor(model).fit(PAIRS).similarity(PAIRS).tolist()


def test_what_cannot_be_a_model_of_contexts():
    with pytest.raises(FileNotFoundError, match=r"context_model\.json"):
        ContextRegressor("no folder").fit(PAIRS)
    for wrong in (None, StandIn, object()):
        with pytest.raises(TypeError, match="context_model="):
            ContextRegressor(wrong).fit(PAIRS)
    for unfitted in (StandIn(), FrozenEstimator(StandIn())):
        with pytest.raises(NotFittedError):
            ContextRegressor(unfitted).fit(PAIRS)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"centre": "mean"}, "centre='mean'"),
        ({"weights": (1, 2)}, "weights="),
        ({"weights": (0, 0, 0, 0)}, "weights="),
    ],
)
def test_wrong_parameters_raise_before_any_work(model, params, message):
    with pytest.raises(ValueError, match=message):
        ContextRegressor(model, **params).fit(PAIRS, SCORES)
    assert not model.calls_["terms"]


@pytest.mark.parametrize("centre", CENTRES)
def test_contributions_sum_to_the_similarity(model, centre):
    regressor = fitted(model, centre)
    pairs = [*PAIRS, PAIRS[0][::-1], ("the cat", "the cat"), ("zzz", "zzz"), ("", "the cat")]
    explanations = regressor.explain(pairs)
    np.testing.assert_allclose(
        [each.similarity for each in explanations], regressor.similarity(pairs), atol=1e-15
    )
    for each, (text1, text2) in zip(explanations, pairs, strict=True):
        assert (each.text1, each.text2) == (text1, text2)
        assert each.contributions.sum() + each.rest == pytest.approx(each.similarity, abs=1e-9)
        own = [
            list(own_contexts(model, text)) if streaming.has_words(text) else []
            for text in (text1, text2)
        ]
        assert each.rows.tolist() == sorted({*own[0], *own[1]})
        assert each.rows[each.chosen1].tolist() == sorted(own[0])
        assert each.rows[each.chosen2].tolist() == sorted(own[1])
        assert each.contexts == model.context_texts(each.rows)
        if streaming.has_words(text1):
            np.testing.assert_allclose(each.terms1, model.terms([text1], each.rows)[0], rtol=1e-6)


def test_the_contexts_that_contribute_most_are_kept(model):
    regressor = fitted(model)
    (whole,) = regressor.explain(PAIRS[:1])
    (part,) = regressor.explain(PAIRS[:1], keep=3)
    assert part.top() == whole.top(3) and part.n_rest == len(whole.rows) - 3
    assert part.rest == pytest.approx(sum(value for *_, value in whole.top(99)[3:]))
    assert part.similarity == whole.similarity
    assert f"{part.n_rest} other contexts" in str(part)


def test_a_parameter_of_the_model_that_is_searched_stays_with_its_copy(model):
    regressor = ContextRegressor(model)
    grid = {"context_model__weights": [(1, 0, 0, 0), (0, 1, 0, 0)], "context_model__size": [3]}
    search = GridSearchCV(regressor, grid, cv=2).fit(np.array(PAIRS, dtype=object), SCORES)
    assert search.best_estimator_.weights_.sum() == 1
    assert (model.size, model.weights) == (8, (1.0, 1.0, 1.0, 1.0))
    assert not hasattr(clone(ContextRegressor(StandIn())).context_model, "points_")


def test_a_model_of_contexts_is_read_from_its_folder(tmp_path):
    pytest.importorskip("torch", reason="needs the extra neural")
    pytest.importorskip("sentencex", reason="needs the extra contexts")
    model = ContextModel(n_contexts=6, device="cpu", random_state=0).fit(tiny_documents())
    model.save(tmp_path / "contexts")
    pairs = [("The cat sees the tree.", "A cat sees a tree."), ("The king likes the ship.", "")]
    by_folder = ContextRegressor(tmp_path / "contexts").fit(pairs)
    wanted = ContextRegressor(model).fit(pairs).similarity(pairs)
    np.testing.assert_allclose(by_folder.similarity(pairs), wanted, atol=1e-6)
    # Without generators nothing is asked of reference sentences.
    assert by_folder.reference_ == []
    twin = clone(ContextRegressor(model)).context_model
    assert twin is not model and twin.corpus_ is model.corpus_
    centred = ContextRegressor(model, centre="reference").fit(pairs)
    assert len(centred.reference_) == 8 and set(centred.reference_) <= set(sentences_of(model))
    assert np.isfinite(centred.similarity(pairs)).all()
    sentences = [text for each in tiny_documents() for text in each.split(". ")]
    harvested = harvest(by_folder, sentences, n_pairs=40, memory=tmp_path / "kept", random_state=0)
    assert len(harvested.pairs) == 40
    again = by_folder.similarity(harvested.pairs)
    np.testing.assert_allclose(harvested.scores, again, atol=1e-4)


def sentences_of(model):
    return model.corpus_.texts(np.arange(model.corpus_.n_sentences))


def test_reference_sentences_of_the_corpus_are_spread_over_it():
    pytest.importorskip("sentencex", reason="needs the extra contexts")
    documents = [f"Short. This is document number {i} of some. Short. Short." for i in range(50)]
    corpus = make_corpus([(str(i), d) for i, d in enumerate(documents)])
    found = corpus_sentences(corpus, 5)
    assert found == [f"This is document number {i} of some." for i in range(0, 50, 10)]
    assert len(corpus_sentences(corpus, 500)) <= 50
    short = make_corpus([("a", "Yes. Why not? No. Indeed.")])
    assert len(corpus_sentences(short, 3)) == 1

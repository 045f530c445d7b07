"""Whatever words label the pairs, identical texts are duplicates, and nothing else changes."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline

from estimators import (
    CrossEncoderRegressor,
    DuplicateClassifier,
    DuplicateFinder,
    LexicalFeatures,
    PairTeacher,
    PairwiseKNNClassifier,
    RCMDRegressor,
    SurrogateRegressor,
    TokenEncoder,
    TokenFILM,
    load_model,
    save_model,
)
from estimators.inputs import duplicate_class
from estimators.pairs import duplicate_probabilities
from film.datasets import make_question_pairs
from tests.estimators.test_laws import CPU, SPACE, TRAINS

# Small problems are reduced and left unconverged, and tiny models know few words.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
DATA: Any = make_question_pairs(80, random_state=0)
FEW = slice(0, 12)
IDENTICAL = np.repeat(np.unique(DATA.pairs.ravel())[:6, None], 2, axis=1)
# Of other pairs, and of duplicates: sorted, either may come first.
WORDS = [
    ("nonmatch", "match"),
    ("different", "same"),
    (False, True),
]
CLASSIFIERS: dict[str, Any] = {
    "rule": PairwiseKNNClassifier(SPACE, 3, cv=2),
    "stack": DuplicateClassifier([("film", SPACE)], cv=2),
}
TEACHER: Any = PairTeacher(
    make_pipeline(LexicalFeatures(), LogisticRegression()), cv=2, random_state=0
)
NEURAL: dict[str, Any] = {
    "RCMD": RCMDRegressor(objective="binary", **TRAINS),
    "cross-encoder": CrossEncoderRegressor(objective="binary", train_max_length=32, **TRAINS),
    "surrogate": SurrogateRegressor(objective="binary", **TRAINS),
}


def fresh(model: Any) -> Any:
    return clone(model)


@cache
def fitted(name: str, other: Any = 0, duplicate: Any = 1) -> Any:
    return fresh(CLASSIFIERS[name]).fit(DATA.pairs, np.where(DATA.y == 1, duplicate, other))


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[1])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_identical_texts_are_duplicates_in_any_words(name, words, tmp_path):
    other, duplicate = words
    y = np.where(DATA.y == 1, duplicate, other)
    model = fitted(name, *words)
    assert model.classes_.tolist() == sorted(words) and model.duplicate_class_ == duplicate
    assert set(model.predict(IDENTICAL).tolist()) == {duplicate}
    save_model(model, tmp_path / "model.film")
    for each in (model, load_model(tmp_path / "model.film")):
        p = each.predict_proba(DATA.pairs)[:, each.classes_.tolist().index(duplicate)]
        np.testing.assert_array_equal(p, fitted(name).predict_proba(DATA.pairs)[:, 1])
        np.testing.assert_array_equal(duplicate_probabilities(each, DATA.pairs), p)
    np.testing.assert_array_equal(
        model.predict(DATA.pairs) == duplicate, fitted(name).predict(DATA.pairs) == 1
    )
    score, expected = get_scorer("roc_auc"), fitted(name)
    assert np.isclose(score(model, DATA.pairs, y), score(expected, DATA.pairs, DATA.y))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[1])
def test_a_finder_reports_copies_and_not_the_others(name, words):
    texts = DATA.pairs[:40].ravel().tolist()
    found = DuplicateFinder(fitted(name, *words)).fit(texts).find(threshold=0.5)
    expected = DuplicateFinder(fitted(name)).fit(texts).find(threshold=0.5)
    assert found.pairs.tolist() == expected.pairs.tolist()


def test_a_stack_explains_the_probability_of_a_duplicate():
    found, expected = fitted("stack", "nonmatch", "match"), fitted("stack")
    told = [model.explain(DATA.pairs[:1])[0].probability for model in (found, expected)]
    assert told[0] == told[1]
    assert found.threshold_for(0.5) == expected.threshold_for(0.5)
    y = np.where(DATA.y == 1, "match", "nonmatch")
    curve = fitted("rule", "nonmatch", "match").k_curve(DATA.pairs, y)
    np.testing.assert_array_equal(curve.fnr, fitted("rule").k_curve(DATA.pairs, DATA.y).fnr)


@pytest.mark.skipif(not find_spec("transformers"), reason="needs the extra neural")
@pytest.mark.parametrize("name", NEURAL)
def test_networks_learn_which_pairs_are_duplicates_in_any_words(name, tmp_path):
    model, pairs, y = NEURAL[name], DATA.pairs[FEW], DATA.y[FEW]
    expected = fresh(model).fit(pairs, y)
    words = np.where(y == 1, "match", "nonmatch")
    found = fresh(model).fit(pairs, words, eval_set=(pairs, words))
    assert found.classes_.tolist() == ["nonmatch", "match"]
    np.testing.assert_array_equal(found.predict(pairs), expected.predict(pairs))
    assert found.score(pairs, words) == expected.score(pairs, y)
    found.save(tmp_path / "model")
    assert type(model).from_pretrained(tmp_path / "model").classes_.tolist() == [
        "nonmatch",
        "match",
    ]


def test_a_teacher_and_an_encoder_learn_from_any_words():
    words = np.where(DATA.y == 1, "duplicate", "not_duplicate")
    found, expected = (fresh(TEACHER).fit(DATA.pairs, y) for y in (words, DATA.y))
    assert found.duplicate_class_ == "duplicate"
    np.testing.assert_array_equal(found.scores_, expected.scores_)


@pytest.mark.skipif(not find_spec("transformers"), reason="needs the extra neural")
def test_a_metric_of_tokens_learns_from_any_words():
    words = np.where(DATA.y == 1, "duplicate", "not_duplicate")
    plain: Any = TokenFILM(TokenEncoder(**CPU), d=6, random_state=0)
    found, expected = (fresh(plain).fit(DATA.pairs[FEW], y[FEW]) for y in (words, DATA.y))
    np.testing.assert_array_equal(found.components_, expected.components_)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["match", "nonmatch"], "match"),
        (["no", "yes"], "yes"),
        (["Non-Duplicate", "duplicate "], "duplicate "),
        (["equivalent", "not_equivalent"], "equivalent"),
        (["different", "not different"], "not different"),
        (["0", "1"], "1"),
        (["-1", "1"], "1"),
        ([-1, 1], 1),
        ([1.0, 2.0], 2.0),
        ([False, True], True),
    ],
)
def test_the_label_of_duplicates_is_known(classes, expected):
    assert duplicate_class(classes) == duplicate_class(classes[::-1]) == expected


@pytest.mark.parametrize("words", [("gleich", "anders"), ("same", "equal"), ("no", "other")])
@pytest.mark.parametrize("model", [*CLASSIFIERS.values(), TEACHER, *NEURAL.values()])
def test_other_words_are_refused_by_name(words, model):
    shown = " and ".join(map(repr, sorted(words)))
    with pytest.raises(ValueError, match=f"{shown}; it is unclear which means duplicates"):
        fresh(model).fit(DATA.pairs, np.where(DATA.y == 1, *words))


def test_a_classifier_of_others_may_name_its_label():
    given = np.array([[0.9, 0.1]])
    foreign = SimpleNamespace(predict_proba=lambda pairs: given, classes_=np.array(["gleich", "x"]))
    foreign.duplicate_class_ = "gleich"
    assert duplicate_probabilities(foreign, [("a", "b")]) == [0.9]
    del foreign.duplicate_class_
    with pytest.raises(ValueError, match="unclear which means duplicates"):
        duplicate_probabilities(foreign, [("a", "b")])

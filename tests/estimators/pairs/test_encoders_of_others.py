"""Encoders of other packages, as objects or functions, where an estimator embeds texts."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    AnyEncoder,
    DuplicateClassifier,
    LexicalFeatures,
    PairTeacher,
    PairwiseKNNClassifier,
    save_model,
)
from film.datasets import make_question_pairs
from film.judge import UNRELATED_TEXTS

DATA = make_question_pairs(60, random_state=0)
HASHES = HashingVectorizer(n_features=64, analyzer="char_wb", ngram_range=(2, 3))


class Foreign:
    """Has encode and, as sentence-transformers has it, a fit that is for something else."""

    def __init__(self):
        self.sizes = []

    def fit(self, *given):
        raise AssertionError("this trains the model")

    def encode(self, texts):
        self.sizes.append(len(texts))
        return HASHES.transform(texts).toarray()


def function(texts):
    return HASHES.transform(texts).toarray()


def test_members_give_what_the_same_vectors_of_an_estimator_give():
    dense = AnyEncoder(function)
    said = [
        DuplicateClassifier([("own", member)], cv=2)
        .fit(DATA.pairs, DATA.y)
        .predict_proba(DATA.pairs)
        for member in (dense, function, Foreign())
    ]
    np.testing.assert_array_equal(said[0], said[1])
    np.testing.assert_array_equal(said[0], said[2])


def test_members_that_begin_with_the_same_object_share_its_vectors():
    given = Foreign()
    members = [("cosine", given), ("film", make_pipeline(AnyEncoder(given), FILM(12, rank=20)))]
    model = DuplicateClassifier(members, cv=2).fit(DATA.pairs, DATA.y)
    # All texts of both members, those of near copies, and those by which the general formula
    # centres cosines; each load tries one text.
    assert [size > 1 for size in given.sizes].count(True) == 2
    assert given.sizes.count(len(UNRELATED_TEXTS)) == 1
    assert max(given.sizes) == len(set(DATA.pairs.ravel()))
    assert model.members_[0][1].encoder is given


def test_parameters_of_such_members_go_in_and_out():
    given = Foreign()
    model = DuplicateClassifier([("foreign", given), ("own", AnyEncoder(function))])
    assert model.get_params()["foreign"] is given
    assert model.get_params()["own__encoder"] is function
    model.set_params(own__encoder=len)
    assert clone(model).members[1][1].encoder is len
    assert "foreign" in model._repr_html_()


def test_a_frozen_sparse_encoder_before_film():
    words = FrozenEstimator(TfidfVectorizer().fit(DATA.pairs.ravel()))
    member = make_pipeline(AnyEncoder(words), FILM(12, rank=20, random_state=0))
    model = DuplicateClassifier([("film", member)], cv=2).fit(DATA.pairs, DATA.y)
    assert model.predict_proba(DATA.pairs).shape == (len(DATA.pairs), 2)
    with pytest.raises(TypeError, match="embedder gives sparse vectors; end it with a step"):
        DuplicateClassifier([("words", AnyEncoder(words))], cv=2).fit(DATA.pairs, DATA.y)


@pytest.mark.parametrize("given", [function, Foreign()])
def test_the_neighbour_rule_and_the_teacher_take_them(given):
    knn = PairwiseKNNClassifier(given, 3, cv=2).fit(DATA.pairs, DATA.y)
    same = PairwiseKNNClassifier(AnyEncoder(function), 3, cv=2).fit(DATA.pairs, DATA.y)
    np.testing.assert_array_equal(knn.predict_proba(DATA.pairs), same.predict_proba(DATA.pairs))
    judge = make_pipeline(LexicalFeatures(), LogisticRegression(max_iter=1000))
    teacher = PairTeacher(judge, embedder=given, n_pairs=20, cv=2, random_state=0)
    assert len(teacher.fit(DATA.pairs, DATA.y).scores_) > 0


def test_a_stack_with_a_function_is_not_saved(tmp_path):
    model = DuplicateClassifier([("own", function)], cv=2).fit(DATA.pairs, DATA.y)
    with pytest.raises(ValueError, match=r"encoder function is code .* give encoder= its name or"):
        save_model(model, tmp_path / "model.film")


def test_explanations_name_the_member_without_words():
    model = DuplicateClassifier([("own", function)], cv=2).fit(DATA.pairs, DATA.y)
    [found] = model.explain(DATA.pairs[:1])
    assert "own" in [member.name for member in found.members] and not found.words

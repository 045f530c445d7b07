"""FILM over the frozen vectors of an encoder, alone and beside TF-IDF, where embedders go."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from estimators import (
    FILM,
    DuplicateClassifier,
    PairwiseKNNClassifier,
    SentenceEncoder,
    load_model,
    save_model,
)
from film.datasets import make_question_pairs

transformers = pytest.importorskip("transformers", reason="needs the extra neural")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*texts have tokens unknown to the model:UserWarning",
    "ignore:.*max_length=.* cut:UserWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)
DATA = make_question_pairs(60, random_state=0)


@pytest.fixture
def embedder(request, tiny_model):
    encoder = SentenceEncoder(tiny_model, max_length=32, device="cpu")
    film = FILM(d=8, random_state=0)
    if request.param == "vectors":
        return Pipeline([("encoder", encoder), ("film", film)])
    if request.param == "threshold":
        return Pipeline([("encoder", encoder), ("film", film.set_params(threshold=0.8))])
    blocks = [("vectors", make_pipeline(encoder, Normalizer())), ("words", TfidfVectorizer())]
    union = FeatureUnion(blocks, transformer_weights={"words": 0.5})
    return Pipeline([("union", union), ("film", film)])


def check_saved(model, pairs, folder):
    expected = model.predict_proba(pairs)
    save_model(model, folder / "model.film")
    np.testing.assert_array_equal(load_model(folder / "model.film").predict_proba(pairs), expected)
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("embedder", ["vectors", "beside words"], indirect=True)
def test_in_the_pairwise_knn_rule(embedder, tmp_path):
    rule = PairwiseKNNClassifier(embedder, k=5, cv=2).fit(DATA.pairs, DATA.y)
    check_saved(rule, DATA.pairs[:9], tmp_path)


@pytest.mark.parametrize("embedder", ["threshold"], indirect=True)
def test_in_a_stack(embedder, tmp_path):
    stack = DuplicateClassifier([("film", embedder)], cv=2).fit(DATA.pairs, DATA.y)
    check_saved(stack, DATA.pairs[:9], tmp_path)

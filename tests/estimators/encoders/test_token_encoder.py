"""Token vectors are those of plain transformers, one text at a time, whatever the batch."""

import pickle
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import estimators.encoders.encoding_cache as encoding_cache
from estimators import (
    TokenEncoder,
)
from film.tokens.ragged import Ragged
from tests.estimators.tiny_model import MAX_TOKENS, WIDTH, bare_model, make_tiny_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = [
    "How do I learn chess?",
    "a",
    "",
    "the cat sat on the mat, the dog sat on the cat",
    "How do I learn chess?",
    "?!.",
    "👩‍👩‍👧 running\u200d",
    "what is the age of Earth? é e\u0301",
    "שלום a שלום",
    "cats",
    "\x00\x07",
    "cats",
]


@pytest.fixture(scope="module")
def encoder(tiny_model: Path) -> TokenEncoder:
    return TokenEncoder(tiny_model, max_length=MAX_TOKENS, device="cpu").fit(TEXTS)


def plain(folder: Path, texts, max_length=MAX_TOKENS):
    """Each text alone through plain transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    module = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        for text in texts:
            batch = tokenizer(text, truncation=True, max_length=max_length, return_tensors="pt")
            yield batch.input_ids[0].numpy(), module(**batch).last_hidden_state[0].numpy()


def break_model(encoder, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the model was run")

    monkeypatch.setattr(encoder.loaded(), "forward", refuse)


def count_texts(encoder, monkeypatch) -> list[int]:
    """Sizes of the batches that reach the model."""
    sizes = []
    forward = encoder.loaded().forward

    def counted(tokens, batch):
        sizes.append(len(batch))
        return forward(tokens, batch)

    monkeypatch.setattr(encoder.loaded(), "forward", counted)
    return sizes


def assert_same(found: Ragged, expected: Ragged, tolerance=1e-5):
    np.testing.assert_array_equal(found.starts, expected.starts)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.spans, expected.spans)
    np.testing.assert_array_equal(found.is_special, expected.is_special)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=tolerance)


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_vectors_are_those_of_each_text_alone(encoder, tiny_model, batch_size):
    found = clone(encoder).set_params(batch_size=batch_size).fit_transform(TEXTS)
    assert found.values.dtype == np.float32
    assert len(found) == len(TEXTS)
    for i, (ids, vectors) in enumerate(plain(tiny_model, TEXTS)):
        np.testing.assert_array_equal(found[i : i + 1].ids, ids)
        np.testing.assert_allclose(found[i], vectors, rtol=0, atol=1e-5)


def test_spans_are_characters_of_the_text_and_special_tokens_have_none(encoder):
    found = encoder.transform(TEXTS)
    for i, text in enumerate(TEXTS):
        row = found[i : i + 1]
        assert row.is_special[0] and row.is_special[-1] and not row.is_special[1:-1].any()
        np.testing.assert_array_equal(row.spans[row.is_special], 0)
        spans = row.spans[~row.is_special]
        assert (spans[:, 0] < spans[:, 1]).all() and (spans <= len(text)).all()
    running = found[6:7]
    assert "running" in [TEXTS[6][a : running.spans[-2][1]] for a, _ in running.spans]
    hebrew = found[8:9]
    assert [TEXTS[8][a:b] for a, b in hebrew.spans[1:-1]] == ["שלום", "a", "שלום"]
    assert encoder.token_names(hebrew.ids) == ["[CLS]", "שלום", "a", "שלום", "[SEP]"]


def test_repeated_texts_are_encoded_once(encoder, monkeypatch):
    sizes = count_texts(encoder, monkeypatch)
    found = encoder.transform(["a cat", "a dog"] * 50)
    assert sum(sizes) == 2
    assert_same(found[:2], encoder.transform(["a cat", "a dog"]))
    assert_same(found[98:], found[:2])


def test_batches_hold_like_lengths_and_at_most_so_many_tokens(encoder, monkeypatch):
    seen = []
    transformer = encoder.loaded()
    forward = transformer.forward

    def noted(tokens, batch):
        seen.append(tokens.lengths[batch])
        return forward(tokens, batch)

    monkeypatch.setattr(transformer, "forward", noted)
    texts = [" ".join(["cat"] * (1 + i % 40) + ["dog"] * (i // 40)) for i in range(200)]
    encoder.transform(texts)
    assert all(len(lengths) * lengths.max() <= 32 * 32 for lengths in seen)
    assert (np.diff(np.concatenate(seen)) <= 0).all()
    assert len(seen) < 8


def test_what_is_cut_is_counted_once(tiny_model):
    encoder = TokenEncoder(tiny_model, max_length=5, device="cpu")
    long = "a b a b a b"
    with pytest.warns(UserWarning) as caught:
        found = encoder.fit(TEXTS).transform([long, "a", "a b a", long])
    [warning] = caught
    text = str(warning.message)
    assert "max_length=5 cut 2 of 4 texts" in text and f"up to {MAX_TOKENS}" in text
    assert found.lengths.tolist() == [5, 3, 5, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(["a b a"])


def test_a_copy_of_a_model_that_changed_since_is_an_error(tmp_path):
    folder = make_tiny_model(tmp_path / "model")
    content = pickle.dumps(TokenEncoder(folder, max_length=8, device="cpu").fit(["a"]))
    assert len(content) < 2000  # it holds no weights
    shutil.rmtree(folder)
    make_tiny_model(folder, seed=1)
    with pytest.raises(ValueError, match="have changed since fitting; fit again"):
        pickle.loads(content).transform(["a"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_near_and_gives_float32(encoder, dtype):
    found = clone(encoder).set_params(dtype=dtype).fit_transform(TEXTS)
    expected = encoder.transform(TEXTS)
    assert found.values.dtype == np.float32
    errors = np.abs(found.values - expected.values)
    assert 1e-5 < errors.max() and errors.mean() < 0.05


def test_values_that_are_not_finite_are_an_error(tmp_path):
    folder = make_tiny_model(tmp_path / "model")
    module = transformers.AutoModel.from_pretrained(folder)
    torch.nn.init.constant_(module.embeddings.word_embeddings.weight, np.nan)
    module.save_pretrained(folder)
    with pytest.raises(ValueError, match="not finite in dtype='float32'"):
        TokenEncoder(folder, max_length=8, device="cpu").fit_transform(["a"])


def lack_memory(encoder, monkeypatch, most_tokens):
    transformer, sizes = encoder.loaded(), []
    forward = transformer.forward

    def limited(tokens, batch):
        sizes.append(len(batch))
        if len(batch) * tokens.lengths[batch].max() > most_tokens:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return forward(tokens, batch)

    monkeypatch.setattr(transformer, "forward", limited)
    return sizes


def test_too_little_memory_halves_the_batch_and_goes_on(encoder, monkeypatch):
    texts = [f"a {'cat ' * (i % 7)}{'b ' * i}" for i in range(30)]
    expected = encoder.transform(texts)
    sizes = lack_memory(encoder, monkeypatch, most_tokens=100)
    assert_same(encoder.transform(texts), expected)
    assert max(sizes) > 10
    failed = [i for i, size in enumerate(sizes) if i and size == sizes[i - 1] // 2]
    assert 0 < len(failed) < 5  # and it does not try the large size again


def test_too_little_memory_for_one_text_is_a_clear_error(encoder, monkeypatch):
    lack_memory(encoder, monkeypatch, most_tokens=4)
    with pytest.raises(MemoryError, match="one text of 5 tokens; lower max_length"):
        encoder.transform(["a a a", "a"])


def test_a_model_without_special_or_padding_tokens(tiny_model, tmp_path):
    folder = bare_model(tmp_path / "model")
    found = TokenEncoder(folder, max_length=8, device="cpu").fit_transform(["a b a", "", "b"])
    assert found.lengths.tolist() == [3, 0, 1]
    assert not found.is_special.any()
    alone = TokenEncoder(folder, max_length=8, device="cpu").fit_transform(["b"])
    np.testing.assert_allclose(found[2], alone[0], rtol=0, atol=1e-5)


def cached(folder, tmp_path, **parameters) -> TokenEncoder:
    shape = {"max_length": MAX_TOKENS, "device": "cpu", "cache": tmp_path / "cache"} | parameters
    return TokenEncoder(folder, **shape).fit(TEXTS)


def test_a_cache_answers_without_the_model(encoder, tiny_model, tmp_path, monkeypatch):
    expected = encoder.transform(TEXTS)
    assert_same(cached(tiny_model, tmp_path).transform(TEXTS), expected)
    again = cached(tiny_model, tmp_path)
    break_model(again, monkeypatch)
    assert_same(again.transform(TEXTS[::-1]), expected[::-1])
    with pytest.raises(AssertionError, match="the model was run"):
        again.transform(["a new text"])


def test_only_new_texts_are_encoded(tiny_model, tmp_path, monkeypatch):
    encoder = cached(tiny_model, tmp_path)
    encoder.transform(TEXTS[:3])
    sizes = count_texts(encoder, monkeypatch)
    encoder.transform(TEXTS)
    assert sum(sizes) == len(set(TEXTS)) - 3


@pytest.mark.parametrize("parameters", [{"max_length": 8}, {"dtype": "bfloat16"}])
def test_other_settings_do_not_share_encodings(tiny_model, tmp_path, parameters):
    texts = ["a cat", "a dog"]
    cached(tiny_model, tmp_path).transform(texts)
    found = cached(tiny_model, tmp_path, **parameters).transform(texts)
    expected = TokenEncoder(tiny_model, device="cpu", **{"max_length": 8} | parameters)
    assert_same(found, expected.fit_transform(texts))
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_another_model_in_the_same_folder_does_not_share_encodings(tmp_path):
    folder = make_tiny_model(tmp_path / "model")
    first = cached(folder, tmp_path).transform(["a"])
    shutil.rmtree(folder)
    make_tiny_model(folder, seed=1)
    assert np.abs(cached(folder, tmp_path).transform(["a"]).values - first.values).max() > 0.1


@pytest.mark.parametrize("n_tokens", [2, 4])
def test_encodings_of_another_size_are_not_used(encoder, tiny_model, tmp_path, n_tokens):
    fitted = cached(tiny_model, tmp_path)
    settings = [fitted.model_digest_, MAX_TOKENS, "float32", "tokens"]
    with encoding_cache.EncodingCache(tmp_path / "cache", settings) as cache:
        cache.add(encoding_cache.text_key("a"), np.ones((n_tokens, WIDTH)))
    assert_same(fitted.transform(["a"]), encoder.transform(["a"]))

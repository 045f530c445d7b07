"""Weights of a vocabulary: idf is scikit-learn's, punctuation is no word, mappings are checked."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import RCMDRegressor
from estimators.tokens.token_weights import check_weights, vocabulary_weights, weights_of_tokens
from tests.estimators.tiny_model import MAX_TOKENS

PAIRS = [
    ("How do I learn chess?", "the cat sat, the cat ran"),
    ("the cat sat, the cat ran", "a dog sat on the mat."),
    ("?!.", "a"),
    ("", "running שלום 👩"),
]


def fitted(folder, **parameters) -> RCMDRegressor:
    pytest.importorskip("transformers", reason="needs the extra neural")
    return RCMDRegressor(folder, **{"max_length": MAX_TOKENS, "device": "cpu"} | parameters).fit(
        PAIRS
    )


def vocabulary(model) -> dict[str, int]:
    return model.encoder_.loaded().tokenizer.get_vocab()


@pytest.mark.parametrize("max_length", [MAX_TOKENS, 5])
def test_idf_is_that_of_scikit_learn_over_different_texts(tiny_model, max_length, monkeypatch):
    model = fitted(tiny_model, weights="idf", max_length=max_length)
    tokenizer = model.encoder_.loaded().tokenizer

    def tokens(text):
        ids = tokenizer(text, truncation=True, max_length=max_length).input_ids
        return tokenizer.convert_ids_to_tokens(ids)

    names = vocabulary(model)
    expected = TfidfVectorizer(
        tokenizer=tokens, token_pattern=None, lowercase=False, vocabulary=names
    ).fit(sorted({text for pair in PAIRS for text in pair}))
    np.testing.assert_allclose(model.token_weights_, expected.idf_)
    assert model.token_weights_[names["[CLS]"]] == 1.0
    monkeypatch.setattr("estimators.tokens.token_regressor.BLOCK", 3)
    again = fitted(tiny_model, weights="idf", max_length=max_length)
    np.testing.assert_array_equal(again.token_weights_, model.token_weights_)


def test_words_leave_out_what_has_no_letter_or_digit(tiny_model):
    model = fitted(tiny_model, weights="words")
    table = model.token_weights_
    zero = {name for name, entry in vocabulary(model).items() if table[entry] == 0}
    assert zero == {"?", "!", ".", ","}
    assert set(table.tolist()) == {0.0, 1.0}
    [explanation] = model.explain([("a, b", "the cat.")])
    assert explanation.contributions.sum() == pytest.approx(explanation.similarity)
    assert explanation.tokens1[2] == "," and explanation.tokens2[3] == "."
    one_sided = fitted(tiny_model, weights="words", plan="rcmd1")
    contributions = one_sided.explain([("a, b", "the cat.")])[0].contributions
    assert (contributions[2] == 0).all() and contributions[1].any()


def test_words_are_told_by_the_text_of_a_token_not_by_its_spelling():
    tokens = {"Ġ,": 0, "Ġa": 1, "▁.": 2, "7": 3, "âĢľ": 4, "half": 5, "[CLS]": 6, "é": 7}
    text = {"Ġ,": " ,", "Ġa": " a", "▁.": " .", "âĢľ": "“", "half": "\ufffd"}
    table = vocabulary_weights("words", tokens, lambda t: text.get(*t, *t), ())
    assert table.tolist() == [0, 1, 0, 1, 0, 1, 1, 1]


def test_a_byte_level_vocabulary_of_transformers():
    transformers = pytest.importorskip("transformers", reason="needs the extra neural")
    from tokenizers import Tokenizer, decoders, models

    vocabulary = {"Ġ,": 0, "Ġa": 1, "!": 2}
    bare = Tokenizer(models.BPE(vocabulary, []))
    bare.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bare)
    table = vocabulary_weights("words", vocabulary, tokenizer.convert_tokens_to_string, ())
    assert table.tolist() == [0, 1, 0]


def test_a_mapping_gives_its_weights_and_one_to_others(tiny_model):
    model = fitted(tiny_model, weights={"cat": 0.0, "##ning": np.float32(2.5), "[SEP]": 3})
    names = vocabulary(model)
    expected = np.ones(len(names))
    expected[[names["cat"], names["##ning"], names["[SEP]"]]] = 0, 2.5, 3
    np.testing.assert_array_equal(model.token_weights_, expected)


def test_a_vocabulary_with_holes():
    table = vocabulary_weights({"b": 2}, {"a": 0, "b": 4}, "".join, ())
    assert table.tolist() == [1, 1, 1, 1, 2]
    idf = vocabulary_weights("idf", {"a": 0, "b": 4}, "".join, [np.array([4, 4]), np.array([0, 4])])
    np.testing.assert_allclose(idf, 1 + np.log([1.5, 3, 3, 3, 1]))


def test_no_weights_are_none(tiny_model):
    assert fitted(tiny_model).token_weights_ is None


def test_a_text_that_weighs_nothing_weighs_its_tokens_alike(tiny_model):
    found = weights_of_tokens(
        np.array([0.0, 2.0]), np.array([0, 0, 1, 0, 0]), np.array([0, 2, 4, 5])
    )
    assert found.tolist() == [1, 1, 2, 0, 1]
    pairs = [("?!.", "..,")]
    parameters = {"max_length": MAX_TOKENS, "device": "cpu", "special_tokens": False}
    scores = [
        RCMDRegressor(tiny_model, weights=weights, **parameters).fit(pairs).similarity(pairs)
        for weights in (None, "words")
    ]
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("weights", [None, "idf", "words", {}, {"a": 0, "b": np.float64(2)}])
def test_good_weights_pass(weights):
    check_weights(weights)


@pytest.mark.parametrize(
    ("weights", "error", "text"),
    [
        ("tf", ValueError, "weights='tf' must be None, 'idf', 'words', a fitted"),
        (2.0, ValueError, "weights=2.0 must be"),
        (["a"], ValueError, r"weights=\['a'\] must be"),
        ({"a": 1, "b": -0.5}, ValueError, r"weights\['b'\]=-0.5"),
        ({"a": np.nan}, ValueError, r"weights\['a'\]=nan"),
        ({"a": np.inf}, ValueError, r"weights\['a'\]=inf"),
        ({"a": "1"}, TypeError, r"weights\['a'\]='1'"),
        ({"a": True}, TypeError, r"weights\['a'\]=True"),
        ({7: 1.0}, TypeError, "weights holds 7; give names of tokens"),
    ],
)
def test_bad_weights_are_named(weights, error, text):
    with pytest.raises(error, match=text):
        check_weights(weights)


def test_tokens_that_the_model_does_not_know_are_named():
    with pytest.raises(ValueError, match=r"'x', which is not in the vocabulary.*\(2 such tokens\)"):
        vocabulary_weights({"y": 1, "a": 1, "x": 1}, {"a": 0}, "".join, ())

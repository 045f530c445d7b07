"""Counted texts weigh as those that scikit-learn's vectorizer cuts itself."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from benchmarks.support import counted_texts
from benchmarks.support.counted_texts import count_texts
from film.datasets import make_question_pairs
from film.text import normalize_text

WORDS = TfidfVectorizer(preprocessor=normalize_text, token_pattern=r"\w+", sublinear_tf=True)
PIECES = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=3, dtype=np.float32)


@pytest.fixture(scope="module")
def texts():
    return sorted({"", "où est l'École ?", *make_question_pairs(150, random_state=0).pairs.flat})


@pytest.mark.parametrize("vectorizer", [WORDS, PIECES], ids=["words", "pieces"])
def test_counted_texts_have_the_weights_of_the_vectorizer(vectorizer, texts, tmp_path):
    counted = clone(count_texts(vectorizer, texts, tmp_path))
    some = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[::3]]
    expected = clone(vectorizer).fit(some)
    # A row of the vectorizer's own fit is in order of first sight, and sums round by order.
    assert abs(counted.fit_transform(some) - expected.transform(some)).max() == 0
    names = expected.get_feature_names_out()
    assert len(names) > 20
    np.testing.assert_array_equal(counted.get_feature_names_out(), names)
    found, whole = counted.transform(texts), expected.transform(texts)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(whole, part))
    assert found.dtype == whole.dtype


def test_texts_are_counted_once(texts, tmp_path, monkeypatch):
    first = count_texts(WORDS, texts, tmp_path)
    monkeypatch.setattr(CountVectorizer, "fit_transform", lambda *_: pytest.fail("counted again"))
    assert count_texts(WORDS, texts, tmp_path).place == first.place
    monkeypatch.undo()
    assert count_texts(PIECES, texts, tmp_path).place != first.place
    assert count_texts(WORDS, texts[1:], tmp_path).place != first.place


def test_a_count_that_was_cut_short_is_not_read(texts, tmp_path, monkeypatch):
    def torn(value, place):
        place.write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(counted_texts.joblib, "dump", torn)
    with pytest.raises(OSError, match="no space"):
        count_texts(WORDS, texts, tmp_path)
    monkeypatch.undo()
    counted = count_texts(WORDS, texts, tmp_path)
    assert counted.fit_transform(texts).shape[0] == len(texts)


def test_a_text_that_was_not_counted_is_named(texts, tmp_path):
    counted = count_texts(WORDS, texts, tmp_path).fit(texts)
    with pytest.raises(ValueError, match="'a new text' is none of the texts"):
        counted.transform([texts[0], "a new text"])

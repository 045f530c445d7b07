from typing import Any

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import make_pipeline

from estimators.inputs import transformed_by_words, word_gram_counts
from estimators.inputs import word_grams as module
from film.text import token_text

TEXTS = [
    "how old is the cat?",
    "How  old is\tthe cat cat cat",
    "",
    " a \u00a0 b c ",
    "ΑΣ και ΑΣ' I İstanbul",
    "unheard of zzz",
    "日本語 テスト",
]
INSIDE: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (2, 4), "dtype": np.float32}
HASHES: dict[str, Any] = {"n_features": 2**10, "norm": None}
PLAIN: dict[str, Any] = {"norm": None}
VECTORIZERS: dict[str, Any] = {
    "counts": CountVectorizer(**INSIDE),
    "hashes": HashingVectorizer(**INSIDE, **HASHES, alternate_sign=False),
    "signed hashes": HashingVectorizer(**INSIDE, **HASHES),
    "tf-idf": TfidfVectorizer(**INSIDE),
    "dampened": TfidfVectorizer(**INSIDE, min_df=2, sublinear_tf=True, preprocessor=token_text),
    "no idf": TfidfVectorizer(**INSIDE, use_idf=False, norm="l1"),
    "rough idf": TfidfVectorizer(**INSIDE, smooth_idf=False, **PLAIN, strip_accents="unicode"),
    "wide": TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), lowercase=False),
    "hashes, weighed": make_pipeline(
        HashingVectorizer(**INSIDE, **HASHES, alternate_sign=False),
        TfidfTransformer(sublinear_tf=True),
    ),
    "reduced": make_pipeline(TfidfVectorizer(**INSIDE), TruncatedSVD(2, random_state=0)),
}


@pytest.fixture
def spared(monkeypatch):
    """Numbers of words that each call has counted."""
    found = []
    real = module.word_gram_counts
    monkeypatch.setattr(module, "word_gram_counts", lambda *given: found.append(1) or real(*given))
    return found


@pytest.mark.parametrize("name", VECTORIZERS)
def test_it_is_what_the_vectoriser_gives(name, spared):
    fitted = VECTORIZERS[name].fit(TEXTS[:5])
    wanted, found = fitted.transform(TEXTS), transformed_by_words(fitted, TEXTS)
    assert spared and type(found) is type(wanted) and found.dtype == wanted.dtype
    if issparse(wanted):
        wanted.sort_indices()
        # Signed hashes that meet may sum to 0, which one of both keeps as an entry.
        for each in (wanted, found):
            each.eliminate_zeros()
        np.testing.assert_array_equal(found.indptr, wanted.indptr)
        np.testing.assert_array_equal(found.indices, wanted.indices)
        np.testing.assert_array_equal(found.data, wanted.data)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "other",
    [
        TfidfVectorizer(),
        TfidfVectorizer(analyzer="char", ngram_range=(2, 3)),
        CountVectorizer(analyzer="char_wb", binary=True),
        HashingVectorizer(analyzer="char_wb", n_features=64),
        type("Own", (TfidfVectorizer,), {})(analyzer="char_wb"),
    ],
)
def test_others_are_asked_as_they_are(other, spared):
    fitted = other.fit(TEXTS[:5])
    wanted, found = fitted.transform(TEXTS), transformed_by_words(fitted, TEXTS)
    assert not spared and abs(found - wanted).max() == 0


def test_texts_without_any_word():
    counter = CountVectorizer(analyzer="char_wb").fit(["a b"])
    found = word_gram_counts(counter, ["", "  "])
    assert found.shape == (2, 3) and found.nnz == 0
    vectorizer = TfidfVectorizer(analyzer="char_wb").fit(["a b"])
    assert transformed_by_words(vectorizer, [""]).shape == (1, 3)

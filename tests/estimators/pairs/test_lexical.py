"""Lexical features as a transformer: what it fits; it is film.pairs.lexical on normal texts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from estimators import LexicalFeatures
from film.datasets import make_question_pairs
from film.pairs import edit_features, overlap_features, sequence_features, sign_features
from film.text import token_text

DATA = make_question_pairs(120, random_state=0)
PAIRS = np.asarray(DATA.pairs, dtype=object)
ODD = [
    ("Is it 5?", "  IS it—6?!"),
    ("", "What's new"),
    ("", ""),
    ("?!", "..."),
    ("Où est l'École?", "où est l école"),
    ("東京はどこですか", "京都はどこですか"),
    ("zebra xylophone", "xylophone zebra"),
    ("word " * 20_000, "word " * 19_999 + "sword"),
    ("\ud800 broken", "\x00 nul"),
    ("same", "same"),
]


@pytest.fixture(scope="module")
def fitted():
    return LexicalFeatures().fit(PAIRS)


def column(features, name):
    return features[:, LexicalFeatures().get_feature_names_out().tolist().index(name)]


def test_features_are_the_functions_on_tokens(fitted):
    pairs = np.array([*PAIRS[:40], *ODD], dtype=object)
    first, second = ([token_text(text) for text in side] for side in pairs.T)
    split = [[text.split() for text in side] for side in (first, second)]
    # Every word that occurs has a column; one of no training text is as rare as the rarest.
    vocabulary = sorted({word for side in split for text in side for word in text})
    idf = dict(zip(fitted.words_.get_feature_names_out(), fitted.words_.idf_, strict=True))
    rarity = np.array([idf.get(word, max(idf.values())) for word in vocabulary])
    texts = [text for side in split for text in side]
    occurs = csr_array([[float(word in text) for word in vocabulary] for text in texts])
    wanted = [
        overlap_features(occurs, np.arange(len(texts)).reshape(2, -1).T, rarity),
        sequence_features(*split, ENGLISH_STOP_WORDS),
        edit_features(first, second),
        sign_features(*split),
    ]
    found = fitted.transform(pairs)[:, 3:]
    assert np.allclose(found, np.hstack(wanted), rtol=1e-12, atol=1e-12)


def test_cosines_are_those_of_tfidf(fitted):
    texts = sorted({token_text(text) for text in PAIRS.flat})
    by_name = {
        "word cosine": TfidfVectorizer(token_pattern=r"\S+", sublinear_tf=True),
        "word and bigram cosine": TfidfVectorizer(
            token_pattern=r"\S+", sublinear_tf=True, ngram_range=(1, 2)
        ),
        "character cosine": TfidfVectorizer(
            analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True
        ),
    }
    found = fitted.transform(PAIRS)
    for name, vectorizer in by_name.items():
        vectorizer.fit(texts)
        # Rows have length 1, so that the cosine is the dot product.
        first, second = (vectorizer.transform(map(token_text, side)) for side in PAIRS.T)
        wanted = np.asarray(first.multiply(second).sum(axis=1)).ravel()
        # Fitted in single precision; of n-grams hashed to a million columns, a few collide.
        bound = 1e-5 if name == "word cosine" else 2e-3
        assert np.allclose(column(found, name), wanted, rtol=0, atol=bound)
        assert column(found, name).std() > 0.05


def test_spelling_changes_nothing(fitted):
    loud = [[f"  {text.upper()}?!" for text in pair] for pair in PAIRS]
    assert np.array_equal(fitted.transform(loud), fitted.transform(PAIRS))
    again = LexicalFeatures().fit(np.vstack([PAIRS, loud]))
    assert np.array_equal(again.transform(PAIRS), fitted.transform(PAIRS))


def test_rarity_counts_unique_texts(fitted):
    often = np.vstack([PAIRS, *[PAIRS[:1]] * 50, PAIRS[:, ::-1]])
    assert np.array_equal(LexicalFeatures().fit(often).words_.idf_, fitted.words_.idf_)


def many(form, n=501):
    return [(form.format(2 * i), form.format(2 * i + 1)) for i in range(n)]


def test_words_and_ngrams_of_no_training_text_count(fitted):
    pairs = [("zyx wvu", "zyx tsr"), ("zyx wvu", "zyx wvu"), ("wvu", "tsr")]
    found = fitted.transform(pairs)
    rarest = fitted.words_.idf_.max()
    assert column(found, "word cosine").round(6).tolist() == [0.5, 1, 0]
    assert np.allclose(column(found, "rarity shared"), [rarest, 2 * rarest, 0])
    assert np.allclose(column(found, "rarity unshared, lesser side"), [rarest, 0, rarest])
    assert np.allclose(column(found, "word and bigram cosine"), [1 / 3, 1, 0], atol=1e-6)
    assert (column(found, "character cosine")[[0, 2]] < 0.6).all()


def test_many_texts_without_a_common_word_have_features_too():
    # No spaces: each text is one word, and no two of them share it.
    pairs = many("日本語{}番")
    found = LexicalFeatures().fit(pairs).transform([*pairs[:2], (pairs[0][0], pairs[0][0])])
    assert column(found, "word cosine").tolist() == [0, 0, 1]
    assert column(found, "character cosine")[0] > 0

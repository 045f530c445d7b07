"""Word differences as a transformer: names, order, spelling and what a vectoriser may be."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import WordDifferences
from film.datasets import make_question_pairs
from film.text import normalize_text

DATA = make_question_pairs(100, random_state=0)
PAIRS = np.asarray(DATA.pairs, dtype=object)
ODD = [("", "zebra"), ("?", ""), ("Où est l'École", "où est ecole"), ("\ud800", "a" * 100_000)]


@pytest.fixture(scope="module")
def fitted():
    return WordDifferences().fit(PAIRS)


def terms(text):
    words = normalize_text(text).split()
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}


def said(differences, pair):
    row = differences.transform([pair]).tocoo()
    names = differences.get_feature_names_out()
    return {names[column]: value for column, value in zip(row.col, row.data, strict=True)}


def test_a_pair_says_which_words_and_bigrams_it_shares(fitted):
    known = set.union(*(terms(text) for text in PAIRS.flat))
    for first, second in [*PAIRS[:30].tolist(), *ODD, (PAIRS[0, 0] * 2, PAIRS[1, 1])]:
        x, z = terms(first) & known, terms(second) & known
        wanted = {f"both: {term}": 1.0 for term in x & z} | {f"one: {term}": 1.0 for term in x ^ z}
        assert said(fitted, (first, second)) == wanted


def test_order_spelling_and_company_change_nothing(fitted):
    pairs = np.array([*PAIRS, *ODD], dtype=object)
    found = fitted.transform(pairs)
    assert (found != fitted.transform(pairs[:, ::-1])).nnz == 0
    assert (found != fitted.transform(pairs[::-1])[::-1]).nnz == 0
    assert (found[[3]] != fitted.transform(pairs[3:4])).nnz == 0
    loud = [[f" {text.upper().replace(' ', '_')}!" for text in pair] for pair in PAIRS]
    assert (fitted.transform(loud) != fitted.transform(PAIRS)).nnz == 0


def many(n):
    return [(f"a {2 * i}", f"a {2 * i + 1}") for i in range(n)]


def test_of_many_texts_words_that_occur_once_are_left_out():
    assert set(WordDifferences().fit(many(501)).vectorizer_.vocabulary_) == {"a"}
    assert "a 7" in WordDifferences().fit(many(500)).vectorizer_.vocabulary_


def test_a_vectoriser_of_your_own_is_cloned_and_weighs():
    own = TfidfVectorizer(stop_words="english")
    differences = WordDifferences(own).fit(PAIRS)
    assert not hasattr(own, "vocabulary_")
    first, second = (differences.vectorizer_.transform(side).toarray() for side in PAIRS.T)
    wanted = np.hstack([np.minimum(first, second), np.abs(first - second)])
    assert np.allclose(differences.transform(PAIRS).toarray(), wanted, rtol=0, atol=1e-15)


class Lengths(TransformerMixin, BaseEstimator):
    """A dense vectoriser."""

    def fit(self, texts, y=None):
        self.seen_ = list(texts)
        return self

    def transform(self, texts):
        return np.array([[len(text), text.count(" ")] for text in texts])

    def get_feature_names_out(self, input_features=None):
        return np.array(["length", "spaces"], dtype=object)


def test_the_vectoriser_sees_each_text_once_and_may_be_dense():
    differences = WordDifferences(Lengths()).fit([("a b", "a"), ("a", "a b c")])
    assert differences.vectorizer_.seen_ == ["a", "a b", "a b c"]
    assert said(differences, ("a b", "abcdef g")) == {
        "both: length": 3,
        "both: spaces": 1,
        "one: length": 5,
    }

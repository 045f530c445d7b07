"""Lexical features of pairs of texts, as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import (
    as_texts,
    check_pairs,
    distinct_texts,
    tags_of_texts,
    transformed_by_words,
    word_gram_counts,
)
from estimators.persistence import savable
from film.pairs import (
    EDIT_NAMES,
    OVERLAP_NAMES,
    SEQUENCE_NAMES,
    SIGN_NAMES,
    edit_features,
    overlap_features,
    pair_cosines,
    sequence_features,
    sign_features,
)
from film.text import token_text

N_HASHES = 2**20
"""Columns of hashed n-grams; two n-grams of a pair rarely share a column."""

COSINE_NAMES = ("word cosine", "word and bigram cosine", "character cosine")


@savable
class LexicalFeatures(TransformerMixin, BaseEstimator):
    """Overlaps, edits, numbers, symbols, negation and lengths of a pair, as 39 named features.

    Labels are not needed: `fit` counts how rare words are. An unknown word is as rare as the rarest
    known word. Stop words, negation and question words are English. In other languages, these few
    features are of little use; the others work.

    Attributes
    ----------
    words_ : TfidfVectorizer
        Fitted on the tokens (`film.text.token_text`) of the unique texts.
    bigrams_, characters_ : Pipeline
        Hashed n-grams of words and characters, weighted by rarity.
    n_features_out_ : int
        Number of features.

    See Also
    --------
    WordDifferences : Shared and unshared words, as features of a linear model.

    Examples
    --------
    >>> from estimators.pairs import LexicalFeatures
    >>> pairs = [("How old is Earth?", "What is Earth's age?"), ("Is it 5?", "Is it 6?")]
    >>> lexical = LexicalFeatures().fit(pairs)
    >>> values = dict(zip(lexical.get_feature_names_out(), lexical.transform(pairs)[1].tolist()))
    >>> values["numbers unshared"], values["same first words"]
    (2.0, 2.0)
    """

    def fit(self, pairs: Any, y: Any = None) -> LexicalFeatures:
        """Count the words of the unique texts.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : object, default=None
            Not used.

        Returns
        -------
        self : LexicalFeatures
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing or no text has a word.
        """
        texts = {token_text(text) for text in np.unique(check_pairs(pairs, fits=True)).tolist()}
        texts = sorted(texts - {""})
        if not texts:
            raise ValueError(
                "pairs hold no word at all; give texts with letters, numbers or symbols"
            )
        tokens: dict[str, Any] = {"token_pattern": r"\S+"}
        single: Any = np.float32
        self.words_ = TfidfVectorizer(sublinear_tf=True, dtype=single, **tokens).fit(texts)
        self.bigrams_ = _hashed(ngram_range=(1, 2), **tokens).fit(texts)
        self.characters_ = character_counts(texts)
        self.n_features_out_ = len(self.get_feature_names_out())
        return self

    def transform(self, pairs: Any) -> np.ndarray:
        """Compute the features.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; their order within a pair changes nothing.

        Returns
        -------
        features : ndarray of float64, shape (n_pairs, 39)
            Columns `get_feature_names_out`.
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs)
        texts, codes = distinct_texts(pairs)
        normal: Any = _read(texts)
        words, rarity = self._open_words(normal)
        grams = self.bigrams_.transform(normal), transformed_by_words(self.characters_, normal)
        split: Any = np.fromiter((text.split() for text in normal), dtype=object, count=len(normal))
        first, second = codes.T
        features = [
            *(pair_cosines(rows, codes) for rows in (words, *grams)),
            overlap_features(words, codes, rarity),
            sequence_features(split[first], split[second], ENGLISH_STOP_WORDS),
            edit_features(normal[first], normal[second]),
            sign_features(split[first], split[second]),
        ]
        return np.column_stack(features)

    def _open_words(self, texts: Any) -> tuple[Any, np.ndarray]:
        """Return TF-IDF rows that include unknown words, and the rarity of every column."""
        known = self.words_.vocabulary_
        unknown = sorted({word for text in texts for word in text.split()} - known.keys())
        vocabulary = known | {word: len(known) + i for i, word in enumerate(unknown)}
        single: Any = np.float32
        counter: Any = CountVectorizer(
            vocabulary=vocabulary, token_pattern=r"\S+", lowercase=False, dtype=single
        )
        counts = counter.transform(texts)
        rarity = np.append(self.words_.idf_, np.full(len(unknown), self.words_.idf_.max()))
        counts.data = (1 + np.log(counts.data)) * rarity[counts.indices].astype(np.float32)
        return counts, rarity

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, in order.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (39,)
            Plain words.
        """
        return as_texts([*COSINE_NAMES, *OVERLAP_NAMES, *SEQUENCE_NAMES, *EDIT_NAMES, *SIGN_NAMES])

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())


def _read(texts: Any) -> Any:
    return as_texts([token_text(text) for text in texts])


def character_counts(texts: list[str]) -> Pipeline:
    """Fit hashed character n-grams to texts as `film.text.token_text` gives them."""
    characters = _hashed(analyzer="char_wb", ngram_range=(3, 5))
    counter, rarity = (step for _, step in characters.steps)
    rarity.fit(word_gram_counts(counter, texts))
    return characters


def _hashed(**params: Any) -> Pipeline:
    """Return hashed n-grams with rarity; n-grams of no training text are the rarest."""
    single: Any = np.float32
    no_norm: Any = None
    counts = HashingVectorizer(
        n_features=N_HASHES, alternate_sign=False, norm=no_norm, dtype=single, **params
    )
    return make_pipeline(counts, TfidfTransformer(sublinear_tf=True))

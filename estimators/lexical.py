"""Lexical features of pairs of texts, as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from estimators._pairs import check_pairs
from estimators._savable import savable
from estimators._texts import as_texts
from film.lexical import (
    EDIT_NAMES,
    OVERLAP_NAMES,
    SEQUENCE_NAMES,
    edit_features,
    overlap_features,
    row_cosines,
    sequence_features,
)
from film.text import normalize_text

COSINE_NAMES = ("word cosine", "word and bigram cosine", "character cosine")


@savable
class LexicalFeatures(TransformerMixin, BaseEstimator):
    """Overlaps, edits, numbers, negation and lengths of a pair, as 35 named features.

    Nothing is learned from labels: `fit` counts how rare words are. Stop words, negation and
    question words are English; on other languages those few features say little and the rest work.

    Attributes
    ----------
    words_, bigrams_, characters_ : TfidfVectorizer
        Fitted on the unique texts.
    n_features_out_ : int
        Number of features.

    See Also
    --------
    WordDifferences : Which words are shared, for a linear model to learn from.

    Examples
    --------
    >>> from estimators.lexical import LexicalFeatures
    >>> pairs = [("How old is Earth?", "What is Earth's age?"), ("Is it 5?", "Is it 6?")]
    >>> lexical = LexicalFeatures().fit(pairs)
    >>> values = dict(zip(lexical.get_feature_names_out(), lexical.transform(pairs)[1]))
    >>> values["numbers unshared"], values["same first words"]
    (np.float64(2.0), np.float64(2.0))
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
        texts = [normalize_text(text) for text in np.unique(check_pairs(pairs)).tolist()]
        texts = sorted(set(texts) - {""})
        if not texts:
            raise ValueError("pairs hold no word at all; give texts with letters or numbers")
        common: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32}
        words: dict[str, Any] = {"token_pattern": r"\w+"} | common
        # Of many texts, n-grams that occur once are the most part and match nothing.
        rare = 2 if len(texts) > 1000 else 1
        self.words_ = TfidfVectorizer(**words).fit(texts)
        bigrams = TfidfVectorizer(ngram_range=(1, 2), min_df=rare, **words)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=rare, **common)
        self.bigrams_, self.characters_ = _fit_any(bigrams, texts), _fit_any(characters, texts)
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
        features : ndarray of float64, shape (n_pairs, 35)
            Columns `get_feature_names_out`.

        Raises
        ------
        TypeError, ValueError
            If a text is missing.
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs)
        texts, codes = np.unique(pairs, return_inverse=True)
        normal: Any = as_texts([normalize_text(text) for text in texts.tolist()])
        first, second = codes.reshape(pairs.shape).T
        words = self.words_.transform(normal)
        cosines = [row_cosines(words[first], words[second])]
        for vectorizer in (self.bigrams_, self.characters_):
            rows = vectorizer.transform(normal)
            cosines.append(row_cosines(rows[first], rows[second]))
        split: Any = np.fromiter((text.split() for text in normal), dtype=object, count=len(normal))
        return np.column_stack(
            [
                *cosines,
                overlap_features(words[first], words[second], self.words_.idf_),
                sequence_features(split[first], split[second], ENGLISH_STOP_WORDS),
                edit_features(normal[first], normal[second]),
            ]
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, in order.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (35,)
            Plain words.
        """
        return as_texts([*COSINE_NAMES, *OVERLAP_NAMES, *SEQUENCE_NAMES, *EDIT_NAMES])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _fit_any(vectorizer: TfidfVectorizer, texts: list[str]) -> TfidfVectorizer:
    """Fit; where no n-gram is common, as in scripts without spaces, to all of them."""
    try:
        return vectorizer.fit(texts)
    except ValueError:
        return vectorizer.set_params(min_df=1).fit(texts)

"""Features of pairs: words in both texts, and words in only one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import as_texts, check_pairs, cloned, distinct_texts, tags_of_texts
from estimators.persistence import savable
from film.pairs import shared_and_unshared
from film.text import token_text


@savable
class WordDifferences(TransformerMixin, BaseEstimator):
    """Turn pairs into sparse features "in both texts" and "in one text only".

    A logistic regression on these features learns which words matter if only one text has them; no
    similarity of the two texts shows this.

    Parameters
    ----------
    vectorizer : estimator, default=None
        Maps texts to sparse non-negative features. None: whether words and bigrams of normalised
        text are present; with more than 1000 texts, only those in at least two texts.

    Attributes
    ----------
    vectorizer_ : estimator
        Fitted on the unique texts.

    See Also
    --------
    LexicalFeatures : A few dense features that need no labels.

    Examples
    --------
    >>> from estimators.pairs import WordDifferences
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> pairs = [("red car", "blue car"), ("red car", "car red")]
    >>> differences = WordDifferences(CountVectorizer()).fit(pairs)
    >>> differences.get_feature_names_out().tolist()
    ['both: blue', 'both: car', 'both: red', 'one: blue', 'one: car', 'one: red']
    >>> differences.transform(pairs).toarray()
    array([[0, 1, 0, 1, 0, 1],
           [0, 1, 1, 0, 0, 0]])
    """

    def __init__(self, vectorizer: Any = None) -> None:
        self.vectorizer = vectorizer

    def fit(self, pairs: Any, y: Any = None) -> WordDifferences:
        """Fit the vectoriser on the unique texts.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : object, default=None
            Not used.

        Returns
        -------
        self : WordDifferences
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, or no word occurs often enough.
        """
        texts = np.unique(check_pairs(pairs, fits=True))
        vectorizer: Any = self.vectorizer
        if vectorizer is None:
            single: Any = np.float32
            vectorizer = CountVectorizer(
                preprocessor=token_text,
                token_pattern=r"\S+",
                ngram_range=(1, 2),
                min_df=2 if len(texts) > 1000 else 1,
                binary=True,
                dtype=single,
            )
        fresh = cloned("vectorizer", vectorizer)
        self.vectorizer_ = fresh.fit(as_texts(texts.tolist()))
        return self

    def transform(self, pairs: Any) -> sp.csr_array:
        """Split the features of each pair.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; their order within a pair changes nothing.

        Returns
        -------
        features : csr_array of shape (n_pairs, 2 D)
            First the features in both texts, then those in only one.
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs)
        texts, codes = distinct_texts(pairs)
        rows = sp.csr_array(self.vectorizer_.transform(as_texts(texts)))
        first, second = codes.T
        return shared_and_unshared(rows[first], rows[second])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, in order.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (2 D,)
            Names of the vectoriser, with the prefixes "both: " and "one: ".
        """
        check_is_fitted(self)
        names = self.vectorizer_.get_feature_names_out()
        return as_texts([f"{where}: {name}" for where in ("both", "one") for name in names])

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

"""TF-IDF of texts that are counted once, however often embedders are fitted to some of them."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.utils.validation import check_is_fitted


class _Counts(NamedTuple):
    """Counts of every term in every text, and the row of each text."""

    matrix: Any
    terms: np.ndarray
    row_of: dict[str, int]


class CountedTfidf(TransformerMixin, BaseEstimator):
    """A `TfidfVectorizer` that reads the counts of its texts from a file.

    To cut texts into character n-grams takes most of its time, and is the same for every fold and
    mode. The vocabulary, document frequencies and weights are still learned in `fit`, from the
    given texts alone.

    Parameters
    ----------
    vectorizer : TfidfVectorizer
        With an integer ``min_df`` and no limits but that.
    place : str
        File that `count_texts` wrote for it.

    Attributes
    ----------
    columns_ : ndarray of int, shape (n_terms,)
        Terms of the file that occur in ``min_df`` of the fitted texts.
    tfidf_ : TfidfTransformer
        Fitted.
    """

    def __init__(self, vectorizer: Any, place: str) -> None:
        self.vectorizer = vectorizer
        self.place = place

    def fit(self, texts: Any, y: Any = None) -> CountedTfidf:
        """Learn from texts that were counted."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Any, y: Any = None) -> Any:
        """Learn from texts that were counted, and give their weights, (n, n_terms)."""
        counts = self._counts_of(texts)
        in_texts = np.bincount(counts.indices, minlength=counts.shape[1])
        self.columns_ = np.flatnonzero(in_texts >= self.vectorizer.min_df)
        settings = self.vectorizer.get_params()
        self.tfidf_ = TfidfTransformer()
        self.tfidf_.set_params(**{name: settings[name] for name in self.tfidf_.get_params()})
        return self.tfidf_.fit_transform(counts[:, self.columns_])

    def transform(self, texts: Any) -> Any:
        """Give the weights of texts that were counted, (n, n_terms)."""
        check_is_fitted(self)
        return self.tfidf_.transform(self._counts_of(texts)[:, self.columns_], copy=False)

    def get_feature_names_out(self, names: Any = None) -> np.ndarray:
        """Terms, as those of the vectorizer."""
        check_is_fitted(self)
        return _read(self.place).terms[self.columns_]

    def _counts_of(self, texts: Any) -> Any:
        known = _read(self.place)
        rows = [known.row_of.get(text, -1) for text in texts]
        if -1 in rows:
            raise ValueError(f"{texts[rows.index(-1)]!r} is none of the texts of {self.place}")
        return known.matrix[rows]


def count_texts(vectorizer: TfidfVectorizer, texts: list[str], folder: Path) -> CountedTfidf:
    """Count the terms of texts, unless a file in the folder has them, and give the vectorizer.

    Parameters
    ----------
    vectorizer : TfidfVectorizer
        Cuts texts into terms.
    texts : list of str
        All texts that it will ever be given, each once.
    folder : Path
        A folder of one's own: files in it are loaded by joblib.

    Returns
    -------
    counted : CountedTfidf
        Not fitted yet.
    """
    settings = vectorizer.get_params() | {"min_df": 1}
    counter = CountVectorizer()
    counter.set_params(**{name: settings[name] for name in counter.get_params()})
    # By its name: the address of a function, in its repr, is another one in every process.
    named_by = {name: getattr(value, "__qualname__", value) for name, value in settings.items()}
    key = json.dumps([named_by, texts])
    named = blake2b(key.encode(), digest_size=16).hexdigest()
    place = folder / f"counts_{named}.joblib"
    if not place.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        matrix: Any = counter.fit_transform(texts)
        # Choosing rows and columns keeps the order of entries, and sums depend on it.
        matrix.sort_indices()
        beside = place.with_name(place.name + ".part")
        parts = (matrix.data, matrix.indices, matrix.indptr)
        joblib.dump((parts, counter.get_feature_names_out(), texts), beside)
        beside.replace(place)
    return CountedTfidf(vectorizer, str(place))


@lru_cache(maxsize=2)
def _read(place: str) -> _Counts:
    parts, terms, texts = joblib.load(place, mmap_mode="r")
    matrix = sp.csr_matrix(parts, shape=(len(texts), len(terms)), copy=False)
    return _Counts(matrix, terms, {text: row for row, text in enumerate(texts)})

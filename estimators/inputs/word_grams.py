"""Character n-grams inside words, extracted once per word instead of once per text."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import Pipeline


def transformed_by_words(fitted: Any, texts: Any) -> Any:
    """Transform texts faster, by extracting n-grams inside words once per word.

    Parameters
    ----------
    fitted : transformer of texts
        Fitted. Faster for scikit-learn vectorisers with ``analyzer="char_wb"`` that count or
        apply TF-IDF, and for pipelines that start with one; any other transformer is called
        directly.
    texts : array-like of str, shape (n,)
        Texts.

    Returns
    -------
    transformed
        Equals ``fitted.transform(texts)``.

    Notes
    -----
    Many words recur: for 18,000 questions, this takes a third of the time.
    """
    steps = fitted.steps if isinstance(fitted, Pipeline) else [("", fitted)]
    first = steps[0][1]
    if not counts_in_words(first):
        return fitted.transform(texts)
    rows = word_gram_counts(first, texts)
    if isinstance(first, TfidfVectorizer):
        rows = _weighed(first, rows)
    return Pipeline(steps[1:]).transform(rows) if len(steps) > 1 else rows


def counts_in_words(vectorizer: Any) -> bool:
    """Whether each row of the vectoriser is a sum over the words of its text."""
    kinds = (CountVectorizer, HashingVectorizer, TfidfVectorizer)
    return (
        type(vectorizer) in kinds
        and vectorizer.analyzer == "char_wb"
        and vectorizer.input == "content"
        and not vectorizer.binary
        and (type(vectorizer) is not HashingVectorizer or vectorizer.norm is None)
    )


def word_gram_counts(vectorizer: Any, texts: Any) -> Any:
    """Count the n-grams inside the words of texts.

    The counts of a text are the sum of the counts of its words: the product of the matrices texts
    by words and words by n-grams.

    Parameters
    ----------
    vectorizer : CountVectorizer, TfidfVectorizer or HashingVectorizer
        One accepted by `counts_in_words`; with a vocabulary, unless it hashes.
    texts : array-like of str, shape (n,)
        Texts.

    Returns
    -------
    counts : csr_matrix of shape (n, n_features)
        Unweighted counts; the columns of each row are sorted.
    """
    read = vectorizer.build_preprocessor()
    number: dict[str, int] = {}
    words: list[int] = []
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    for row, text in enumerate(texts):
        words += [number.setdefault(word, len(number)) for word in read(text).split()]
        ends[row + 1] = len(words)
    plain: dict[str, Any] = {"preprocessor": None, "lowercase": False, "strip_accents": None}
    if isinstance(vectorizer, HashingVectorizer):
        reader: Any = clone(vectorizer)
        reader.set_params(**plain)
        width = vectorizer.n_features
    else:
        width = len(vectorizer.vocabulary_)
        reader = CountVectorizer(
            analyzer="char_wb",
            ngram_range=vectorizer.ngram_range,
            vocabulary=vectorizer.vocabulary_,
            dtype=vectorizer.dtype,
            **plain,
        )
    if not number:
        return sp.csr_matrix((len(texts), width), dtype=vectorizer.dtype)
    ones = np.ones(len(words), dtype=vectorizer.dtype)
    rows: Any = sp.csr_matrix((ones, words, ends), shape=(len(texts), len(number)))
    rows.sum_duplicates()
    counts: Any = rows @ reader.transform(list(number))
    counts.sort_indices()
    return counts


def _weighed(vectorizer: TfidfVectorizer, counts: Any) -> Any:
    """Weight counts as the fitted vectoriser does."""
    names = ("norm", "use_idf", "sublinear_tf")
    weigh: Any = TfidfTransformer(**{name: getattr(vectorizer, name) for name in names})
    weigh.fit(counts[:1])
    if vectorizer.use_idf:
        weigh.idf_ = vectorizer.idf_
    return weigh.transform(counts, copy=False)

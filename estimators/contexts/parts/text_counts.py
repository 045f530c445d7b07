"""Counts of words, and of runs of characters in words, in hashed columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

from estimators.inputs import word_gram_counts
from film.contexts import N_RUNS

N_FEATURES = 2**20
"""Columns over which words and bigrams are spread: a table of their names would be far larger than
all else that retrieval needs."""
N_GRAMS = 2, 5
"""Lengths of runs, the marks of the ends of a word included."""
_WORD = re.compile(r"\w+")


def hashed_counts(texts: Iterable[str]) -> Any:
    """Count words and bigrams of texts, in hashed columns."""
    no_norm: Any = None
    vectorizer = HashingVectorizer(
        ngram_range=(1, 2),
        token_pattern=r"(?u)\b\w+\b",
        n_features=N_FEATURES,
        alternate_sign=False,
        norm=no_norm,
    )
    return vectorizer.transform(texts)


def run_counts(texts: Iterable[str]) -> sp.csr_array:
    """Count the runs of 2 to 5 characters in the words of texts.

    Words are lower case; punctuation is left out. A word's ends are characters too.

    Parameters
    ----------
    texts : iterable of str
        n of them.

    Returns
    -------
    counts : csr array of float32, shape (n, N_RUNS)
        Runs are spread over columns by their hash.

    Examples
    --------
    >>> from estimators.contexts import run_counts
    >>> int(run_counts(["The cat!"]).sum())
    20
    """
    no_norm: Any = None
    float32: Any = np.float32
    vectorizer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=N_GRAMS,
        n_features=N_RUNS,
        norm=no_norm,
        alternate_sign=False,
        preprocessor=_words,
        dtype=float32,
    )
    return sp.csr_array(word_gram_counts(vectorizer, list(texts)))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))

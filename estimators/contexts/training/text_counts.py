"""Counts of words and of character n-grams ("runs"), in hashed columns."""

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
"""Number of hash values of words and bigrams; a table of their names would need far more memory
than the rest of retrieval."""
N_GRAMS = 2, 5
"""Lengths of runs, including the marks of a word's ends."""
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
    """Count the character n-grams of length 2 to 5 in the words of texts.

    Words are lower-cased, without punctuation. The start and end of a word count as characters.

    Parameters
    ----------
    texts : iterable of str
        n of them.

    Returns
    -------
    counts : csr array of float32, shape (n, N_RUNS)
        The column of a run is its hash.

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

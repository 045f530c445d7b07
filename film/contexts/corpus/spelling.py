"""Sentences by how their words are spelled: runs of characters, weighed and projected."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

N_RUNS = 2**18
"""Columns over which runs of characters are spread."""
N_GRAMS = 2, 5
"""Lengths of runs, the marks of the ends of a word included."""
ENTRIES = 8
"""Entries of a run's vector that are not 0: more would cost time and change little."""
_WORD = re.compile(r"\w+")


def run_counts(texts: Iterable[str]) -> sp.csr_array:
    """Count the runs of 2 to 5 characters in the words of texts.

    Words are lower case; punctuation is left out. A word's ends are characters too, and a word
    that is shorter than a run counts whole, once.

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
    >>> from film.contexts import run_counts
    >>> int(run_counts(["The cat!"]).sum())
    20
    """
    no_norm: None = None
    vectorizer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=N_GRAMS,
        n_features=N_RUNS,
        norm=no_norm,  # type: ignore[arg-type]
        alternate_sign=False,
        preprocessor=_words,
        dtype=np.float32,  # type: ignore[arg-type]
    )
    return sp.csr_array(vectorizer.transform(texts))


def run_weights(frequencies: ArrayLike, n_sentences: int) -> np.ndarray:
    """Weigh runs by their rarity, log(n / (1 + frequency)); at least 0.

    Parameters
    ----------
    frequencies : array-like of int, shape (N_RUNS,)
        Sentences that hold each run.
    n_sentences : int
        Their number n.

    Returns
    -------
    weights : ndarray of float32, shape (N_RUNS,)
    """
    return np.log(n_sentences / (1 + np.minimum(np.asarray(frequencies), n_sentences - 1))).astype(
        np.float32
    )


def run_vectors(size: int, random_state: int = 0) -> sp.csr_array:
    """Draw a random vector for each run: a few entries of 1 or -1.

    Products of sums of them are, on average, products of counts (Li, Hastie and Church, 2006).

    Parameters
    ----------
    size : int
        Length of the vectors.
    random_state : int
        Seed.

    Returns
    -------
    vectors : csr array of float32, shape (N_RUNS, size)

    Raises
    ------
    ValueError
        If ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"size={size} must be 1 or more")
    rng = np.random.default_rng(random_state)
    columns = rng.integers(size, size=(N_RUNS, ENTRIES))
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), size=(N_RUNS, ENTRIES))
    starts = np.arange(0, N_RUNS * ENTRIES + 1, ENTRIES)
    found = sp.csr_array((signs.ravel(), columns.ravel(), starts), shape=(N_RUNS, size))
    found.sum_duplicates()
    return found


def spelling_states(texts: Iterable[str], weights: np.ndarray, vectors: sp.csr_array) -> np.ndarray:
    """Vectors of texts whose cosine is about that of TF-IDF over runs of characters.

    Parameters
    ----------
    texts : iterable of str
        n of them, such that the corpus of the weights need not have their words.
    weights : ndarray of float, shape (N_RUNS,)
        From `run_weights`.
    vectors : csr array, shape (N_RUNS, size)
        From `run_vectors`. The error of a cosine is about 1/√size.

    Returns
    -------
    states : ndarray of float32, shape (n, size)
        Of length 1; zeros for a text without a letter or digit, or of words that all texts have.

    Examples
    --------
    >>> from film.contexts import run_counts, run_vectors, run_weights, spelling_states
    >>> corpus = ["we play chess", "they sing", "birds fly"]
    >>> weights = run_weights(run_counts(corpus).astype(bool).sum(axis=0), len(corpus))
    >>> states = spelling_states(["played", "playing", "sings"], weights, run_vectors(300))
    >>> bool(states[0] @ states[1] > 3 * abs(states[0] @ states[2]))
    True
    """
    weighed = run_counts(texts).multiply(weights[np.newaxis])
    return normalize(np.asarray((sp.csr_array(weighed) @ vectors).toarray(), dtype=np.float32))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))

"""Vectors of words and of spellings, from the corpus alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from film.metric import truncated_svd


def cooccurrences(values: Any, starts: Any, n_words: int, window: int = 5) -> sp.csr_array:
    """Count how often two words occur near each other in one sentence.

    Parameters
    ----------
    values : array-like of int, shape (N,)
        Words of all sentences, one after the other.
    starts : array-like of int, shape (n + 1,)
        Position of each sentence's first word, then N.
    n_words : int
        Size of the vocabulary.
    window : int, default=5
        Largest distance of a neighbour. A neighbour at distance k counts 1/k.

    Returns
    -------
    counts : csr array of float64, shape (n_words, n_words)
        Symmetric. The time is O(N window).

    Examples
    --------
    >>> from film.contexts.sentence_vectors import cooccurrences
    >>> cooccurrences([0, 1, 2, 1, 0], [0, 3, 5], 3, window=2).toarray()
    array([[0. , 2. , 0.5],
           [2. , 0. , 1. ],
           [0.5, 1. , 0. ]])
    """
    words = np.asarray(values)
    sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    total = sp.csr_array((n_words, n_words))
    for k in range(1, min(window, len(words) - 1) + 1):
        near = sentence[:-k] == sentence[k:]
        pairs = words[:-k][near], words[k:][near]
        total += sp.coo_array((np.full(len(pairs[0]), 1 / k), pairs), shape=total.shape).tocsr()
    return sp.csr_array(total + total.T)


def word_vectors(
    values: Any, starts: Any, n_words: int, size: int, *, random_state: Any = None
) -> np.ndarray:
    """Learn a vector for each word from a corpus, without a network.

    Vectors come from the singular value decomposition U diag(σ) Vᵀ of positive pointwise mutual
    information, max(0, log p(w, w') / (p(w) p'(w'))) with p' ∝ count^0.75: they are the rows of
    U diag(√σ), scaled to length 1 (Levy, Goldberg and Dagan, 2015).

    Parameters
    ----------
    values, starts, n_words
        As in `cooccurrences`.
    size : int
        Length of the vectors.
    random_state : int, Generator or None
        Seeds the decomposition.

    Returns
    -------
    vectors : ndarray of float32, shape (n_words, size)
        Rows of length 1; zero for words without a neighbour. The last columns are zero if the
        matrix has a rank below ``size``.

    Notes
    -----
    8 million words with a vocabulary of 16,000 take one to two minutes on two cores.

    Examples
    --------
    >>> from film.contexts import word_vectors
    >>> vectors = word_vectors([0, 1, 2, 1, 0, 1], [0, 2, 4, 6], 4, 2, random_state=0)
    >>> vectors.shape, float(vectors[3] @ vectors[3])
    ((4, 2), 0.0)
    """
    counts = cooccurrences(values, starts, n_words).tocoo()
    vectors = np.zeros((n_words, size), dtype=np.float32)
    if not counts.nnz:
        return vectors
    row, column = counts.coords
    of_word = np.bincount(row, counts.data, minlength=n_words)
    smoothed = of_word**0.75
    expected = of_word[row] * smoothed[column] / smoothed.sum()
    information = np.maximum(np.log(counts.data / expected), 0).astype(np.float32)
    matrix = sp.csr_array((information, (row, column)), shape=(n_words, n_words))
    matrix.eliminate_zeros()
    found = truncated_svd(matrix, min(size, n_words), random_state=random_state)
    rank = len(found.singular_values)
    vectors[:, :rank] = found.left * np.sqrt(found.singular_values)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    # Words that the decomposition does not cover keep only rounding errors.
    held = norms > 1e-4 * norms.max()
    return np.where(held, vectors / np.where(held, norms, 1), 0).astype(np.float32)


N_RUNS = 2**18
"""Number of hash values of character n-grams."""
ENTRIES = 8
"""Nonzero entries of a run's vector; more entries take time and change little."""


def run_weights(frequencies: ArrayLike, n_sentences: int) -> np.ndarray:
    """Return the weights of runs by their rarity, log(n / (1 + frequency)), at least 0.

    Parameters
    ----------
    frequencies : array-like of int, shape (N_RUNS,)
        Number of sentences that contain each run.
    n_sentences : int
        Number n of all sentences.

    Returns
    -------
    weights : ndarray of float32, shape (N_RUNS,)
    """
    return np.log(n_sentences / (1 + np.minimum(np.asarray(frequencies), n_sentences - 1))).astype(
        np.float32
    )


def run_vectors(size: int, random_state: int = 0) -> sp.csr_array:
    """Draw a sparse random vector for each run, with a few entries of 1 or -1.

    The inner product of two sums of vectors approximates that of the counts (Li, Hastie and
    Church, 2006).

    Parameters
    ----------
    size : int
        Length of the vectors.
    random_state : int
        Seed.

    Returns
    -------
    vectors : csr array of float32, shape (N_RUNS, size)

    """
    rng = np.random.default_rng(random_state)
    columns = rng.integers(size, size=(N_RUNS, ENTRIES))
    signs = rng.choice(np.array([-1, 1], dtype=np.float32), size=(N_RUNS, ENTRIES))
    starts = np.arange(0, N_RUNS * ENTRIES + 1, ENTRIES)
    found = sp.csr_array((signs.ravel(), columns.ravel(), starts), shape=(N_RUNS, size))
    found.sum_duplicates()
    return found


def spelling_states(counts: Any, weights: ArrayLike, vectors: sp.csr_array) -> np.ndarray:
    """Return vectors of texts whose cosines approximate those of TF-IDF over character n-grams.

    Parameters
    ----------
    counts : sparse array of float32, shape (n, N_RUNS)
        How often each run occurs in each text.
    weights : array-like of float, shape (N_RUNS,)
        From `run_weights`.
    vectors : csr array, shape (N_RUNS, size)
        From `run_vectors`. The error of a cosine is about 1/√size.

    Returns
    -------
    states : ndarray of float32, shape (n, size)
        Rows of length 1; zeros for a text without a run of positive weight.

    Examples
    --------
    Three texts, of which two share two of three runs.

    >>> import scipy.sparse as sp
    >>> from film.contexts import N_RUNS, run_vectors, run_weights, spelling_states
    >>> runs = [0, 1, 2, 1, 2, 3, 4, 5, 6]
    >>> counts = sp.csr_array(([1.0] * 9, runs, [0, 3, 6, 9]), shape=(3, N_RUNS))
    >>> weights = run_weights(counts.sum(axis=0), 100)
    >>> states = spelling_states(counts, weights, run_vectors(300))
    >>> bool(states[0] @ states[1] > 3 * abs(states[0] @ states[2]))
    True
    """
    weighed = sp.csr_array(counts).multiply(np.asarray(weights)[np.newaxis])
    sums: Any = sp.csr_array(weighed) @ vectors
    found = np.asarray(sums.toarray(), dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
    return found / np.where(lengths > 0, lengths, 1)[:, np.newaxis]

"""Vectors of tokens from counts of their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

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
    >>> from film.contexts.corpus.token_vectors import cooccurrences
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

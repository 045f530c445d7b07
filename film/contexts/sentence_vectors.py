"""Vectors of the spelling of sentences, from the corpus alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

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

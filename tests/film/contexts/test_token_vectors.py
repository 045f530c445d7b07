"""Word vectors from counts, against loops over pairs of words and a dense decomposition."""

import itertools

import numpy as np
import pytest

from film.contexts import word_vectors
from film.contexts.sentence_vectors import cooccurrences


def corpus(seed: int = 0, n_words: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, size=60)
    return rng.integers(n_words, size=lengths.sum()), np.r_[0, np.cumsum(lengths)]


def counted(values, starts, n_words, window):
    counts = np.zeros((n_words, n_words))
    for start, end in itertools.pairwise(starts):
        words = values[start:end]
        for i in range(len(words)):
            for j in range(len(words)):
                if i != j and abs(i - j) <= window:
                    counts[words[i], words[j]] += 1 / abs(i - j)
    return counts


@pytest.mark.parametrize("window", [1, 3, 20])
def test_counts_are_those_of_a_loop(window):
    values, starts = corpus()
    found = cooccurrences(values, starts, 12, window=window).toarray()
    # Sums of fractions in another order.
    np.testing.assert_allclose(found, counted(values, starts, 12, window), rtol=1e-12, atol=1e-12)


def test_vectors_factorise_positive_information():
    values, starts = corpus()
    counts = counted(values, starts, 12, 5)
    of_word = counts.sum(axis=1)
    share = of_word**0.75 / (of_word**0.75).sum()
    with np.errstate(divide="ignore"):
        information = np.maximum(np.log(counts / np.outer(of_word, share)), 0)
    left, singular, _ = np.linalg.svd(information)
    expected = left * np.sqrt(singular)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = word_vectors(values, starts, 12, 12, random_state=0)
    assert found.dtype == np.float32
    # Signs of columns are free, products of rows are not; float32.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_no_word_has_a_neighbour():
    assert not word_vectors([1, 2], [0, 1, 2], 3, 4).any()

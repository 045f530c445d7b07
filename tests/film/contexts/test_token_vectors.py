"""Word vectors from counts, against loops over pairs of words and a dense decomposition."""

import itertools
import zlib

import numpy as np
import pytest

from film.contexts import spelling_vectors, word_vectors
from film.contexts.corpus.token_vectors import cooccurrences


def corpus(seed: int = 0, n_words: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, size=60)
    return rng.integers(n_words, size=lengths.sum()), np.r_[0, np.cumsum(lengths)]


def counted(values, starts, n_words, window, first=0):
    counts = np.zeros((n_words, n_words))
    for start, end in itertools.pairwise(starts):
        words = values[start:end]
        for i in range(len(words)):
            for j in range(len(words)):
                if i != j and abs(i - j) <= window and min(words[i], words[j]) >= first:
                    counts[words[i], words[j]] += 1 / abs(i - j)
    return counts


@pytest.mark.parametrize("window", [1, 3, 20])
@pytest.mark.parametrize("first", [0, 2])
def test_counts_are_those_of_a_loop(window, first, monkeypatch):
    values, starts = corpus()
    expected = counted(values, starts, 12, window, first)
    # Sums of fractions in another order.
    for places in (4_000_000, 7):
        monkeypatch.setattr("film.contexts.corpus.token_vectors._PLACES_AT_ONCE", places)
        found = cooccurrences(values, starts, 12, window=window, first=first).toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


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


def test_words_of_the_same_company_are_close():
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        world = rng.integers(2)
        rows.append([rng.integers(5) + 5 * world for _ in range(6)])
    vectors = word_vectors(np.ravel(rows), np.arange(301) * 6, 11, 3, random_state=0)
    products = vectors @ vectors.T
    assert products[:5, :5].min() > products[:5, 5:].max() + 0.5
    assert not vectors[10].any()


def test_no_word_has_a_neighbour():
    assert not word_vectors([1, 2], [0, 1, 2], 3, 4).any()


@pytest.mark.parametrize(("name", "given"), [("size", (1, 0)), ("window", (0, 1))])
def test_numbers_are_checked(name, given):
    window, size = given
    with pytest.raises(ValueError, match=f"{name}=0 must be 1 or more"):
        word_vectors([0], [0, 1], 1, size, window=window)


def brute_spelling(tokens, frequencies, n, vector_of):
    """The sum over runs, one after the other."""
    runs = [
        {t[i : i + k] for k in (3, 4, 5) for i in range(len(t) - k + 1)} | {"=" + t} for t in tokens
    ]
    seen = {}
    for own, frequency in zip(runs, frequencies, strict=True):
        for run in own:
            seen[run] = seen.get(run, 0) + frequency
    found = []
    for own, frequency in zip(runs, frequencies, strict=True):
        total = sum(np.log(n / (1 + min(seen[run], n - 1))) * vector_of(run) for run in own)
        wanted = np.log(n / (1 + min(frequency, n - 1)))
        found.append(total / np.linalg.norm(total) * wanted)
    return np.array(found)


def test_spelling_vectors_are_sums_over_runs_of_characters():
    tokens, frequencies = ["Ġplay", "Ġplayed", "ing", "ab"], [7, 2, 40, 3]

    def vector_of(run):
        rng = np.random.default_rng([5, zlib.crc32(run.encode())])
        return rng.standard_normal(16, dtype=np.float32).astype(float)

    found = spelling_vectors(tokens, frequencies, 100, 16, random_state=5)
    expected = brute_spelling(tokens, frequencies, 100, vector_of)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_token_has_a_vector_whatever_else_the_vocabulary_has():
    alone = spelling_vectors(["Ġcat"], [3], 90, 8, random_state=1)
    among = spelling_vectors(["dog", "Ġcat"], [9, 3], 90, 8, random_state=1)
    np.testing.assert_allclose(among[1], alone[0], rtol=1e-5)


def test_tokens_without_text_or_in_all_sentences_have_no_vector():
    tokens = ["", "the", ".", 'Ġ"', "cat", "7"]
    found = spelling_vectors(tokens, [0, 50, 20, 9, 1, 1], 50, 8, random_state=0)
    assert found.any(axis=1).tolist() == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    ("frequencies", "size", "message"),
    [([1], 4, r"one per token, \(2,\), got shape \(1,\)"), ([1, 2], 0, "size=0 must be 1")],
)
def test_what_spelling_vectors_are_given_is_checked(frequencies, size, message):
    with pytest.raises(ValueError, match=message):
        spelling_vectors(["a", "b"], frequencies, 9, size)

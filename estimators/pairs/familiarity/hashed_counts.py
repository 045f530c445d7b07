"""What texts are made of, hashed: words, n-grams of them, and patterns of frequent words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer

from estimators.inputs import as_texts

N_HASHES = 2**20
N_PATTERN_WORDS = 200
"""Most frequent words, which patterns keep; any other word of a pattern reads as one sign."""

NEAR_WORDS = 4
"""Words that follow a word and stand with it."""

START, END, OPEN = "\x02", "\x03", "\x01"

N_FAMILIES = 6


def frequent_words(tokens: list[str]) -> list[str]:
    """Give the words that patterns keep, of texts as `film.text.token_text` spells them."""
    counts: dict[str, int] = {}
    for text in tokens:
        for word in set(text.split()):
            counts[word] = counts.get(word, 0) + 1
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return ordered[:N_PATTERN_WORDS]


def hashed_families(
    tokens: list[str], pattern_words: list[str], n: int = N_FAMILIES
) -> list[csr_array]:
    """Hash the features of texts, by kind.

    Words; bigrams; patterns of three; the first word of the pattern; its first three; two words of
    which one is among the `NEAR_WORDS` after the other. Ends of texts count as words in bigrams and
    patterns.

    Parameters
    ----------
    tokens : list of str
        m texts as `film.text.token_text` spells them.
    pattern_words : list of str
        What `frequent_words` gave.
    n : int, default=6
        How many of the kinds.

    Returns
    -------
    families : list of sparse arrays, shape (m, `N_HASHES`)
        Ones.
    """
    kept = set(pattern_words)
    patterns = [
        " ".join(word if word in kept else OPEN for word in text.split()) for text in tokens
    ]
    kinds: list[tuple[list[str], Callable[[str], list[str]]]] = [
        (tokens, str.split),
        (tokens, lambda text: _grams(text, 2)),
        (patterns, lambda text: _grams(text, 3)),
        (patterns, lambda text: text.split()[:1]),
        (patterns, lambda text: [" ".join([START, *text.split()[:3]])] if text else []),
        (tokens, _near_words),
    ]
    return [_hashed(texts, read) for texts, read in kinds[:n]]


def column_counts(rows: csr_array) -> csr_array:
    """How many rows have each column, as one sparse row: most hashes have none."""
    counts = np.bincount(rows.indices, minlength=N_HASHES).astype(np.int32)
    return csr_array(counts[None])


def dense(counts: csr_array) -> np.ndarray:
    """Give such a row as an array."""
    return counts.toarray().ravel()


def _grams(text: str, size: int) -> list[str]:
    words = [START, *text.split(), END]
    return [" ".join(words[at : at + size]) for at in range(len(words) - size + 1)]


def _near_words(text: str) -> list[str]:
    words = text.split()
    return [
        f"{word} {other}"
        for at, word in enumerate(words)
        for other in words[at + 1 : at + 1 + NEAR_WORDS]
    ]


def _hashed(texts: list[str], read: Callable[[str], list[str]]) -> csr_array:
    options: dict[str, Any] = {"analyzer": read, "norm": None, "dtype": np.float32}
    vectorizer = HashingVectorizer(
        n_features=N_HASHES, alternate_sign=False, binary=True, **options
    )
    return csr_array(vectorizer.transform(as_texts(texts)))

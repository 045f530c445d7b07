"""Runs of characters, against a loop over words."""

from collections import Counter

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from estimators.contexts import run_counts
from film.contexts import N_RUNS

TEXTS = ["The cat!", "A cat's cat, a CAT", "x", "", "?! ...", "Größe 7 dog_house", "  a\nb\t c "]
WORDS = {
    "The cat!": ["the", "cat"],
    "A cat's cat, a CAT": ["a", "cat", "s", "cat", "a", "cat"],
    "x": ["x"],
    "": [],
    "?! ...": [],
    "Größe 7 dog_house": ["größe", "7", "dog_house"],
    "  a\nb\t c ": ["a", "b", "c"],
}


def looped(words):
    """How often each run of 2 to 5 characters stands in words between marks of their ends."""
    found = Counter()
    for word in words:
        marked = f" {word} "
        for length in (2, 3, 4, 5):
            for start in range(len(marked) - length + 1):
                found[marked[start : start + length]] += 1
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_counts_are_those_of_a_loop(text):
    expected = np.zeros(N_RUNS, dtype=np.float32)
    for run, count in looped(WORDS[text]).items():
        expected[abs(murmurhash3_32(run)) % N_RUNS] += count
    found = run_counts([text])
    assert found.shape == (1, N_RUNS) and found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray()[0], expected)


def test_each_text_has_its_row():
    found = run_counts(iter(TEXTS))
    alone = [run_counts([text]).toarray()[0] for text in TEXTS]
    np.testing.assert_array_equal(found.toarray(), alone)
    sums = [sum(looped(WORDS[text]).values()) for text in TEXTS]
    assert found.sum(axis=1).tolist() == sums

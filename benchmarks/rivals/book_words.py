"""The words of a corpus as numbers: what every bag of words of the rivals starts from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_WORDS = 40_000
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


def words(text: str) -> list[str]:
    """List the words of a text in lower case, with what an apostrophe binds to them."""
    return _WORD.findall(text.lower().replace("’", "'"))


class BookWords(NamedTuple):
    """Sentences as numbers of words; number 0 stands for words that are not known.

    Parameters
    ----------
    vocabulary : dict of str to int
        From 1, by descending frequency.
    ids : ndarray of shape (n_words,)
        The words of all sentences, one after another.
    starts : ndarray of shape (n_sentences + 1,)
        Where each sentence begins in `ids`.
    documents : ndarray of shape (n_sentences,)
        The document of each sentence, ascending.
    """

    vocabulary: dict[str, int]
    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    documents: NDArray[np.int64]

    def idf(self) -> NDArray[np.float64]:
        """Inverse document frequency over sentences; an unknown word's is the highest."""
        n, lengths = len(self.documents), np.diff(self.starts)
        size = len(self.vocabulary) + 1
        sentence = np.repeat(np.arange(n), lengths)
        distinct = np.unique(sentence * size + self.ids) % size
        idf = np.log(n / (1.0 + np.bincount(distinct, minlength=size)))
        idf[0] = idf[1:].max()
        return np.maximum(idf, 0.0)

    def numbers(self, text: str) -> list[int]:
        """Numbers of a text's words; one unknown word where it has none."""
        return [self.vocabulary.get(word, 0) for word in words(text)] or [0]


def read_words(documents: Iterable[Sequence[str]], n_words: int = N_WORDS) -> BookWords:
    """Turn the words of documents, each a list of sentences, into numbers.

    Sentences without words are left out.

    Raises
    ------
    ValueError
        When no sentence holds a word.
    """
    counts: Counter[str] = Counter()
    found: list[list[str]] = []
    of: list[int] = []
    for number, sentences in enumerate(documents):
        for sentence in sentences:
            if spelled := words(sentence):
                found.append(spelled)
                of.append(number)
                counts.update(spelled)
    if not found:
        raise ValueError("documents hold no sentence with a word; give texts")
    vocabulary = {word: i for i, (word, _) in enumerate(counts.most_common(n_words), start=1)}
    ids = np.array([vocabulary.get(word, 0) for word in chain.from_iterable(found)], np.int64)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in found])]).astype(np.int64)
    return BookWords(vocabulary, ids, starts, np.array(of, np.int64))

"""How rare words are, and which words are spelled alike."""

from __future__ import annotations

import functools
import gzip
import importlib.resources
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import cpdist

__all__ = ["WordRarity", "near_words"]

PRIOR_TEXTS = 500
"""Weight of general English in the rarity of words, as a number of texts."""

N_STOP_WORDS = 150
STOP_WEIGHT = 0.25

POLITE = frozenset(
    "hello hi hey dear please kindly thanks thank team sir madam regards thx pls plz could "
    "would".split()
)

_ENDINGS = frozenset(["", *"s es ed d ing er ers ly n e en y ies ied ion ions al".split()])
"""Of at most four letters."""
_LARGEST_FAMILY = 50
"""Number of words that share all but one letter above which they are not compared."""


@functools.cache
def common_words() -> dict[str, int]:
    """Rank of 21,719 common English words, 0 for the most frequent.

    From the vocabulary of BERT (uncased, Apache License), which is sorted by frequency.
    """
    packed = importlib.resources.files("film.compare").joinpath("common_words.txt.gz").read_bytes()
    return {word: rank for rank, word in enumerate(gzip.decompress(packed).decode().split("\n"))}


def is_stop_word(word: str) -> bool:
    """Whether a word is one of the 150 most frequent English words, or a polite one."""
    return common_words().get(word, N_STOP_WORDS) < N_STOP_WORDS or word in POLITE


class WordRarity:
    """Weights of words: rare words weigh more.

    Parameters
    ----------
    texts : iterable of sequence of str
        Tokens of the texts of a table, as from `comparable_tokens`.

    Notes
    -----
    The weight of a word is log((n + m + 1) / (df + m·p + 1)): n texts, df of them with the word,
    and m = 500 further texts in general English, a share p of which has the word. So the weights
    of a small table are close to those of general English. Stop words and polite words count a
    quarter.

    Examples
    --------
    >>> from film.compare import WordRarity
    >>> rarity = WordRarity([["the", "red", "sofa"], ["the", "blue", "sofa"], ["the", "lamp"]])
    >>> the, sofa, lamp = rarity.weights(["the", "sofa", "lamp"])
    >>> bool(the < sofa < lamp)
    True
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self.counts: Counter[str] = Counter()
        self.n_texts = 0
        for tokens in texts:
            self.counts.update(set(tokens))
            self.n_texts += 1

    @classmethod
    def from_counts(cls, n_texts: int, counts: dict[str, int]) -> WordRarity:
        """Return the rarity for known numbers of texts with each word."""
        rarity = cls([])
        rarity.n_texts, rarity.counts = n_texts, Counter(counts)
        return rarity

    @property
    def number_share(self) -> float:
        """Share of numbers and codes (words with a digit) among the words of the table."""
        n_words = self.counts.total()
        n_numbers = sum(n for word, n in self.counts.items() if any(map(str.isdigit, word)))
        return n_numbers / max(n_words, 1)

    def weights(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the weight of each word, (n_words,)."""
        common = common_words()
        n_with = np.array([self.counts.get(word, 0) for word in words], dtype=np.float64)
        rank = np.array([common.get(word, -1) for word in words], dtype=np.float64)
        # Zipf's law, for texts of about ten words.
        general = np.where(rank < 0, 0.0, np.minimum(0.6 / (1 + np.maximum(rank, 0) / 8), 0.5))
        total = self.n_texts + PRIOR_TEXTS + 1
        weights = np.log(total / (n_with + PRIOR_TEXTS * general + 1))
        weights[np.array([is_stop_word(word) for word in words], dtype=bool)] *= STOP_WEIGHT
        return np.maximum(weights, 0.0)

    def are_words(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each word is common English or in five texts, so hardly a misspelling."""
        common = common_words()
        return np.array([word in common or self.counts[word] >= 5 for word in words], dtype=bool)


def near_words(
    words: Sequence[str],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Find pairs of words that are one edit apart or differ in their ending only.

    Parameters
    ----------
    words : sequence of str
        Distinct words. Words of letters, at least four, are compared.

    Returns
    -------
    first, second : ndarray of int, shape (m,)
        Positions of the words of each pair, ``first < second``.
    similarity : ndarray of float, shape (m,)
        0.95 for the same stem, 0.9 for one edit (a letter inserted, deleted, replaced, or two
        neighbouring letters exchanged).

    Notes
    -----
    Words that are one edit apart are equal after leaving out one letter each (at most), so they
    are found in time linear in the number of letters.

    Examples
    --------
    >>> from film.compare import near_words
    >>> first, second, similarity = near_words(["recieve", "receive", "stain", "stains"])
    >>> first.tolist(), second.tolist(), similarity.tolist()
    ([0, 2], [1, 3], [0.9, 0.95])
    """
    families: defaultdict[str, list[int]] = defaultdict(list)
    for number, word in enumerate(words):
        if 4 <= len(word) <= 40 and word.isalpha():
            variants = {word[:i] + word[i + 1 :] for i in range(len(word))}
            stems = (word[: len(word) - n] for n in range(5) if len(word) - n >= 3)
            variants.update(f"{stem}~" for stem in stems if word[len(stem) :] in _ENDINGS)
            variants.add(word)
            for variant in variants:
                families[variant].append(number)
    found = {
        (low, high)
        for family in families.values()
        if 1 < len(family) <= _LARGEST_FAMILY
        for place, high in enumerate(family)
        for low in family[:place]
    }
    pairs = np.array(sorted(found), dtype=np.intp).reshape(-1, 2)
    first, second = ([str(words[i]) for i in pairs[:, side].tolist()] for side in (0, 1))
    distance = cpdist(first, second, scorer=DamerauLevenshtein.distance, dtype=np.int32)
    both: list[tuple[str, str]] = list(zip(first, second, strict=True))
    same_stem = np.array([_same_stem(a, b) for a, b in both], dtype=bool)
    # Misspellings rarely change the first letter.
    long = np.array([max(len(a), len(b)) >= 6 or a[0] == b[0] for a, b in both], dtype=bool)
    kept = same_stem | ((distance <= 1) & long)
    return pairs[kept, 0], pairs[kept, 1], np.where(same_stem, 0.95, 0.9)[kept]


def _same_stem(first: str, second: str) -> bool:
    n_alike = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        n_alike += 1
    long_enough = n_alike >= max(3, 0.6 * max(len(first), len(second)))
    return long_enough and first[n_alike:] in _ENDINGS and second[n_alike:] in _ENDINGS

"""How rare the adjacent words of texts are in a collection."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.compare import WordRarity

__all__ = ["AdjacentWords"]

_WORDS_COUNT = 0.1
"""Share of the mean rarity of its two words in the rarity of an unknown pair."""

_END, _UNKNOWN, _FIRST = 0, 1, 2

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class AdjacentWords:
    """Counts of words and of pairs of adjacent words in a collection of texts.

    Parameters
    ----------
    rarity : WordRarity
        Of the words of the collection.
    pairs, counts : ndarray of int64, shape (m,)
        Pairs of adjacent words as `of_texts` numbers them, sorted, and the number of texts with
        each.

    Examples
    --------
    >>> from film.judge import AdjacentWords
    >>> known = AdjacentWords.of_texts([["how", "do", "i", "bake"], ["how", "do", "i", "sing"]])
    >>> known.rarities([["how", "do", "i", "sing"], ["sing", "how"], ["ein", "hund"]]).round(2)
    array([0.16, 1.11,  inf])
    """

    def __init__(self, rarity: WordRarity, pairs: Integers, counts: Integers) -> None:
        self.rarity, self.pairs, self.counts = rarity, pairs, counts
        self._codes = {word: code for code, word in enumerate(rarity.counts, _FIRST)}
        n_texts = rarity.n_texts
        self._n_with = np.array([n_texts, 0, *rarity.counts.values()], dtype=np.int64)

    @classmethod
    def of_texts(cls, texts: Sequence[Sequence[str]]) -> AdjacentWords:
        """Count the words of a collection, given as tokens of each text."""
        none = np.empty(0, dtype=np.int64)
        words = cls(WordRarity(texts), none, none)
        pairs, counts = np.unique(words._pairs_of(texts)[0], return_counts=True)
        return cls(words.rarity, pairs, counts.astype(np.int64))

    def rarities(
        self, texts: Sequence[Sequence[str]], groups: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the mean rarity of the adjacent words of texts.

        Parameters
        ----------
        texts : sequence of sequence of str
            Tokens of n texts.
        groups : array-like of int, shape (n,), optional
            Groups of the texts, if they are the collection itself. Texts of the same group that
            have the pair are not counted, neither for the pair nor for its words.

        Returns
        -------
        rarities : ndarray of float64, shape (n,)
            The mean over the distinct pairs of adjacent words, with the ends of a text as words, of
            log((N + 1) / (f + 1)), with f of the N texts of the collection having the pair. If none
            has it, a tenth of the mean rarity of its two words is added. Infinite if the collection
            has no word of the text.

        Notes
        -----
        O(n log n) in the number of words. Pairs of words have equal weights, because the order of
        frequent words is also typical of a kind of text.
        """
        pairs, owners = self._pairs_of(texts)
        ends = np.stack(np.divmod(pairs, len(self._n_with)))
        n_with = self._found(pairs)
        n_with_word = self._n_with[ends]
        if groups is not None:
            # A group is counted once for each of its texts that has the pair.
            keys = np.asarray(groups, dtype=np.int64)[owners] * len(self._n_with) ** 2 + pairs
            _, which, own = np.unique(keys, return_inverse=True, return_counts=True)
            n_with = np.maximum(n_with - own[which], 0)
            n_with_word = np.maximum(n_with_word - own[which], 0)
        rarity, of_words = (self._rarity(counts) for counts in (n_with, n_with_word))
        rarity += np.where(n_with == 0, _WORDS_COUNT * of_words.mean(axis=0), 0.0)
        n_pairs = np.bincount(owners, minlength=len(texts))
        total = np.bincount(owners, rarity, minlength=len(texts))
        known = np.bincount(owners, ends[1] >= _FIRST, minlength=len(texts)) > 0
        return np.where(known, total / n_pairs, np.inf)

    def _rarity(self, n_with: Integers) -> Floats:
        return np.log((self.rarity.n_texts + 1) / (n_with + 1))

    def _found(self, pairs: Integers) -> Integers:
        if not len(self.pairs):
            return np.zeros(len(pairs), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        return np.where(self.pairs[place] == pairs, self.counts[place], 0)

    def _pairs_of(self, texts: Sequence[Sequence[str]]) -> tuple[Integers, Integers]:
        """Return the distinct pairs of adjacent words of each text, and the number of the text."""
        codes = [self._codes.get(word, _UNKNOWN) for word in chain.from_iterable(texts)]
        sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        words = np.insert(np.array(codes, dtype=np.int64), np.cumsum(sizes), _END)
        pairs = np.append(_END, words[:-1])[: len(words)] * len(self._n_with) + words
        owners = np.repeat(np.arange(len(texts)), sizes + 1)
        order = np.lexsort((pairs, owners))
        pairs, owners = pairs[order], owners[order]
        new = np.append(True, (np.diff(pairs) != 0) | (np.diff(owners) != 0))[: len(pairs)]
        return pairs[new], owners[new]

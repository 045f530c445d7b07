"""Features of pairs of texts that hold for any table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from film.compare.normalize import NEGATION, comparable_tokens
from film.compare.opposites import ANTONYMS, CLOSED_SETS
from film.compare.words import WordRarity, near_words
from film.threads import usable_cores

__all__ = ["DIFFERENCES", "PAIR_FEATURES", "pair_features"]

DIFFERENCES = ("number", "code", "unit", "negation", "antonym", "choice", "order")
"""What may turn the meaning of otherwise equal texts."""

PAIR_FEATURES = (
    "coverage of the longer",
    "coverage of the shorter",
    "replaced",
    "doubtful spelling",
    "number shared",
    "number missing",
    "code shared",
    *(f"{name} differs" for name in DIFFERENCES),
)
"""Names of the columns of `pair_features`."""

_BLOCK_PAIRS = 2**16

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]


def pair_features(first: Sequence[str], second: Sequence[str], rarity: WordRarity) -> Floats:
    """Compare pairs of texts by what is shared, replaced and turned.

    Parameters
    ----------
    first, second : sequence of str
        The texts of each pair.
    rarity : WordRarity
        Weights of words.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 14)
        The columns of `PAIR_FEATURES`, symmetric in the two texts. Words are matched one to one:
        equal ones, then those of `near_words`; numbers and codes (letters with digits) only if they
        are equal. *Coverage* is the weight of matched words over that of all words of the heavier
        or the lighter text. *Replaced* is the lower of the two unmatched weights, over the weight
        of the heavier text. *Doubtful spelling* is the share of matches between two known words.
        The others are 0 or 1.

    Notes
    -----
    Linear in the number of words. Lists of antonyms and negations are English, and some negations
    of other languages.

    Examples
    --------
    >>> from film.compare import PAIR_FEATURES, WordRarity, comparable_tokens, pair_features
    >>> texts = ["Invoice 10234 is unpaid", "invoice 10243 is unpaid"]
    >>> rarity = WordRarity(map(comparable_tokens, texts))
    >>> values = dict(zip(PAIR_FEATURES, pair_features(texts[:1], texts[1:], rarity)[0].tolist()))
    >>> values["number differs"], values["code differs"]
    (1.0, 0.0)
    """
    number: dict[str, int] = {}
    sides = [
        np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.intp)
        for texts in (first, second)
    ]
    tokens = join_words([comparable_tokens(text) for text in number], rarity)
    are_lists = np.array([_is_list(text) for text in number], dtype=bool)
    words = _Words(tokens, rarity)
    found = np.empty((len(sides[0]), len(PAIR_FEATURES)))

    def fill(start: int) -> None:
        block = slice(start, start + _BLOCK_PAIRS)
        found[block] = words.compare(sides[0][block], sides[1][block], are_lists)

    with ThreadPoolExecutor(usable_cores()) as pool:
        list(pool.map(fill, range(0, len(found), _BLOCK_PAIRS)))
    return found


def join_words(texts: list[list[str]], rarity: WordRarity) -> list[list[str]]:
    """Join adjacent words that the table also writes as one word, such as "data base"."""
    vocabulary = rarity.counts.keys()
    joined: list[list[str]] = []
    for tokens in texts:
        out = tokens
        for place in range(len(tokens) - 1, 0, -1):
            both = tokens[place - 1] + tokens[place]
            if len(both) >= 5 and both in vocabulary and tokens[place - 1] not in ("a", "i"):
                if out is tokens:
                    out = tokens.copy()
                if place < len(out) and out[place - 1 : place + 1] == tokens[place - 1 : place + 1]:
                    out[place - 1 : place + 1] = [both]
        joined.append(out)
    return joined


def _is_list(text: str) -> bool:
    return text.count(",") + text.count(";") >= 2


class _Words:
    """Token lists as numbers of a vocabulary, with the properties of its words."""

    def __init__(self, texts: list[list[str]], rarity: WordRarity) -> None:
        self.texts = texts
        self.code: dict[str, int] = {}
        codes = [self.code.setdefault(word, len(self.code)) for word in chain.from_iterable(texts)]
        words = list(self.code)
        self.size = max(len(words), 1)
        sizes = np.fromiter(map(len, texts), dtype=np.intp, count=len(texts))
        self.codes = np.array(codes, dtype=np.intp)
        self.edges = np.append(0, np.cumsum(sizes)).astype(np.intp)

        def marks(holds: Iterable[bool]) -> NDArray[np.bool_]:
            return np.array([*holds, False][: self.size], dtype=bool)

        self.negation = marks(word == NEGATION for word in words)
        self.number = marks(word[0] in "#@" and len(word) > 1 for word in words)
        self.unit = marks(word[0] == "%" and len(word) > 1 for word in words)
        has_digit = marks(any(map(str.isdigit, word)) for word in words)
        self.is_code = has_digit & ~self.number
        weight = np.append(rarity.weights(words), 0.0)[: self.size]
        self.weight = np.where(self.negation, 0.0, weight)
        self.known = np.append(rarity.are_words(words), False)[: self.size]
        low, high, similarity = near_words(words)
        self.near = _Links(low, high, similarity, self.size)
        closed = [(a, b) for group in CLOSED_SETS for n, a in enumerate(group) for b in group[:n]]
        self.antonyms, self.choices = (self._links(pairs) for pairs in (ANTONYMS, closed))
        counts = np.repeat(np.arange(len(texts)), sizes)[self.negation[self.codes]]
        self.n_negations = np.bincount(counts, minlength=len(texts))

    def _links(self, pairs: Iterable[tuple[str, ...]]) -> _Links:
        codes = [(self.code.get(a, -1), self.code.get(b, -1)) for a, b in pairs]
        known = np.array([pair for pair in codes if min(pair) >= 0], dtype=np.intp).reshape(-1, 2)
        return _Links(known[:, 0], known[:, 1], np.ones(len(known)), self.size)

    def compare(self, left: Integers, right: Integers, are_lists: NDArray[np.bool_]) -> Floats:
        """Return the features of pairs of text numbers."""
        n = len(left)
        weight = self.weight
        keys = self._keys(left), self._keys(right)
        mass = [self._sum(side, weight, n) for side in keys]
        shared = keys[0][_are_among(keys[0], keys[1])]
        rest = [side[~_are_among(side, shared)] for side in keys]
        near = self.near.matches(rest[0], rest[1])
        pair = near[0] // self.size
        matched = self._sum(shared, weight, n)
        coverage = [
            (matched + np.bincount(pair, near[2] * weight[side % self.size], minlength=n))
            / np.maximum(total, 1e-9)
            for side, total in zip(near[:2], mass, strict=True)
        ]
        near_weight = np.minimum(weight[near[0] % self.size], weight[near[1] % self.size])
        doubtful = self.known[near[0] % self.size] & self.known[near[1] % self.size]
        doubtful &= near[2] < 0.95
        rest = [
            side[~_are_among(side, np.sort(used))]
            for side, used in zip(rest, near[:2], strict=True)
        ]
        heavier = np.maximum(np.maximum(*mass), 1e-9)
        unmatched = [self._sum(side, weight, n) for side in rest]
        numbers, codes, units = (
            [self._sum(side, mask.astype(np.float64), n) for side in (*rest, shared)]
            for mask in (self.number, self.is_code, self.unit)
        )
        columns = [
            np.minimum(*coverage),
            np.maximum(*coverage),
            np.minimum(*unmatched) / heavier,
            np.bincount(pair, near_weight * doubtful, minlength=n) / heavier,
            numbers[2] > 0,
            numbers[0] != numbers[1],
            codes[2] > 0,
            *(np.minimum(kind[0], kind[1]) > 0 for kind in (numbers, codes, units)),
            self.n_negations[left] % 2 != self.n_negations[right] % 2,
            *(self._opposed(links, rest, n) for links in (self.antonyms, self.choices)),
            self._exchanged(left, right, are_lists),
        ]
        return np.column_stack(columns).astype(np.float64)

    def _keys(self, which: Integers) -> Integers:
        """Return the distinct words of the text of each pair, as pair · vocabulary + word."""
        sizes = np.diff(self.edges)[which]
        owner = np.repeat(np.arange(len(which)), sizes)
        first = np.repeat(self.edges[which] - (np.cumsum(sizes) - sizes), sizes)
        keys = np.sort(owner * self.size + self.codes[np.arange(len(owner)) + first])
        # Much faster than `numpy.unique`, which hashes.
        return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]

    def _sum(self, keys: Integers, values: Floats, n: int) -> Floats:
        total: Any = np.bincount(keys // self.size, values[keys % self.size], minlength=n)
        return total

    def _opposed(self, links: _Links, rest: list[Integers], n: int) -> NDArray[np.bool_]:
        found = links.matches(rest[0], rest[1])[0] // self.size
        return np.bincount(found, minlength=n) > 0

    def _exchanged(
        self, left: Integers, right: Integers, are_lists: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether the texts differ only in two words that changed places."""
        found = np.zeros(len(left), dtype=bool)
        sizes = np.diff(self.edges)
        alike = (sizes[left] == sizes[right]) & ~are_lists[left] & ~are_lists[right]
        for row in np.flatnonzero(alike).tolist():
            a, b = self.texts[left[row]], self.texts[right[row]]
            if a != b and sorted(a) == sorted(b):
                moved = [x for x, y in zip(a, b, strict=True) if x != y]
                found[row] = len(moved) == 2 and not any(x[0] in "#@%!" for x in moved)
        return found


def _are_among(keys: Integers, others: Integers) -> NDArray[np.bool_]:
    """Return whether each key is among others, which are sorted."""
    if not len(others):
        return np.zeros(len(keys), dtype=bool)
    return others[np.minimum(np.searchsorted(others, keys), len(others) - 1)] == keys


class _Links:
    """Symmetric pairs of words."""

    def __init__(self, first: Integers, second: Integers, value: Floats, size: int) -> None:
        ends = np.concatenate([first, second])
        order = np.argsort(ends, kind="stable")
        self._other = np.concatenate([second, first])[order]
        self._value = np.tile(value, 2)[order]
        self._starts = np.searchsorted(ends[order], np.arange(size + 1))
        self._size = size

    def matches(self, left: Integers, right: Integers) -> tuple[Integers, Integers, Floats]:
        """Match linked words of the two texts of each pair one to one, the closest first."""
        n_links = np.diff(self._starts)[left % self._size]
        owner = np.repeat(left, n_links)
        first = np.repeat(self._starts[left % self._size] - np.cumsum(n_links) + n_links, n_links)
        link = first + np.arange(len(owner))
        partner = owner // self._size * self._size + self._other[link]
        there = _are_among(partner, right)
        owner, partner, value = owner[there], partner[there], self._value[link[there]]
        order = np.argsort(-value, kind="stable")
        owner, partner, value = owner[order], partner[order], value[order]
        best = np.zeros((2, len(owner)), dtype=bool)
        for row, keys in zip(best, (owner, partner), strict=True):
            row[np.unique(keys, return_index=True)[1]] = True
        kept = best.all(axis=0)
        return owner[kept], partner[kept], value[kept]

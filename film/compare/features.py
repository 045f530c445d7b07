"""Features of pairs of texts that hold for any table."""

from __future__ import annotations

import functools
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import cpdist

from film.compare.normalize import NEGATION, each_comparable_tokens, spellings
from film.compare.opposites import ANTONYMS, CLOSED_SETS, OTHER_OPPOSITES, opposite_form, opposites
from film.compare.order import sides_differ
from film.compare.words import WordRarity, is_stop_word, most_edits, real_words, spelling_similarity
from film.threads import usable_cores

__all__ = ["DIFFERENCES", "PAIR_FEATURES", "pair_features"]

DIFFERENCES = ("number", "code", "unit", "negation", "antonym", "choice", "order")
"""What may turn the meaning of otherwise equal texts."""

PAIR_FEATURES = (
    "coverage of the longer",
    "coverage of the shorter",
    "coverage apart",
    "replaced",
    "only one replaced",
    "doubtful spelling",
    "number shared",
    "number missing",
    "code shared",
    *(f"{name} differs" for name in DIFFERENCES),
)
"""Names of the columns of `pair_features`."""

_BLOCK_PAIRS = 2**14
_WORD_BITS = 32
_WORD_MASK = 2**_WORD_BITS - 1

SHORTEST, LONGEST = 2, 40
"""Letters of the words that are compared by spelling."""
MOST_LETTERS = 5
"""Letters that only one of two words of similar spelling has."""
OPPOSED = 0.8
"""How well a word matches its opposite if one of both texts is negated."""
MOST_SPELT = 50
"""Words of a text, without those that both have, that are compared by spelling: the rarest."""
MOST_APART = 100
"""Texts with each of two words, per text with them as one word, up to which they are joined."""
MUCH_RARER = 20
"""How many times as frequent as its misspelling a word is, if the misspelling is a word too."""
SHORT = 3
"""Letters of words that misspellings often are by chance."""
MOST_MORE = 2
"""Words that one sentence has more than another, up to which their words have places in common."""
SERIES = re.compile(r"(?<![a-z0-9])([a-z]{1,4})-(?=[0-9]{2})([a-z0-9]+)")
"""Letters before the digits of a code: WH-1000 is another one than RZ-1000."""
LABELS = frozenset("art ref id tel fax ext vol ver".split())
"""Words before a number that are no part of it."""
LETTERED = re.compile(r"([0-9]{1,4})([a-f])")
"""A number with a letter, such as that of a house: 10a is another one than 10."""
REPEAT = "*"
"""Between a repeated number and the count of its occurrences so far."""
NEARLY_ALL = 0.85
"""Coverage of the longer text from which on the order of words is compared."""

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]


def pair_features(first: Sequence[str], second: Sequence[str], rarity: WordRarity) -> Floats:
    """Compare pairs of texts by shared and replaced words, and by changes of meaning.

    Parameters
    ----------
    first, second : sequence of str
        The texts of each pair.
    rarity : WordRarity
        Weights of words.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 16)
        The columns of `PAIR_FEATURES`, symmetric in the two texts. Words are matched one to one:
        equal ones, then those of similar spelling (`spelling_similarity`) among the 50 rarest
        others of each text; numbers (repeats count) and codes (letters with digits, single letters)
        only if they are equal, or 10a and "10 a"; 10a and 10 differ as codes, and so do WH-1000 and
        RZ-1000, but not W-1000. In sentences with at most two words more, a misspelling is also
        matched to the word in its place from the first or the last word on. It is no word, and in
        one text, or 20 times as rare: up to half of the letters may differ from a known word, and a
        third from a rare one, or from one of four letters that is not 20 times as frequent. If it
        is a word 20 times as rare, in the place of a stop word or of at most three letters, one
        letter may. *Coverage* is the weight of matched words over that of all words of the heavier
        or the lighter text; *coverage apart* is that of the heavier one without numbers, codes,
        units and opposites that differ. *Replaced* is the lower of the two unmatched weights, over
        the weight of the heavier text. *Only one replaced* is the weight of the lighter unmatched
        word, over that of the heaviest word, if one word of each text is unmatched and the texts
        have as many words. *Doubtful spelling* is the share of matches between two known words. The
        others are 0 or 1.

    Notes
    -----
    Linear in the number of words. The list of antonyms is English; negations, "with" and "without",
    and words such as "from" and "to" are known in other common languages too.

    Examples
    --------
    >>> from film.compare import PAIR_FEATURES, WordRarity, comparable_tokens, pair_features
    >>> texts = ["Invoice 10234 is unpaid", "invoice 10243 is unpaid"]
    >>> rarity = WordRarity(map(comparable_tokens, texts))
    >>> values = dict(zip(PAIR_FEATURES, pair_features(texts[:1], texts[1:], rarity)[0].tolist()))
    >>> values["number differs"], values["code differs"]
    (1.0, 0.0)
    """
    number, codes = _numbered(chain(first, second))
    sides = codes.reshape(2, -1)
    tokens = join_words([_mark_repeats(text) for text in each_comparable_tokens(number)], rarity)
    are_lists = np.array([_is_list(text) for text in number], dtype=bool)
    words = _Words(tokens, rarity)
    series = [_series_of(text) for text in number]
    has_series = np.array([bool(found) for found in series], dtype=bool)
    found = np.empty((len(first), len(PAIR_FEATURES)))
    differs = PAIR_FEATURES.index("code differs")

    def fill(start: int) -> None:
        block = slice(start, start + _BLOCK_PAIRS)
        left, right = sides[0][block], sides[1][block]
        found[block] = words.compare(left, right, are_lists)
        for row in np.flatnonzero(has_series[left] & has_series[right]).tolist():
            if _are_other_series(series[left[row]], series[right[row]]):
                found[start + row, differs] = 1

    with ThreadPoolExecutor(usable_cores()) as pool:
        list(pool.map(fill, range(0, len(found), _BLOCK_PAIRS)))
    return found


def join_words(texts: list[list[str]], rarity: WordRarity) -> list[list[str]]:
    """Join two or three adjacent words that the table also writes as one: "data base", "EK-15".

    One text with "whatis" among thousands with "what is" is no reason to join them.
    """
    counts, vocabulary = rarity.counts, rarity.counts.keys()
    joined: list[list[str]] = []
    for tokens in texts:
        bare, sizes = tokens, (2,)
        if [token for token in tokens if token[0] == "#"]:
            bare, sizes = [token.removeprefix("#") for token in tokens], (3, 2)
        out = tokens
        for size in sizes:
            whole = [*map(operator.add, bare, bare[1:])]
            if size == 3:
                whole = [*map(operator.add, whole, bare[2:])]
            if vocabulary.isdisjoint(whole):
                continue
            for place in range(len(whole) - 1, -1, -1):
                both = whole[place]
                if both not in counts:
                    continue
                parts = tokens[place : place + size]
                is_code = bare is not tokens and not both.isalpha()
                if both.isdecimal() or len(both) < (3 if is_code else 5):
                    continue
                if parts[0] in ("a", "i") and not is_code:
                    continue
                is_usual = min([counts[word] for word in parts]) <= MOST_APART * counts[both]
                if is_usual and out[place : place + size] == parts:
                    out = out.copy() if out is tokens else out
                    out[place : place + size] = [both]
        joined.append(out)
    return joined


def _mark_repeats(tokens: list[str]) -> list[str]:
    """Mark repeated numbers, so that 3/3 differs from 3/9."""
    numbers = [token for token in tokens if token[0] == "#"]
    if len(set(numbers)) == len(numbers):
        return tokens
    count: Counter[str] = Counter()
    marked = []
    for token in tokens:
        count[token] += token[0] == "#"
        marked.append(f"{token}{REPEAT}{count[token]}" if count[token] > 1 else token)
    return marked


def _numbered(strings: Iterable[str]) -> tuple[dict[str, int], Integers]:
    """Return the distinct strings with their numbers, and the number of each string."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    codes = np.fromiter(map(number.__getitem__, strings), dtype=np.intp)
    return dict(number), codes


def _series_of(text: str) -> dict[str, set[str]]:
    """Return the letters before the digits of each code of a text."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for letters, digits in SERIES.findall(text.lower()) if "-" in text else ():
        if letters not in LABELS and not is_stop_word(letters):
            found[digits].add(letters)
    return found


def _are_other_series(one: dict[str, set[str]], other: dict[str, set[str]]) -> bool:
    """Whether both have a code of the same digits, each with a letter that the other one lacks."""
    return any(
        all(set(a) - set(b) and set(b) - set(a) for a, b in product(one[digits], other[digits]))
        for digits in one.keys() & other.keys()
    )


def _is_list(text: str) -> bool:
    return text.count(",") + text.count(";") >= 2


class _Matches(NamedTuple):
    """Matched words of pairs, as from `_keys_of`, and how alike they are."""

    left: Integers
    right: Integers
    value: Floats

    def where(self, mask: NDArray[np.bool_]) -> _Matches:
        return _Matches(self.left[mask], self.right[mask], self.value[mask])

    def joined(self, other: _Matches) -> _Matches:
        return _Matches(
            np.append(self.left, other.left),
            np.append(self.right, other.right),
            np.append(self.value, other.value),
        )


class _Words:
    """Token lists as numbers of a vocabulary, with the properties of its words."""

    def __init__(self, texts: list[list[str]], rarity: WordRarity) -> None:
        self.texts = texts
        self.code, self.codes = _numbered(chain.from_iterable(texts))
        words = list(self.code)
        self.size = max(len(words), 1)
        sizes = np.fromiter(map(len, texts), dtype=np.intp, count=len(texts))
        self.edges = np.append(0, np.cumsum(sizes)).astype(np.intp)

        def marks(holds: Iterable[bool]) -> NDArray[np.bool_]:
            return np.array([*holds, False][: self.size], dtype=bool)

        self.negation = marks(word == NEGATION for word in words)
        self.number = marks(word[0] in "#@" and len(word) > 1 for word in words)
        self.unit = marks(word[0] == "%" and len(word) > 1 for word in words)
        has_digit = marks(any(map(str.isdigit, word)) for word in words)
        letter = marks(len(word) == 1 and word.isascii() and word not in "ai" for word in words)
        self.is_code = (has_digit & ~self.number) | letter
        plain = [word.split(REPEAT)[0] for word in words]
        weight = np.append(rarity.weights(plain), 0.0)[: self.size]
        self.weight = np.where(self.negation, 0.0, weight)
        self.has_spellings = marks(len(spellings(word)) > 1 for word in words)
        self.known = np.append(rarity.are_words(words), False)[: self.size]
        self.known |= self.has_spellings
        real = real_words()
        self.is_real = marks(word in real or not word.isalpha() for word in words)
        is_spelt = marks(word.isalpha() for word in words)
        self.is_spelt = (is_spelt & ~self.is_code) | self.has_spellings
        self.is_stop_word = marks(word in ("a", "i") or is_stop_word(word) for word in words)
        self.count = np.array([*(rarity.counts[word] for word in words), 0][: self.size])
        self.words = words
        # 0 for words that are not compared by spelling.
        is_short = (word.isalpha() and len(word) <= LONGEST for word in words)
        self.length = np.array(
            [len(w) * fits for w, fits in zip(words, is_short, strict=True)] or [0]
        )
        self.letters = np.array(
            [sum(1 << (ord(c) % 32) for c in set(word)) for word in words] or [0]
        )
        self.first = np.array([ord(word[0]) for word in words] or [0])
        closed = {(a, b) for group in CLOSED_SETS for n, a in enumerate(group) for b in group[:n]}
        formed = ((word, form) for word in words if (form := opposite_form(word)))
        self.antonyms = self._links([*ANTONYMS, *OTHER_OPPOSITES, *formed])
        self.choices = self._links(closed)
        lettered = [(word, found) for word in words if (found := LETTERED.fullmatch(word))]
        self.numbered = self._links([(word, f"#{found[1]}") for word, found in lettered])
        self.letter = np.full(self.size, -1)
        for word, found in lettered:
            self.letter[self.code[word]] = self.code.get(found[2], -1)
        counts = np.repeat(np.arange(len(texts)), sizes)[self.negation[self.codes]]
        self.n_negations = np.bincount(counts, minlength=len(texts))

    def _links(self, pairs: Iterable[tuple[str, ...]]) -> _Links:
        codes = [(self.code.get(a, -1), self.code.get(b, -1)) for a, b in pairs]
        known = np.array([pair for pair in codes if min(pair) >= 0], dtype=np.intp).reshape(-1, 2)
        return _Links(known[:, 0], known[:, 1], np.full(len(known), OPPOSED), self.size)

    def compare(self, left: Integers, right: Integers, are_lists: NDArray[np.bool_]) -> Floats:
        """Return the features of pairs of text numbers."""
        n, weight = len(left), self.weight
        keys = self._keys(left), self._keys(right)
        mass = [self._sum(side, weight, n) for side in keys]
        in_second = _are_among(keys[0], keys[1])
        shared = keys[0][in_second]
        rest = [keys[0][~in_second], keys[1][~_are_among(keys[1], shared)]]
        antonyms, choices = (links.matches(*rest) for links in (self.antonyms, self.choices))
        denied = self.n_negations[left] % 2 != self.n_negations[right] % 2
        # "Not open" means "closed".
        cancel = denied[_pair_of(antonyms.left)]
        same, antonyms = antonyms.where(cancel), antonyms.where(~cancel)
        denied[_pair_of(same.left)] = False
        near = self._spelt_alike(
            _without(rest[0], same.left, antonyms.left, choices.left),
            _without(rest[1], same.right, antonyms.right, choices.right),
            self._misspelt(left, right),
        )
        mistyped = self.negation[_word_of(near.left)] | self.negation[_word_of(near.right)]
        denied[_pair_of(near.left[mistyped])] = False
        known = np.logical_and(*self._are_known(_word_of(near.left), _word_of(near.right)))
        doubtful = near.where(known & (near.value < 0.95))
        near = near.joined(same).joined(self._same_numbers(rest))
        matched = self._sum(shared, weight, n)
        weights = self._weights(near)
        for total, side, own in zip(mass, (near.left, near.right), weights, strict=True):
            total += np.bincount(_pair_of(side), own - weight[_word_of(side)], minlength=n)
        coverage = [
            (matched + np.bincount(_pair_of(side), near.value * own, minlength=n))
            / np.maximum(total, 1e-9)
            for side, own, total in zip((near.left, near.right), weights, mass, strict=True)
        ]
        lighter = np.minimum(weight[_word_of(doubtful.left)], weight[_word_of(doubtful.right)])
        doubtful_mass = np.bincount(_pair_of(doubtful.left), lighter, minlength=n)
        rest = [_without(rest[0], near.left), _without(rest[1], near.right)]
        others = [_without(keys[0], near.left), _without(keys[1], near.right)]
        heavier = np.maximum(np.maximum(*mass), 1e-9)
        unmatched = [self._sum(side, weight, n) for side in rest]
        numbers, codes, units = (
            [self._sum(side, mask.astype(np.float64), n) for side in (*rest, shared)]
            for mask in (self.number, self.is_code, self.unit)
        )
        numbered = self.numbered.matches(*rest)
        for total, side in zip(codes, (numbered.left, numbered.right), strict=False):
            total += np.bincount(_pair_of(side), minlength=n)
        # What differs by itself says nothing on how much else is shared.
        by_itself = self.number | self.is_code | self.unit
        apart = [
            total
            - self._sum(side[by_itself[_word_of(side)]], weight, n)
            - self._sum(opposed, weight, n)
            for total, side, opposed in zip(
                mass,
                rest,
                (
                    np.concatenate([antonyms.left, choices.left]),
                    np.concatenate([antonyms.right, choices.right]),
                ),
                strict=True,
            )
        ]
        sizes = np.diff(self.edges)
        one_replaced = sizes[left] == sizes[right]
        for side in rest:
            one_replaced &= np.bincount(_pair_of(side), minlength=n) == 1
        heaviest = [self._heaviest(side, n) for side in (*rest, *others)]
        for most, side, own in zip(heaviest[2:], (near.left, near.right), weights, strict=True):
            np.maximum.at(most, _pair_of(side), own)
        share_replaced = np.minimum(*heaviest[:2]) / np.maximum(np.maximum(*heaviest[2:]), 1e-9)
        columns = [
            np.minimum(*coverage),
            np.maximum(*coverage),
            np.minimum(
                *(
                    np.minimum(share * total / np.maximum(remaining, 1e-9), 1)
                    for share, total, remaining in zip(coverage, mass, apart, strict=True)
                )
            ),
            np.minimum(*unmatched) / heavier,
            share_replaced * one_replaced,
            doubtful_mass / heavier,
            numbers[2] > 0,
            numbers[0] != numbers[1],
            codes[2] > 0,
            *(np.minimum(kind[0], kind[1]) > 0 for kind in (numbers, codes, units)),
            denied,
            *(np.bincount(_pair_of(found.left), minlength=n) > 0 for found in (antonyms, choices)),
            self._turned(left, right, np.minimum(*coverage), are_lists),
        ]
        return np.column_stack(columns).astype(np.float64)

    def _same_numbers(self, rest: list[Integers]) -> _Matches:
        """Match 10a with the number of "10 a"."""
        found = self.numbered.matches(*rest)
        has_letter = np.zeros(len(found.left), dtype=bool)
        for side, other in ((found.left, rest[1]), (found.right, rest[0])):
            letter = self.letter[_word_of(side)]
            has_letter |= (letter >= 0) & _are_among(_keys_of(_pair_of(side), letter), other)
        return found._replace(value=np.ones(len(found.value))).where(has_letter)

    def _misspelt(self, left: Integers, right: Integers) -> _Matches:
        """Match words with their misspellings in the same places of the other texts.

        Only sentences (texts with stop words) with about as many words, some of them equal, have
        places in common: in records, another name is in the place of a name.
        """
        sizes = [np.diff(self.edges)[side] for side in (left, right)]
        n_more = np.abs(sizes[0] - sizes[1])
        rows = np.flatnonzero(n_more <= MOST_MORE)
        # Counted from the first word on, and from the last one if it has another place.
        again = rows[n_more[rows] > 0]
        from_last = np.arange(len(rows) + len(again)) >= len(rows)
        rows = np.append(rows, again)
        n = np.minimum(*sizes)[rows]
        row = np.repeat(rows, n)
        place = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
        a, b = (
            self.codes[self.edges[side[row]] + place + np.repeat(from_last * (size[rows] - n), n)]
            for side, size in zip((left, right), sizes, strict=True)
        )
        equal, stop = a == b, self.is_stop_word[a] | self.is_stop_word[b]
        is_sentence = np.logical_and(
            *(np.bincount(row, is_any, len(left)) for is_any in (equal, stop))
        )
        is_no_word, is_slip = np.logical_or(
            self._may_be_misspelt(a, b), self._may_be_misspelt(b, a)
        )
        kept = np.flatnonzero(
            ~equal & is_sentence[row] & self.is_spelt[a] & self.is_spelt[b] & (is_no_word | is_slip)
        )
        # Most words in one place share too few letters.
        lengths = np.sort([self.length[a[kept]], self.length[b[kept]]], axis=0)
        most = np.where(is_no_word[kept], lengths[1] // 2, 1)
        n_other = np.bitwise_count(self.letters[a[kept]] ^ self.letters[b[kept]])
        is_near = (n_other <= 2 * most) & (lengths[1] - lengths[0] <= most)
        is_open = self.has_spellings[a[kept]] | self.has_spellings[b[kept]] | (lengths[0] == 0)
        kept = kept[is_near | is_open]
        a, b, row, is_no_word = a[kept], b[kept], row[kept], is_no_word[kept]
        pair: list[int] = []
        first: list[str] = []
        second: list[str] = []
        for number, codes in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            for one, other in product(*(spellings(self.words[code]) for code in codes)):
                pair.append(number)
                first.append(one)
                second.append(other)
        edits = cpdist(first, second, scorer=DamerauLevenshtein.distance, dtype=np.int32)
        longer = np.array(list(map(max, map(len, first), map(len, second))), dtype=np.intp)
        owner = np.array(pair, dtype=np.intp)
        # Short names such as "jira" are as close to another word, so it has to be frequent.
        fewer, more = np.sort([self.count[a], self.count[b]], axis=0)
        is_frequent = self.is_stop_word[a] | self.is_stop_word[b] | (MUCH_RARER * fewer < more)
        is_known = np.logical_or(*self._are_known(a, b))
        is_sure = (is_known & is_frequent)[owner] | (is_known[owner] & (longer > SHORT + 1))
        most = np.where(is_sure, longer // 2, longer // 3)
        near = edits <= np.where(is_no_word[owner], most, 1)
        value = np.zeros(len(a))
        np.maximum.at(value, owner[near], 1 - 0.03 * edits[near])
        value[self._mean_opposites(a, b, value > 0)] = 0
        return _Matches(_keys_of(row, a), _keys_of(row, b), value).where(value > 0)

    def _may_be_misspelt(self, word: Integers, other: Integers) -> NDArray[np.bool_]:
        """Return whether others are no words, and whether they are hardly the word meant, (2, n).

        "Wat" and "ap" are words, but rare ones beside "what" and "app".
        """
        is_slip = self.is_stop_word[word] & ~self.is_stop_word[other]
        is_slip |= (self.length[other] < self.length[word]) & (self.length[other] <= SHORT)
        is_slip &= MUCH_RARER * self.count[other] < self.count[word]
        known = self._are_known(word, other)
        # A new name is in several texts, written alike.
        is_once = (self.count[other] <= 1) | (MUCH_RARER * self.count[other] < self.count[word])
        is_no_word = ~known[1] & ~self.is_real[other] & is_once
        return np.stack([self.is_real[word] & is_no_word, is_slip])

    def _mean_opposites(
        self, a: Integers, b: Integers, asked: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which unknown words are closer to an opposite of the known word than to it."""
        found = np.zeros(len(a), dtype=bool)
        known = self._are_known(a, b)
        for row in np.flatnonzero(asked & (known[0] != known[1])).tolist():
            word, other = self.words[a[row]], self.words[b[row]]
            if not known[0][row]:
                word, other = other, word
            edits = min(DamerauLevenshtein.distance(way, other) for way in spellings(word))
            found[row] = any(
                DamerauLevenshtein.distance(other, opposite, score_cutoff=edits - 1) < edits
                for opposite in opposites(word)
            )
        return found

    def _are_known(self, *sides: Integers) -> list[NDArray[np.bool_]]:
        """Return which words of pairs are known, and no misspellings of much more frequent ones."""
        return [
            self.known[a] & (self.is_real[a] | (MUCH_RARER * self.count[a] >= self.count[b]))
            for a, b in (sides, sides[::-1])
        ]

    def _spelt_alike(self, left: Integers, right: Integers, more: _Matches) -> _Matches:
        """Match words of the two texts of each pair one to one by spelling, the closest first."""
        first, others = (
            self._rarest(side[self.length[_word_of(side)] >= SHORTEST]) for side in (left, right)
        )
        start, end = (
            np.searchsorted(_pair_of(others), _pair_of(first), side=side)
            for side in ("left", "right")
        )
        # Words with more others come first, so those with a third, fourth … one are a slice.
        order = np.argsort(start - end, kind="stable")
        first, start, n_others = first[order], start[order], (end - start)[order]
        a, b = _word_of(first), _word_of(others)
        found = [np.empty((2, 0), dtype=np.intp)]
        for place in range(n_others.max(initial=0)):
            n = np.count_nonzero(n_others > place)
            other = start[:n] + place
            near = self._may_be_alike(a[:n], b[other])
            found.append(np.stack([first[near], others[other[near]]]))
        owner, partner = np.concatenate(found, axis=1)
        a, b = _word_of(owner), _word_of(partner)
        combined, inverse = np.unique(
            _keys_of(np.minimum(a, b), np.maximum(a, b)), return_inverse=True
        )
        a, b = _pair_of(combined), _word_of(combined)
        similarity = spelling_similarity(
            [self.words[code] for code in a.tolist()],
            [self.words[code] for code in b.tolist()],
            np.add(*self._are_known(a, b), dtype=np.intp),
        )
        similarity[self._mean_opposites(a, b, similarity > 0)] = 0
        similarity = similarity[inverse]
        alike = np.flatnonzero(similarity)
        more = more.where(_are_among(more.left, left) & _are_among(more.right, right))
        found = _Matches(owner[alike], partner[alike], similarity[alike]).joined(more)
        order = np.lexsort((found.right, found.left))
        return _one_to_one(found.left[order], found.right[order], found.value[order])

    def _may_be_alike(self, a: Integers, b: Integers) -> Integers:
        """Return which words may be similar: `spelling_similarity` is 0 for all others."""
        n_other = np.bitwise_count(self.letters[a] ^ self.letters[b])
        near = np.flatnonzero(n_other <= MOST_LETTERS)
        a, b, n_other = a[near], b[near], n_other[near]
        lengths = self.length[a], self.length[b]
        shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
        begin_alike = self.first[a] == self.first[b]
        n_known = np.add(*self._are_known(a, b), dtype=np.intp)
        edits = most_edits(shorter, longer, begin_alike, n_known)
        by_edits = (n_other <= 2 * edits) & (longer - shorter <= edits)
        # Words of one stem, and British and American words, begin alike.
        return near[by_edits | (begin_alike & (longer - shorter <= 4))]

    def _weights(self, near: _Matches) -> tuple[Floats, Floats]:
        """Return the weights of matched words: a misspelling weighs what the known word weighs."""
        left, right = _word_of(near.left), _word_of(near.right)
        known = self._are_known(left, right)
        return (
            self.weight[np.where(known[1] & ~known[0], right, left)],
            self.weight[np.where(known[0] & ~known[1], left, right)],
        )

    def _rarest(self, keys: Integers) -> Integers:
        """Keep the rarest words of each text, so that long texts cost no more than short ones."""
        owner = _pair_of(keys)
        if np.bincount(owner).max(initial=0) <= MOST_SPELT:
            return keys
        order = np.lexsort((self._by_rarity[_word_of(keys)], owner))
        place = np.arange(len(keys)) - np.searchsorted(owner, owner)
        return np.sort(keys[order][place < MOST_SPELT])

    @functools.cached_property
    def _by_rarity(self) -> Integers:
        """Rank of each word, from the rarest on."""
        # Of equally rare words the first by alphabet: codes depend on the other pairs.
        names = np.array(sorted(range(len(self.words)), key=self.words.__getitem__))
        return np.argsort(names[np.argsort(-self.weight[names], kind="stable")])

    def _heaviest(self, keys: Integers, n: int) -> Floats:
        heaviest = np.zeros(n)
        np.maximum.at(heaviest, _pair_of(keys), self.weight[_word_of(keys)])
        return heaviest

    def _keys(self, which: Integers) -> Integers:
        """Return the distinct words of the text of each pair, as from `_keys_of`."""
        sizes = np.diff(self.edges)[which]
        owner = np.repeat(np.arange(len(which)), sizes)
        first = np.repeat(self.edges[which] - (np.cumsum(sizes) - sizes), sizes)
        keys = np.sort(_keys_of(owner, self.codes[np.arange(len(owner)) + first]))
        # Much faster than `numpy.unique`, which hashes.
        return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]

    def _sum(self, keys: Integers, values: Floats, n: int) -> Floats:
        total: Any = np.bincount(_pair_of(keys), values[_word_of(keys)], minlength=n)
        return total

    def _turned(
        self, left: Integers, right: Integers, coverage: Floats, are_lists: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether words of texts that share nearly all of them changed sides."""
        found = np.zeros(len(left), dtype=bool)
        near = (coverage >= NEARLY_ALL) & ~are_lists[left] & ~are_lists[right]
        for row in np.flatnonzero(near).tolist():
            found[row] = sides_differ(self.texts[left[row]], self.texts[right[row]])
        return found


def _keys_of(pairs: Integers, words: Integers) -> Integers:
    """Return one number for the words of pairs, which sorts by pair."""
    return (pairs << _WORD_BITS) | words


def _pair_of(keys: Integers) -> Integers:
    return keys >> _WORD_BITS


def _word_of(keys: Integers) -> Integers:
    return keys & _WORD_MASK


def _are_among(keys: Integers, others: Integers) -> NDArray[np.bool_]:
    """Return whether each key is among others, which are sorted."""
    if not len(others):
        return np.zeros(len(keys), dtype=bool)
    return others[np.minimum(np.searchsorted(others, keys), len(others) - 1)] == keys


def _without(keys: Integers, *gone: Integers) -> Integers:
    return keys[~_are_among(keys, np.sort(np.concatenate(gone)))]


class _Links:
    """Symmetric pairs of words."""

    def __init__(self, first: Integers, second: Integers, value: Floats, size: int) -> None:
        ends = np.concatenate([first, second])
        order = np.argsort(ends, kind="stable")
        self._other = np.concatenate([second, first])[order]
        self._value = np.tile(value, 2)[order]
        self._starts = np.searchsorted(ends[order], np.arange(size + 1))

    def matches(self, left: Integers, right: Integers) -> _Matches:
        """Match linked words of the two texts of each pair one to one, the closest first."""
        n_links = np.diff(self._starts)[_word_of(left)]
        owner = np.repeat(left, n_links)
        first = np.repeat(self._starts[_word_of(left)] - np.cumsum(n_links) + n_links, n_links)
        link = first + np.arange(len(owner))
        partner = _keys_of(_pair_of(owner), self._other[link])
        there = _are_among(partner, right)
        return _one_to_one(owner[there], partner[there], self._value[link[there]])


def _one_to_one(owner: Integers, partner: Integers, value: Floats) -> _Matches:
    """Keep matches of words that are the closest of both."""
    order = np.argsort(-value, kind="stable")
    owner, partner, value = owner[order], partner[order], value[order]
    best = np.zeros((2, len(owner)), dtype=bool)
    for row, keys in zip(best, (owner, partner), strict=True):
        row[np.unique(keys, return_index=True)[1]] = True
    kept = best.all(axis=0)
    return _Matches(owner[kept], partner[kept], value[kept])

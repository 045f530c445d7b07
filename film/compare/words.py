"""How rare words are, and which words are spelled alike."""

from __future__ import annotations

import functools
import gzip
import importlib.resources
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import DamerauLevenshtein, Prefix
from rapidfuzz.process import cpdist

__all__ = ["WordRarity", "record_share", "spelling_similarity"]

PRIOR_TEXTS = 500
"""Weight of general English in the rarity of words, as a number of texts."""

PRIOR_WORDS, PRIOR_NUMBERS = 100, 0.02
"""Words of sentences that are added to those of a table, and the share of numbers among them."""

RAREST = 1 / 150
"""Share of texts with a word, below which words of sentences weigh alike."""

N_STOP_WORDS = 150
STOP_WEIGHT = 0.25

POLITE = frozenset(
    "hello hi hey dear please kindly thanks thank team sir madam regards thx pls plz could "
    "would".split()
)
WITH = frozenset("mit avec con com met".split())
"""Words of other languages that texts differ in by "with" and "without"."""

_ENDINGS = frozenset(["", *"s es ed d ing er ers ly n e en y ies ied ion ions al".split()])
"""Of at most four letters."""
_BRITISH = re.compile(
    r"(?<=[a-z]{2})(our)(?=s?$|ed$|ing$|ite|able|ful)|(?<=[a-z]{2})(is)(?=e[sdr]?$|ing$|ation)"
    r"|(?<=[a-z]{2})(yse)(?=[sd]?$)|(?<=[a-z]{2})(tre)(?=s?$)|(?<=[a-z]{2})(ogue)(?=s?$)"
    r"|(?<=[a-z]{4})(ll)(?=ed$|ing$|ers?$)|(ence)$|^(aero)(?=plane)"
)
_AMERICAN = ("", "or", "iz", "yze", "ter", "og", "l", "ense", "air")


@functools.cache
def common_words() -> dict[str, int]:
    """Rank of 21,719 common English words, 0 for the most frequent.

    From the vocabulary of BERT (uncased, Apache License), which is sorted by frequency.
    """
    packed = importlib.resources.files("film.compare").joinpath("common_words.txt.gz").read_bytes()
    return {word: rank for rank, word in enumerate(gzip.decompress(packed).decode().split("\n"))}


@functools.cache
def real_words() -> frozenset[str]:
    """Words, and names of people, places and brands, that are no misspellings: some 90,000.

    The common words, and the most frequent ones of Wikipedia and news, from the vocabulary of GloVe
    6B (Pennington, Socher and Manning 2014, Public Domain Dedication and License).
    """
    packed = importlib.resources.files("film.compare").joinpath("real_words.txt.xz").read_bytes()
    return frozenset(lzma.decompress(packed).decode().split("\n")).union(common_words())


def is_stop_word(word: str) -> bool:
    """Whether a word is one of the 150 most frequent English words, a polite one, or "with"."""
    return common_words().get(word, N_STOP_WORDS) < N_STOP_WORDS or word in POLITE or word in WITH


def record_share(number_share: Any) -> Any:
    """Return from 0 to 1 how much a table consists of records instead of sentences.

    Parameters
    ----------
    number_share : float or ndarray of float
        Share of numbers and codes among the words of the table: from 0.03 to 0.13, the result
        rises from 0 to 1.
    """
    return np.clip((number_share - 0.03) / 0.1, 0, 1)


class WordRarity:
    """Weights of words: rare words weigh more.

    Parameters
    ----------
    texts : iterable of sequence of str
        Tokens of the texts of a table, as from `comparable_tokens`.

    Notes
    -----
    The weight of a word is log((n + m + 1) / (df + m·p + 1)): n is the number of texts and df the
    number of texts with the word. m = 500 texts of general English are added, and a share p of them
    has the word. So the weights of a small table are close to those of general English. In
    sentences, no word weighs more than log(150), so a name counts no more than any other rare word.
    In records (`record_share`), rare words are codes, and their weights have no limit. Stop words
    and polite words count a quarter.

    Examples
    --------
    >>> from film.compare import WordRarity
    >>> rarity = WordRarity([["the", "red", "house"], ["the", "blue", "house"], ["the", "lamp"]])
    >>> the, house, lamp = rarity.weights(["the", "house", "lamp"])
    >>> bool(the < house < lamp)
    True
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self.counts: Counter[str] = Counter()
        self.n_texts = 0
        for tokens in texts:
            # In the order of the text, so that sums over words are equal in every process.
            self.counts.update(dict.fromkeys(tokens).keys())
            self.n_texts += 1

    @classmethod
    def from_counts(cls, n_texts: int, counts: dict[str, int]) -> WordRarity:
        """Return the rarity for known numbers of texts with each word."""
        rarity = cls([])
        rarity.n_texts, rarity.counts = n_texts, Counter(counts)
        return rarity

    @functools.cached_property
    def number_share(self) -> float:
        """Share of numbers and codes (words with a digit) among the words of the table.

        A hundred words of sentences are added, so a few words hardly make a table of records.
        """
        n_numbers = sum(n for word, n in self.counts.items() if any(map(str.isdigit, word)))
        return (n_numbers + PRIOR_WORDS * PRIOR_NUMBERS) / (self.counts.total() + PRIOR_WORDS)

    def weights(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the weight of each word, (n_words,)."""
        common = common_words()
        n_with = np.array([self.counts.get(word, 0) for word in words], dtype=np.float64)
        rank = np.array([common.get(word, -1) for word in words], dtype=np.float64)
        # Zipf's law, for texts of about ten words.
        general = np.where(rank < 0, 0.0, np.minimum(0.6 / (1 + np.maximum(rank, 0) / 8), 0.5))
        total = self.n_texts + PRIOR_TEXTS + 1
        weights = np.log(total / (n_with + PRIOR_TEXTS * general + 1))
        records = record_share(self.number_share)
        weights = records * weights + (1 - records) * np.minimum(weights, -np.log(RAREST))
        weights[np.array([is_stop_word(word) for word in words], dtype=bool)] *= STOP_WEIGHT
        return np.maximum(weights, 0.0)

    def are_words(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each word is common English or in five texts, so hardly a misspelling."""
        common = common_words()
        return np.array([word in common or self.counts[word] >= 5 for word in words], dtype=bool)


def spelling_similarity(
    first: Sequence[str], second: Sequence[str], n_known: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Compare pairs of different words by their spelling.

    Parameters
    ----------
    first, second : sequence of str
        The words of each pair, of letters only.
    n_known : ndarray of int, shape (n,)
        How many of the two words are known (`WordRarity.are_words`). If one is, the other is likely
        a misspelling of it, and more edits count.

    Returns
    -------
    similarity : ndarray of float64, shape (n,)
        0.97 for British and American spelling of one word, and 0.95 for the same stem. Otherwise 0,
        or by the number of edits (a letter inserted, deleted, replaced, or two neighbouring letters
        exchanged): 0.9 for one and 0.85 for two. If one word is known, 0.97, 0.94 and 0.91 for one
        to three.

    Notes
    -----
    How many edits count depends on the length of the longer word. Words of fewer than six letters
    need equal first letters, since misspellings rarely change them. One edit counts if both words
    have at least four letters; two if the longer one has eight, and neither is known. If one word
    is known, two edits count from six letters on (from five, if the first letters are equal), and
    three from ten on; in shorter words one edit counts, whatever the first letters are, unless it
    replaces one of two letters or the first of three.

    Examples
    --------
    >>> import numpy as np
    >>> from film.compare import spelling_similarity
    >>> first, second = ["recieve", "stain", "colour"], ["receive", "stains", "color"]
    >>> spelling_similarity(first, second, np.array([1, 2, 2])).tolist()
    [0.97, 0.95, 0.97]
    """
    distance = cpdist(
        first, second, scorer=DamerauLevenshtein.distance, dtype=np.int32, score_cutoff=4
    )
    found = np.zeros(len(first))
    # Endings have at most four letters, so words of one stem are at most four edits apart.
    near = np.flatnonzero(distance <= 4)
    first, second = ([words[place] for place in near.tolist()] for words in (first, second))
    distance, n_known = distance[near], np.asarray(n_known)[near]
    shorter, longer = np.sort([list(map(len, first)), list(map(len, second))], axis=0)
    n_alike = cpdist(first, second, scorer=Prefix.similarity, dtype=np.int32)
    same_stem = n_alike >= np.maximum(3, 0.6 * longer)
    for pair in np.flatnonzero(same_stem).tolist():
        ends = first[pair][n_alike[pair] :], second[pair][n_alike[pair] :]
        same_stem[pair] = _ENDINGS.issuperset(ends)
    spelled = {word: american(word) for word in {*first, *second}}
    same_word = [spelled[a] == spelled[b] for a, b in zip(first, second, strict=True)]
    by_edits = np.where(n_known == 1, 1 - 0.03 * distance, 0.95 - 0.05 * distance)
    few = distance <= most_edits(shorter, longer, n_alike > 0, n_known)
    found[near] = np.where(same_word, 0.97, np.where(same_stem, 0.95, np.where(few, by_edits, 0)))
    return found


def most_edits(
    shorter: NDArray[np.intp],
    longer: NDArray[np.intp],
    begin_alike: NDArray[np.bool_],
    n_known: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return the most edits that count as a misspelling, given the lengths of both words."""
    one_edit = (shorter >= 4) | (shorter != longer) | ((shorter == 3) & begin_alike)
    two_edits = (longer >= 6) | ((longer == 5) & begin_alike)
    one_known = np.where(two_edits, 2 + (longer >= 10), one_edit)
    too_short = (shorter < 4) | ((longer < 6) & ~begin_alike)
    others = np.where(too_short, 0, 1 + ((n_known == 0) & (longer >= 8)))
    return np.where(n_known == 1, one_known, others)


def american(word: str) -> str:
    """Return the American spelling of a British word, by a few rules."""
    return _BRITISH.sub(lambda match: _AMERICAN[match.lastindex or 0], word)

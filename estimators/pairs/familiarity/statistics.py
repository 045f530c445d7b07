"""How like the texts of its fit those are that a classifier judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack
from sklearn.feature_extraction.text import HashingVectorizer

from estimators.inputs import as_texts, distinct_texts
from estimators.persistence import savable
from film.pairs import familiarities, mean_of_nearest, mean_rarities
from film.text import token_text

N_HASHES = 2**20
N_PATTERN_WORDS = 200
"""Most frequent words, which patterns keep; any other word of a pattern reads as one sign."""

MOST_NEAR = 20_000
"""Fitted texts that the nearest are looked for among."""

COMMON = 0.02
"""Share of texts from which on a word or bigram says nothing about nearness."""

HELD_OUT = 0.1
"""Share of groups that statistics are standardised on, and that are not counted."""

MOST_APART = 2_500
"""Pairs of them to standardise on."""

START, END, OPEN = "\x02", "\x03", "\x01"

STATISTICS = (
    "rarity of words",
    "rarity of bigrams",
    "length",
    "nearest texts",
    "rarity of patterns",
    "rarity of the first word",
)
VECTOR_STATISTICS = ("nearest vectors", "cosine to the mean vector")
KINDS = ("other questions", "prose", "headlines")
"""Kinds of text that the weights tell from those of a fit."""

WEIGHTS = (
    (-1.62, 1.62, -1.38, -1.41, 0.27, 0.53),
    (0.19, 2.01, -0.46, -4.31, 1.61, 0.99),
    (0.43, 4.79, -0.79, 0.56, -0.11, 0.72),
)
INTERCEPTS = (-2.78, -10.18, -12.21)
VECTOR_WEIGHTS = (
    (-2.02, 1.78, -1.67, -0.10, 0.43, 0.44, -2.13, -0.72),
    (-0.18, 2.02, -0.43, -2.77, 1.72, 0.94, -3.77, 0.29),
    (-0.05, 4.45, -1.27, 1.17, 0.01, 0.51, -0.91, -1.98),
)
VECTOR_INTERCEPTS = (-4.27, -12.77, -12.99)


Embed = Callable[[list[str]], np.ndarray]
"""Texts → vectors, (n, d)."""


@savable
class Familiarity:
    """Statistics of texts beside those of a fit, by counts of words, and by vectors where given.

    Parameters
    ----------
    texts : list of str
        Of the fit, each once.
    pairs : ndarray of intp, shape (n, 2)
        Positions of the fitted pairs among them.
    groups : ndarray of intp, shape (n_texts,)
        Group of linked texts of each. A tenth of the groups is held out, to standardise on.
    embed : callable, default=None
        Gives the vectors of some of the texts, by an encoder that no label trained.
    random_state : int, default=0
        Chooses what is held out, and the texts that the nearest are looked for among.

    Notes
    -----
    The weights of the statistics are constants. They were chosen on Quora's training questions
    beside those of CLINC150, sentences of books and headlines of iSTS's training files: a
    multinomial logistic regression that tells held-out pairs of the first from the others.
    """

    def __init__(
        self,
        texts: list[str],
        pairs: np.ndarray,
        groups: np.ndarray,
        embed: Embed | None = None,
        random_state: int = 0,
    ) -> None:
        rng = np.random.default_rng(random_state)
        names = np.unique(groups)
        held = rng.permutation(names)[: max(1, int(HELD_OUT * len(names)))]
        counted = np.flatnonzero(~np.isin(groups, held))
        if len(counted) == 0:  # all texts are linked
            counted = np.arange(len(texts))
        known = [texts[row] for row in counted]
        tokens = [token_text(text) for text in known]
        self.n_texts = len(known)
        self.pattern_words = _frequent_words(tokens)
        families = self._features(tokens)
        self.frequencies = [_column_counts(family) for family in families]
        chosen = np.sort(rng.permutation(len(known))[:MOST_NEAR])
        self.near = self._weighted(families[0][chosen], families[1][chosen])
        self.vectors = None
        if embed is not None:
            self.vectors = _unit(embed([known[row] for row in chosen]))
            self.mean_vector = self.vectors.mean(axis=0)
        held_pairs = pairs[np.isin(groups[pairs[:, 0]], held)]
        apart = (held_pairs if len(held_pairs) > 1 else pairs)[:MOST_APART]
        found = self._of_pairs(as_texts(texts)[apart], embed)
        self.means, self.deviations = found.mean(axis=0), found.std(axis=0)
        alone = as_texts(texts)[np.unique(apart)]
        alone = np.column_stack([alone, alone])
        self._typical = [float(self.of_pairs(alone, by).mean()) for by in (None, embed)]

    def typical(self, embed: Embed | None) -> float:
        """Mean familiarity of single texts of the fitted kind that were not counted."""
        return self._typical[0 if embed is None else 1]

    def of_pairs(self, pairs: np.ndarray, embed: Embed | None = None) -> np.ndarray:
        """Give the familiarity of pairs, from 0 to 1, (n,); ``embed`` adds what vectors tell.

        A pair with a text of which no word is known has 0.
        """
        embed = None if self.vectors is None else embed
        found = self._of_pairs(pairs, embed)
        weights, intercepts = (
            (WEIGHTS, INTERCEPTS) if embed is None else (VECTOR_WEIGHTS, VECTOR_INTERCEPTS)
        )
        n = found.shape[1]
        told = familiarities(found, self.means[:n], self.deviations[:n], weights, intercepts)
        return np.where(self._has_known_words(pairs), told, 0.0)

    def _of_pairs(self, pairs: np.ndarray, embed: Embed | None) -> np.ndarray:
        """Give the mean statistics of both texts of pairs, (n, 6), or (n, 8) with vectors."""
        texts, codes = distinct_texts(pairs)
        vectors = None if embed is None else embed(texts)
        return self.statistics(texts, vectors)[codes].mean(axis=1)

    def _has_known_words(self, pairs: np.ndarray) -> np.ndarray:
        texts, codes = distinct_texts(pairs)
        words = _hashed([token_text(text) for text in texts], 1)
        known = _dense(self.frequencies[0])[words.indices] > 0
        owners = np.repeat(np.arange(len(texts)), np.diff(words.indptr))
        counts = np.bincount(owners, weights=known, minlength=len(texts))
        return np.asarray((counts > 0)[codes].all(axis=1))

    def statistics(self, texts: list[str], vectors: np.ndarray | None) -> np.ndarray:
        """Give `STATISTICS` of texts, and with their vectors `VECTOR_STATISTICS` too."""
        tokens = [token_text(text) for text in texts]
        families = self._features(tokens)
        rarities = [
            mean_rarities(family, _dense(counts), self.n_texts)
            for family, counts in zip(families, self.frequencies, strict=True)
        ]
        words, bigrams, patterns, first = rarities
        length = np.log1p(np.diff(families[0].indptr))
        nearest = mean_of_nearest(self._weighted(families[0], families[1]), self.near)
        found = np.column_stack([words, bigrams, length, nearest, patterns, first])
        if vectors is None:
            return found
        return np.column_stack([found, self._vector_statistics(vectors)])

    def _features(self, tokens: list[str]) -> list[csr_array]:
        """Hash words, bigrams, patterns of three and the first word of texts."""
        kept = set(self.pattern_words)
        patterns = [
            " ".join(word if word in kept else OPEN for word in text.split()) for text in tokens
        ]
        marked = [[f"{START} {text} {END}" for text in side] for side in (tokens, patterns)]
        first = [text.partition(" ")[0] for text in patterns]
        return [
            _hashed(texts, size)
            for texts, size in ((tokens, 1), (marked[0], 2), (marked[1], 3), (first, 1))
        ]

    def _weighted(self, words: csr_array, bigrams: csr_array) -> csr_array:
        """TF-IDF rows of words and bigrams, of length 1 before common ones are left out."""
        counts = np.concatenate([_dense(self.frequencies[k]) for k in (0, 1)])
        rarity = np.log((self.n_texts + 1) / (counts + 1))
        rows: Any = csr_array(hstack([words, bigrams], format="csr"), dtype=np.float32)
        rows.data = rarity[rows.indices].astype(np.float32)
        owners = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
        lengths = np.sqrt(np.bincount(owners, rows.data**2, minlength=len(rows.indptr) - 1))
        rows.data[counts[rows.indices] > COMMON * self.n_texts] = 0
        rows = csr_array(diags_array(1 / np.maximum(lengths, 1e-9)) @ rows)
        rows.eliminate_zeros()
        return rows.astype(np.float32)

    def _vector_statistics(self, vectors: np.ndarray) -> np.ndarray:
        assert self.vectors is not None
        points = _unit(vectors)
        nearest = np.empty(len(points))
        n = min(5, len(self.vectors))
        for start in range(0, len(points), 1000):
            products = points[start : start + 1000] @ self.vectors.T
            last = products.shape[1] - n
            nearest[start : start + 1000] = np.partition(products, last, axis=1)[:, last:].mean(1)
        return np.column_stack([nearest, points @ self.mean_vector])


def _frequent_words(tokens: list[str]) -> list[str]:
    counts: dict[str, int] = {}
    for text in tokens:
        for word in set(text.split()):
            counts[word] = counts.get(word, 0) + 1
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return ordered[:N_PATTERN_WORDS]


def _hashed(texts: list[str], size: int) -> csr_array:
    single: Any = np.float32
    no_norm: Any = None
    vectorizer = HashingVectorizer(
        n_features=N_HASHES,
        alternate_sign=False,
        binary=True,
        norm=no_norm,
        lowercase=False,
        token_pattern=r"\S+",
        ngram_range=(size, size),
        dtype=single,
    )
    return csr_array(vectorizer.transform(as_texts(texts)))


def _column_counts(rows: csr_array) -> csr_array:
    """How many rows have each column, as one sparse row: most hashes have none."""
    counts = np.bincount(rows.indices, minlength=N_HASHES).astype(np.int32)
    return csr_array(counts[None])


def _dense(counts: csr_array) -> np.ndarray:
    return counts.toarray().ravel()


def _unit(vectors: np.ndarray) -> np.ndarray:
    points = np.asarray(vectors, dtype=np.float32)
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-9)

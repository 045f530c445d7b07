"""How like the texts of its fit those are that a classifier judges."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from estimators.inputs import as_texts, distinct_texts
from estimators.pairs.familiarity.hashed_counts import (
    column_counts,
    dense,
    frequent_words,
    hashed_families,
)
from estimators.pairs.familiarity.latent_characters import LatentCharacters
from estimators.pairs.familiarity.weights import VECTOR_STATISTICS, WEIGHTS
from estimators.persistence import savable
from film.pairs import familiarities, familiarity_limit, mean_of_nearest, mean_rarities
from film.text import token_text

MOST_NEAR = 20_000
"""Fitted texts that the nearest are looked for among, by words and by vectors."""

MOST_BY_CHARACTERS = 10_000
"""Of these, by characters."""

COMMON = 0.02
"""Share of texts from which on a word or bigram says nothing about nearness."""

HELD_OUT = 0.1
"""Share of groups that statistics are standardised on, and that are not counted."""

MOST_APART = 2_500
"""Pairs of them to standardise on."""

ENOUGH_APART, MOST_PARTS = 400, 4
"""Fewer pairs of the first tenth are joined by those of further tenths, each beside the others."""

FEWEST_APART = 150
"""Fewer show no limit, however many parts there are."""

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
    multinomial logistic regression that tells held-out pairs of the first from the others
    (`benchmarks.familiarity`).
    """

    def __init__(
        self,
        texts: list[str],
        pairs: np.ndarray,
        groups: np.ndarray,
        embed: Embed | None = None,
        random_state: int = 0,
    ) -> None:
        parts = held_out_parts(groups, random_state)
        part_of_pair, spelt = parts[pairs[:, 0]], as_texts(texts)
        self._count(texts, parts == 0, embed, random_state)
        held_pairs = pairs[part_of_pair == 0]
        apart = (held_pairs if len(held_pairs) > 1 else pairs)[:MOST_APART]
        found, n_parts = self.of_both(spelt[apart], embed), 1
        if HELD_OUT * MOST_PARTS * len(pairs) >= FEWEST_APART and len(held_pairs) > 1:
            while len(found) < ENOUGH_APART and n_parts < min(MOST_PARTS, parts.max() + 1):
                other = copy(self)
                other._count(texts, parts == n_parts, embed, random_state)
                more = other.of_both(spelt[pairs[part_of_pair == n_parts]], embed)
                found, n_parts = np.concatenate([found, more]), n_parts + 1
        self.means, self.deviations = found.mean(axis=0), found.std(axis=0)
        n_groups = len(np.unique(groups[parts < n_parts]))
        widths = found.shape[1] - (0 if embed is None else len(VECTOR_STATISTICS)), found.shape[1]
        self.limits = tuple(familiarity_limit(self._told(found[:, :n]), n_groups) for n in widths)
        alone = spelt[np.unique(apart)]
        alone = np.column_stack([alone, alone])
        self._typical = [float(self.of_pairs(alone, by).mean()) for by in (None, embed)]

    def _count(
        self, texts: list[str], held: np.ndarray, embed: Embed | None, random_state: int
    ) -> None:
        """Count the texts that are not held out."""
        counted = np.flatnonzero(~held)
        if len(counted) == 0:  # all texts are linked
            counted = np.arange(len(texts))
        known = [texts[row] for row in counted]
        tokens = [token_text(text) for text in known]
        self.n_texts = len(known)
        self.pattern_words = frequent_words(tokens)
        families = hashed_families(tokens, self.pattern_words)
        self.frequencies = [column_counts(family) for family in families]
        drawn = np.random.default_rng(random_state).permutation(len(known))
        chosen = np.sort(drawn[:MOST_NEAR])
        self.near = self._weighted(families[0][chosen], families[1][chosen])
        by_characters = [tokens[row] for row in np.sort(drawn[:MOST_BY_CHARACTERS])]
        self.characters = LatentCharacters(by_characters, random_state)
        self.vectors = None
        if embed is not None:
            self.vectors = _unit(embed([known[row] for row in chosen]))
            self.mean_vector = self.vectors.mean(axis=0)

    def limit(self, embed: Embed | None) -> float:
        """Familiarity that few pairs of the fitted kind have or fall below."""
        return self.limits[0 if embed is None else 1]

    def typical(self, embed: Embed | None) -> float:
        """Mean familiarity of single texts of the fitted kind that were not counted."""
        return self._typical[0 if embed is None else 1]

    def of_pairs(self, pairs: np.ndarray, embed: Embed | None = None) -> np.ndarray:
        """Give the familiarity of pairs, from 0 to 1, (n,); ``embed`` adds what vectors tell.

        A pair with a text of which no word is known has 0.
        """
        embed = None if self.vectors is None else embed
        told = self._told(self.of_both(pairs, embed))
        return np.where(self._has_known_words(pairs), told, 0.0)

    def _told(self, found: np.ndarray) -> np.ndarray:
        n = found.shape[1]
        return familiarities(found, self.means[:n], self.deviations[:n], *WEIGHTS[n])

    def of_both(self, pairs: np.ndarray, embed: Embed | None) -> np.ndarray:
        """Give the mean statistics of both texts of pairs, (n, 9), or (n, 11) with vectors."""
        texts, codes = distinct_texts(pairs)
        vectors = None if embed is None else embed(texts)
        return self.statistics(texts, vectors)[codes].mean(axis=1)

    def _has_known_words(self, pairs: np.ndarray) -> np.ndarray:
        texts, codes = distinct_texts(pairs)
        words = hashed_families([token_text(text) for text in texts], [], 1)[0]
        known = dense(self.frequencies[0])[words.indices] > 0
        owners = np.repeat(np.arange(len(texts)), np.diff(words.indptr))
        counts = np.bincount(owners, weights=known, minlength=len(texts))
        return np.asarray((counts > 0)[codes].all(axis=1))

    def statistics(self, texts: list[str], vectors: np.ndarray | None) -> np.ndarray:
        """Give `WORD_STATISTICS` of texts, and with their vectors `VECTOR_STATISTICS` too."""
        tokens = [token_text(text) for text in texts]
        families = hashed_families(tokens, self.pattern_words, len(self.frequencies))
        words, bigrams, *rarities = [
            mean_rarities(family, dense(counts), self.n_texts)
            for family, counts in zip(families, self.frequencies, strict=True)
        ]
        length = np.log1p(np.diff(families[0].indptr))
        nearest = mean_of_nearest(self._weighted(families[0], families[1]), self.near)
        by_characters = self.characters.nearness(tokens)
        found = [words, bigrams, length, nearest, *rarities, by_characters]
        if vectors is not None:
            points = _unit(vectors)
            found += [mean_of_nearest(points, self.vectors), points @ self.mean_vector]
        return np.column_stack(found)

    def _weighted(self, words: csr_array, bigrams: csr_array) -> csr_array:
        """TF-IDF rows of words and bigrams, of length 1 before common ones are left out."""
        counts = np.concatenate([dense(self.frequencies[k]) for k in (0, 1)])
        rarity = np.log((self.n_texts + 1) / (counts + 1))
        rows: Any = csr_array(hstack([words, bigrams], format="csr"), dtype=np.float32)
        rows.data = rarity[rows.indices].astype(np.float32)
        owners = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
        lengths = np.sqrt(np.bincount(owners, rows.data**2, minlength=len(rows.indptr) - 1))
        rows.data[counts[rows.indices] > COMMON * self.n_texts] = 0
        rows = csr_array(diags_array(1 / np.maximum(lengths, 1e-9)) @ rows)
        rows.eliminate_zeros()
        return rows.astype(np.float32)


def held_out_parts(groups: np.ndarray, random_state: int) -> np.ndarray:
    """Give the number of each text's part: the texts of a tenth of the groups, at random."""
    names, group = np.unique(groups, return_inverse=True)
    order = np.empty(len(names), dtype=np.intp)
    order[np.random.default_rng(random_state).permutation(len(names))] = np.arange(len(names))
    return order[group] // max(1, int(HELD_OUT * len(names)))


def held_out_texts(groups: np.ndarray, random_state: int) -> np.ndarray:
    """Tell which texts are held out of the counts: those of the first part."""
    return held_out_parts(groups, random_state) == 0


def _unit(vectors: np.ndarray) -> np.ndarray:
    points = np.asarray(vectors, dtype=np.float32)
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-9)

"""Scores of pairs of texts: similarities, or the probabilities of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.corpus.corpus_index import CorpusIndex
from estimators.corpus.pair_probabilities import PairProbabilities
from estimators.inputs import as_texts, progress_bar
from estimators.persistence import savable


@savable
class PairScores:
    """Score the pairs that an index of a corpus finds.

    Parameters
    ----------
    index : CorpusIndex
        Of the corpus.
    probabilities : PairProbabilities or None
        Of a classifier; None scores by similarity.
    """

    def __init__(self, index: CorpusIndex, probabilities: PairProbabilities | None) -> None:
        self.index = index
        self.probabilities = probabilities

    @property
    def name(self) -> str:
        """What a score is."""
        return "similarity" if self.probabilities is None else "probability"

    def of_candidates(
        self, verbose: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float | None]:
        """Score all candidate pairs of the corpus.

        Returns
        -------
        pairs : ndarray of int, shape (m, 2)
            Numbers of unique texts.
        scores : ndarray of float64, shape (m,)
            Their scores.
        same_vector : ndarray of bool, shape (m,)
            Whether the similarity cannot tell the two apart; False where a classifier judges.
        prior : float or None
            Share of duplicates that probabilities hold at.
        """
        with progress_bar(verbose, "DuplicateFinder") as progress:
            pairs = self.index.candidates(progress)
            if self.probabilities is None:
                return pairs, *self.index.similarities(pairs), None
            texts = as_texts(self.index.texts)
            scores, prior = self.probabilities.of_candidates(pairs, texts, progress)
        return pairs, scores, np.zeros(len(pairs), dtype=bool), prior

    def of_matches(
        self, texts: list[str], blocks: list[int] | None, k: int, verbose: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float | None]:
        """Score other texts with those of the corpus that are near, as `CorpusIndex.near` does.

        Returns
        -------
        pairs : ndarray of int, shape (m, 2)
            Position in ``texts``, number of a unique text.
        scores : ndarray of float64, shape (m,)
            Their scores, 1 for copies.
        kind : ndarray of object, shape (m,)
            As in `DuplicatePairs`.
        prior : float or None
            Share of duplicates that probabilities hold at; an estimate is that of the corpus, so
            it needs all candidates.
        """
        pairs, scores, same_vector, copies = self.index.near(texts, k, blocks)
        if self.probabilities is None:
            return pairs, scores, kinds(copies, same_vector), None
        prior: Any = self.probabilities.prior
        if prior == "estimate":
            prior = self.of_candidates(verbose)[3]
        asked = np.column_stack(
            [as_texts(texts)[pairs[:, 0]], as_texts(self.index.texts)[pairs[:, 1]]]
        )
        with progress_bar(verbose, "DuplicateFinder") as progress:
            given = self.probabilities.of_pairs(asked, prior, progress)
        return pairs, np.where(copies, 1.0, given), kinds(copies, None), prior

    def of_pairs(self, pairs: np.ndarray, prior: float | None) -> np.ndarray:
        """Score listed pairs of unique texts."""
        if self.probabilities is None:
            return self.index.similarities(pairs)[0]
        return self.probabilities.of_pairs(as_texts(self.index.texts)[pairs], prior)


def kinds(copies: np.ndarray, same_vector: np.ndarray | None) -> np.ndarray:
    """Name what each pair is, as `DuplicatePairs.kind` says it."""
    named = np.full(len(copies), "similar", dtype=object)
    if same_vector is not None:
        named[same_vector] = "indistinct"
    named[copies] = "copy"
    return named

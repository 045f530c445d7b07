"""Score pairs of texts by the general formula, which needs no labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from estimators.corpus.corpus_index import HIGHEST_SIMILARITY
from film.compare import WordRarity, pair_features
from film.judge import general_features, general_weights, neighbour_features, pair_kinds


class GeneralScores:
    """Score pairs within a table, given the cosines of pairs of neighbours.

    Parameters
    ----------
    rarity : WordRarity
        Of the words of the table.
    pairs : ndarray of int, shape (n, 2)
        Pairs of neighbours.
    cosines : ndarray of float, shape (n,)
        Their cosines.
    one_sided : bool
        Whether only the neighbours of the first text of each pair count, so that the score of a
        new text does not depend on other new ones.
    """

    def __init__(
        self, rarity: WordRarity, pairs: np.ndarray, cosines: np.ndarray, one_sided: bool = False
    ) -> None:
        self._rarity = rarity
        self._one_sided = one_sided
        self._pairs = pairs
        self._cosines = cosines

    def features(
        self, pairs: np.ndarray, texts: tuple[Sequence[str], Sequence[str]], cosines: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of the formula, (n, n_features), and those of the texts alone."""
        alone = pair_features(*texts, self._rarity)
        near = neighbour_features(
            self._pairs, self._cosines, pairs, cosines, one_sided=self._one_sided
        )
        return general_features(alone, cosines, near, self._rarity.number_share), alone

    def answers(
        self, pairs: np.ndarray, texts: tuple[Sequence[str], Sequence[str]], cosines: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the score, 0 if nothing is shared, and the kind of each pair.

        Parameters
        ----------
        pairs : ndarray of int, shape (n, 2)
            Numbers of texts, as in the pairs of neighbours.
        texts : two sequences of str
            The texts of each pair.
        cosines : ndarray of float, shape (n,)
            Their cosines.
        """
        features, alone = self.features(pairs, texts, cosines)
        odds = general_weights().log_odds(features)
        # Which of many texts that share nothing is "nearest" is a matter of rounding.
        share_nothing = (cosines <= 0) & (alone[:, 0] <= 0)
        scores = np.where(share_nothing, 0.0, np.minimum(expit(odds), HIGHEST_SIMILARITY))
        return scores, pair_kinds(alone)

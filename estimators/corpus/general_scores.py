"""Score pairs of texts by the general formula, which needs no labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from estimators.corpus.corpus_index import HIGHEST_SIMILARITY
from film.compare import WordRarity, pair_features
from film.judge import general_effects, general_log_odds, neighbour_features, pair_kinds


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

    def parts(
        self, pairs: np.ndarray, texts: tuple[Sequence[str], Sequence[str]], cosines: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return what `film.judge.general_features` takes."""
        near = neighbour_features(
            self._pairs, self._cosines, pairs, cosines, one_sided=self._one_sided
        )
        return pair_features(*texts, self._rarity), cosines, near, self._rarity.number_share

    def answers(
        self,
        pairs: np.ndarray,
        texts: tuple[Sequence[str], Sequence[str]],
        cosines: np.ndarray,
        meanings: np.ndarray | None = None,
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
        meanings : ndarray of float, shape (n,), optional
            Their centred cosines by an encoder.
        """
        parts = self.parts(pairs, texts, cosines)
        odds, alone = general_log_odds(*parts, meanings), parts[0]
        # Which of many texts that share nothing is "nearest" is a matter of rounding.
        share_nothing = (cosines <= 0) & (alone[:, 0] <= 0)
        if meanings is not None:
            share_nothing &= meanings <= 0
        scores = np.where(share_nothing, 0.0, np.minimum(expit(odds), HIGHEST_SIMILARITY))
        return scores, pair_kinds(alone)

    def effects(
        self,
        pairs: np.ndarray,
        texts: tuple[Sequence[str], Sequence[str]],
        cosines: np.ndarray,
        meanings: np.ndarray | None = None,
    ) -> tuple[float, np.ndarray]:
        """Return what `film.judge.general_effects` returns, for the pairs of `answers`."""
        return general_effects(*self.parts(pairs, texts, cosines), meanings)

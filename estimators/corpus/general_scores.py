"""Score pairs of texts by the general formula, which needs no labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from estimators.corpus.column_evidence import ColumnEvidence, PairedCells, as_name, given_in_both
from estimators.corpus.corpus_index import HIGHEST_SIMILARITY
from estimators.corpus.text_space import TextSpace
from film.compare import (
    DIFFERENCES,
    PAIR_FEATURES,
    WordRarity,
    name_difference,
    pair_features,
)
from film.judge import (
    ColumnWeights,
    chances_by_case,
    effects_with_columns,
    fit_column_weights,
    general_effects,
    general_log_odds,
    log_odds_with_columns,
    neighbour_features,
    pair_kinds,
    separating_column_weights,
    uninformative_columns,
)

_DIFFERS = [PAIR_FEATURES.index(f"{name} differs") for name in DIFFERENCES]
_SHARED = PAIR_FEATURES.index("coverage apart")
_CLOSE = 2 / 3
"""Coverage from which on a pair may be one that differs (`film.judge.pair_kinds`)."""
_APART = {
    "number": ("number", -2.0),
    "company": ("name", -2.0),
    "name": ("name", -4.0),
    "alias": ("name", -2.0),
    "order": ("order", -4.0),
}
"""Kind and log-odds by the difference of names and addresses.

Numbers are those of houses in one street; an alias is another first name, with one
birthday; order is that of columns, such as both places of a trip.
"""


class AgreementScores:
    """What the agreement of columns adds to general scores, learned from pairs of neighbours.

    Parameters
    ----------
    evidence : ColumnEvidence
        Of the columns of the records.
    space : TextSpace
        In which texts are compared.
    weights : ColumnWeights, optional
        Weights that are known already.
    two_tables : bool
        Whether the pairs that weights are learned from have one row of either table.

    Attributes
    ----------
    uninformative : tuple of str
        Columns that tell no duplicates from other pairs (`film.judge.uninformative_columns`).
    """

    uninformative: tuple[str, ...] = ()

    def __init__(
        self,
        evidence: ColumnEvidence,
        space: TextSpace,
        weights: ColumnWeights | None = None,
        two_tables: bool = False,
    ) -> None:
        self._evidence, self._space, self._two_tables = evidence, space, two_tables
        self.weights = weights

    def paired(self, texts: tuple[Sequence[str], Sequence[str]]) -> PairedCells:
        """Return the cells of pairs of records."""
        return self._evidence.paired(*texts)

    def features(self, paired: PairedCells, rarity: WordRarity) -> np.ndarray:
        """Compare pairs of records as `film.compare.pair_features` does.

        The same value of a column is no difference, however it is written. Neither is a cell that
        only one record gives, if nearly all else is shared.
        """
        texts = self._evidence.written_alike(paired)
        found = pair_features(*texts, rarity)
        differs = (found[:, _DIFFERS] > 0).any(axis=1) & (found[:, _SHARED] >= _CLOSE)
        given: dict[int, tuple[str, str]] = {}
        for row in np.flatnonzero(differs).tolist():
            records = texts[0][row], texts[1][row]
            if (kept := given_in_both(*records)) != records:
                given[row] = kept
        if given:
            first, second = [a for a, _ in given.values()], [b for _, b in given.values()]
            again = pair_features(first, second, rarity)
            found[np.ix_(list(given), _DIFFERS)] = again[:, _DIFFERS]
        return found

    def log_odds(
        self, pairs: np.ndarray, paired: PairedCells, general: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the evidence of columns to log-odds; the first pairs are those to learn from.

        Returns the log-odds, and how names and addresses differ in each column.
        """
        levels = self._evidence.levels(self._space, paired)
        differences = self._evidence.differences(paired)
        apart = _of_differences(differences).sum(axis=1)
        if self.weights is None:
            # Weights are learned with the differences: where many couples share an address, it
            # then says little.
            self.weights = self._learned(pairs, levels, general, apart)
            # Without them: else people of equal first names seem duplicates that share little else.
            weights = self._learned(pairs, levels, general, 0.0) if apart.any() else self.weights
            chances = expit(log_odds_with_columns(general, weights, levels))
            names = np.array(list(self._evidence.kinds), dtype=object)
            says_nothing = uninformative_columns(levels, chances)
            says_nothing &= np.array(self._evidence.may_say_nothing, dtype=bool)
            # Without any text, equal amounts and dates would be duplicates.
            texts_left = [kind == "text" for kind in self._evidence.kinds.values()]
            says_nothing &= (~says_nothing & texts_left).any()
            self.uninformative = tuple(names[says_nothing])
        return log_odds_with_columns(general, self.weights, levels) + apart, differences

    def _learned(
        self, pairs: np.ndarray, levels: np.ndarray, general: np.ndarray, apart: np.ndarray | float
    ) -> ColumnWeights:
        """Learn the weights of columns from pairs and what differences add to their log-odds."""
        scores = np.minimum(expit(general + apart), HIGHEST_SIMILARITY)
        cells, chances, weights = chances_by_case(pairs, scores, two_tables=self._two_tables)
        one = fit_column_weights(levels, (weights @ chances)[cells])
        both = expit(log_odds_with_columns(general, one, levels) + apart)
        return separating_column_weights(levels, both, two_tables=self._two_tables) or one

    def of_columns(self, first: Sequence[str], second: Sequence[str]) -> dict[str, np.ndarray]:
        """Return what each column adds to the log-odds of pairs of records."""
        effects = self.effects((first, second), 0.0, np.empty((len(first), 0)))[1]
        return dict(zip(self._evidence.kinds, effects.T, strict=True))

    def effects(
        self, texts: tuple[Sequence[str], Sequence[str]], start: float, general: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the start and the effects of the general formula and of each column."""
        assert self.weights is not None
        paired = self.paired(texts)
        levels = self._evidence.levels(self._space, paired)
        start, effects = effects_with_columns(start, general, self.weights, levels)
        effects[:, general.shape[1] :] += _of_differences(self._evidence.differences(paired))
        return start, effects


def _of_differences(differences: np.ndarray) -> np.ndarray:
    return np.sum([effect * (differences == what) for what, (_, effect) in _APART.items()], axis=0)


def _with_differences(kinds: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """Replace the kinds of pairs whose names or addresses differ in a column."""
    found = kinds.copy()
    for what, (kind, _) in _APART.items():
        found[(differences == what).any(axis=1)] = f"differs in {kind}"
    return found


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
    columns : AgreementScores, optional
        Of the columns, if the texts are records.
    role : str, default=""
        What the texts are, from `role_of_texts`, if they are no records.
    """

    def __init__(
        self,
        rarity: WordRarity,
        pairs: np.ndarray,
        cosines: np.ndarray,
        one_sided: bool = False,
        columns: AgreementScores | None = None,
        role: str = "",
    ) -> None:
        self.columns = columns
        self._role = role
        self._rarity = rarity
        self._one_sided = one_sided
        self._pairs = pairs
        self._cosines = cosines

    def parts(
        self,
        pairs: np.ndarray,
        texts: tuple[Sequence[str], Sequence[str]],
        cosines: np.ndarray,
        paired: PairedCells | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return what `film.judge.general_features` takes."""
        if self.columns is None or paired is None:
            alone = pair_features(*texts, self._rarity)
        else:
            alone = self.columns.features(paired, self._rarity)
        near = neighbour_features(
            self._pairs, self._cosines, pairs, cosines, one_sided=self._one_sided
        )
        return alone, cosines, near, self._rarity.number_share

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
        paired = None if self.columns is None else self.columns.paired(texts)
        parts = self.parts(pairs, texts, cosines, paired)
        odds, alone = general_log_odds(*parts, meanings), parts[0]
        kinds = pair_kinds(alone)
        if self.columns is not None and paired is not None:
            odds, differences = self.columns.log_odds(pairs, paired, odds)
            kinds = _with_differences(kinds, differences)
        elif self._role:
            differences = self._differences(texts)
            odds += _of_differences(differences).ravel()
            kinds = _with_differences(kinds, differences)
        # Which of many texts that share nothing is "nearest" is a matter of rounding.
        share_nothing = (cosines <= 0) & (alone[:, 0] <= 0)
        if meanings is not None:
            share_nothing &= meanings <= 0
        scores = np.where(share_nothing, 0.0, np.minimum(expit(odds), HIGHEST_SIMILARITY))
        return scores, kinds

    def effects(
        self,
        pairs: np.ndarray,
        texts: tuple[Sequence[str], Sequence[str]],
        cosines: np.ndarray,
        meanings: np.ndarray | None = None,
    ) -> tuple[float, np.ndarray]:
        """Return what `film.judge.general_effects` returns, and the effects of columns."""
        paired = None if self.columns is None else self.columns.paired(texts)
        start, found = general_effects(*self.parts(pairs, texts, cosines, paired), meanings)
        if self.columns is not None:
            return self.columns.effects(texts, start, found)
        if self._role:
            found[:, :1] += _of_differences(self._differences(texts))
        return start, found

    def _differences(self, texts: tuple[Sequence[str], Sequence[str]]) -> np.ndarray:
        """Return how names or addresses differ, (n_pairs, 1)."""
        names = {text: as_name(text, self._role) for text in {*texts[0], *texts[1]}}
        found = np.empty((len(texts[0]), 1), dtype=object)
        for row, (first, second) in enumerate(zip(*texts, strict=True)):
            found[row] = name_difference(names[first], names[second], self._role)
        return found

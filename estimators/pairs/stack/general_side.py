"""The general formula, which decides about pairs that are unlike the training texts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from estimators.inputs import as_texts, distinct_texts, pack, transformed_by_words, unpack
from estimators.pairs.lexical import COSINE_NAMES, character_counts
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.encodings import frozen_start
from estimators.pairs.stack.members import is_predictor, with_columns
from estimators.persistence import savable
from film.compare import WordRarity, comparable_tokens, pair_features
from film.judge import AdjacentWords, general_features, general_weights
from film.pairs import pair_cosines
from film.text import token_text

NAMES = ("general formula", "familiarity")
"""Names of the columns that follow the inputs of the final model."""

SHARE = 0.1
"""Share of the general formula in the log-odds of familiar pairs, which it does not harm."""

FAMILIAR, UNFAMILIAR = 0.97, 0.995
"""Quantiles of the rarity of training pairs, from which familiarity falls from 1 to 0.

Chosen on classifiers fitted to Quora, walmart-amazon and amazon-google and applied to each other's
texts, intents, captions and headlines.
"""

MOVED = 0.5
"""Familiarity at or below which a pair counts as unlike the training texts."""

MOST_MOVED = 0.25
"""Share of such pairs from which on there is a warning."""

FEWEST_PAIRS = 20
"""Number of pairs from which on `DuplicateClassifier.predict_proba` warns."""


class UnfamiliarTextsWarning(UserWarning):
    """The texts are unlike those that the classifier was fitted to."""


def are_unfamiliar(familiarity: np.ndarray) -> bool:
    """Whether the general formula decides about most pairs, so that results are scores."""
    return bool((familiarity <= MOVED).sum() > len(familiarity) / 2)


def warn_of_unfamiliar(familiarity: np.ndarray, what: str, stacklevel: int = 3) -> None:
    """Warn if more than a quarter of pairs or texts are unlike the training texts."""
    n_moved = int((familiarity <= MOVED).sum())
    if n_moved > MOST_MOVED * len(familiarity):
        warnings.warn(
            f"{n_moved} of {len(familiarity)} {what} are unlike the training texts; there the "
            "general formula decides, which no label trained: its results are scores to sort by, "
            "not probabilities",
            UnfamiliarTextsWarning,
            stacklevel=stacklevel,
        )


@savable
class GeneralSide:
    """Log-odds by the general formula, on the scale of the labels, and familiarity of pairs.

    Parameters
    ----------
    problem : PairProblem
        Training pairs.
    names : list of str
        Names of the final model's inputs. The formula takes the character cosine from them.
    inputs : ndarray of float64, shape (n_pairs, n_inputs)
        Inputs of the training pairs.

    Attributes
    ----------
    training : ndarray of float64, shape (n_pairs, 2)
        Columns of the training pairs, with familiarity measured without their linked texts.
    """

    cosines: list[int]
    means: np.ndarray
    deviations: np.ndarray
    slope: float
    offset: float

    def __init__(self, problem: PairProblem, names: list[str], inputs: np.ndarray) -> None:
        used, codes = np.unique(problem.codes, return_inverse=True)
        codes = codes.reshape(problem.codes.shape)
        texts = [problem.texts[code] for code in used]
        tokens = [comparable_tokens(text) for text in texts]
        self._words: AdjacentWords | None = AdjacentWords.of_texts(tokens)
        self._packed: Any = None
        self._characters = None
        if COSINE_NAMES[-1] not in names:
            self._characters = character_counts([token_text(text) for text in texts])
        rarities = self._words.rarities(tokens, problem.groups[used])[codes].mean(axis=1)
        self.limits = np.quantile(rarities, [FAMILIAR, UNFAMILIAR])
        odds = self._log_odds(problem.pairs, names, inputs)
        self.training = np.column_stack([odds, self._familiarity(rarities)])

    def __getstate__(self) -> dict[str, Any]:
        """Store counts as arrays."""
        words = self.words
        counts = words.rarity.counts
        packed = {
            "words": pack(list(counts)),
            "n_with": np.array(list(counts.values()), dtype=np.int64),
            "n_texts": words.rarity.n_texts,
            "pairs": words.pairs,
            "n_with_pair": words.counts,
        }
        return {**self.__dict__, "_words": None, "_packed": packed}

    @property
    def words(self) -> AdjacentWords:
        """Counts of words and adjacent words in the training texts."""
        if self._words is None:
            kept = self._packed
            known = dict(zip(unpack(kept["words"]), kept["n_with"].tolist(), strict=True))
            rarity = WordRarity.from_counts(int(kept["n_texts"]), known)
            self._words = AdjacentWords(rarity, kept["pairs"], kept["n_with_pair"])
            self._packed = None
        return self._words

    def scaled(
        self,
        inputs: np.ndarray,
        members: list[tuple[str, Any]],
        neighbourhood: int | None,
        labels: np.ndarray,
        weights: Any,
    ) -> GeneralSide:
        """Return a copy with the slope and offset that the labels of the training pairs give.

        If a member is a frozen encoder, its cosine and the formula count equally, in standard
        deviations.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.cosines = [
            columns[0]
            for _, member, columns in with_columns(members, neighbourhood)
            if not is_predictor(member) and frozen_start(member)[1] is None
        ][:1]
        found = other._evidence(np.column_stack([inputs, self.training]))
        other.means, spread = found.mean(axis=0), found.std(axis=0)
        other.deviations = np.where(spread > 0, spread, 1.0)
        score = other._score(np.column_stack([inputs, self.training]))
        other.slope, other.offset = _line(score, labels, weights)
        return other

    def columns(self, pairs: np.ndarray, names: list[str], inputs: np.ndarray) -> np.ndarray:
        """Return the formula's log-odds and the familiarity of pairs, (n, 2)."""
        return np.column_stack([self._log_odds(pairs, names, inputs), self.familiarity(pairs)])

    def familiarity(self, pairs: np.ndarray) -> np.ndarray:
        """Return from 0 to 1 how much pairs are like the training texts, (n,)."""
        texts, codes = distinct_texts(pairs)
        rarities = self.words.rarities([comparable_tokens(text) for text in texts])
        return self._familiarity(rarities[codes].mean(axis=1))

    def mixed(self, p: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Move the final model's probabilities towards the formula, in log-odds.

        ``inputs`` end with the columns of `columns`.
        """
        return _mixed(p, self.offset + self.slope * self._score(inputs), inputs[:, -1])

    def mixed_out_of_fold(
        self,
        p: np.ndarray,
        inputs: np.ndarray,
        fold_of_row: np.ndarray,
        labels: np.ndarray,
        weights: Any,
    ) -> np.ndarray:
        """Move probabilities of the training pairs, each fold by the labels of the others."""
        inputs = np.column_stack([inputs, self.training])
        score, odds = self._score(inputs), np.empty(len(p))
        for fold in np.unique(fold_of_row):
            held = fold_of_row == fold
            given = None if weights is None else np.asarray(weights)[~held]
            slope, offset = _line(score[~held], labels[~held], given)
            odds[held] = offset + slope * score[held]
        return _mixed(p, odds, inputs[:, -1])

    def _score(self, inputs: np.ndarray) -> np.ndarray:
        return ((self._evidence(inputs) - self.means) / self.deviations).mean(axis=1)

    def _evidence(self, inputs: np.ndarray) -> np.ndarray:
        return inputs[:, [*self.cosines, inputs.shape[1] - 2]]

    def _familiarity(self, rarities: np.ndarray) -> np.ndarray:
        low, high = self.limits
        return 1 - np.clip((rarities - low) / max(high - low, 1e-9), 0, 1)

    def _log_odds(self, pairs: np.ndarray, names: list[str], inputs: np.ndarray) -> np.ndarray:
        if self._characters is None:
            cosines = inputs[:, names.index(COSINE_NAMES[-1])]
        else:
            texts, codes = distinct_texts(pairs)
            spoken = as_texts([token_text(text) for text in texts])
            cosines = pair_cosines(transformed_by_words(self._characters, spoken), codes)
        rarity = self.words.rarity
        # In one order, so that sums are equal to the bit.
        first, second = (side.tolist() for side in np.sort(pairs, axis=1).T)
        alone = pair_features(first, second, rarity)
        # Neighbours are those of a table, and a pair alone has none.
        nearest = np.zeros((len(pairs), 2))
        features = general_features(alone, cosines, nearest, rarity.number_share)
        return general_weights().log_odds(features)


def _line(score: np.ndarray, labels: np.ndarray, weights: Any) -> tuple[float, float]:
    """Return slope, at least 0, and offset of the log-odds of labels given a score."""
    line = LogisticRegression().fit(score[:, None], labels, weights)
    return max(0.0, float(line.coef_[0, 0])), float(line.intercept_[0])


def _mixed(p: np.ndarray, general: np.ndarray, familiarity: np.ndarray) -> np.ndarray:
    share = SHARE + (1 - SHARE) * (1 - familiarity)
    trained = logit(np.clip(p, 1e-6, 1 - 1e-6))
    return expit((1 - share) * trained + share * general)

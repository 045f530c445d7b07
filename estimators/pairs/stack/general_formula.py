"""The general formula, which decides about pairs that are unlike the training texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from estimators.inputs import as_texts, distinct_texts, pack, transformed_by_words, unpack
from estimators.pairs.lexical import COSINE_NAMES, character_counts
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.encodings import frozen_start
from estimators.pairs.stack.members import EMBEDDER_COLUMNS, embed, is_predictor, with_columns
from estimators.persistence import savable
from film.compare import WordRarity, comparable_tokens, pair_features, record_share
from film.judge import (
    UNRELATED_TEXTS,
    AdjacentWords,
    base_cosine,
    centred_cosines,
    general_features,
    general_weights,
    meaning_features,
)
from film.pairs import pair_cosines
from film.text import token_text

NAMES = GENERAL, FAMILIARITY = "general formula", "familiarity"
"""Names of the formula's columns, with which the inputs of a mixture end."""

SHARES = np.arange(1, 11) / 10
"""Shares of the general formula in the log-odds of familiar pairs, over which a mean is taken.

On pairs of Quora, with MiniLM too, amazon-google and walmart-amazon, with 30 to 5,000 labels, the
mean has a lower log loss than the best share out of fold, and than any share that depends on the
number of labels alone.
"""

FEWEST_TO_CALIBRATE = 1000
"""Training pairs from which on log-odds are calibrated: with 300, it can do harm."""

MANY_PAIRS = 20_000
"""From this many training pairs on, the share is the least one, and nothing is calibrated: it would
cost time, for nothing.
"""

SPARSE, DENSE = 0.05, 0.5
"""Quantiles of an encoder's densities of training pairs; between them the share rises.

Chosen on classifiers fitted to Quora and walmart-amazon: a wider range costs accuracy on pairs like
the training pairs. Among records it costs accuracy at any width.
"""

N_WORDS, NUMBER_SHARE = 20, 0.03
"""Words that are added to those of an unfamiliar pair, and the share of numbers among them.

So one number hardly makes a short sentence a record.
"""

FAMILIAR, UNFAMILIAR = 0.97, 0.995
"""Quantiles of the rarity of training pairs, from which familiarity falls from 1 to 0.

Chosen on classifiers fitted to Quora, walmart-amazon and amazon-google and applied to each other's
texts, intents, captions and headlines.
"""

MOVED = 0.5
"""Familiarity at or below which a pair counts as unlike the training texts."""

MOST_MOVED = 0.25
"""Share of such pairs from which on there is a warning."""

LOWEST_SCORE = 1e-6
"""Lowest general score of a pair, so that log-odds are finite."""

FEWEST_IN_TABLE = 1000
"""Pairs of a table from which on its general scores are better than those of each pair alone.

Chosen on validation pairs of amazon-google and walmart-amazon, with 100 and 1,000 labels: scores of
5 to 100 pairs have a higher log loss, because the weights of columns are learned from them.
"""

FEW_LABELS = 2000
"""Training pairs up to which a model of records uses them: on those validation pairs, they raise
average precision with 30 to 1,000 labels, and lower it a little with 6,000.
"""

FEWEST_PAIRS = 20
"""Number of pairs from which on `DuplicateClassifier.predict_proba` warns."""


class UnfamiliarTextsWarning(UserWarning):
    """Warns that texts are unlike the training texts of a classifier."""


def are_unfamiliar(familiarity: np.ndarray) -> bool:
    """Whether the general formula decides about most pairs, so that results are scores."""
    return bool((familiarity <= MOVED).sum() > len(familiarity) / 2)


def warn_of_unfamiliar(familiarity: np.ndarray, what: str, stacklevel: int = 3) -> None:
    """Warn if more than a quarter of pairs or texts are unlike the training texts."""
    n_moved = int((familiarity <= MOVED).sum())
    if n_moved > MOST_MOVED * len(familiarity):
        warnings.warn(
            f"{n_moved} of {len(familiarity)} {what} are unlike the training texts; for these the "
            "general formula decides, which does not learn from your labels: the results are "
            "scores to sort by, not probabilities",
            UnfamiliarTextsWarning,
            stacklevel=stacklevel,
        )


class OutOfFold(NamedTuple):
    """The training pairs, and the predictions of the stack for them out of fold.

    Parameters
    ----------
    stack : ndarray of float64, shape (n_pairs,)
        Probabilities by the final model.
    inputs : ndarray of float64, shape (n_pairs, n_inputs)
        Inputs of the final model.
    fold_of_row : ndarray of int, shape (n_pairs,)
        Fold of each pair.
    labels : ndarray of int, shape (n_pairs,)
        1 for duplicates.
    weights : ndarray of float, shape (n_pairs,), or None
        Sample weights.
    """

    stack: np.ndarray
    inputs: np.ndarray
    fold_of_row: np.ndarray
    labels: np.ndarray
    weights: Any

    def folds(self) -> Iterator[np.ndarray]:
        """Yield whether each pair is in a fold, for every fold."""
        yield from (self.fold_of_row == fold for fold in np.unique(self.fold_of_row))

    def weights_of(self, rows: np.ndarray) -> Any:
        """Return the weights of some pairs, or None."""
        return None if self.weights is None else np.asarray(self.weights)[rows]


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
    members : list of (str, estimator)
        Fitted members. The formula takes its cosines of meaning from the first frozen encoder.
    neighbourhood : int or None
        As in `DuplicateClassifier`.

    Attributes
    ----------
    training : ndarray of float64, shape (n_pairs, 2)
        Columns of the training pairs, with familiarity measured without their linked texts.
    """

    training: np.ndarray
    slope: float
    offset: float
    share: float = SHARES[0]
    line: tuple[float, float] = (1.0, 0.0)
    cosine: int | None
    density: int | None
    densities: np.ndarray

    def __init__(
        self,
        problem: PairProblem,
        names: list[str],
        inputs: np.ndarray,
        members: list[tuple[str, Any]],
        neighbourhood: int | None,
    ) -> None:
        used, codes = np.unique(problem.codes, return_inverse=True)
        codes = codes.reshape(problem.codes.shape)
        texts = [problem.texts[code] for code in used]
        tokens = [comparable_tokens(text) for text in texts]
        self._words: AdjacentWords | None = AdjacentWords.of_texts(tokens)
        self._packed: Any = None
        self.number_share = self._words.rarity.number_share
        self._characters = None
        if COSINE_NAMES[-1] not in names:
            self._characters = character_counts([token_text(text) for text in texts])
        rarities = self._words.rarities(tokens, problem.groups[used])[codes].mean(axis=1)
        # A text without words is infinitely rare.
        finite = rarities[np.isfinite(rarities)]
        self.limits = np.quantile(finite if len(finite) else [0.0], [FAMILIAR, UNFAMILIAR])
        self._known = self._familiarity(rarities)
        encoders = {name: member for name, member in members if _is_encoder(member)}
        self.encoder = next(iter(encoders), None)
        self._find_columns(members, neighbourhood)
        self.base = 0.0
        if self.encoder is not None:
            unrelated = embed(encoders[self.encoder], list(UNRELATED_TEXTS))
            self.base = base_cosine(normalize(unrelated))
        shares = self._number_shares(self._known, tokens, codes)
        self._odds = self._log_odds(problem.pairs, names, inputs, shares)

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
        """Return a copy for some of the members, on the scale of the training pairs' labels."""
        other = self._copy()
        other._find_columns(members, neighbourhood)
        odds = self._odds[:, -1 if other.cosine is not None else 0]
        other.training = np.column_stack([odds, self._known])
        other.slope, other.offset = _line(odds, labels, weights)
        if other.density is not None:
            other.densities = np.quantile(inputs[:, other.density], [SPARSE, DENSE])
        return other

    def columns(
        self,
        pairs: np.ndarray,
        names: list[str],
        inputs: np.ndarray,
        general: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the formula's log-odds and the familiarity of pairs, (n, 2).

        ``general`` holds general scores of the pairs in a table, (n,), if they are known.
        """
        familiarity, tokens, codes = self._familiarity_and_tokens(pairs)
        if general is None:
            shares = self._number_shares(familiarity, tokens, codes)
            odds = self._log_odds(pairs, names, inputs, shares)[:, -1]
        else:
            odds = logit(np.clip(general, LOWEST_SCORE, 1 - LOWEST_SCORE))
        return np.column_stack([odds, familiarity])

    def familiarity(self, pairs: np.ndarray) -> np.ndarray:
        """Return from 0 to 1 how much pairs are like the training texts, (n,)."""
        return self._familiarity_and_tokens(pairs)[0]

    def mixed(self, p: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Move the final model's probabilities towards the formula, in log-odds.

        ``inputs`` end with the columns of `columns`.
        """
        return self._mixed(
            p, self.offset + self.slope * inputs[:, -2], inputs, self.share, self.line
        )

    def calibrated(self, training: OutOfFold) -> GeneralSide:
        """Return a copy whose share for familiar pairs, and line, are learned out of fold.

        The share is the mean of `SHARES`, each weighted by the likelihood of the labels. The line
        moves the log-odds of familiar pairs: Platt, "Probabilistic outputs for support vector
        machines", 1999.
        """
        other = self._copy()
        inputs, odds = np.column_stack([training.inputs, self.training]), self._odds_of(training)
        other.share, other.line = self._learned(
            training.stack, odds, inputs, training.labels, training.weights
        )
        return other

    def alone(self) -> GeneralSide:
        """Return a copy that decides about all pairs."""
        other = self._copy()
        other.share = 1.0
        return other

    def mixed_out_of_fold(self, training: OutOfFold, without: np.ndarray | None) -> np.ndarray:
        """Move probabilities of the training pairs, each fold by the labels of the others.

        ``without`` holds the probabilities of the stack without each fold (n_folds, n_pairs), from
        `probabilities_without_each_fold`; None leaves the share and the line as they are.
        """
        inputs, odds = np.column_stack([training.inputs, self.training]), self._odds_of(training)
        mixed, how = np.empty(len(odds)), (self.share, self.line)
        for number, held in enumerate(training.folds()):
            rows = ~held if without is None else np.isfinite(without[number])
            if without is not None and len(np.unique(training.labels[rows])) == 2:
                labels, weights = training.labels[rows], training.weights_of(rows)
                slope, offset = _line(self.training[rows, 0], labels, weights)
                others = offset + slope * self.training[rows, 0]
                how = self._learned(without[number, rows], others, inputs[rows], labels, weights)
            mixed[held] = self._mixed(training.stack[held], odds[held], inputs[held], *how)
        return mixed

    def _odds_of(self, training: OutOfFold) -> np.ndarray:
        """Return the formula's log-odds of each fold, on the scale of the others' labels."""
        score, odds = self.training[:, 0], np.empty(len(training.labels))
        for held in training.folds():
            slope, offset = _line(score[~held], training.labels[~held], training.weights_of(~held))
            odds[held] = offset + slope * score[held]
        return odds

    def _learned(
        self,
        stack: np.ndarray,
        odds: np.ndarray,
        inputs: np.ndarray,
        labels: np.ndarray,
        weights: Any,
    ) -> tuple[float, tuple[float, float]]:
        """Return the share and the line by labelled pairs, given as in `_mixed`."""
        given = stack, odds, inputs
        p = np.column_stack([self._mixed(*given, share) for share in SHARES])
        losses = -np.log(np.where(labels[:, None] == 1, p, 1 - p))
        total = np.average(losses, axis=0, weights=weights) * len(losses)
        share = float(np.average(SHARES, weights=np.exp(total.min() - total)))
        if len(self.training) < FEWEST_TO_CALIBRATE:
            return share, self.line
        return share, _line(logit(self._mixed(*given, share)), labels, weights)

    def _copy(self) -> GeneralSide:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def _mixed(
        self,
        p: np.ndarray,
        general: np.ndarray,
        inputs: np.ndarray,
        share: float,
        line: tuple[float, float] = (1.0, 0.0),
    ) -> np.ndarray:
        """Mix log-odds of the final model and of the formula, on the scale of the labels."""
        unlike = 1 - inputs[:, -1]
        if self.density is not None:
            sparse, dense = self.densities
            sparseness = (dense - inputs[:, self.density]) / max(dense - sparse, 1e-9)
            sentences = 1 - record_share(self.number_share)
            unlike = np.maximum(unlike, sentences * np.clip(sparseness, 0, 1))
        shares = share + (1 - share) * unlike
        trained = logit(np.clip(p, 1e-6, 1 - 1e-6))
        odds = (1 - shares) * trained + shares * general
        slope, offset = line
        odds = odds + (1 - unlike) * ((slope - 1) * odds + offset)
        return np.clip(expit(odds), 1e-12, 1 - 1e-12)

    def _find_columns(self, members: list[tuple[str, Any]], neighbourhood: int | None) -> None:
        """Find the encoder's cosine and density among the final model's inputs."""
        self.cosine = self.density = None
        for name, _, columns in with_columns(members, neighbourhood):
            if name == self.encoder:
                self.cosine = columns[0]
                self.density = None if neighbourhood is None else columns[len(EMBEDDER_COLUMNS)]

    def _familiarity_and_tokens(
        self, pairs: np.ndarray
    ) -> tuple[np.ndarray, list[list[str]], np.ndarray]:
        texts, codes = distinct_texts(pairs)
        tokens = [comparable_tokens(text) for text in texts]
        return self._familiarity(self.words.rarities(tokens)[codes].mean(axis=1)), tokens, codes

    def _familiarity(self, rarities: np.ndarray) -> np.ndarray:
        low, high = self.limits
        return 1 - np.clip((rarities - low) / max(high - low, 1e-9), 0, 1)

    def _number_shares(
        self, familiarity: np.ndarray, tokens: list[list[str]], codes: np.ndarray
    ) -> np.ndarray:
        """Return the share of numbers among the words of texts of each pair's kind, (n,).

        It is that of the training texts for familiar pairs. For others it is that of their own
        words and of twenty words of sentences.
        """
        n_numbers = [sum(any(map(str.isdigit, word)) for word in text) for text in tokens]
        numbers, words = (
            np.array(counts)[codes].sum(axis=1) for counts in (n_numbers, [*map(len, tokens)])
        )
        own = (numbers + N_WORDS * NUMBER_SHARE) / (words + N_WORDS)
        return familiarity * self.number_share + (1 - familiarity) * own

    def _log_odds(
        self, pairs: np.ndarray, names: list[str], inputs: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        """Return the formula's log-odds without and, if there is one, with the encoder."""
        if self._characters is None:
            cosines = inputs[:, names.index(COSINE_NAMES[-1])]
        else:
            texts, codes = distinct_texts(pairs)
            spoken = as_texts([token_text(text) for text in texts])
            cosines = pair_cosines(transformed_by_words(self._characters, spoken), codes)
        # In one order, so that sums are equal to the bit.
        first, second = (side.tolist() for side in np.sort(pairs, axis=1).T)
        alone = pair_features(first, second, self.words.rarity)
        # Neighbours are those of a table, and a pair alone has none.
        nearest = np.zeros((len(pairs), 2))
        features = general_features(alone, cosines, nearest, self.number_share)
        odds = general_weights().log_odds(features)
        if self.cosine is None:
            return odds[:, None]
        meanings = centred_cosines(inputs[:, self.cosine], self.base)
        features = meaning_features(alone, cosines, meanings)
        share = record_share(shares)
        both = share * odds + (1 - share) * general_weights(True).log_odds(features)
        return np.column_stack([odds, both])


def _line(score: np.ndarray, labels: np.ndarray, weights: Any) -> tuple[float, float]:
    """Return slope, at least 0, and offset of the log-odds of labels given a score."""
    line = LogisticRegression().fit(score[:, None], labels, weights)
    return max(0.0, float(line.coef_[0, 0])), float(line.intercept_[0])


def _is_encoder(member: Any) -> bool:
    return not is_predictor(member) and frozen_start(member)[1] is None

"""Search more candidates for texts whose last candidates still have good scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from estimators.corpus.general_scores import AgreementScores
from film.judge import ExpectedPrecision

MOST_GROWN = 200_000
"""Maximum number of further neighbours to search: a second or two."""

SLACK = 0.05
"""Tolerance for good scores, since candidates are not searched by their scores."""

Answers = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Wanted:
    """Which pairs to list.

    Attributes
    ----------
    lowest : float
        Lowest score.
    most : int or None
        Maximum number of pairs; the best are listed.
    is_estimated : bool
        Whether general scores of all candidates determine the lowest score.
    """

    lowest: float
    most: int | None = None
    is_estimated: bool = False

    @property
    def is_all(self) -> bool:
        """Whether all candidate pairs are listed."""
        return self.lowest == 0 and self.most is None

    def bar(self, scores: np.ndarray) -> float:
        """Return the lowest score of a listed pair, given these scores."""
        if self.most is None or len(scores) < self.most:
            return self.lowest
        place = len(scores) - self.most
        return max(self.lowest, float(np.partition(scores, place)[place]))


@dataclass
class Scored:
    """Candidate pairs with their scores.

    Attributes
    ----------
    pairs : ndarray of int, shape (m, 2)
        Each pair once, the lower number first.
    answers : tuple of two ndarrays of shape (m,)
        Score of each pair, in float64, and its kind, as in `DuplicatePairs.kind`.
    prior : float or None
        Share of duplicates for which probabilities hold.
    n_cut : int
        Number of points whose candidates stopped growing at `MOST_GROWN`.
    wanted : Wanted
        Which of the pairs to list.
    expected : ExpectedPrecision or None
        How the lowest score was estimated.
    agreement : AgreementScores or None
        What the columns of records add to the scores.
    """

    pairs: np.ndarray
    answers: Answers
    prior: float | None = None
    n_cut: int = 0
    wanted: Wanted = field(default_factory=lambda: Wanted(0))
    expected: ExpectedPrecision | None = None
    agreement: AgreementScores | None = None

    @property
    def scores(self) -> np.ndarray:
        """Score of each pair."""
        return self.answers[0]

    @property
    def columns_decide(self) -> bool:
        """Whether columns decide alone (`film.judge.separating_column_weights`)."""
        weights = None if self.agreement is None else self.agreement.weights
        return weights is not None and weights.alone

    def of_pairs(self, pairs: np.ndarray, ask: Callable[[np.ndarray], Answers]) -> Answers:
        """Return the answers of other distinct pairs; those without one are asked for."""
        keys, wanted = _keys(self.pairs), _keys(pairs)
        order = np.argsort(keys)
        place = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        scores, kinds = (values[place] for values in self.answers)
        new = np.flatnonzero(keys[place] != wanted)
        if len(new):
            scores[new], kinds[new] = ask(pairs[new])
        return scores, kinds

    def grow(
        self,
        near: np.ndarray,
        look_up: Callable[[np.ndarray, int], np.ndarray],
        ask: Callable[[np.ndarray], Answers],
        *,
        left_out: np.ndarray,
    ) -> None:
        """Double the candidates of points while one of their last half is good.

        A candidate is good if its score is at most `SLACK` below that of wanted pairs.

        Parameters
        ----------
        near : ndarray of int, shape (n, width)
            Candidates of each point, nearest first; −1 if there are no more.
        look_up : callable
            Maps numbers of points and a width to their candidates, like ``near``.
        ask : callable
            Maps pairs to answers.
        left_out : ndarray of int, shape (l, 2)
            Pairs that are never listed.
        """
        rows, n_looked_up = np.arange(len(near)), 0
        while near.shape[1] and len(rows):
            keys, scores = _keys(self.pairs), self.scores
            listed = scores[~_are_among(keys, _keys(left_out))]
            good = keys[scores >= self.wanted.bar(listed) - SLACK]
            last = near[:, near.shape[1] // 2 :]
            is_good = _are_among(_keys(_pairs(rows, last)), good).reshape(last.shape)
            n_good = (is_good & (last >= 0)).sum(axis=1) * (near[:, -1] >= 0)
            width = 2 * near.shape[1]
            fits = (MOST_GROWN - n_looked_up) // width
            # Points with the most good candidates among their last come first.
            order = np.argsort(-n_good, kind="stable")[: np.count_nonzero(n_good)]
            self.n_cut += len(order[fits:])
            rows = rows[np.sort(order[:fits])]
            if not len(rows):
                break
            n_looked_up += len(rows) * width
            near = look_up(rows, width)
            new = distinct_pairs(rows, near)
            new = new[~_are_among(_keys(new), keys)]
            self.pairs = np.concatenate([self.pairs, new])
            scores, kinds = map(np.concatenate, zip(self.answers, ask(new), strict=True))
            self.answers = scores, kinds


def distinct_pairs(rows: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Pair points with their neighbours (−1: none); each pair once, the lower number first."""
    pairs = _pairs(rows, near)[near.ravel() >= 0]
    _, first = np.unique(_keys(pairs), return_index=True)
    return pairs[first]


def _pairs(rows: np.ndarray, near: np.ndarray) -> np.ndarray:
    return np.sort(np.column_stack([np.repeat(rows, near.shape[1]), near.ravel()]), axis=1)


def _keys(pairs: np.ndarray) -> np.ndarray:
    """Return one number for each pair of numbers from −1 to 2³¹ − 2."""
    return (pairs[:, 0].astype(np.int64) << 32) + pairs[:, 1] + 1


def _are_among(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Like `numpy.isin`, which is several times slower if most keys occur once."""
    if not len(others):
        return np.zeros(len(keys), dtype=bool)
    others = np.sort(others)
    return others[np.minimum(np.searchsorted(others, keys), len(others) - 1)] == keys

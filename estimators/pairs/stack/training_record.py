"""The record of training pairs in a fitted stack, and figures measured on them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from estimators.inputs import Fold, fingerprints
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.floors import Sameness, samenesses
from estimators.pairs.stack.member_folds import parts_of_folds
from estimators.persistence import savable
from film.pairs import ThresholdCurve, prior_weights, threshold_curve

SAMENESSES = tuple(Sameness)


@savable
class TrainingRecord:
    """Labels, folds, links and fingerprints of training pairs.

    Parameters
    ----------
    problem : PairProblem
        Training pairs.
    folds : sequence of (ndarray, ndarray)
        Rows of training and test.
    own_folds : dict of str to int
        Numbers of folds of members with their own folds.
    fit_params : dict of str to dict
        Metadata of each member's `fit`.

    Attributes
    ----------
    training : tuple of (PairProblem, dict) or None
        Data to fit members again for out-of-fold probabilities; None once these are known.
    probabilities : ndarray of float64, shape (n_pairs,), or None
        Out-of-fold probabilities at the prior of training.
    without : ndarray of float64, shape (n_folds, n_pairs), or None
        Those by models without any label of each fold, for the other pairs.
    """

    without: np.ndarray | None = None

    def __init__(
        self,
        problem: PairProblem,
        folds: Sequence[Fold],
        own_folds: dict[str, int],
        fit_params: dict[str, dict[str, Any]],
    ) -> None:
        pairs, similar = problem.pairs, problem.further_pairs
        self.labels = problem.labels.astype(np.int8)
        self.same = np.array([SAMENESSES.index(how) for how in samenesses(pairs)], dtype=np.int8)
        self.fold_of_row = np.empty(len(pairs), dtype=np.int32)
        for number, (_, test) in enumerate(folds):
            self.fold_of_row[test] = number
        self.own_folds = own_folds
        n_parts = next(iter(own_folds.values()), None)
        self.part_of_fold = None if n_parts is None else parts_of_folds(len(folds), n_parts)
        self.linked = problem.groups[problem.codes[:, 0]].astype(np.int32)
        self.fingerprints = np.unique(fingerprints([*pairs.flat, *similar.flat]))
        self.training: tuple[PairProblem, dict[str, dict[str, Any]]] | None = problem, fit_params
        self.probabilities: np.ndarray | None = None

    def pruned(self, own_folds: dict[str, int]) -> TrainingRecord:
        """Return a copy for fewer members, some of which have their own folds."""
        less = copy.copy(self)
        less.own_folds, less.probabilities, less.without = own_folds, None, None
        less.part_of_fold = self.part_of_fold if own_folds else None
        return less

    def knows(self, pairs: np.ndarray) -> np.ndarray:
        """Return whether either text of each pair is in a training pair, (n,)."""
        given = fingerprints(pairs.ravel().tolist()).reshape(-1, 2)
        return np.asarray(np.isin(given, self.fingerprints).any(axis=1))

    def samenesses(self) -> list[Sameness]:
        """Return the sameness of each training pair."""
        return [SAMENESSES[code] for code in self.same]

    def threshold_curve(self, p: np.ndarray, share: float, confidence: float) -> ThresholdCurve:
        """Measure thresholds of out-of-fold probabilities at a share of duplicates."""
        weights = prior_weights(self.labels, share)
        return threshold_curve(
            self.labels, p, groups=self.linked, weights=weights, confidence=confidence
        )

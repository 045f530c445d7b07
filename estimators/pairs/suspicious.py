"""Labels of pairs that are probably wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from estimators.inputs import TextIndex, check_integer, check_pair_labels, check_pairs
from estimators.pairs.presets import fast_duplicates
from film.pairs import confident_contradictions, label_chains

_EDGE = 0.02


@dataclass(frozen=True, eq=False)
class SuspiciousLabels:
    """Labels that are probably wrong, the most suspicious first.

    Attributes
    ----------
    rows : ndarray of intp, shape (n,)
        Rows of the pairs.
    suspicions : ndarray of float64, shape (n,)
        Probability that the label is wrong, by the model and by the other labels.
    probabilities : ndarray of float64, shape (n,)
        Probability of a duplicate, by a model that was trained on neither of the two texts.
    chains : list of list of int
        Rows of other labels that contradict this label: together they mean a = b, b = c, ..., a ≠
        z. Empty if only the model contradicts the label, or if both texts are the same.
    """

    rows: NDArray[np.intp]
    suspicions: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    chains: list[list[int]]

    def __len__(self) -> int:
        return len(self.rows)


def suspicious_labels(
    pairs: Any, y: Any, *, classifier: Any = None, random_state: int = 0
) -> SuspiciousLabels:
    """Rank the labels that are probably wrong.

    Parameters
    ----------
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.
    y : array-like of shape (n_pairs,)
        Labels of two classes; the higher class means duplicates.
    classifier : DuplicateClassifier, default=None
        An unfitted one; by default that of `fast_duplicates`. A copy is fitted.
    random_state : int, default=0
        Seed of the default classifier.

    Returns
    -------
    suspicious : SuspiciousLabels
        Labels that the model contradicts with confidence, and the most doubtful label of each group
        of labels that contradict each other.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, or labels are not of two classes or too few for folds.

    Notes
    -----
    A label is wrong with the probability q of the other class, by a model fitted on pairs without
    its texts. `film.pairs.confident_contradictions` selects the labels that count as contradicted.
    If labels e = 1, 2, ... contradict each other (a = b, b = c, a ≠ c), at least one of them is
    wrong, so the probability of each becomes q_e / (1 − Π (1 − q_i)).

    Costs one fit, and out-of-fold probabilities, which take about as long.

    Examples
    --------
    >>> from estimators import fast_duplicates, suspicious_labels
    >>> from film.datasets import make_question_pairs
    >>> data = make_question_pairs(300, random_state=0)
    >>> y = data.y.copy()
    >>> y[7] = 1 - y[7]
    >>> small = fast_duplicates(d=20, rank=50, cv=2)
    >>> 7 in suspicious_labels(data.pairs, y, classifier=small).rows[:3]
    True
    """
    pairs = check_pairs(pairs)
    check_integer("random_state", random_state, 0)
    labels = check_pair_labels(y, len(pairs))
    classes = np.unique(labels)
    true = labels == classes[-1]
    model = fast_duplicates(random_state=random_state) if classifier is None else classifier
    unfitted: Any = clone(model)
    p = unfitted.fit(pairs, true.astype(int)).out_of_fold_probabilities()
    wrong = np.where(true, 1 - p, p)
    suspicion = np.where(confident_contradictions(true, p), wrong, 0.0)
    chain_of: dict[int, list[int]] = {}
    bounded = np.clip(wrong, _EDGE, 1 - _EDGE)
    codes = TextIndex().add_pairs(pairs)
    for row, chain in label_chains(codes, true, p):
        members = [row, *chain]
        share = bounded[members] / (1 - np.prod(1 - bounded[members]))
        worst = int(share.argmax())
        if share[worst] > suspicion[members[worst]] or members[worst] not in chain_of:
            at = members[worst]
            suspicion[at] = max(suspicion[at], share[worst])
            chain_of[at] = [member for member in members if member != at]
    rows = np.flatnonzero(suspicion > 0)
    rows = rows[np.argsort(-suspicion[rows], kind="stable")]
    chains = [chain_of.get(row, []) for row in rows.tolist()]
    return SuspiciousLabels(rows, suspicion[rows], p[rows], chains)

"""Cache a classifier's probabilities of candidate pairs, and shift them to another prior."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from estimators.inputs import (
    as_texts,
    check_choice,
    check_real,
    duplicate_class_of,
    duplicate_column,
)
from estimators.pairs import UnfamiliarTextsWarning, warn_of_unfamiliar
from estimators.persistence import savable
from film.pairs import estimate_prior, shift_prior

BLOCK_PAIRS = 2**20
"""Pairs per call of a classifier: a call reads each text of its pairs once. An interruption loses
the work of one call."""

Progress = Callable[[str], None] | None

General = Callable[[np.ndarray], np.ndarray]
"""Returns general scores of some pairs, for a classifier that takes them."""

LOOKED_AT_TEXTS = 500
"""Number of sampled texts whose familiarity is measured."""


@savable
class PairProbabilities:
    """Classifier's probabilities of pairs, cached block by block.

    Parameters
    ----------
    classifier : fitted classifier
        With ``predict_proba(pairs)`` and two ``classes_``, one of which is its
        ``duplicate_class_`` or a known word for duplicates.
    prior : "estimate", float or None
        Share of duplicates to which probabilities are shifted.
    classifier_prior : float or None
        Share for which they are calibrated; the classifier's ``prior_`` if None.

    Raises
    ------
    TypeError, ValueError
        If the classifier or a prior is invalid.
    """

    def __init__(self, classifier: Any, prior: Any, classifier_prior: Any) -> None:
        if not hasattr(classifier, "predict_proba"):
            raise TypeError(
                f"classifier={classifier!r} has no predict_proba; give a fitted classifier of "
                "pairs, such as a DuplicateClassifier"
            )
        classes = getattr(classifier, "classes_", None)
        if classes is None or len(classes) != 2:
            raise ValueError(
                f"classifier must be fitted on two classes, but its classes_ are {classes!r}"
            )
        duplicate_class_of(classifier)
        if isinstance(prior, str):
            check_choice("prior", prior, ("estimate",))
        elif prior is not None:
            prior = _share("prior", prior)
        if classifier_prior is None and prior is not None:
            classifier_prior = getattr(classifier, "prior_", None)
            if classifier_prior is None:
                raise ValueError(
                    f"classifier {type(classifier).__name__} has no attribute prior_, the share of "
                    "duplicates for which it is calibrated: give it as classifier_prior, or "
                    "set prior=None to leave probabilities unchanged"
                )
        self.classifier = classifier
        self.prior = prior
        self._start = None if prior is None else _share("classifier_prior", classifier_prior)
        self._blocks: list[tuple[np.ndarray, np.ndarray]] = []

    def warn_of_unfamiliar(self, texts: list[str]) -> None:
        """Warn if texts are unlike the classifier's training texts."""
        if hasattr(self.classifier, "familiarity"):
            rows = np.random.default_rng(0).permutation(len(texts))[:LOOKED_AT_TEXTS]
            sample = as_texts([texts[row] for row in rows])
            familiarity = self.classifier.familiarity(np.column_stack([sample, sample]))
            warn_of_unfamiliar(familiarity, "texts looked at", stacklevel=4)

    def of_candidates(
        self,
        pairs: np.ndarray,
        texts: np.ndarray,
        progress: Progress = None,
        general: General | None = None,
    ) -> tuple[np.ndarray, float | None]:
        """Return the probabilities of all candidate pairs, and their prior.

        Parameters
        ----------
        pairs : ndarray of int, shape (m, 2)
            Text numbers, below 2³¹.
        texts : ndarray of object, shape (n_texts,)
            Texts by number; they must never change.
        progress : callable, optional
            Called with a short text after each block.
        general : callable, optional
            Returns general scores of pairs of text numbers.
        """
        answers = self._kept(pairs, texts, progress, general)
        prior: Any = self.prior
        if prior == "estimate":
            prior = estimate_prior(answers, self._start or 0.0) if len(answers) else self._start
        return self._carried(answers, prior), prior

    def of_more(
        self,
        pairs: np.ndarray,
        texts: np.ndarray,
        prior: float | None,
        progress: Progress = None,
        general: General | None = None,
    ) -> np.ndarray:
        """Return the probabilities of further pairs, at the prior of the candidates."""
        return self._carried(self._kept(pairs, texts, progress, general), prior)

    def _kept(
        self, pairs: np.ndarray, texts: np.ndarray, progress: Progress, general: General | None
    ) -> np.ndarray:
        """Return the classifier's probabilities of pairs, caching each finished block."""
        asked = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
        new = np.flatnonzero(~np.isin(asked, self._merged()[0]))
        for first in range(0, len(new), BLOCK_PAIRS):
            block = new[first : first + BLOCK_PAIRS]
            scores = None if general is None else general(pairs[block])
            self._blocks.append((asked[block], self._ask(texts[pairs[block]], scores)))
            if progress is not None:
                progress(f"scores {first + len(block)}/{len(new)}")
        known, answers = self._merged()
        return answers[np.searchsorted(known, asked)]

    def of_pairs(
        self,
        pairs: np.ndarray,
        prior: float | None,
        progress: Progress = None,
        general: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the probabilities of pairs of texts, at the candidates' prior."""
        parts = [np.empty(0)]
        for first in range(0, len(pairs), BLOCK_PAIRS):
            block = slice(first, first + BLOCK_PAIRS)
            parts.append(self._ask(pairs[block], None if general is None else general[block]))
            if progress is not None:
                progress(f"scores {min(first + BLOCK_PAIRS, len(pairs))}/{len(pairs)}")
        return self._carried(np.concatenate(parts), prior)

    def _ask(self, pairs: np.ndarray, general: np.ndarray | None) -> np.ndarray:
        known = {} if general is None else {"general": general}
        with warnings.catch_warnings():
            # The familiarity was measured when the texts were added.
            warnings.simplefilter("ignore", UnfamiliarTextsWarning)
            given = np.asarray(self.classifier.predict_proba(pairs, **known), dtype=np.float64)
        if given.shape != (len(pairs), 2) or not ((given >= 0) & (given <= 1)).all():
            raise ValueError(
                f"classifier.predict_proba returned an array of shape {given.shape} for "
                f"{len(pairs)} pairs; it must return two columns of numbers in [0, 1]"
            )
        return duplicate_column(given, self.classifier)

    def _carried(self, probabilities: np.ndarray, prior: float | None) -> np.ndarray:
        if prior is None or self._start is None:
            return probabilities
        return shift_prior(probabilities, self._start, prior)

    def _merged(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._blocks:
            return np.empty(0, dtype=np.int64), np.empty(0)
        known = np.concatenate([block[0] for block in self._blocks])
        answers = np.concatenate([block[1] for block in self._blocks])
        order = np.argsort(known)
        self._blocks = [(known[order], answers[order])]
        return self._blocks[0]


def _share(name: str, value: Any) -> float:
    if not 0 < check_real(name, value, 0, 1) < 1:
        raise ValueError(f"{name}={value!r} must lie strictly between 0 and 1")
    return float(value)

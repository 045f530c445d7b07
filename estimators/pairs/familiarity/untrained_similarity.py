"""Similarity that no label trained, of texts among those of an unlabelled collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from estimators.inputs import distinct_texts
from estimators.persistence import savable
from film.pairs import drawn_to_neighbours, row_cosines

MOST_PAIRS = 2_500
"""Training pairs that give the scale of a similarity."""

NAME = "similarity within the collection"

Reading = Callable[[list[str]], Any]
"""Texts → rows, dense vectors or a sparse matrix."""


def similarity_within(reading: Reading, pairs: np.ndarray, collection: Any) -> np.ndarray:
    """Cosine of pairs, each text drawn towards its neighbours among rows of the collection."""
    texts, codes = distinct_texts(pairs)
    first, second = codes.T
    drawn = drawn_to_neighbours(reading(texts), collection)
    return np.clip(row_cosines(drawn[first], drawn[second]), -1, 1)


@savable
class TrainingSimilarity:
    """Similarity of some training pairs among their own texts, by each reading of texts.

    Parameters
    ----------
    pairs : ndarray of str, shape (n, 2)
        Training pairs.
    readings : dict of str to callable
        By name, what reads texts as rows.
    random_state : int
        Chooses the pairs where there are more than `MOST_PAIRS`.
    """

    def __init__(
        self, pairs: np.ndarray, readings: dict[str, Reading], random_state: int = 0
    ) -> None:
        chosen = np.random.default_rng(random_state).permutation(len(pairs))[:MOST_PAIRS]
        self.rows = np.sort(chosen)
        some = pairs[self.rows]
        self.similarities = {
            name: similarity_within(read, some, read(np.unique(some).tolist()))
            for name, read in readings.items()
        }


@savable
class UntrainedSimilarity:
    """Log-odds by similarity within a collection, and by verdicts of members that learn nothing.

    Labels give them a scale and no more: a logistic regression on their mean in standard
    deviations.

    Parameters
    ----------
    training : TrainingSimilarity
        Of training pairs.
    reading : str or None
        Which of its similarities counts; None is none.
    collection : ndarray, sparse matrix or None
        Rows of the collection by that reading.
    columns : list of int
        Verdicts among the final model's inputs.
    inputs, labels, weights : ndarrays of shapes (n, m), (n,) and (n,)
        Of all training pairs; weights may be None.
    """

    def __init__(
        self,
        training: TrainingSimilarity,
        reading: str | None,
        collection: Any,
        columns: list[int],
        inputs: np.ndarray,
        labels: np.ndarray,
        weights: Any,
    ) -> None:
        self.reading, self.collection, self.columns = reading, collection, columns
        known = inputs[training.rows]
        self.typical = []
        if reading is not None:
            known = np.column_stack([known, training.similarities[reading]])
            self.typical = [float(np.median(training.similarities[reading]))]
            self.columns = [*columns, known.shape[1] - 1]
        self.means = known[:, self.columns].mean(axis=0)
        deviations = known[:, self.columns].std(axis=0)
        self.deviations = np.where(deviations > 0, deviations, 1.0)
        similarity = self._similarity(known)[:, None]
        weights = None if weights is None else np.asarray(weights)[training.rows]
        model = LogisticRegression().fit(similarity, labels[training.rows], weights)
        self.slope = max(0.0, float(model.coef_[0, 0]))
        self.intercept = float(model.intercept_[0])

    def beside(self, inputs: np.ndarray, pairs: np.ndarray, reading: Reading | None) -> np.ndarray:
        """Add the similarity within the collection to the final model's inputs, if it counts."""
        if reading is None:
            return inputs
        return np.column_stack([inputs, similarity_within(reading, pairs, self.collection)])

    def log_odds(self, inputs: np.ndarray) -> np.ndarray:
        """Log-odds of pairs, (n,), from the final model's inputs and what stands beside them."""
        return self.intercept + self.slope * self._similarity(inputs)

    def _similarity(self, inputs: np.ndarray) -> np.ndarray:
        return ((inputs[:, self.columns] - self.means) / self.deviations).mean(axis=1)

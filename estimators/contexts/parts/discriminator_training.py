"""Train the discriminator on a corpus: batches of neighbours, and its two numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from film.contexts import Discriminator, fit_weights

BATCH_SIZE = 192
"""Sentences and contexts per batch; each sentence is compared with each context."""
RUN, RUNS_OF_DOCUMENT = 8, 3
"""Neighbouring centres per run, and runs of one document per batch, which are each other's
negatives."""
BATCHES = 50
"""Batches used to fit the two numbers."""
HELD_OUT_BATCHES = 10
"""Batches of an evaluation, which takes some seconds."""


class Compared(NamedTuple):
    """Sentences compared with contexts."""

    x: np.ndarray
    """Similarity of sentence and context."""
    signs: np.ndarray
    """1 where it is the sentence of the context, else -1."""
    weights: np.ndarray
    """They sum to 1."""

    def loss(self, gain: float, bias: float) -> tuple[float, list[float]]:
        """Return the weighted cross-entropy in nats, and its slopes in gain and bias."""
        margins = self.signs * (gain * self.x + bias)
        slopes = -self.weights * self.signs * expit(-margins)
        value = float(self.weights @ np.logaddexp(0, -margins))
        return value, [float(slopes @ self.x), float(slopes.sum())]


def compared(
    states: np.ndarray, documents: np.ndarray, codes: np.ndarray, batches: list[np.ndarray]
) -> Compared | None:
    """Compare each sentence of a batch with the neighbours of each; None without negatives.

    Parameters
    ----------
    states : ndarray of float, shape (n_sentences, q)
        Unit vectors of all sentences.
    documents, codes : ndarray of int, shape (n_sentences,)
        Document and hash of each sentence.
    batches : list of ndarray of int
        Rows of centres.
    """
    found = []
    for rows in batches:
        own = documents[rows]
        # A sentence's neighbours may replace each other.
        near = np.abs(rows[:, np.newaxis] - rows) < RUN
        near &= own[:, np.newaxis] == own
        weights = fit_weights(own, codes[rows], excluded=near)
        if weights.any():
            left, centre, right = (states[rows + k].astype(np.float32) for k in (-1, 0, 1))
            signs = 2 * np.eye(len(rows)) - 1
            parts = (left + right) @ centre.T, signs, weights
            found.append([np.asarray(each, dtype=np.float64).ravel() for each in parts])
    if not found:
        return None
    x, signs, weights = (np.concatenate(each) for each in zip(*found, strict=True))
    return Compared(x, signs, weights / len(found))


def fit_discriminator(given: Compared | None) -> tuple[Discriminator, list[float]]:
    """Fit gain, at least 1, and bias; return them with the loss, if there is any."""
    if given is None:
        return Discriminator(), []
    best = minimize(
        lambda numbers: given.loss(*numbers), (5.0, -1.0), jac=True,
        bounds=[(1.0, None), (None, None)], method="L-BFGS-B",
    )  # fmt: skip
    return Discriminator(*map(float, best.x)), [float(best.fun)]


def batches_of(centres: np.ndarray, documents: np.ndarray, seed: int, n: int) -> list[np.ndarray]:
    """Return the first n batches of centres in the order of `run_order`."""
    order = run_order(documents[centres], np.random.default_rng([seed, 0]))
    return np.array_split(centres[order], max(1, round(len(order) / BATCH_SIZE)))[:n]


def run_order(documents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an order of centres in which neighbours and centres of one document are together.

    Parameters
    ----------
    documents : ndarray of int, shape (n,)
        Document of each centre, ascending.
    rng : Generator
        Source of randomness.

    Returns
    -------
    order : ndarray of int, shape (n,)
        Permutation of the centres.
    """
    groups = []
    for document in np.split(np.arange(len(documents)), np.flatnonzero(np.diff(documents)) + 1):
        # Runs of a document start at a random position, so all neighbours meet over time.
        cuts = np.arange(rng.integers(1, RUN + 1), len(document), RUN)
        runs = np.split(document, cuts)
        shuffled = [runs[place] for place in rng.permutation(len(runs))]
        for start in range(0, len(runs), RUNS_OF_DOCUMENT):
            groups.append(np.concatenate(shuffled[start : start + RUNS_OF_DOCUMENT]))
    return np.concatenate([groups[place] for place in rng.permutation(len(groups))])

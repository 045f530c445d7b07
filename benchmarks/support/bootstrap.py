"""Rank correlations of a sample with intervals, and differences of two rows on the same pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

N_DRAWS = 2000
LEVEL = 95.0


class Interval(NamedTuple):
    """A value and the percentiles of its bootstrap draws."""

    value: float
    low: float
    high: float


def spearman(similarity: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Rank correlation × 100; 0 where the similarity is constant."""
    return float(_correlations(similarity[None], scores[None])[0])


def drawn(n_pairs: int, n_draws: int = N_DRAWS, seed: int = 0) -> NDArray[np.intp]:
    """Draw pairs with replacement, shape (n_draws, n_pairs): the same for every row of a table."""
    return np.random.default_rng(seed).integers(0, n_pairs, size=(n_draws, n_pairs))


def correlation(
    similarity: NDArray[np.float64], scores: NDArray[np.float64], draws: NDArray[np.intp]
) -> Interval:
    """Rank correlation × 100 with its 95 % interval over draws of pairs."""
    found = _correlations(similarity[draws], scores[draws])
    return _interval(spearman(similarity, scores), found)


def difference(
    similarity: NDArray[np.float64],
    rival: NDArray[np.float64],
    scores: NDArray[np.float64],
    draws: NDArray[np.intp],
) -> Interval:
    """How much a row is ahead of a rival, in points, both judged on the same drawn pairs."""
    found = _correlations(similarity[draws], scores[draws])
    found -= _correlations(rival[draws], scores[draws])
    return _interval(spearman(similarity, scores) - spearman(rival, scores), found)


def _interval(value: float, found: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(found, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def _correlations(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman × 100 of each row of one matrix with the same row of another."""
    ranks = [rankdata(values, axis=1) for values in (first, second)]
    ranks = [values - values.mean(axis=1, keepdims=True) for values in ranks]
    lengths = np.sqrt((ranks[0] ** 2).sum(axis=1) * (ranks[1] ** 2).sum(axis=1))
    dot = 100 * (ranks[0] * ranks[1]).sum(axis=1)
    return np.divide(dot, lengths, out=np.zeros(len(dot)), where=lengths > 0)

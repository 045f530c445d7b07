"""Calibration of probabilities in bins of equal size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.checks import (
    binary_labels,
    check_at_least_one,
    check_length,
    check_share,
    checked_probabilities,
)


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Bins of a reliability diagram, by increasing probability; arrays have one entry per bin.

    Attributes
    ----------
    mean_probability : ndarray of float64
        Mean p of the bin's rows.
    observed_rate : ndarray of float64
        Share of rows with outcome 1.
    counts : ndarray of int64
        Rows in the bin, at least 1.
    """

    mean_probability: NDArray[np.float64]
    observed_rate: NDArray[np.float64]
    counts: NDArray[np.int64]


def reliability_curve(y: ArrayLike, p: ArrayLike, n_bins: int = 15) -> ReliabilityCurve:
    """Compare probabilities with observed rates, in bins of nearly equal size.

    Rows with equal p stay together in one group. The bin of a group is that of its middle rank,
    ``⌊n_bins (before + size / 2) / n⌋``, so the order of rows has no effect. Without ties, the
    sizes of bins differ by at most one row; with many ties, some bins are empty and left out.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, 0 and 1 or booleans.
    p : array-like of float, shape (n,)
        Probability of outcome 1, in [0, 1].
    n_bins : int, default=15
        Maximum number of bins, at least 1.

    Returns
    -------
    curve : ReliabilityCurve
        One entry per non-empty bin.

    Raises
    ------
    TypeError
        If n_bins is not an integer.
    ValueError
        If y is not binary or empty, a probability lies outside [0, 1], lengths differ, or
        n_bins < 1.

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> from film.pairs import reliability_curve
    >>> curve = reliability_curve([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7, 0.7], n_bins=2)
    >>> curve.mean_probability, curve.observed_rate, curve.counts
    (array([0.15      , 0.66666667]), array([0.        , 0.66666667]), array([2, 3]))
    """
    groups = _grouped(y, p)
    check_at_least_one("n_bins", n_bins)
    counts, positives, sums = _binned(groups.values, groups.counts, groups.positives, n_bins)
    return ReliabilityCurve(sums / counts, positives / counts, counts)


def calibration_error(y: ArrayLike, p: ArrayLike, n_bins: int = 15) -> float:
    """Measure how far probabilities are from observed rates: the expected calibration error.

    ``Σ_b n_b / n · |mean p in b − share of positives in b|`` over bins of equal size (the adaptive
    calibration error of Nixon et al., "Measuring calibration in deep learning", 2019).

    Parameters
    ----------
    y, p, n_bins : array-like of shape (n,), array-like of float, shape (n,), int
        As in `reliability_curve`.

    Returns
    -------
    error : float
        From 0 to 1, in units of probability; lower is better.

    Raises
    ------
    TypeError, ValueError
        As in `reliability_curve`.

    Notes
    -----
    The estimate is biased upward, since |·| of a noisy difference is positive even for perfect
    probabilities. With n rows, a perfectly calibrated model has an error of about
    ``√(2 n_bins v / (π n))``, with v the mean of p(1 − p). So compare errors only at the same n and
    n_bins, and use `calibration_interval`, which subtracts most of the bias. Within a bin, errors
    of opposite sign cancel; this biases the estimate downward, more so with fewer bins.

    O(n log n).

    Examples
    --------
    >>> from film.pairs import calibration_error
    >>> calibration_error([0, 1, 1, 1], [0.5, 0.5, 0.9, 0.9], n_bins=2)
    0.04999999999999999
    """
    groups = _grouped(y, p)
    check_at_least_one("n_bins", n_bins)
    return _error(groups.values, groups.counts, groups.positives, n_bins)


def calibration_interval(
    y: ArrayLike,
    p: ArrayLike,
    n_bins: int = 15,
    n_boot: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> tuple[float, float]:
    """Bootstrap interval of the calibration error.

    Rows are drawn with replacement, and each draw is binned again. With θ the error of the rows,
    q_α the quantiles of the draws' errors and c the confidence, the interval is
    ``[2θ − q_{(1+c)/2}, 2θ − q_{(1−c)/2}]``, the basic bootstrap interval (Davison and Hinkley,
    *Bootstrap Methods and their Application*, 1997, section 5.2). It is cut at 0 and 1 and widened
    to contain θ.

    Parameters
    ----------
    y, p, n_bins : array-like of shape (n,), array-like of float, shape (n,), int
        As in `reliability_curve`.
    n_boot : int, default=1000
        Draws, at least 1.
    confidence : float in (0, 1), default=0.95
        Share of such intervals that should contain the true error.
    random_state : int, Generator or None, default=None
        Seeds the draws.

    Returns
    -------
    low, high : float
        Ends of the interval.

    Raises
    ------
    TypeError
        If n_bins or n_boot is not an integer.
    ValueError
        If n_boot < 1 or confidence lies outside (0, 1), or as in `reliability_curve`.

    Notes
    -----
    A draw adds noise to the noise of the rows, so the draws' errors exceed θ by about as much as θ
    exceeds the true error. Plain quantiles are therefore biased twice; for a well calibrated model
    they may exclude even θ. Reflection at θ removes the bias once. With thousands of rows, the
    intervals contain the true error nearly as often as ``confidence``. If the true error is 0, the
    low end is 0 in about half of the intervals and small in the others; a small low end does not
    prove an error.

    O(n log n + n_boot n).

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import calibration_interval
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> low, high = calibration_interval(rng.uniform(size=2000) < p, p, random_state=0)
    >>> low < 0.01 and high < 0.04
    True
    """
    groups = _grouped(y, p)
    check_at_least_one("n_bins", n_bins)
    check_at_least_one("n_boot", n_boot)
    check_share("confidence", confidence)
    rng = np.random.default_rng(random_state)
    n, n_groups = len(groups.cell_of_row), len(groups.values)
    drawn = np.empty(n_boot)
    for draw in range(n_boot):
        rows = rng.integers(n, size=n)
        cells = np.bincount(groups.cell_of_row[rows], minlength=2 * n_groups)
        negatives, positives = cells.reshape(n_groups, 2).T
        drawn[draw] = _error(groups.values, negatives + positives, positives, n_bins)
    error = _error(groups.values, groups.counts, groups.positives, n_bins)
    below, above = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = np.clip([2 * error - above, 2 * error - below], 0.0, 1.0)
    return float(min(low, error)), float(max(high, error))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows of equal p, by increasing p; ``cell_of_row`` numbers each row's (group, outcome)."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    positives: NDArray[np.int64]
    cell_of_row: NDArray[np.int64]


def _grouped(y: Any, p: Any) -> _Groups:
    outcome = binary_labels(y)
    probability = checked_probabilities(p).astype(np.float64, copy=False)
    check_length("p", probability, len(outcome))
    values, group = np.unique(probability, return_inverse=True)
    cell_of_row = 2 * group + outcome
    cells = np.bincount(cell_of_row, minlength=2 * len(values)).reshape(-1, 2)
    return _Groups(values, cells.sum(axis=1), cells[:, 1], cell_of_row)


def _binned(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    positives: NDArray[np.int64],
    n_bins: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows, positives and sum of p of each non-empty bin."""
    after = np.cumsum(counts)
    # Twice the middle rank, in integers: rounding would move a group at an edge.
    bins = n_bins * (2 * after - counts) // (2 * after[-1])
    rows, ones, sums = (
        np.bincount(bins, weights=weights, minlength=n_bins).astype(np.float64)
        for weights in (counts, positives, counts * values)
    )
    held = rows > 0
    return rows[held].astype(np.int64), ones[held].astype(np.int64), sums[held]


def _error(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    positives: NDArray[np.int64],
    n_bins: int,
) -> float:
    rows, ones, sums = _binned(values, counts, positives, n_bins)
    return float(np.abs(sums - ones).sum() / rows.sum())

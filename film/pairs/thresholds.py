"""Precision, recall and F1 by threshold, with intervals, and thresholds for a precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from film.checks import both_classes, check_length, check_share

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Precision, recall and F1 at ascending thresholds.

    Attributes
    ----------
    thresholds : ndarray of float64, shape (m,)
        A pair is selected as a duplicate if its score is at least the threshold.
    precision, recall, f1 : ndarray of float64, shape (m,)
        Share of duplicates among selected pairs, share of selected pairs among duplicates, and
        their harmonic mean. Precision is NaN if no pair is selected.
    precision_interval, recall_interval, f1_interval : ndarray of float64, shape (m, 2)
        Low and high end of their confidence intervals.
    selected : ndarray of int64, shape (m,)
        Number of selected pairs.
    confidence : float
        Confidence of each interval.
    """

    thresholds: Floats
    precision: Floats
    precision_interval: Floats
    recall: Floats
    recall_interval: Floats
    f1: Floats
    f1_interval: Floats
    selected: NDArray[np.int64]
    confidence: float

    def __len__(self) -> int:
        return len(self.thresholds)


def threshold_curve(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    thresholds: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> ThresholdCurve:
    """Measure precision, recall and F1 at many thresholds, each with a confidence interval.

    Each figure is a ratio ``R = Σ wᵢaᵢ / Σ wᵢbᵢ``. With yᵢ the outcome and cᵢ whether row i is
    selected, a = c·y and b = c for precision, a = c·y and b = y for recall, and a = 2·c·y and
    b = c + y for F1. Its variance is that of a ratio over independent groups (Taylor
    linearisation), ``v = g/(g − 1) · Σ_groups (Σ_{i in group} wᵢ (aᵢ − R bᵢ))² / (Σ wᵢbᵢ)²``, with
    g the number of groups in the ratio. The interval is Wilson's with an effective number of rows
    ``m / d``, with Kish's ``m = (Σ wᵢbᵢ)² / Σ (wᵢbᵢ)²`` and the design effect
    ``d = v (m − 1) / (R (1 − R))``, at least 1. At R = 0 and 1, where v is 0, the effective number
    is Kish's over groups. Dean and Pagano, *Evaluating confidence interval methods for binomial
    proportions in clustered surveys* (2015), compare such intervals. Without groups and weights,
    the intervals of precision and recall are Wilson's.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, 0 and 1 or booleans; both must occur.
    scores : array-like of float, shape (n,)
        Finite probabilities or similarities, higher for duplicates.
    thresholds : array-like of float, shape (m,), optional
        In any order; all distinct scores if None.
    groups : array-like of shape (n,), optional
        Dependent rows, such as pairs linked by shared questions, have the same value. None: each
        row is a group.
    weights : array-like of float, shape (n,), optional
        Positive row weights, for example `film.pairs.prior_weights`, which give the figures of
        a population with another share of duplicates. They are treated as exact.
    confidence : float in (0, 1), default=0.95
        Confidence of each two-sided interval.

    Returns
    -------
    curve : ThresholdCurve
        One entry per distinct threshold, ascending.

    Raises
    ------
    TypeError
        If confidence is not a number.
    ValueError
        If y is not binary or has only one class, lengths differ, a score, threshold or weight is
        not finite, a weight is not positive, or confidence is outside (0, 1).

    Notes
    -----
    O(n log n) time for all thresholds together, O(n) memory. An interval is valid for one
    threshold that was chosen before the rows were seen, not for all thresholds at once; see
    `threshold_for_precision` for chosen thresholds.

    Examples
    --------
    >>> from film.pairs import threshold_curve
    >>> curve = threshold_curve([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.8, 0.9])
    >>> curve.thresholds[2:]
    array([0.4, 0.6, 0.8, 0.9])
    >>> curve.precision[2:], curve.recall[2:]  # doctest: +NORMALIZE_WHITESPACE
    (array([0.75      , 0.66666667, 1.        , 1.        ]),
     array([1.        , 0.66666667, 0.66666667, 0.33333333]))
    >>> curve.precision_interval[2].round(2)
    array([0.3 , 0.95])
    """
    outcome = both_classes(y)
    n = len(outcome)
    check_share("confidence", confidence)
    values = _finite("scores", scores, n)
    weight = np.ones(n) if weights is None else _finite("weights", weights, n)
    if weight.min() <= 0:
        raise ValueError(f"weights must be positive, but row {int(weight.argmin())} is not.")
    group = np.arange(n)
    if groups is not None:
        named = np.asarray(groups)
        check_length("groups", named, n)
        group = np.unique(named, return_inverse=True)[1]
    asked = values if thresholds is None else _finite("thresholds", thresholds)
    asked = np.unique(asked)

    order = np.argsort(-values, kind="stable")
    positive, weight, group = outcome[order].astype(np.float64), weight[order], group[order]
    # Rows at or above each threshold: the length of the head of the ordered rows.
    heads = n - np.searchsorted(values[order][::-1], asked, side="left")
    called, never = np.ones(n), np.zeros(n)
    figures = [
        _ratios(start, numerator * weight, denominator * weight, group, heads, confidence)
        for start, numerator, denominator in (
            (never, positive, called),
            (positive * weight, positive, never),
            (positive * weight, 2 * positive, called),
        )
    ]
    (precision, precision_ends), (recall, recall_ends), (f1, f1_ends) = figures
    return ThresholdCurve(
        asked,
        precision,
        precision_ends,
        recall,
        recall_ends,
        f1,
        f1_ends,
        heads.astype(np.int64),
        confidence,
    )


def threshold_for_precision(curve: ThresholdCurve, precision: float) -> int | None:
    """Choose the lowest threshold whose interval of precision is above a wanted value.

    Parameters
    ----------
    curve : ThresholdCurve
        From `threshold_curve`, with all distinct scores or a fine grid.
    precision : float in (0, 1)
        Wanted precision.

    Returns
    -------
    index : int or None
        Position in ``curve.thresholds``; None if no interval is above the wanted precision.

    Raises
    ------
    TypeError, ValueError
        If precision is not a number in (0, 1).

    Notes
    -----
    A choice among many intervals could favour one that is too high by chance. In simulations with
    calibrated scores, the true precision at the chosen threshold is too low about as often as
    ``confidence`` allows. At the lowest threshold whose measured precision is the wanted value,
    it is too low more often than not. With few rows, the chosen threshold is strict, or there is
    none.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import threshold_curve, threshold_for_precision
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=4000)
    >>> curve = threshold_curve(rng.uniform(size=4000) < p, p)
    >>> chosen = threshold_for_precision(curve, 0.9)
    >>> bool(0.8 < curve.thresholds[chosen] < 0.9)
    True
    """
    check_share("precision", precision)
    reached = np.flatnonzero(curve.precision_interval[:, 0] >= precision)
    return int(reached[0]) if len(reached) else None


def _ratios(
    start: Floats,
    numerator: Floats,
    denominator: Floats,
    group: NDArray[np.intp],
    heads: NDArray[np.intp],
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return ratios of sums over the first rows ("heads"), and their intervals.

    Row i always adds ``start`` to the denominator; once it is in the head, it adds ``numerator``
    and ``denominator``.
    """
    begun = np.bincount(group, weights=start)
    above = _before(numerator, group)
    below = _before(denominator, group) + begun[group]
    # A row in the head adds to its group's sums; from these steps all heads follow at once.
    squares = _heads(2 * above * numerator + numerator**2, heads)
    mixed = _heads(above * denominator + below * numerator + numerator * denominator, heads)
    below_squares = _heads(2 * below * denominator + denominator**2, heads) + np.sum(begun**2)
    row_squares = _heads(2 * start * denominator + denominator**2, heads) + np.sum(start**2)
    n_groups = _heads(((below == 0) & (denominator > 0)).astype(float), heads) + np.sum(begun > 0)
    top = _heads(numerator, heads)
    bottom = _heads(denominator, heads) + start.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.clip(top / bottom, 0.0, 1.0)
        spread = squares - 2 * ratio * mixed + ratio**2 * below_squares
        variance = spread / bottom**2 * n_groups / (n_groups - 1)
        by_rows, by_groups = bottom**2 / row_squares, bottom**2 / below_squares
        between = ratio * (1 - ratio)
        design = np.maximum(variance * (by_rows - 1) / between, 1.0)
        # At 0 and 1, only rounding errors remain of the variance.
        effective = np.where(between <= 1e-12, by_groups, by_rows / design)
        effective = np.where(n_groups > 1, effective, 1.0)
    return ratio, _wilson(ratio, effective, confidence)


def _wilson(ratio: Floats, n: Floats, confidence: float) -> Floats:
    z = float(norm.ppf((1 + confidence) / 2))
    shrink = 1 + z**2 / n
    centre = (ratio + z**2 / (2 * n)) / shrink
    half = z / shrink * np.sqrt(ratio * (1 - ratio) / n + z**2 / (4 * n**2))
    return np.column_stack([np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)])


def _before(values: Floats, group: NDArray[np.intp]) -> Floats:
    """Sum of the earlier rows of each row's group."""
    order = np.argsort(group, kind="stable")
    sums = np.cumsum(values[order]) - values[order]
    first = np.concatenate([[True], np.diff(group[order]) > 0])
    starts = sums[first][np.cumsum(first) - 1]
    result = np.empty(len(values))
    result[order] = sums - starts
    return result


def _heads(steps: Floats, heads: NDArray[np.intp]) -> Floats:
    return np.concatenate([[0.0], np.cumsum(steps)])[heads]


def _finite(name: str, values: ArrayLike, n: int | None = None) -> Floats:
    array: Any = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}: convert it.")
    array = array.astype(np.float64)
    if array.ndim != 1 or (n is not None and len(array) != n):
        wanted = "(n,)" if n is None else f"({n},), as y has"
        raise ValueError(f"{name} must have shape {wanted}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        row = int(np.isfinite(array).argmin())
        raise ValueError(f"{name}[{row}] is {array[row]}; {name} must be finite: drop the row.")
    return array


def threshold_of_best_f1(probabilities: ArrayLike) -> float:
    """Return the threshold with the highest expected F1, if probabilities are right.

    Parameters
    ----------
    probabilities : array-like of float, shape (n,)
        Probability of each pair to be a duplicate, of all pairs that may be selected.

    Returns
    -------
    threshold : float
        Probability of the k-th most likely pair, for the k with the highest ratio of expected
        counts, F1(k) = 2 Σ p (k most likely pairs) / (k + Σ p (all pairs)).

    Examples
    --------
    >>> from film.pairs import threshold_of_best_f1
    >>> threshold_of_best_f1([0.9, 0.4, 0.1, 0.05])
    0.4
    """
    p = np.sort(np.asarray(probabilities, dtype=np.float64))[::-1]
    f1 = 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + p.sum())
    return float(p[f1.argmax()])

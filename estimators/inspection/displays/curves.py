"""Plots of calibration, and of precision and recall by threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.inspection.displays.plotting import import_pyplot
from film.pairs import (
    ThresholdCurve,
    calibration_error,
    calibration_interval,
    reliability_curve,
    threshold_for_precision,
)

_FIGURES = (("precision", "precision"), ("recall", "recall"), ("f1", "F1"))


def plot_reliability(y: Any, p: Any, *, ax: Any = None, **kwargs: Any) -> Any:
    """Draw observed rates by predicted probability, in bins of equal counts.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, 0 and 1 or booleans.
    p : array-like of float, shape (n,)
        Probability of outcome 1.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure, with a histogram of the probabilities below.
    **kwargs
        Passed to matplotlib's ``plot``.

    Returns
    -------
    ax : matplotlib Axes
        The legend has the calibration error and its 95 % interval.

    Raises
    ------
    TypeError, ValueError
        As in `film.pairs.calibration_interval`.

    Examples
    --------
    >>> import matplotlib, numpy as np
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import plot_reliability
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=500)
    >>> ax = plot_reliability(rng.uniform(size=500) < p, p)
    >>> ax.get_legend().get_texts()[0].get_text()
    'calibration error 0.043 (95 %: 0.000 to 0.043)'
    """
    curve, error = reliability_curve(y, p), calibration_error(y, p)
    low, high = calibration_interval(y, p, random_state=0)
    lowest = ax
    if ax is None:
        figure = import_pyplot().figure(figsize=(5.2, 6.0), layout="constrained")
        ax, lowest = figure.subplots(2, 1, height_ratios=(1, 0.3), sharex=True)
        lowest.hist(p, bins=np.linspace(0, 1, 41).tolist(), histtype="step")
        lowest.set(ylabel="pairs")
    ax.plot([0, 1], [0, 1], ":", color="gray")
    label = f"calibration error {error:.3f} (95 %: {low:.3f} to {high:.3f})"
    style = {"marker": "o", "markersize": 4, "label": label} | kwargs
    ax.plot(curve.mean_probability, curve.observed_rate, **style)
    ax.set(
        ylabel="observed share of duplicates",
        xlim=(0, 1),
        ylim=(-0.02, 1.02),
        title="Predicted and observed probabilities",
    )
    lowest.set(xlabel="predicted probability of a duplicate")
    ax.legend(loc="upper left", fontsize="small")
    return ax


def plot_thresholds(
    curve: ThresholdCurve,
    precision: float | None = None,
    *,
    score_name: str = "score",
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Draw precision, recall and F1 by threshold, with their confidence bands.

    Parameters
    ----------
    curve : ThresholdCurve
        From `film.pairs.threshold_curve` or `DuplicateClassifier.threshold_curve`.
    precision : float, default=None
        Wanted precision: a line marks the threshold that `film.pairs.threshold_for_precision`
        chooses for it, if there is one.
    score_name : str, default="score"
        Name of the score, for the x axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    **kwargs
        Passed to matplotlib's ``plot``, for all curves.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib, numpy as np
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import plot_thresholds
    >>> from film.pairs import threshold_curve
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> ax = plot_thresholds(threshold_curve(rng.uniform(size=2000) < p, p), 0.8)
    >>> ax.get_legend().get_texts()[-1].get_text()
    'threshold 0.637 for precision 0.8'
    """
    if ax is None:
        ax = import_pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")[1]
    for name, label in _FIGURES:
        (line,) = ax.plot(curve.thresholds, getattr(curve, name), **{"label": label} | kwargs)
        low, high = getattr(curve, f"{name}_interval").T
        band = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
        ax.fill_between(curve.thresholds, low, high, **band)
    chosen = None if precision is None else threshold_for_precision(curve, precision)
    if chosen is not None:
        threshold = float(curve.thresholds[chosen])
        name = f"threshold {threshold:.3g} for precision {precision:g}"
        ax.axvline(threshold, color="k", linestyle="--", label=name)
    ax.set(
        xlabel=f"threshold: lowest {score_name} that counts as a duplicate",
        ylabel=f"share, with {curve.confidence:.0%} interval",
        ylim=(-0.02, 1.02),
        title="Precision and recall by threshold",
    )
    ax.legend(fontsize="small")
    return ax

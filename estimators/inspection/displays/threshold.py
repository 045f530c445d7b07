"""Precision, recall and F1 as functions of the threshold."""

from __future__ import annotations

from typing import Any, Self

from estimators.inspection.displays.plotting import Display
from film.pairs import ThresholdCurve, threshold_curve, threshold_for_precision

_FIGURES = (("precision", "precision"), ("recall", "recall"), ("f1", "F1"))


class ThresholdDisplay(Display):
    """Precision, recall and F1 by threshold, with confidence bands.

    Parameters
    ----------
    curve : ThresholdCurve
        From `film.pairs.threshold_curve` or `DuplicateClassifier.threshold_curve`.
    precision : float, default=None
        Wanted precision; marks the threshold that `film.pairs.threshold_for_precision` chooses
        for it.
    score_name : str, default="score"
        Name of the score, for the x axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.
    lines_ : dict of str to matplotlib Line2D
        Curves by name: "precision", "recall", "f1".
    threshold_ : float or None
        The marked threshold; None without a wanted precision, or if no threshold reaches it.

    Examples
    --------
    >>> import matplotlib, numpy as np
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import ThresholdDisplay
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> display = ThresholdDisplay.from_predictions(rng.uniform(size=2000) < p, p, precision=0.8)
    >>> 0.6 < display.threshold_ < 0.8
    True
    """

    def __init__(
        self, curve: ThresholdCurve, precision: float | None = None, score_name: str = "score"
    ) -> None:
        self.curve = curve
        self.precision = precision
        self.score_name = score_name

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        *,
        groups: Any = None,
        weights: Any = None,
        confidence: float = 0.95,
        precision: float | None = None,
        score_name: str = "score",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of given scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            1 or True for duplicates, 0 or False for other pairs; both must occur.
        scores : array-like of float, shape (n,)
            Probabilities or similarities.
        groups, weights, confidence
            As in `film.pairs.threshold_curve`.
        precision, score_name
            As in the class.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot``, for all curves.

        Returns
        -------
        display : ThresholdDisplay
            Drawn.

        Raises
        ------
        ValueError
            As in `film.pairs.threshold_curve`.
        """
        curve = threshold_curve(y, scores, groups=groups, weights=weights, confidence=confidence)
        return cls(curve, precision, score_name).plot(ax=ax, **kwargs)

    def _draw(self, **kwargs: Any) -> None:
        self.threshold_ = None
        if self.precision is not None:
            chosen = threshold_for_precision(self.curve, self.precision)
            self.threshold_ = None if chosen is None else float(self.curve.thresholds[chosen])
        thresholds = self.curve.thresholds
        self.lines_ = {}
        for attribute, label in _FIGURES:
            values = getattr(self.curve, attribute)
            low, high = getattr(self.curve, f"{attribute}_interval").T
            (line,) = self.ax_.plot(thresholds, values, **{"label": label} | kwargs)
            self.ax_.fill_between(
                thresholds, low, high, color=line.get_color(), alpha=0.2, linewidth=0
            )
            self.lines_[attribute] = line
        if self.threshold_ is not None:
            name = f"threshold {self.threshold_:.3g} for precision {self.precision:g}"
            self.ax_.axvline(self.threshold_, color="k", linestyle="--", label=name)
        self.ax_.set(
            xlabel=f"threshold: lowest {self.score_name} that counts as a duplicate",
            ylabel=f"share, with {self.curve.confidence:.0%} interval",
            ylim=(-0.02, 1.02),
            title="Precision and recall by threshold",
        )
        self.ax_.legend(fontsize="small")

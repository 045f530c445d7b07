"""Reliability diagram: predicted probabilities against observed rates."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from estimators.inspection.displays.plotting import Display, panel_below
from film.pairs import ReliabilityCurve, calibration_error, calibration_interval, reliability_curve

_REFERENCE = "perfectly calibrated"


class ReliabilityDisplay(Display):
    """Reliability diagram in bins of equal counts, with a histogram of the probabilities below.

    Parameters
    ----------
    curve : ReliabilityCurve
        Bins, from `film.pairs.reliability_curve`.
    error : float
        Expected calibration error.
    interval : tuple of float
        Its 95 % interval.
    probabilities : ndarray of float64, shape (n,)
        Probabilities shown in the histogram.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the diagram.
    histogram_ax_ : matplotlib Axes
        Axes below, with the histogram.
    figure_ : matplotlib Figure
        Figure that holds both.
    line_ : matplotlib Line2D
        The curve.
    patches_ : list of matplotlib Patch
        The histogram.

    Examples
    --------
    >>> import matplotlib, numpy as np
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=500)
    >>> display = ReliabilityDisplay.from_predictions(rng.uniform(size=500) < p, p)
    >>> display.error < 0.1
    True
    """

    def __init__(
        self,
        curve: ReliabilityCurve,
        error: float,
        interval: tuple[float, float],
        probabilities: NDArray[np.float64],
    ) -> None:
        self.curve = curve
        self.error = error
        self.interval = interval
        self.probabilities = probabilities

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        *,
        n_bins: int = 15,
        random_state: Any = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of given probabilities.

        Parameters
        ----------
        y : array-like of shape (n,)
            Outcomes, 0 and 1 or booleans.
        p : array-like of float, shape (n,)
            Probability of outcome 1.
        n_bins : int, default=15
            Maximal number of bins.
        random_state : int, Generator or None, default=0
            Seeds the interval of the error, from 1,000 bootstrap draws.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. A second display on the same axes shares both
            panels.
        **kwargs
            Passed to matplotlib's ``plot``; the error is added to ``label``.

        Returns
        -------
        display : ReliabilityDisplay
            Drawn.

        Raises
        ------
        TypeError, ValueError
            As in `film.pairs.calibration_interval`.
        """
        curve = reliability_curve(y, p, n_bins)
        error = calibration_error(y, p, n_bins)
        interval = calibration_interval(y, p, n_bins, random_state=random_state)
        display = cls(curve, error, interval, np.asarray(p, dtype=np.float64))
        return display.plot(ax=ax, **kwargs)

    def _draw(self, **kwargs: Any) -> None:
        self.histogram_ax_ = panel_below(self.ax_, 0.3)
        if _REFERENCE not in self.ax_.get_legend_handles_labels()[1]:
            self.ax_.plot([0, 1], [0, 1], ":", color="gray", label=_REFERENCE)
        low, high = self.interval
        name = f"{kwargs.pop('label')}: " if kwargs.get("label") else ""
        label = f"{name}calibration error {self.error:.3f} (95 %: {low:.3f} to {high:.3f})"
        style = {"marker": "o", "markersize": 4} | kwargs
        (self.line_,) = self.ax_.plot(
            self.curve.mean_probability, self.curve.observed_rate, label=label, **style
        )
        *_, patches = self.histogram_ax_.hist(
            self.probabilities,
            bins=np.linspace(0, 1, 41).tolist(),
            histtype="step",
            color=self.line_.get_color(),
        )
        self.patches_ = list(patches)
        self.ax_.set(
            ylabel="observed share of duplicates",
            xlim=(0, 1),
            ylim=(-0.02, 1.02),
            title="Predicted and observed probabilities",
        )
        self.ax_.legend(loc="upper left", fontsize="small")
        self.histogram_ax_.set(xlabel="predicted probability of a duplicate", ylabel="pairs")

    def _inches(self) -> tuple[float, float]:
        return 5.2, 6.0

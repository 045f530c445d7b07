"""Histogram of the scores of duplicates and of other pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from estimators.inspection.displays.plotting import Display, scores_of_pairs
from film.checks import binary_labels


class ScoreHistogramDisplay(Display):
    """Histogram of the scores of duplicates and of other pairs, each normalised to sum 1.

    Parameters
    ----------
    outcome : ndarray of bool, shape (n,)
        Which pairs are duplicates.
    scores : ndarray of float64, shape (n,)
        Score of each pair.
    score_name : str, default="score"
        Label of the x axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the histograms.
    figure_ : matplotlib Figure
        Figure that holds them.
    patches_ : dict of bool to list of matplotlib Patch
        Histogram of each class present.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import ScoreHistogramDisplay
    >>> display = ScoreHistogramDisplay.from_predictions([0, 0, 1], [0.1, 0.4, 0.8])
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['other pairs (2)', 'duplicates (1)']
    """

    def __init__(
        self, outcome: NDArray[np.bool_], scores: NDArray[np.float64], score_name: str = "score"
    ) -> None:
        self.outcome = outcome
        self.scores = scores
        self.score_name = score_name

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, *, score_name: str = "score", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the histograms of given scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            1 or True for duplicates, 0 or False for other pairs.
        scores : array-like of float, shape (n,)
            Finite scores, such as probabilities or similarities.
        score_name : str, default="score"
            Label of the x axis.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``hist``, for both classes.

        Returns
        -------
        display : ScoreHistogramDisplay
            Drawn.

        Raises
        ------
        ValueError
            If y is not binary, lengths differ or a score is not finite.
        """
        outcome = binary_labels(y)
        values = np.asarray(scores, dtype=np.float64)
        if values.shape != outcome.shape:
            raise ValueError(
                f"scores must have shape {outcome.shape}, as y has, got shape {values.shape}: "
                "give one score per pair."
            )
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"scores[{row}] is {values[row]}; scores must be finite: drop the row")
        return cls(outcome, values, score_name).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, pairs: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the scores of a fitted estimator on labelled pairs.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_proba`` (the column of duplicates) or else ``similarity``.
        pairs : array-like of str, shape (n_pairs, 2)
            Texts that were not used for fitting.
        y : array-like of shape (n_pairs,)
            Their classes.
        ax, **kwargs
            As in `from_predictions`.

        Returns
        -------
        display : ScoreHistogramDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the estimator has neither method.
        ValueError
            If y holds a class that the estimator does not know.
        """
        outcome, scores, name = scores_of_pairs(estimator, pairs, y)
        return cls.from_predictions(outcome, scores, ax=ax, **{"score_name": name} | kwargs)

    def _draw(self, **kwargs: Any) -> None:
        edges = np.histogram_bin_edges(self.scores, bins=kwargs.pop("bins", 40))
        style = {"alpha": 0.5} | kwargs | {"bins": edges}
        self.patches_ = {}
        for duplicate, label in ((False, "other pairs"), (True, "duplicates")):
            scores = self.scores[self.outcome == duplicate]
            if len(scores):
                shares = np.full(len(scores), 1 / len(scores))
                named = {"label": f"{label} ({len(scores):,})", "weights": shares} | style
                *_, patches = self.ax_.hist(scores, **named)
                self.patches_[duplicate] = list(patches)
        self.ax_.set(
            xlabel=self.score_name,
            ylabel="share of pairs in the class",
            title="Scores of duplicates and of other pairs",
        )
        self.ax_.legend(fontsize="small")

    def _inches(self) -> tuple[float, float]:
        return 6.0, 3.6

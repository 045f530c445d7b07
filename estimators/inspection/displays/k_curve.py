"""Rates of the Pairwise kNN rule over k."""

from __future__ import annotations

from typing import Any

from estimators.inspection.displays.plotting import axes_for, check_response, panel_below
from film.pairs import Rates

__all__ = ["KCurveDisplay"]

_RATES = (
    ("tpr", "duplicates recognised (TPR)"),
    ("tnr", "other pairs recognised (TNR)"),
    ("fpr", "other pairs called duplicates (FPR)"),
    ("fnr", "duplicates missed (FNR)"),
    ("accuracy", "accuracy"),
)


class KCurveDisplay:
    """Rates and log loss of the Pairwise kNN rule over k (FILM paper, figure 4).

    Parameters
    ----------
    rates : Rates
        From `film.pairs.rates_over_k` or `PairwiseKNNClassifier.k_curve`.
    k : int, default=None
        The k in use, which is marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the rates.
    cost_ax_ : matplotlib Axes
        Axes below, with the log loss.
    figure_ : matplotlib Figure
        Figure that holds both.
    lines_ : dict of str to matplotlib Line2D
        Curves by attribute of `Rates`: "tpr", "tnr", "fpr", "fnr", "accuracy", "log_loss".

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import KCurveDisplay
    >>> from film.pairs import rates_over_k
    >>> rates = rates_over_k([0, 2, 5, 9], y=[1, 1, 0, 0], ks=range(1, 11))
    >>> display = KCurveDisplay.from_rates(rates)
    >>> sorted(display.lines_)
    ['accuracy', 'fnr', 'fpr', 'log_loss', 'tnr', 'tpr']
    """

    def __init__(self, rates: Rates, k: int | None = None) -> None:
        self.rates = rates
        self.k = k

    @classmethod
    def from_rates(
        cls, rates: Rates, *, k: int | None = None, ax: Any = None, **kwargs: Any
    ) -> KCurveDisplay:
        """Draw rates that were computed before.

        Parameters
        ----------
        rates : Rates
            Of at least one k.
        k : int, default=None
            The k in use, which is marked.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot``, for all curves.

        Returns
        -------
        display : KCurveDisplay
            Drawn.
        """
        return cls(rates, k).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, knn: Any, pairs: Any, y: Any, ks: Any = range(1, 56), *, ax: Any = None, **kwargs: Any
    ) -> KCurveDisplay:
        """Draw the rates of a fitted rule on labelled pairs, its own k marked.

        Parameters
        ----------
        knn : PairwiseKNNClassifier
            Fitted.
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like of shape (n_pairs,)
            Their classes.
        ks : iterable of int, default=range(1, 56)
            Values of k.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot``, for all curves.

        Returns
        -------
        display : KCurveDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the estimator has no ``k_curve``.
        """
        check_response(knn, ("k_curve",))
        chosen = getattr(knn, "k", None)
        return cls.from_rates(knn.k_curve(pairs, y, ks), k=chosen, ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> KCurveDisplay:
        """Draw the curves; dots mark the best accuracy and the least log loss, a line the k in use.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``plot``, for all curves.

        Returns
        -------
        self : KCurveDisplay
            With the artists as attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the rates are of no k.
        """
        rates = self.rates
        if len(rates.ks) == 0:
            raise ValueError("rates are of no k, so there is nothing to draw: give some ks.")
        self.ax_ = axes_for(ax, (6.4, 5.2))
        self.figure_ = self.ax_.figure
        self.cost_ax_ = panel_below(self.ax_, 0.5)
        order = rates.ks.argsort(kind="stable")
        ks = rates.ks[order]
        self.lines_ = {}
        for attribute, label in _RATES:
            values = getattr(rates, attribute)[order]
            if attribute == "accuracy":
                best = values.argmax()
                label = f"accuracy, best {values[best]:.3f} at k = {ks[best]}"
            (line,) = self.ax_.plot(ks, values, **{"label": label} | kwargs)
            self.lines_[attribute] = line
            if attribute == "accuracy":
                self.ax_.plot(ks[best], values[best], "o", color=line.get_color())
        cost = rates.log_loss[order]
        least = cost.argmin()
        label = f"least {cost[least]:.3f} at k = {ks[least]}"
        (line,) = self.cost_ax_.plot(ks, cost, **{"label": label, "color": "k"} | kwargs)
        self.cost_ax_.plot(ks[least], cost[least], "o", color=line.get_color())
        self.lines_["log_loss"] = line
        if self.k is not None:
            style = {"color": "gray", "linestyle": "--"}
            self.ax_.axvline(self.k, **style, label=f"k in use: {self.k}")
            self.cost_ax_.axvline(self.k, **style)
        self.ax_.set(
            ylabel="share", ylim=(-0.02, 1.02), title="Judging pairs by their nearest neighbours"
        )
        self.ax_.legend(fontsize="small", ncols=2)
        self.cost_ax_.set(xlabel="k, neighbours looked at", ylabel="log loss")
        self.cost_ax_.legend(fontsize="small")
        return self

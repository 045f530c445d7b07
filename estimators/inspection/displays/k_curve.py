"""Rates of the Pairwise kNN rule as a function of k."""

from __future__ import annotations

from typing import Any, Self

from estimators.inspection.displays.plotting import Display, checked_method, panel_below
from film.pairs import Rates, rates_over_k

_RATES = (
    ("tpr", "duplicates recognised (TPR)"),
    ("tnr", "non-duplicates recognised (TNR)"),
    ("fpr", "non-duplicates called duplicates (FPR)"),
    ("fnr", "duplicates missed (FNR)"),
    ("accuracy", "accuracy"),
)


class KCurveDisplay(Display):
    """Rates and log loss of the Pairwise kNN rule as a function of k (FILM paper, figure 4).

    Dots mark the best accuracy and the lowest log loss, a line marks the current k.

    Parameters
    ----------
    rates : Rates
        From `film.pairs.rates_over_k` or `PairwiseKNNClassifier.k_curve`.
    k : int, default=None
        The current k, marked by a line.

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
    >>> display = KCurveDisplay.from_predictions([1, 1, 0, 0], [0, 2, 5, 9], range(1, 11))
    >>> sorted(display.lines_)
    ['accuracy', 'fnr', 'fpr', 'log_loss', 'tnr', 'tpr']
    """

    def __init__(self, rates: Rates, k: int | None = None) -> None:
        self.rates = rates
        self.k = k

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        ranks: Any,
        ks: Any = range(1, 56),
        *,
        k: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rates of given ranks.

        Parameters
        ----------
        y : array-like of shape (n,)
            1 for duplicates, 0 for other pairs; both must occur.
        ranks : array-like of int, shape (n,)
            From `film.pairs.effective_ranks`.
        ks : iterable of int, default=range(1, 56)
            Values of k.
        k : int, default=None
            The current k, marked by a line.
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
        TypeError, ValueError
            As in `film.pairs.rates_over_k`, or if `ks` is empty.
        """
        return cls(rates_over_k(ranks, y, list(ks)), k).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, knn: Any, pairs: Any, y: Any, ks: Any = range(1, 56), *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the rates of a fitted rule on labelled pairs and mark its k.

        Parameters
        ----------
        knn : PairwiseKNNClassifier
            Fitted.
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like of shape (n_pairs,)
            Their classes.
        ks, ax, **kwargs
            As in `from_predictions`.

        Returns
        -------
        display : KCurveDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the estimator has no ``k_curve``.
        """
        checked_method(knn, ("k_curve",))
        return cls(knn.k_curve(pairs, y, ks), getattr(knn, "k", None)).plot(ax=ax, **kwargs)

    def _draw(self, **kwargs: Any) -> None:
        rates = self.rates
        if len(rates.ks) == 0:
            raise ValueError("rates is empty, so there is nothing to draw: give some ks.")
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
        label = f"lowest {cost[least]:.3f} at k = {ks[least]}"
        (line,) = self.cost_ax_.plot(ks, cost, **{"label": label, "color": "k"} | kwargs)
        self.cost_ax_.plot(ks[least], cost[least], "o", color=line.get_color())
        self.lines_["log_loss"] = line
        if self.k is not None:
            style = {"color": "gray", "linestyle": "--"}
            self.ax_.axvline(self.k, **style, label=f"current k: {self.k}")
            self.cost_ax_.axvline(self.k, **style)
        self.ax_.set(
            ylabel="share", ylim=(-0.02, 1.02), title="Classifying pairs by nearest neighbours"
        )
        self.ax_.legend(fontsize="small", ncols=2)
        self.cost_ax_.set(xlabel="k, number of neighbours", ylabel="log loss")
        self.cost_ax_.legend(fontsize="small")

    def _inches(self) -> tuple[float, float]:
        return 6.4, 5.2

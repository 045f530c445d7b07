"""Bars of the contexts with the largest contributions to a similarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from estimators.inspection.displays.plotting import Display, token_font
from estimators.inspection.printable import printable_text

LABEL_CHARACTERS = 36
"""Longer sentences are truncated with an ellipsis."""


class ContextsDisplay(Display):
    """Contexts with the largest contributions to the similarity of two texts.

    Parameters
    ----------
    contexts : sequence of (str, str, float)
        From `ContextExplanation.top`: sentences before and after the gap, and the contribution.
    title : str, default=""
        Text above the bars.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars, the first context on top.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : matplotlib BarContainer
        The bars, blue above 0 and orange below.

    See Also
    --------
    ContextExplanation : The contexts as data.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import ContextsDisplay
    >>> display = ContextsDisplay([("He took the guitar.", "All clapped.", 0.4)]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['He took the guitar. […] All clapped.']
    """

    def __init__(self, contexts: Sequence[tuple[str, str, float]], *, title: str = "") -> None:
        self.contexts = contexts
        self.title = title

    @classmethod
    def from_explanation(
        cls, explanation: Any, *, n: int = 15, ax: Any = None, **kwargs: Any
    ) -> ContextsDisplay:
        """Draw the contexts of an explanation.

        Parameters
        ----------
        explanation : ContextExplanation
            From `ContextRegressor.explain`.
        n : int, default=15
            Maximal number of contexts drawn.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``barh``.

        Returns
        -------
        display : ContextsDisplay
            Drawn.
        """
        texts = (printable_text(text, 60) for text in (explanation.text1, explanation.text2))
        title = f"similarity {explanation.similarity:.4f}\n" + "\n".join(texts)
        return cls(explanation.top(n), title=title).plot(ax=ax, **kwargs)

    def _draw(self, **kwargs: Any) -> None:
        values = np.array([value for *_, value in self.contexts])
        colours = ["C0" if value > 0 else "C1" for value in values]
        places = np.arange(len(values))
        self.bars_ = self.ax_.barh(places, values, **{"color": colours} | kwargs)
        labels = [
            " […] ".join(printable_text(text, LABEL_CHARACTERS) for text in sides)
            for *sides, _ in self.contexts
        ]
        self.ax_.set_yticks(places, labels, family=token_font(), parse_math=False)
        self.ax_.invert_yaxis()
        self.ax_.axvline(0, color="gray", linewidth=0.8)
        self.ax_.set_xlabel("contribution to the similarity")
        self.ax_.set_title(self.title, parse_math=False, family=token_font())

    def _inches(self) -> tuple[float, float]:
        return 9.0, 0.25 * len(self.contexts) + 1.5

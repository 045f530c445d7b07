"""Heat map of what each pair of tokens contributes to a similarity."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from estimators.inspection.displays.plotting import axes_for, token_font
from estimators.inspection.explanation import Explanation
from estimators.inspection.printable import printable_text

__all__ = ["AlignmentDisplay"]

LABEL_CHARACTERS = 20
"""Longer tokens are cut, with an ellipsis."""
NUMBERED_TOKENS = 12
"""Cells hold their numbers where neither text has more tokens."""
MOST_TOKENS = 60
"""Of longer texts, only so many tokens of each are drawn."""


class AlignmentDisplay:
    """Heat map of token contributions (RCMD paper, figure 2; token matching, figure 2).

    Rows are the tokens of the first text, columns those of the second. Blue adds to the
    similarity, red takes from it. Special tokens are left out; a line below says what they
    contributed. Of a text of more than 60 tokens, those with the largest contributions are drawn,
    and the line says what these hold.

    Parameters
    ----------
    explanation : Explanation
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the heat map.
    figure_ : matplotlib Figure
        Figure that holds it.
    im_ : matplotlib AxesImage, or None
        The heat map; None where a text has no token to show.
    text_ : ndarray of matplotlib Text, shape (t1, t2), or None
        Numbers in the cells, where there is room for them.
    colorbar_ : matplotlib Colorbar, or None
        Its scale.

    See Also
    --------
    Explanation.to_html : The same as text, for long texts and for any script.

    Notes
    -----
    Letters outside the font in use are taken from a further font where one is installed (Noto,
    or those of the system); else matplotlib warns and draws boxes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from estimators.inspection import AlignmentDisplay, explain_words
    >>> tfidf = TfidfVectorizer().fit(["play the guitar", "learn chess"])
    >>> explanation, = explain_words(tfidf, [("play guitar", "learn guitar")])
    >>> display = AlignmentDisplay.from_explanation(explanation)
    >>> display.im_.get_array().shape
    (2, 2)
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, ax: Any = None, **kwargs: Any
    ) -> AlignmentDisplay:
        """Draw an explanation.

        Parameters
        ----------
        explanation : Explanation
            From any estimator here.
        ax : matplotlib Axes, optional
            Where to draw; a new figure, as large as the tokens need, by default.
        **kwargs
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        display : AlignmentDisplay
            Drawn.
        """
        return cls(explanation).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> AlignmentDisplay:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure, as large as the tokens need, by default.
        **kwargs
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        self : AlignmentDisplay
            With the artists as attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        told = self.explanation
        rows, columns, shown = _strongest(told)
        labels1 = [printable_text(told.tokens1[i], LABEL_CHARACTERS) for i in rows]
        labels2 = [printable_text(told.tokens2[j], LABEL_CHARACTERS) for j in columns]
        numbered = 0 < max(shown.shape) <= NUMBERED_TOKENS
        self.ax_ = axes_for(ax, _figure_size(labels1, labels2, numbered))
        self.figure_ = self.ax_.figure
        self.im_: Any = None
        self.text_: Any = None
        self.colorbar_: Any = None
        heading = f"{printable_text(told.title, 80)}\n" if told.title else ""
        self.ax_.set_title(f"{heading}similarity {told.similarity:.4f}", parse_math=False)
        n1, n2 = int((~told.special1).sum()), int((~told.special2).sum())
        lines = []
        if len(rows) < n1 or len(columns) < n2:
            lines.append(
                f"{len(rows):,} of {n1:,} and {len(columns):,} of {n2:,} words, which add "
                f"{shown.sum():+.4f}"
            )
        if told.special1.any() or told.special2.any():
            lines.append(f"special tokens, not shown: {told.special_contribution:+.4f}")
        if lines:
            self.ax_.set_xlabel("\n".join(lines))
        if shown.size == 0:
            self.ax_.set(xticks=[], yticks=[])
            self.ax_.text(0.5, 0.5, "no tokens to show", ha="center", transform=self.ax_.transAxes)
            return self
        largest = float(np.abs(shown).max()) or 1.0
        style = {"cmap": "RdBu", "vmin": -largest, "vmax": largest, "aspect": "equal"} | kwargs
        self.im_ = self.ax_.imshow(shown, **style)
        self.colorbar_ = self.figure_.colorbar(
            self.im_, ax=self.ax_, label="contribution", fraction=0.05, pad=0.02
        )
        if (shown >= 0).all():
            self.colorbar_.ax.set_ylim(0, largest)
        font = {"family": token_font(), "parse_math": False, "fontsize": "small"}
        few = len(columns) <= NUMBERED_TOKENS
        turned = {"rotation": 45 if few else 90, "ha": "right" if few else "center"}
        turned |= {"va": "top"} | ({"rotation_mode": "anchor"} if few else {})
        self.ax_.set_yticks(np.arange(len(rows)), labels1, **font)
        self.ax_.set_xticks(np.arange(len(columns)), labels2, **turned, **font)
        if numbered:
            self.text_ = self._numbers(shown, largest)
        return self

    def _numbers(self, shown: np.ndarray, largest: float) -> np.ndarray:
        texts = np.empty(shown.shape, dtype=object)
        for (i, j), value in np.ndenumerate(shown):
            dark = abs(value) > 0.6 * largest
            # What rounds to 0 would only hide the cells that count.
            number = f"{value:.2f}" if abs(value) >= 0.005 else ""
            texts[i, j] = self.ax_.text(
                j, i, number, ha="center", va="center", fontsize=8, color="w" if dark else "k"
            )
        return texts


def _strongest(told: Explanation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the tokens to draw, and the contributions between them."""
    contributions = told.contributions
    places = []
    for special, axis in ((told.special1, 1), (told.special2, 0)):
        ordinary = np.flatnonzero(~special)
        largest: Any = abs(contributions).max(axis=axis) if all(contributions.shape) else special
        largest = largest.toarray().ravel() if sp.issparse(largest) else largest
        order = np.argsort(-largest[ordinary].astype(float), kind="stable")[:MOST_TOKENS]
        places.append(np.sort(ordinary[order]))
    rows, columns = places
    shown = contributions[rows][:, columns]
    return rows, columns, shown.toarray() if sp.issparse(shown) else shown


def _figure_size(labels1: list[str], labels2: list[str], numbered: bool) -> tuple[float, float]:
    """Inches that give every token a line of its own."""
    cell = 0.5 if numbered else 0.2
    margin1, margin2 = (0.085 * max(map(len, labels), default=0) for labels in (labels1, labels2))
    width = cell * len(labels2) + margin1 + 1.4
    height = cell * len(labels1) + margin2 * (0.75 if numbered else 1) + 0.8
    return max(width, 4.0), max(height, 2.5)

"""Heat map of the contributions of pairs of tokens to a similarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from estimators.inspection.displays.plotting import import_pyplot, token_font
from estimators.inspection.printable import printable_text

LABEL_CHARACTERS = 20
"""Longer tokens are truncated with an ellipsis."""
NUMBERED_TOKENS = 12
"""Cells show their numbers if neither text has more tokens than this."""
MOST_TOKENS = 60
"""Maximal number of tokens drawn per text."""


class AlignmentDisplay:
    """Heat map of contributions (RCMD paper, figure 2; token matching, figure 2).

    Blue adds to the similarity, red reduces it. Of a text of more than 60 tokens, only those with
    the largest contributions are drawn; a line below states their sum.

    Parameters
    ----------
    contributions : array-like or sparse array of float, shape (t1, t2)
        Of each token of the first text, in the rows, with each of the second.
    labels1, labels2 : sequence of str, lengths t1 and t2
        The tokens.
    title : str, default=""
        Text above the map.
    note : str, default=""
        Text below the map.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the heat map.
    figure_ : matplotlib Figure
        Figure that holds it; a new one grows with the number of tokens.
    im_ : matplotlib AxesImage, or None
        The heat map; None where a text has no token to show.
    text_ : ndarray of matplotlib Text, shape (t1, t2), or None
        Numbers in the cells, if the texts are short enough.
    colorbar_ : matplotlib Colorbar, or None
        Colour scale.

    See Also
    --------
    Explanation.to_html : HTML for long texts and for any script.

    Notes
    -----
    Letters missing from the current font come from another installed font (Noto or a system
    font); if none has them, matplotlib warns and draws boxes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from estimators.inspection import AlignmentDisplay
    >>> display = AlignmentDisplay([[0.4, 0], [0.1, 0.3]], ["play", "guitar"], ["a", "guitar"])
    >>> display.plot().im_.get_array().shape
    (2, 2)
    """

    def __init__(
        self,
        contributions: Any,
        labels1: Sequence[str],
        labels2: Sequence[str],
        *,
        title: str = "",
        note: str = "",
    ) -> None:
        self.contributions = contributions
        self.labels1 = labels1
        self.labels2 = labels2
        self.title = title
        self.note = note

    @classmethod
    def from_explanation(cls, explanation: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw an explanation without special tokens; a line states their contribution.

        Parameters
        ----------
        explanation : Explanation
            From any estimator here.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure that grows with the number of tokens.
        **kwargs
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        display : AlignmentDisplay
            Drawn.
        """
        rows, columns = (np.flatnonzero(~s) for s in (explanation.special1, explanation.special2))
        hides = explanation.special1.any() or explanation.special2.any()
        note = f"special tokens, not shown: {explanation.special_contribution:+.4f}"
        heading = f"{printable_text(explanation.title, 80)}\n" if explanation.title else ""
        display = cls(
            explanation.contributions[rows][:, columns],
            [explanation.tokens1[i] for i in rows.tolist()],
            [explanation.tokens2[j] for j in columns.tolist()],
            title=f"{heading}similarity {explanation.similarity:.4f}",
            note=note if hides else "",
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure that grows with the number of tokens.
        **kwargs
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        self : AlignmentDisplay
            The artists are its attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = import_pyplot()
        if ax is None:
            ax = plt.subplots(figsize=self._inches(), layout="constrained")[1]
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        rows, columns, shown = self._strongest()
        labels1, labels2 = self._labels(rows, columns)
        self.im_: Any = None
        self.text_: Any = None
        self.colorbar_: Any = None
        self.ax_.set_title(self.title, parse_math=False)
        lines = [self.note] if self.note else []
        if shown.shape != (n := (len(self.labels1), len(self.labels2))):
            counts = f"{len(rows):,} of {n[0]:,} and {len(columns):,} of {n[1]:,} words"
            lines.insert(0, f"{counts} shown, which add {shown.sum():+.4f}")
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
        if max(shown.shape) <= NUMBERED_TOKENS:
            self.text_ = self._numbers(shown, largest)
        return self

    def _numbers(self, shown: np.ndarray, largest: float) -> np.ndarray:
        texts = np.empty(shown.shape, dtype=object)
        for (i, j), value in np.ndenumerate(shown):
            dark = abs(value) > 0.6 * largest
            # Zeros would hide the cells that matter.
            number = f"{value:.2f}" if abs(value) >= 0.005 else ""
            texts[i, j] = self.ax_.text(
                j, i, number, ha="center", va="center", fontsize=8, color="w" if dark else "k"
            )
        return texts

    def _strongest(self) -> tuple[list[int], list[int], np.ndarray]:
        """Rows and columns of the tokens to draw, and the contributions between them."""
        sparse = sp.issparse(self.contributions)
        matrix: Any = self.contributions if sparse else np.asarray(self.contributions, float)
        places = []
        for axis, n in ((1, len(self.labels1)), (0, len(self.labels2))):
            largest: Any = abs(matrix).max(axis=axis) if all(matrix.shape) else np.zeros(n)
            largest = largest.toarray().ravel() if sp.issparse(largest) else largest
            places.append(sorted(np.argsort(-largest, kind="stable")[:MOST_TOKENS].tolist()))
        rows, columns = places
        shown = matrix[rows][:, columns]
        return rows, columns, shown.toarray() if sparse else shown

    def _labels(self, rows: list[int], columns: list[int]) -> tuple[list[str], list[str]]:
        return (
            [printable_text(self.labels1[i], LABEL_CHARACTERS) for i in rows],
            [printable_text(self.labels2[j], LABEL_CHARACTERS) for j in columns],
        )

    def _inches(self) -> tuple[float, float]:
        """Figure size with one line per token."""
        rows, columns, shown = self._strongest()
        labels1, labels2 = self._labels(rows, columns)
        numbered = 0 < max(shown.shape) <= NUMBERED_TOKENS
        cell = 0.5 if numbered else 0.2
        margin1, margin2 = (0.085 * max(map(len, side), default=0) for side in (labels1, labels2))
        width = cell * len(labels2) + margin1 + 1.4
        height = cell * len(labels1) + margin2 * (0.75 if numbered else 1) + 0.8
        return max(width, 4.0), max(height, 2.5)

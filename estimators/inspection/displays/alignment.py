"""Heat map of the contributions of pairs of tokens to a similarity."""

from __future__ import annotations

from typing import Any

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


def plot_contributions(explanation: Any, ax: Any = None, **kwargs: Any) -> Any:
    """Draw an explanation as a heat map; `Explanation.plot` has the parameters."""
    plt = import_pyplot()
    rows, columns = _strongest(explanation)
    shown: Any = explanation.contributions[rows][:, columns]
    shown = shown.toarray() if sp.issparse(shown) else shown
    labels1 = [printable_text(explanation.tokens1[i], LABEL_CHARACTERS) for i in rows]
    labels2 = [printable_text(explanation.tokens2[j], LABEL_CHARACTERS) for j in columns]
    numbered = 0 < max(shown.shape) <= NUMBERED_TOKENS
    if ax is None:
        size = _inches(labels1, labels2, numbered)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    heading = f"{printable_text(explanation.title, 80)}\n" if explanation.title else ""
    ax.set_title(f"{heading}similarity {explanation.similarity:.4f}", parse_math=False)
    ax.set_xlabel("\n".join(_notes(explanation, shown)))
    if shown.size == 0:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "no tokens to show", ha="center", transform=ax.transAxes)
        return ax
    largest = float(np.abs(shown).max()) or 1.0
    style = {"cmap": "RdBu", "vmin": -largest, "vmax": largest, "aspect": "equal"} | kwargs
    image = ax.imshow(shown, **style)
    bar = ax.figure.colorbar(image, ax=ax, label="contribution", fraction=0.05, pad=0.02)
    if (shown >= 0).all():
        bar.ax.set_ylim(0, largest)
    font = {"family": token_font(), "parse_math": False, "fontsize": "small"}
    few = len(columns) <= NUMBERED_TOKENS
    turned = {"rotation": 45 if few else 90, "ha": "right" if few else "center"}
    turned |= {"va": "top"} | ({"rotation_mode": "anchor"} if few else {})
    ax.set_yticks(np.arange(len(rows)), labels1, **font)
    ax.set_xticks(np.arange(len(columns)), labels2, **turned, **font)
    for (i, j), value in np.ndenumerate(shown) if numbered else ():
        dark = abs(value) > 0.6 * largest
        # Zeros would hide the cells that matter.
        number = f"{value:.2f}" if abs(value) >= 0.005 else ""
        ax.text(j, i, number, ha="center", va="center", fontsize=8, color="w" if dark else "k")
    return ax


def _strongest(explanation: Any) -> tuple[list[int], list[int]]:
    """Return the tokens to draw of each text: the strongest of those that are not special."""
    texts = [np.flatnonzero(~each) for each in (explanation.special1, explanation.special2)]
    matrix = abs(explanation.contributions[texts[0]][:, texts[1]])
    places = []
    for axis, tokens in zip((1, 0), texts, strict=True):
        largest: Any = matrix.max(axis=axis) if all(matrix.shape) else np.zeros(len(tokens))
        largest = largest.toarray().ravel() if sp.issparse(largest) else largest
        first = np.argsort(-largest, kind="stable")[:MOST_TOKENS]
        places.append(tokens[np.sort(first)].tolist())
    return places[0], places[1]


def _notes(explanation: Any, shown: np.ndarray) -> list[str]:
    """Say what the tokens that are not drawn add."""
    lines = []
    n1, n2 = (int((~each).sum()) for each in (explanation.special1, explanation.special2))
    if shown.shape != (n1, n2):
        counts = f"{shown.shape[0]:,} of {n1:,} and {shown.shape[1]:,} of {n2:,} words"
        lines.append(f"{counts} shown, which add {shown.sum():+.4f}")
    if explanation.special1.any() or explanation.special2.any():
        lines.append(f"special tokens, not shown: {explanation.special_contribution:+.4f}")
    return lines


def _inches(labels1: list[str], labels2: list[str], numbered: bool) -> tuple[float, float]:
    """Figure size with one line per token."""
    cell = 0.5 if numbered else 0.2
    margin1, margin2 = (0.085 * max(map(len, side), default=0) for side in (labels1, labels2))
    width = cell * len(labels2) + margin1 + 1.4
    height = cell * len(labels1) + margin2 * (0.75 if numbered else 1) + 0.8
    return max(width, 4.0), max(height, 2.5)

"""Bars of the strongest words of a learned dimension."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from estimators.inspection.displays.plotting import Display, token_font
from estimators.inspection.printable import printable_text
from estimators.metric import words_of_dimension

_EDGE_SPACE = re.compile(r"^ | $|(?<=__) ")


class WordsDisplay(Display):
    """Strongest words of a dimension (row of L) of a learned map (FILM paper, figure 5).

    Parameters
    ----------
    words : list of (str, float)
        From `words_of_dimension`; drawn by decreasing weight.
    dimension : int
        Row of L, named in the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars, the largest weight on top.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : matplotlib BarContainer
        The bars, blue above 0 and orange below.

    See Also
    --------
    words_of_dimension : The words as a list.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from estimators.inspection import WordsDisplay
    >>> texts = ["play the guitar", "play guitar", "chess"]
    >>> lsa = make_pipeline(CountVectorizer(), TruncatedSVD(2, random_state=0)).fit(texts)
    >>> display = WordsDisplay.from_estimator(lsa, 0, n=2)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['guitar', 'play']
    """

    def __init__(self, words: list[tuple[str, float]], dimension: int) -> None:
        self.words = words
        self.dimension = dimension

    @classmethod
    def from_estimator(
        cls, embedder: Any, dimension: int, *, n: int = 15, ax: Any = None, **kwargs: Any
    ) -> WordsDisplay:
        """Draw the words of a dimension of a fitted pipeline.

        Parameters
        ----------
        embedder : Pipeline
            Fitted; see `words_of_dimension`.
        dimension : int
            Row of L, from 0.
        n : int, default=15
            Maximal number of words drawn.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to matplotlib's ``barh``.

        Returns
        -------
        display : WordsDisplay
            Drawn.

        Raises
        ------
        TypeError, ValueError
            As in `words_of_dimension`.
        """
        words = words_of_dimension(embedder, dimension, n)
        return cls(words, dimension).plot(ax=ax, **kwargs)

    def _draw(self, **kwargs: Any) -> None:
        words = sorted(self.words, key=lambda word: -word[1])
        weights = np.array([weight for _, weight in words])
        colours = ["C0" if weight > 0 else "C1" for weight in weights]
        places = np.arange(len(weights))
        self.bars_ = self.ax_.barh(places, weights, **{"color": colours} | kwargs)
        # Spaces at the edge of a character n-gram would be invisible.
        labels = [_EDGE_SPACE.sub("␣", printable_text(word, 30)) for word, _ in words]
        self.ax_.set_yticks(places, labels, family=token_font(), parse_math=False)
        self.ax_.invert_yaxis()
        self.ax_.axvline(0, color="gray", linewidth=0.8)
        self.ax_.set(
            xlabel="weight of the word in this dimension",
            title=f"Strongest words of dimension {self.dimension}",
        )

    def _inches(self) -> tuple[float, float]:
        return 5.0, 0.22 * len(self.words) + 1.0

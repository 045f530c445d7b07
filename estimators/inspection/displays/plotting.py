"""Axes, panels and fonts, shared by the displays."""

from __future__ import annotations

from typing import Any, Self

_PANEL = "film panel"

_WIDE_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Nirmala UI",
    "Arial Unicode MS",
    "Noto Sans Devanagari",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Thai",
    "Noto Sans Symbols2",
)


def import_pyplot() -> Any:
    """Import ``matplotlib.pyplot``, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'plots need matplotlib, which is not installed: pip install "film-metric[plot]"'
        ) from error
    return plt


class Display:
    """Base class of the displays: subclasses store their data and define `_draw` and `_inches`."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            Passed to the matplotlib function: ``plot`` for curves, ``hist`` for histograms,
            ``barh`` for bars and ``imshow`` for heat maps.

        Returns
        -------
        self : display
            The artists are its attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = import_pyplot()
        if ax is None:
            ax = plt.subplots(figsize=self._inches(), layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(**kwargs)
        return self

    def _draw(self, **kwargs: Any) -> None:
        raise NotImplementedError

    def _inches(self) -> tuple[float, float]:
        """Width and height of a new figure."""
        return 6.4, 4.2


def panel_below(ax: Any, height: float) -> Any:
    """Add axes below `ax` that share its x axis; their height is relative to `ax`.

    A second call for the same `ax` returns the same axes.
    """
    figure = ax.figure
    for other in figure.axes:
        if other.get_label() == _PANEL and ax.get_shared_x_axes().joined(ax, other):
            return other
    place = ax.get_subplotspec()
    if place is not None:
        upper, lower = place.subgridspec(2, 1, height_ratios=(1, height))
        ax.set_subplotspec(upper)
        panel = figure.add_subplot(lower, sharex=ax, label=_PANEL)
    else:
        left, bottom, width, whole = ax.get_position().bounds
        unit = whole / (1.1 + height)
        ax.set_position((left, bottom + whole - unit, width, unit))
        panel = figure.add_axes((left, bottom, width, unit * height), sharex=ax, label=_PANEL)
    ax.tick_params(labelbottom=False)
    return panel


def token_font() -> list[str]:
    """Return the user's font, then the installed fonts that cover further scripts.

    matplotlib looks up a missing letter in the next font, and warns if no font has it.
    """
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return [*mpl.rcParams["font.family"], *(name for name in _WIDE_FONTS if name in installed)]

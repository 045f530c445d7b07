"""What the displays share: matplotlib when it is needed, panels, fonts, labels of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import check_pair_labels, check_pairs

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
    """Import ``matplotlib.pyplot``, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'plots need matplotlib, which is not installed: pip install "film-metric[plot]"'
        ) from error
    return plt


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """Give the axes that came, or those of a new figure of that size in inches."""
    plt = import_pyplot()
    if ax is not None:
        return ax
    return plt.subplots(figsize=size, layout="constrained")[1]


def panel_below(ax: Any, height: float) -> Any:
    """Make axes below that share the x axis and take room from ``ax``.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes above, which become smaller.
    height : float
        Of the axes below, relative to those above.

    Returns
    -------
    panel : matplotlib Axes
        The same ones when another curve is drawn into ``ax``.
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
    """List the user's font, then those installed that hold further scripts.

    matplotlib looks a missing letter up in the next one. Where none has it, it warns.
    """
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return [*mpl.rcParams["font.family"], *(name for name in _WIDE_FONTS if name in installed)]


def check_response(estimator: Any, methods: tuple[str, ...]) -> str:
    """Find the first of the methods that a fitted estimator has."""
    check_is_fitted(estimator)
    for method in methods:
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"estimator {type(estimator).__name__} has none of {', '.join(methods)}: give one that "
        "does, or use from_predictions."
    )


def judged(estimator: Any, pairs: Any, y: Any, methods: tuple[str, ...]) -> tuple[Any, Any]:
    """Tell whether each pair is a duplicate, and what the estimator says of it."""
    method = check_response(estimator, methods)
    checked = check_pairs(pairs)
    labels = check_pair_labels(y, len(checked), allow_one_class=True)
    classes = getattr(estimator, "classes_", np.array([0, 1]))
    unknown = labels[~np.isin(labels, classes)].tolist()
    if len(unknown):
        raise ValueError(
            f"y holds {unknown[0]!r}, but the estimator knows the classes {classes.tolist()}: "
            "give labels as in fitting."
        )
    said = np.asarray(getattr(estimator, method)(checked))
    return labels == classes[1], said[:, 1] if method == "predict_proba" else said

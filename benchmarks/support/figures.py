"""The FILM paper's five figures, drawn from a fitted run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

SIZE = (6.0, 3.6)


def draw_all(out: Path, embedder: Any, probabilities: np.ndarray, curve: Any) -> None:
    """Write figure_1_loss.png to figure_5_words.png into a folder."""
    with mpl.rc_context({"axes.grid": True, "grid.alpha": 0.3, "font.size": 9}):
        film = embedder[-1]
        _save(_line(film.loss_curve_, "round", "objective"), out / "figure_1_loss.png")
        norms = film.gradient_norm_curve_
        _save(_line(norms, "round", "‖F(P)‖ at its start", log=True), out / "figure_2_gradient.png")
        _save(_histogram(probabilities), out / "figure_3_probabilities.png")
        _save(_rates(curve), out / "figure_4_k.png")
        names = embedder[:-1].get_feature_names_out()
        _save(_words(film.components_[0], names), out / "figure_5_words.png")


def _line(values: np.ndarray, x: str, y: str, *, log: bool = False) -> Figure:
    figure = Figure(SIZE, layout="constrained")
    axes = figure.subplots()
    axes.plot(np.arange(1, len(values) + 1), values, marker="o", markersize=3)
    axes.set(xlabel=x, ylabel=y, yscale="log" if log else "linear")
    return figure


def _histogram(probabilities: np.ndarray) -> Figure:
    figure = Figure(SIZE, layout="constrained")
    axes = figure.subplots()
    axes.hist(probabilities, bins=np.linspace(0, 1, 41))
    axes.set(xlabel="submitted probability of a duplicate", ylabel="test pairs")
    return figure


def _rates(curve: Any) -> Figure:
    figure = Figure((6.0, 5.6), layout="constrained")
    top, bottom = figure.subplots(2, sharex=True)
    for name, label in (("tpr", "TPR"), ("tnr", "TNR"), ("fpr", "FPR"), ("fnr", "FNR")):
        top.plot(curve.ks, getattr(curve, name), label=label)
    top.set(ylabel="rate on dev", ylim=(0, 1))
    top.legend(ncols=4)
    bottom.plot(curve.ks, curve.log_loss)
    bottom.set(xlabel="k", ylabel="cross-entropy on dev")
    return figure


def _words(row: np.ndarray, names: np.ndarray, count: int = 12) -> Figure:
    """First row of L over all features, its strongest words named at the side."""
    figure = Figure((8.0, 4.2), layout="constrained")
    whole, strongest = figure.subplots(1, 2, width_ratios=(1.3, 1))
    whole.plot(row, linewidth=0.4)
    whole.set(xlabel="feature", ylabel="weight in the first row of L")
    words = np.array([str(name).startswith("words__") for name in names])
    candidates = np.flatnonzero(words) if words.any() else np.arange(len(row))
    order = candidates[np.argsort(-np.abs(row[candidates]))[:count]][::-1]
    labels = [str(names[i]).removeprefix("words__").replace("$", r"\$") for i in order]
    colours = ["C0" if row[i] > 0 else "C3" for i in order]
    strongest.barh(np.arange(len(order)), row[order], color=colours)
    strongest.set_yticks(np.arange(len(order)), labels)
    strongest.set(xlabel="weight")
    return figure


def _save(figure: Figure, path: Path) -> None:
    beside = path.with_name(path.name + ".part")
    try:
        figure.savefig(beside, dpi=130, format="png")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)

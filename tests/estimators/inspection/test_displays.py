import sys
import warnings
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import csr_array

from estimators.inspection import (
    AlignmentDisplay,
    Explanation,
    plot_reliability,
    plot_thresholds,
)
from film.pairs import (
    calibration_error,
    calibration_interval,
    reliability_curve,
    threshold_curve,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def told(t1=3, t2=4, **changes: Any):
    rng = np.random.default_rng(0)
    contributions = rng.normal(size=(t1, t2)) / 10
    given: dict[str, Any] = {"text1": "x" * t1, "text2": "y" * t2}
    given |= {"tokens1": [f"row{i}" for i in range(t1)], "tokens2": [f"c{j}" for j in range(t2)]}
    given |= {"offsets1": [(i, i + 1) for i in range(t1)]}
    given |= {"offsets2": [(j, j + 1) for j in range(t2)]}
    given |= {"contributions": contributions}
    given |= changes
    given.setdefault("similarity", float(np.sum(given["contributions"])))
    return Explanation(**given)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def overlapping(texts, figure):
    """Whether any two neighbouring labels are drawn over each other."""
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in texts]
    return any(a.overlaps(b) for a, b in pairwise(boxes))


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "film-metric\[plot\]"'):
        told().plot()


def test_alignment_shows_the_contributions():
    explanation = told(title="a title")
    display = explanation.plot()
    assert isinstance(display, AlignmentDisplay) and display.figure_ is display.ax_.figure
    np.testing.assert_array_equal(display.im_.get_array(), explanation.contributions)
    assert labels(display.ax_.yaxis) == explanation.tokens1
    assert labels(display.ax_.xaxis) == explanation.tokens2
    low, high = display.im_.get_clim()
    assert high == -low == np.abs(explanation.contributions).max()
    assert display.ax_.get_title() == f"a title\nsimilarity {explanation.similarity:.4f}"
    assert display.ax_.get_xlabel() == ""
    assert display.colorbar_.ax.get_ylim() == (low, high)
    # Blue adds: the colour map's upper end.
    assert display.im_.cmap(1.0)[2] > display.im_.cmap(1.0)[0]
    for (i, j), value in np.ndenumerate(explanation.contributions):
        number = f"{value:.2f}" if abs(value) >= 0.005 else ""
        assert display.text_[i, j].get_text() == number
        assert display.text_[i, j].get_position() == (j, i)


def test_alignment_takes_a_matrix_and_labels():
    matrix = np.array([[0.5, -0.25, 0.0]])
    for contributions in (matrix.tolist(), csr_array(matrix)):
        display = AlignmentDisplay(contributions, ["a"], list("bcd"), title="$t$", note="n").plot()
        np.testing.assert_array_equal(display.im_.get_array(), matrix)
        assert (labels(display.ax_.yaxis), labels(display.ax_.xaxis)) == (["a"], list("bcd"))
        assert (display.ax_.get_title(), display.ax_.get_xlabel()) == ("$t$", "n")


def test_alignment_leaves_special_tokens_out_and_says_what_they_add():
    special: dict[str, Any] = {
        "special1": [False, True, False],
        "special2": [True, False, False, False],
    }
    explanation = told(**special)
    display = explanation.plot()
    np.testing.assert_array_equal(
        display.im_.get_array(), explanation.contributions[np.ix_([0, 2], [1, 2, 3])]
    )
    assert labels(display.ax_.yaxis) == ["row0", "row2"]
    assert labels(display.ax_.xaxis) == ["c1", "c2", "c3"]
    added = explanation.special_contribution
    assert display.ax_.get_xlabel() == f"special tokens, not shown: {added:+.4f}"
    nothing = told(special1=[True] * 3).plot()
    assert nothing.im_ is nothing.text_ is nothing.colorbar_ is None
    assert [text.get_text() for text in nothing.ax_.texts] == ["no tokens to show"]


def test_alignment_of_long_texts_stays_readable():
    tokens = ["incomprehensibilities" * 2, *(f"word{i}" for i in range(59))]
    display = told(60, 60, tokens1=tokens, tokens2=tokens).plot()
    assert display.text_ is None
    assert labels(display.ax_.yaxis)[0] == "incomprehensibiliti…"
    for axis in (display.ax_.xaxis, display.ax_.yaxis):
        assert not overlapping(axis.get_ticklabels(), display.figure_)
    whole = display.figure_.bbox
    for label in (*display.ax_.get_xticklabels(), *display.ax_.get_yticklabels()):
        box = label.get_window_extent()
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1
    few = told(12, 12, tokens1=tokens[:12], tokens2=tokens[:12]).plot()
    assert not overlapping(few.ax_.get_yticklabels(), few.figure_)
    assert not overlapping(few.text_[3], few.figure_)


@pytest.mark.parametrize("token", ["$x$", "$\\alpha", "a\nb", "كيف", "C_{3}^"])
def test_alignment_draws_tokens_as_written(token):
    display = told(tokens1=[token, "b", "c"], title=token).plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.canvas.draw()
    assert labels(display.ax_.yaxis)[0] == token.replace("\n", " ")
    ax = display.ax_
    assert not any(t.get_parse_math() for t in (ax.title, ax.get_yticklabels()[0]))


def test_plots_are_drawn_where_they_are_told():
    y, p = [0, 1, 0, 1], [0.1, 0.9, 0.4, 0.5]
    figure, axes = plt.subplots(1, 3)
    found = [
        AlignmentDisplay.from_explanation(told(), ax=axes[0]).ax_,
        plot_reliability(y, p, ax=axes[1]),
        plot_thresholds(threshold_curve(y, p), ax=axes[2]),
    ]
    assert found == list(axes)
    assert plt.get_fignums() == [figure.number]


def test_reliability_shows_curve_error_and_histogram():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    y = rng.uniform(size=300) < p
    ax = plot_reliability(y, p)
    curve = reliability_curve(y, p)
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), curve.mean_probability)
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), curve.observed_rate)
    error = calibration_error(y, p)
    low, high = calibration_interval(y, p, random_state=0)
    (shown,) = ax.get_legend().get_texts()
    assert shown.get_text() == f"calibration error {error:.3f} (95 %: {low:.3f} to {high:.3f})"
    _, below = ax.figure.axes
    (histogram,) = below.patches
    assert histogram.get_xy()[:, 1].max() == np.histogram(p, np.linspace(0, 1, 41))[0].max()
    (named,) = plot_reliability(y, p, label="mine").get_legend().get_texts()
    assert named.get_text() == "mine"

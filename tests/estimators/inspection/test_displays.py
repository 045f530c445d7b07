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
    ax = explanation.plot()
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), explanation.contributions)
    assert labels(ax.yaxis) == explanation.tokens1
    assert labels(ax.xaxis) == explanation.tokens2
    low, high = image.get_clim()
    assert high == -low == np.abs(explanation.contributions).max()
    assert ax.get_title() == f"a title\nsimilarity {explanation.similarity:.4f}"
    assert ax.get_xlabel() == ""
    assert image.colorbar.ax.get_ylim() == (low, high)
    # Blue adds: the colour map's upper end.
    assert image.cmap(1.0)[2] > image.cmap(1.0)[0]
    numbers = {text.get_position(): text.get_text() for text in ax.texts}
    for (i, j), value in np.ndenumerate(explanation.contributions):
        assert numbers[j, i] == (f"{value:.2f}" if abs(value) >= 0.005 else "")


def test_alignment_takes_sparse_contributions():
    explanation = told()
    sparse = told(contributions=csr_array(explanation.contributions))
    np.testing.assert_array_equal(sparse.plot().images[0].get_array(), explanation.contributions)


def test_alignment_leaves_special_tokens_out_and_says_what_they_add():
    special: dict[str, Any] = {
        "special1": [False, True, False],
        "special2": [True, False, False, False],
    }
    explanation = told(**special)
    ax = explanation.plot()
    np.testing.assert_array_equal(
        ax.images[0].get_array(), explanation.contributions[np.ix_([0, 2], [1, 2, 3])]
    )
    assert labels(ax.yaxis) == ["row0", "row2"]
    assert labels(ax.xaxis) == ["c1", "c2", "c3"]
    added = explanation.special_contribution
    assert ax.get_xlabel() == f"special tokens, not shown: {added:+.4f}"
    nothing = told(special1=[True] * 3).plot()
    assert not nothing.images
    assert [text.get_text() for text in nothing.texts] == ["no tokens to show"]


def test_alignment_of_long_texts_stays_readable():
    tokens = ["incomprehensibilities" * 2, *(f"word{i}" for i in range(59))]
    ax = told(60, 60, tokens1=tokens, tokens2=tokens).plot()
    assert not ax.texts
    assert labels(ax.yaxis)[0] == "incomprehensibiliti…"
    for axis in (ax.xaxis, ax.yaxis):
        assert not overlapping(axis.get_ticklabels(), ax.figure)
    whole = ax.figure.bbox
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        box = label.get_window_extent()
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1
    few = told(12, 12, tokens1=tokens[:12], tokens2=tokens[:12]).plot()
    assert not overlapping(few.get_yticklabels(), few.figure)
    assert not overlapping(few.texts[36:48], few.figure)


@pytest.mark.parametrize("token", ["$x$", "$\\alpha", "a\nb", "كيف", "C_{3}^"])
def test_alignment_draws_tokens_as_written(token):
    ax = told(tokens1=[token, "b", "c"], title=token).plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.figure.canvas.draw()
    assert labels(ax.yaxis)[0] == token.replace("\n", " ")
    assert not any(t.get_parse_math() for t in (ax.title, ax.get_yticklabels()[0]))


def test_plots_are_drawn_where_they_are_told():
    y, p = [0, 1, 0, 1], [0.1, 0.9, 0.4, 0.5]
    figure, axes = plt.subplots(1, 3)
    found = [
        told().plot(ax=axes[0]),
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

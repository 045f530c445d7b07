import re
import sys
import warnings
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from estimators import FILM, PairwiseKNNClassifier
from estimators.inspection import (
    AlignmentDisplay,
    Explanation,
    KCurveDisplay,
    ReliabilityDisplay,
    ScoreHistogramDisplay,
)
from film.datasets import make_question_pairs
from film.pairs.calibration import calibration_error, calibration_interval, reliability_curve
from film.pairs.ranks import rates_over_k

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


def test_displays_draw_where_they_are_told():
    rates = rates_over_k([0, 2, 5, 9], [1, 1, 0, 0], [1, 3])
    y, p = [0, 1, 0, 1], [0.1, 0.9, 0.4, 0.5]
    figure, axes = plt.subplots(1, 4)
    displays = [
        AlignmentDisplay.from_explanation(told(), ax=axes[0]),
        KCurveDisplay(rates).plot(ax=axes[1]),
        ReliabilityDisplay.from_predictions(y, p, ax=axes[2]),
        ScoreHistogramDisplay.from_predictions(y, p, ax=axes[3]),
    ]
    assert [display.ax_ for display in displays] == list(axes)
    assert {display.figure_ for display in displays} == {figure}
    assert plt.get_fignums() == [figure.number]


def test_k_curve_shows_the_rates():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    rates = rates_over_k((rng.exponential(9, 300) * (2 - y)).astype(int), y, [30, 1, 5, 12])
    display = KCurveDisplay(rates).plot(linewidth=3)
    order = np.argsort(rates.ks)
    for name in ("tpr", "tnr", "fpr", "fnr", "accuracy", "log_loss"):
        line = display.lines_[name]
        assert line.axes is (display.cost_ax_ if name == "log_loss" else display.ax_)
        np.testing.assert_array_equal(line.get_xdata(), rates.ks[order])
        np.testing.assert_array_equal(line.get_ydata(), getattr(rates, name)[order])
        assert line.get_linewidth() == 3
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    best = rates.accuracy.argmax()
    accuracy = f"accuracy, best {rates.accuracy[best]:.3f} at k = {rates.ks[best]}"
    assert [re.search(r"\((.*)\)", text).group(1) for text in shown[:4]] == [
        "TPR",
        "TNR",
        "FPR",
        "FNR",
    ]
    assert shown[4:] == [accuracy]
    least = rates.log_loss.argmin()
    (cost,) = display.cost_ax_.get_legend().get_texts()
    assert cost.get_text() == f"lowest {rates.log_loss[least]:.3f} at k = {rates.ks[least]}"
    dots = [
        line.get_xydata().tolist()
        for axes in (display.ax_, display.cost_ax_)
        for line in axes.lines
        if line.get_marker() == "o"
    ]
    assert dots == [
        [[rates.ks[best], rates.accuracy[best]]],
        [[rates.ks[least], rates.log_loss[least]]],
    ]
    given = KCurveDisplay.from_predictions([1, 1, 0, 0], [0, 2, 5, 9], range(1, 9), k=3)
    np.testing.assert_array_equal(
        given.rates.tpr, rates_over_k([0, 2, 5, 9], [1, 1, 0, 0], range(1, 9)).tpr
    )
    assert given.k == 3 and len(KCurveDisplay.from_predictions([1, 0], [0, 1]).rates.ks) == 55
    with pytest.raises(ValueError, match="rates is empty"):
        KCurveDisplay.from_predictions([1, 0], [0, 1], [])


def test_reliability_shows_curve_error_and_histogram():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    y = rng.uniform(size=300) < p
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=8, random_state=3, label="mine")
    curve = reliability_curve(y, p, 8)
    np.testing.assert_array_equal(display.line_.get_xdata(), curve.mean_probability)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.observed_rate)
    error = calibration_error(y, p, 8)
    low, high = calibration_interval(y, p, 8, random_state=3)
    assert (display.error, display.interval) == (error, (low, high))
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    mine = f"mine: calibration error {error:.3f} (95 %: {low:.3f} to {high:.3f})"
    assert shown == ["perfectly calibrated", mine]
    (histogram,) = display.patches_
    assert histogram.get_xy()[:, 1].max() == np.histogram(p, np.linspace(0, 1, 41))[0].max()
    second = ReliabilityDisplay.from_predictions(y, p, ax=display.ax_)
    assert second.histogram_ax_ is display.histogram_ax_
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown[:2] == ["perfectly calibrated", mine] and shown[2].startswith("calibration error ")
    assert len(shown) == 3


def test_histograms_are_shares_of_each_class():
    y, scores = [0, 0, 0, 0, 1, 1], [-1.0, -1.0, 0.0, 3.0, 3.0, 3.0]
    display = ScoreHistogramDisplay.from_predictions(y, scores, bins=4, score_name="cosine")
    heights = {
        duplicate: [patch.get_height() for patch in patches]
        for duplicate, patches in display.patches_.items()
    }
    assert heights == {False: [0.5, 0.25, 0, 0.25], True: [0, 0, 0, 1]}
    assert display.ax_.get_xlabel() == "cosine"
    shared = ScoreHistogramDisplay.from_predictions(y, scores)
    edges = [[patch.get_x() for patch in patches] for patches in shared.patches_.values()]
    assert edges[0] == edges[1] and len(edges[0]) == 40
    assert edges[0][0] == -1 and shared.patches_[False][0].get_height() == 0.5
    assert shared.patches_[True][-1].get_height() == 1
    shown = [text.get_text() for text in shared.ax_.get_legend().get_texts()]
    assert shown == ["other pairs (4)", "duplicates (2)"]
    assert list(ScoreHistogramDisplay.from_predictions([1, 1], [0.1, 0.2]).patches_) == [True]


class Said(BaseEstimator):
    """Fitted estimator that says what it was given."""

    def __init__(self, scores=None):
        self.scores = scores

    def fit(self, X, y=None):
        self.fitted_ = True
        return self


class SaidSimilarity(Said):
    def similarity(self, pairs):
        return np.asarray(self.scores)[: len(pairs)]


class SaidProbability(SaidSimilarity):
    classes_ = np.array(["no", "yes"])

    def predict_proba(self, pairs):
        p = self.similarity(pairs)
        return np.column_stack([1 - p, p])


PAIRS = [("a", "b"), ("c", "d"), ("e", "f")]


@pytest.mark.parametrize("draw", [ReliabilityDisplay, ScoreHistogramDisplay])
def test_probabilities_are_those_of_the_second_class(draw):
    p = [0.1, 0.8, 0.7]
    display = draw.from_estimator(SaidProbability(p).fit(None), PAIRS, ["no", "yes", "no"])
    if draw is ReliabilityDisplay:
        np.testing.assert_array_equal(display.probabilities, p)
        np.testing.assert_array_equal(display.curve.observed_rate, [0, 0, 1])
        label = display.ax_.get_legend().get_texts()[1].get_text()
        assert label.startswith("SaidProbability: calibration error ")
    else:
        np.testing.assert_array_equal(display.scores, p)
        np.testing.assert_array_equal(display.outcome, [False, True, False])
        assert display.ax_.get_xlabel() == "probability of a duplicate"


def test_similarities_are_drawn_where_there_is_no_probability():
    said = SaidSimilarity([-2.0, 3.0, 0.5]).fit(None)
    display = ScoreHistogramDisplay.from_estimator(said, PAIRS, [0, 1, 0])
    np.testing.assert_array_equal(display.scores, [-2, 3, 0.5])
    np.testing.assert_array_equal(display.outcome, [False, True, False])
    assert display.ax_.get_xlabel() == "similarity"


def test_a_fitted_rule_is_drawn():
    data = make_question_pairs(150, random_state=0)
    embedder = make_pipeline(CountVectorizer(), FILM(d=12, rank=20, random_state=0))
    knn = PairwiseKNNClassifier(embedder, k=3, cv=2).fit(data.pairs, data.y)
    display = KCurveDisplay.from_estimator(knn, data.pairs, data.y, range(1, 8))
    rates = knn.k_curve(data.pairs, data.y, range(1, 8))
    np.testing.assert_array_equal(display.lines_["fnr"].get_ydata(), rates.fnr)
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "current k: 3" in shown and display.ax_.get_title()
    for axes in (display.ax_, display.cost_ax_):
        assert [3, 3] in [list(line.get_xdata()) for line in axes.lines]
    assert len(KCurveDisplay.from_estimator(knn, data.pairs, data.y).rates.ks) == 55
    reliability = ReliabilityDisplay.from_estimator(knn, data.pairs, data.y)
    assert len(reliability.curve.counts) == 2 and reliability.ax_.get_title()


def test_unfit_arguments_are_named():
    fitted = SaidProbability([0.1, 0.8, 0.7]).fit(None)
    similar = SaidSimilarity([0.1, 0.8, 0.7]).fit(None)
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(SaidProbability([0.1, 0.8, 0.7]), PAIRS, ["no"] * 3)
    with pytest.raises(TypeError, match="SaidSimilarity has none of predict_proba"):
        ReliabilityDisplay.from_estimator(similar, PAIRS, [0, 1, 0])
    with pytest.raises(TypeError, match="Said has none of predict_proba, similarity"):
        ScoreHistogramDisplay.from_estimator(Said().fit(None), PAIRS, [0, 1, 0])
    with pytest.raises(TypeError, match="SaidSimilarity has none of k_curve"):
        KCurveDisplay.from_estimator(similar, PAIRS, [0, 1, 0])
    with pytest.raises(ValueError, match="y holds 'maybe', but the estimator knows"):
        ReliabilityDisplay.from_estimator(fitted, PAIRS, ["no", "maybe", "no"])
    with pytest.raises(ValueError, match="y has 2 labels for 3 pairs"):
        ScoreHistogramDisplay.from_estimator(fitted, PAIRS, ["no", "yes"])
    with pytest.raises(ValueError, match=r"scores must have shape \(2,\)"):
        ScoreHistogramDisplay.from_predictions([0, 1], [0.1])
    with pytest.raises(ValueError, match=r"scores\[1\] is nan"):
        ScoreHistogramDisplay.from_predictions([0, 1], [0.1, np.nan])
    with pytest.raises(ValueError, match=r"y\[1\] is"):
        ScoreHistogramDisplay.from_predictions([0, 2], [0.1, 0.2])

"""The units of y: which rows show them, and the line that is fitted to these."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from estimators.training import targets, units_of
from estimators.training.targets import LINE_ROWS, rows_of_line


@pytest.mark.parametrize("n", [1, 2, LINE_ROWS])
def test_all_rows_show_the_line_where_there_are_few(n):
    np.testing.assert_array_equal(rows_of_line(np.arange(n) % 2), np.arange(n))


@pytest.mark.parametrize("rare", [1, 40, 12_345])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_of_many_rows_labels_keep_their_shares(rare, label):
    n = 3 * LINE_ROWS + 7
    y = np.full(n, 1 - label)
    y[np.random.default_rng(rare).choice(n, rare, replace=False)] = label
    chosen = rows_of_line(y)
    assert len(np.unique(chosen)) == len(chosen) == LINE_ROWS and (np.diff(chosen) > 0).all()
    shown = np.sum(y[chosen] == label)
    assert shown >= 1 and abs(shown - rare / n * LINE_ROWS) <= 1


def test_of_many_rows_scores_keep_their_quantiles_and_extremes():
    y = np.random.default_rng(0).normal(size=5 * LINE_ROWS) ** 3
    shown = np.sort(y[rows_of_line(y)])
    assert shown[0] == y.min() and shown[-1] == y.max()
    # The k-th of those shown has rank k (n - 1) / (LINE_ROWS - 1) among all, to rounding.
    places = np.searchsorted(np.sort(y), shown)
    even = np.arange(LINE_ROWS) * (len(y) - 1) / (LINE_ROWS - 1)
    assert np.abs(places - even).max() <= 0.5


def test_rows_in_turns_do_not_hide_a_label():
    y = np.tile([0.0, 1.0, 1.0, 1.0], LINE_ROWS)
    assert y[rows_of_line(y)].mean() == pytest.approx(0.75, abs=1e-3)


@pytest.fixture
def few_rows(monkeypatch):
    """Let five rows be many."""
    monkeypatch.setattr(targets, "LINE_ROWS", 5)
    rng = np.random.default_rng(3)
    rows = np.array([[f"text {n}", f"other {n}"] for n in range(40)], dtype=object)
    similarity = dict(zip(rows[:, 0], rng.normal(size=40), strict=True))
    return rows, lambda shown: np.array([similarity[text] for text in shown[:, 0]])


def test_the_line_is_fitted_to_the_rows_that_are_shown(few_rows):
    rows, scores = few_rows
    y = np.random.default_rng(4).normal(size=40)
    shown, fit_line = units_of("regression", (rows, y), None)
    chosen = rows_of_line(y)
    assert shown is not None and len(shown) == 5
    np.testing.assert_array_equal(shown, rows[chosen])
    assert fit_line(scores(shown)) == pytest.approx(tuple(np.polyfit(scores(shown), y[chosen], 1)))


def test_labels_have_a_logistic_curve_of_the_rows_that_are_shown(few_rows):
    rows, scores = few_rows
    y = (np.arange(40) % 3 == 0).astype(float)
    shown, fit_line = units_of("binary", (rows, y), None)
    x = scores(shown)
    curve = LogisticRegression(C=100.0).fit(x[:, np.newaxis] / x.std(), y[rows_of_line(y)])
    slope, intercept = fit_line(x)
    assert slope == pytest.approx(curve.coef_[0, 0] / x.std())
    assert intercept == pytest.approx(curve.intercept_[0])


def test_the_rows_of_eval_set_go_before(few_rows):
    rows, scores = few_rows
    y = np.linspace(-1, 1, 40)
    shown, fit_line = units_of("l2", (rows, y), (rows[:4], y[:4]))
    np.testing.assert_array_equal(shown, rows[:4])
    assert fit_line(scores(shown)) == pytest.approx(tuple(np.polyfit(scores(shown), y[:4], 1)))
    shown, _ = units_of("l2", (rows, y), (rows[:4], None))
    assert shown is not None and len(shown) == 5


@pytest.mark.parametrize(("objective", "y"), [("nli", np.ones(3)), ("contrastive", None)])
def test_no_rows_are_shown_where_y_has_no_units(objective, y):
    rows = np.array([["a", "b"]] * 3, dtype=object)
    assert units_of(objective, (rows, y), None)[0] is None

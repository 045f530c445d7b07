"""What `threshold_curve` refuses, and its figures at one and at no threshold."""

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from film.pairs.thresholds import (
    threshold_curve,
    threshold_for_precision,
    threshold_of_best_f1,
)

Y, SCORES = [0, 1, 0, 1], [0.1, 0.6, 0.4, 0.9]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": ["a", "b", "c", "d"]}, "scores must hold numbers, got dtype <U1"),
        ({"scores": [0.1, 0.2]}, r"scores must have shape \(4,\), as y has, got shape \(2,\)"),
        ({"scores": [0.1, np.nan, 0.4, 0.9]}, r"scores\[1\] is nan"),
        ({"thresholds": [[0.5]]}, r"thresholds must have shape \(n,\), got shape \(1, 1\)"),
        ({"thresholds": [0.5, np.inf]}, r"thresholds\[1\] is inf"),
        ({"weights": [1.0, 1.0, 0.0, 1.0]}, "weights must be positive, but row 2 is not"),
        ({"groups": [0, 1]}, "groups"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"y": [1, 1, 1, 1]}, "class"),
    ],
)
def test_bad_input_is_named(changed, message):
    settings = {"y": Y, "scores": SCORES, **changed}
    with pytest.raises(ValueError, match=message):
        threshold_curve(settings.pop("y"), settings.pop("scores"), **settings)


def test_a_wanted_precision_is_a_share():
    with pytest.raises(ValueError, match="precision must lie strictly between 0 and 1"):
        threshold_for_precision(threshold_curve(Y, SCORES), 1.5)
    for wrong in ("a", None, True):
        with pytest.raises(TypeError, match=f"precision must be a number, got {wrong!r}: give"):
            threshold_for_precision(threshold_curve(Y, SCORES), wrong)


def test_thresholds_may_be_asked_for_in_any_order_and_one_by_one():
    curve = threshold_curve(Y, SCORES, thresholds=[0.9, 0.5, 0.9])
    assert len(curve) == 2
    assert curve.thresholds.tolist() == [0.5, 0.9]
    assert curve.precision.tolist() == [1.0, 1.0] and curve.recall.tolist() == [1.0, 0.5]
    named = threshold_curve(Y, SCORES, groups=["a", "b", "c", "d"])
    np.testing.assert_allclose(
        named.precision_interval, threshold_curve(Y, SCORES).precision_interval
    )


def _interval_of_the_definition(a, b, weight, group, confidence):
    """Interval of a ratio of sums, by the formulas of `threshold_curve`, row by row."""
    total = sum(weight * b)
    ratio = sum(weight * a) / total
    sums = {
        name: [sum((weight * x)[group == name]) for x in (a, b)]
        for name in set(group[weight * b > 0].tolist())
    }
    g = len(sums)
    kish = total**2 / sum((weight * b) ** 2)
    n = 1.0
    if g > 1 and 0 < ratio < 1:
        v = g / (g - 1) * sum((x - ratio * y) ** 2 for x, y in sums.values()) / total**2
        n = kish / max(1.0, v * (kish - 1) / (ratio * (1 - ratio)))
    elif g > 1:
        n = total**2 / sum(y**2 for _, y in sums.values())
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre, half = ratio + z**2 / (2 * n), z * sqrt(ratio * (1 - ratio) / n + z**2 / (4 * n**2))
    return [max(0.0, (centre - half) / (1 + z**2 / n)), min(1.0, (centre + half) / (1 + z**2 / n))]


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_are_those_of_the_definition(confidence, grouped, weighted):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 40), rng.random(40).round(1)
    group = rng.integers(0, 12, 40) if grouped else np.arange(40)
    weight = rng.uniform(0.2, 3, 40) if weighted else np.ones(40)
    curve = threshold_curve(y, scores, groups=group, weights=weight, confidence=confidence)
    for i, threshold in enumerate(curve.thresholds):
        c = (scores >= threshold).astype(int)
        for found, a, b in (
            (curve.precision_interval, c * y, c),
            (curve.recall_interval, c * y, y),
            (curve.f1_interval, 2 * c * y, c + y),
        ):
            wanted = _interval_of_the_definition(a, b, weight, group, confidence)
            np.testing.assert_allclose(found[i], wanted, atol=1e-9)


def test_the_threshold_of_the_best_f1_is_that_of_a_search():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.beta(0.3, 2, 50)
        expected = [2 * p[p >= t].sum() / ((p >= t).sum() + p.sum()) for t in p]
        assert threshold_of_best_f1(p) == p[np.argmax(expected)]

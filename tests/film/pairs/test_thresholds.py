"""What `threshold_curve` refuses, and its figures at one and at no threshold."""

import numpy as np
import pytest

from film.pairs.thresholds import threshold_curve, threshold_for_precision

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

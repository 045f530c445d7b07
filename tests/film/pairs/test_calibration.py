import numpy as np
import pytest

from film.pairs.calibration import (
    calibration_error,
    calibration_interval,
    reliability_curve,
)


def _looped_bins(y, p, n_bins):
    """Rows of each bin, by counting for every row what lies below it."""
    bins = {}
    for i in range(len(p)):
        below = sum(other < p[i] for other in p)
        equal = sum(other == p[i] for other in p)
        # (below + equal / 2) / n, in halves so that nothing is rounded.
        bins.setdefault((n_bins * (2 * below + equal)) // (2 * len(p)), []).append(i)
    return [bins[b] for b in sorted(bins)]


def _case(seed, n, digits):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.6, 1.2, size=n), digits)
    return (rng.uniform(size=n) < p**1.3).astype(int), p


CASES = [
    (seed, n, digits, n_bins)
    for seed, (n, digits) in enumerate([(1, 3), (7, 16), (40, 1), (200, 2), (300, 16)])
    for n_bins in (1, 2, 15, 500)
]


@pytest.mark.parametrize(("seed", "n", "digits", "n_bins"), CASES)
def test_curve_and_error_are_those_of_loops(seed, n, digits, n_bins):
    y, p = _case(seed, n, digits)
    bins = _looped_bins(y, p, n_bins)
    curve = reliability_curve(y, p, n_bins)
    np.testing.assert_array_equal(curve.counts, [len(rows) for rows in bins])
    np.testing.assert_allclose(curve.mean_probability, [np.mean(p[rows]) for rows in bins])
    np.testing.assert_allclose(curve.observed_rate, [np.mean(y[rows]) for rows in bins])
    expected = sum(len(rows) * abs(np.mean(p[rows]) - np.mean(y[rows])) for rows in bins) / n
    assert calibration_error(y, p, n_bins) == pytest.approx(expected, abs=1e-12)


def test_extremes():
    y = np.array([0, 1] * 10)
    assert calibration_error(y, y) == 0
    assert calibration_error(y, 1 - y) == 1
    assert calibration_interval(y, y, n_boot=10) == (0, 0)
    assert calibration_error([True], [np.float32(0.25)]) == 0.75


def test_bias_of_a_calibrated_model_is_the_documented_one():
    rng = np.random.default_rng(1)
    n, draws = 2000, 30
    p = rng.uniform(size=(draws, n))
    errors = [calibration_error(rng.uniform(size=n) < row, row) for row in p]
    predicted = np.sqrt(2 * 15 * np.mean(p * (1 - p)) / (np.pi * n))
    # The mean of 15 half-normals spreads by 0.75 / √15 of itself, and 30 draws are averaged.
    assert np.mean(errors) == pytest.approx(predicted, rel=4 * 0.75 / np.sqrt(15 * draws))


def _looped_interval(y, p, n_bins, n_boot, confidence, seed):
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(n_boot):
        rows = rng.integers(len(y), size=len(y))
        drawn.append(calibration_error(y[rows], p[rows], n_bins))
    error = calibration_error(y, p, n_bins)
    ends = np.quantile(drawn, [0.5 + confidence / 2, 0.5 - confidence / 2])
    low, high = (min(1, max(0, 2 * error - end)) for end in ends)
    return min(low, error), max(high, error)


@pytest.mark.parametrize(("digits", "n_bins", "confidence"), [(16, 15, 0.95), (1, 4, 0.5)])
def test_interval_is_that_of_drawing_rows(digits, n_bins, confidence):
    y, p = _case(5, 150, digits)
    found = calibration_interval(y, p, n_bins, 40, confidence, random_state=3)
    np.testing.assert_allclose(found, _looped_interval(y, p, n_bins, 40, confidence, 3), atol=1e-12)


def test_interval_stays_in_range_and_holds_the_error():
    # Draws of a perfect fit can only be worse, so both reflected ends lie below 0.
    low, high = calibration_interval([0, 1] * 10, [0.5] * 20, n_boot=50, random_state=0)
    assert (low, high) == (0, 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.uniform(size=100)
        y = rng.uniform(size=100) < p
        low, high = calibration_interval(y, p, n_boot=20, random_state=seed)
        assert 0 <= low <= calibration_error(y, p) <= high <= 1
    assert calibration_interval([1] * 20, [0.0] * 18 + [1.0] * 2, 1, random_state=0)[1] == 1


def test_seed_and_generator_reproduce():
    y, p = _case(6, 100, 3)
    found = calibration_interval(y, p, n_boot=20, random_state=4)
    assert calibration_interval(y, p, n_boot=20, random_state=4) == found
    generator = np.random.default_rng(4)
    assert calibration_interval(y, p, n_boot=20, random_state=generator) == found
    assert calibration_interval(y, p, n_boot=20, random_state=5) != found


def test_interval_covers_the_true_error():
    rng = np.random.default_rng(2)
    covered = []
    for seed in range(40):
        p = rng.uniform(0.1, 0.9, size=1500)
        y = rng.uniform(size=1500) < p - 0.08
        low, high = calibration_interval(y, p, n_boot=100, random_state=seed)
        covered.append(low <= 0.08 <= high)
    # A coverage of 0.9 falls to 32 of 40 or below once in 30 times; plain quantiles cover less.
    assert np.mean(covered) >= 0.8


@pytest.mark.parametrize("function", [reliability_curve, calibration_error, calibration_interval])
@pytest.mark.parametrize(
    ("y", "p", "n_bins", "error", "message"),
    [
        ([0, 2], [0.1, 0.2], 15, ValueError, r"y\[1\] is"),
        ([], [], 15, ValueError, "y must have shape"),
        ([0, 1], [0.1], 15, ValueError, r"p must have shape \(2,\)"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], 15, ValueError, "column of outcome 1"),
        ([0, 1], [0.1, 1.1], 15, ValueError, "entry 1 is 1.1"),
        ([0, 1], [-0.1, 0.1], 15, ValueError, "entry 0 is -0.1"),
        ([0, 1], [0.1, np.nan], 15, ValueError, "entry 1 is nan"),
        ([0, 1], ["a", "b"], 15, ValueError, "p must hold numbers"),
        ([0, 1], [0.1, 0.2], 0, ValueError, "n_bins must be at least 1, got 0"),
        ([0, 1], [0.1, 0.2], 2.0, TypeError, "n_bins must be an integer, got 2.0"),
        ([0, 1], [0.1, 0.2], True, TypeError, "n_bins must be an integer, got True"),
    ],
)
def test_bad_input_is_named(function, y, p, n_bins, error, message):
    with pytest.raises(error, match=message):
        function(y, p, n_bins)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_boot": 0}, ValueError, "n_boot must be at least 1"),
        ({"n_boot": 1.5}, TypeError, "n_boot must be an integer"),
        ({"confidence": 0.0}, ValueError, "confidence must lie strictly between 0 and 1, got 0.0"),
        ({"confidence": 95}, ValueError, "confidence must lie strictly between 0 and 1, got 95"),
    ],
)
def test_bad_options_of_the_interval_are_named(options, error, message):
    with pytest.raises(error, match=message):
        calibration_interval([0, 1], [0.1, 0.2], **options)

"""The band in which the calibration error of a perfect model lies."""

import numpy as np
from scipy.stats import norm

from benchmarks.duplicates import calibration_band
from film.pairs import calibration_error


def test_the_band_of_independent_rows_is_that_of_drawn_outcomes(monkeypatch):
    monkeypatch.setattr("benchmarks.duplicates.DRAWS", 2000)
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, size=1500).round(2)
    low, high = calibration_band(rng.random(1500) < p, p, random_state=1)
    errors = [calibration_error(rng.random(1500) < p, p) for _ in range(600)]
    # A share of 0.95 of 600 has a standard deviation of 0.009.
    assert abs(np.mean([low <= error <= high for error in errors]) - 0.95) < 0.035


def test_the_band_of_dependent_rows_is_wider_and_holds_a_perfect_model(monkeypatch):
    monkeypatch.setattr("benchmarks.duplicates.DRAWS", 200)
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(300), 5)
    inside = {True: 0, False: 0}
    for draw in range(80):
        p = rng.beta(2, 2, size=300)[group]
        shared, own = rng.standard_normal(300)[group], rng.standard_normal(1500)
        # Each row is 1 with probability p, and rows of a group rise and fall together.
        y = np.sqrt(0.8) * shared + np.sqrt(0.2) * own < norm.ppf(p)
        error = calibration_error(y, p)
        for grouped in inside:
            low, high = calibration_band(y, p, group if grouped else None, random_state=draw)
            inside[grouped] += low <= error <= high
    assert inside[True] >= 68
    assert inside[False] <= inside[True] - 15


def test_a_model_that_is_off_lies_above_the_band():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.8, size=4000)
    y = rng.random(4000) < p + 0.1
    for groups in (None, np.arange(4000) // 2):
        assert calibration_error(y, p) > calibration_band(y, p, groups, random_state=0)[1]

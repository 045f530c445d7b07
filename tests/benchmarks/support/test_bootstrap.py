import numpy as np
import pytest
from scipy.stats import rankdata

from benchmarks.support.bootstrap import correlation, difference, drawn, spearman


def rho(first, second):
    return 100 * float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def sample(n=60):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, n).astype(float)
    return scores + rng.normal(size=n), scores + 2 * rng.normal(size=n), scores


def test_spearman_is_the_correlation_of_ranks_and_zero_for_a_constant():
    good, _, scores = sample()
    assert spearman(good, scores) == pytest.approx(rho(good, scores), abs=1e-10)
    assert spearman(np.ones(60), scores) == 0


def test_intervals_are_percentiles_of_the_drawn_pairs():
    good, poor, scores = sample()
    draws = drawn(60, 50)
    values = [rho(good[rows], scores[rows]) for rows in draws]
    assert correlation(good, scores, draws) == pytest.approx(
        [rho(good, scores), *np.percentile(values, [2.5, 97.5])], abs=1e-9
    )
    gaps = [v - rho(poor[rows], scores[rows]) for v, rows in zip(values, draws, strict=True)]
    found = difference(good, poor, scores, draws)
    expected = [rho(good, scores) - rho(poor, scores), *np.percentile(gaps, [2.5, 97.5])]
    assert found == pytest.approx(expected, abs=1e-9)
    # Pairing tells two rows apart that their own intervals would not.
    assert found.high - found.low < np.ptp([*correlation(poor, scores, draws)[1:]]) + 30
    assert difference(good, good, scores, draws) == (0, 0, 0)


def test_draws_are_the_same_for_every_row():
    assert drawn(30, 5).tolist() == drawn(30, 5).tolist() != drawn(30, 5, seed=1).tolist()
    assert drawn(30, 5).shape == (5, 30)
    assert drawn(3, 100).max() == 2

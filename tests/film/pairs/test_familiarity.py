"""Familiarity against loops and closed forms."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.special import expit, logit

from film.pairs import (
    fallen_back,
    familiarities,
    mean_of_nearest,
    mean_rarities,
    standardised,
    untrained_share,
)


def sparse(m, width, seed, density=0.2):
    made = random_array((m, width), density=density, random_state=np.random.default_rng(seed))
    return csr_array(made)


def test_mean_rarities_are_those_of_a_loop():
    counts = sparse(30, 25, 0, density=0.05)
    frequencies = np.random.default_rng(1).integers(0, 12, 25)
    dense = counts.toarray()
    expected = [
        np.mean([np.log(13 / (frequencies[j] + 1)) for j in np.flatnonzero(row)])
        if row.any()
        else np.log(13)
        for row in dense
    ]
    assert (~dense.any(axis=1)).any()
    assert mean_rarities(counts, frequencies, 12) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 50])
def test_mean_of_nearest_is_that_of_all_products(n):
    queries, points = sparse(20, 15, 0), sparse(40, 15, 1)
    products = np.sort((queries @ points.T).toarray(), axis=1)[:, ::-1]
    expected = products[:, :n].sum(axis=1) / n
    assert mean_of_nearest(queries, points, n) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 50])
def test_dense_rows_give_the_same_mean_of_nearest(n, monkeypatch):
    queries, points = sparse(20, 15, 0), sparse(40, 15, 1)
    expected = mean_of_nearest(queries, points, n)
    dense = queries.toarray(), points.toarray()
    assert mean_of_nearest(*dense, n) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr("film.pairs.shift.familiarity._BLOCK_CELLS", 100)
    assert mean_of_nearest(*dense, n) == pytest.approx(expected, abs=1e-12)
    assert mean_of_nearest(dense[0], dense[1][:0], n).tolist() == [0.0] * 20
    assert mean_of_nearest(*dense).tolist() == mean_of_nearest(*dense, 5).tolist()
    assert mean_of_nearest(queries, points) == pytest.approx(mean_of_nearest(*dense), abs=1e-12)
    # Dense rows may point away from each other.
    assert mean_of_nearest([[1.0, 0.0]], [[-1.0, 0.0], [0.0, 1.0]], 2).tolist() == [-0.5]


def test_familiarity_is_the_softmax_of_the_first_kind():
    rng = np.random.default_rng(0)
    statistics, weights = rng.normal(size=(12, 4)), rng.normal(size=(3, 4))
    means, deviations, intercepts = rng.normal(size=4), rng.random(4) + 0.5, rng.normal(size=3)
    z = (statistics - means) / deviations
    exponents = np.exp(np.column_stack([np.zeros(12), z @ weights.T + intercepts]))
    expected = exponents[:, 0] / exponents.sum(axis=1)
    found = familiarities(statistics, means, deviations, weights, intercepts)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_statistic_far_out_counts_as_six_deviations_and_a_constant_one_as_it_is():
    at_most, beyond = (
        familiarities([[value]], [0.0], [1.0], [[1.0]], [-3.0]) for value in (6.0, 1e9)
    )
    assert np.array_equal(at_most, beyond)
    assert familiarities([[2.0]], [2.0], [0.0], [[1.0]], [0.0]).tolist() == [0.5]
    assert standardised([[5.0, 5.0], [-99.0, 1.0]], [1.0, 4.0], [2.0, 0.0]).tolist() == [
        [2.0, 1.0],
        [-6.0, -3.0],
    ]


@pytest.mark.parametrize(
    ("mean", "share"), [(0.9, 0.0), (0.72, 0.0), (0.6, 0.5), (0.5, 11 / 12), (0.4, 1.0), (0.0, 1.0)]
)
def test_the_share_grows_as_familiarity_sinks_below_the_typical(mean, share):
    values = np.clip([mean - 0.1, mean + 0.1], 0, 1) if mean else [0.0, 0.0]
    assert untrained_share(values, 0.8) == pytest.approx(share, abs=1e-12)


def test_log_odds_move_by_the_share_and_order_follows_the_untrained_in_the_end():
    p, untrained = np.array([0.9, 0.2, 0.5]), np.array([-1.0, 0.0, 2.0])
    for share in (0.0, 0.3, 1.0):
        expected = expit((1 - share) * logit(p) + share * untrained)
        assert fallen_back(p, untrained, share) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(fallen_back([0.0, 1.0], [0.0, 0.0], 0.0), [0.0, 1.0])
    assert np.isfinite(logit(fallen_back([0.0, 1.0], [0.0, 0.0], 0.5))).all()

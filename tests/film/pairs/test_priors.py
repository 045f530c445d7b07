import numpy as np
import pytest

from film.pairs.log_loss import binary_log_loss
from film.pairs.priors import estimate_prior, prior_weights, shift_prior


def _made(prior, n=40_000, seed=0, distance=2.0):
    """Probabilities, calibrated at even priors, of two normal classes drawn at another prior."""
    rng = np.random.default_rng(seed)
    outcome = rng.random(n) < prior
    x = rng.standard_normal(n) + distance * outcome
    return 1 / (1 + np.exp(distance * (distance / 2 - x))), outcome


@pytest.mark.parametrize("prior", [0.02, 0.17, 0.5, 0.9])
@pytest.mark.parametrize("prior_from", [0.1, 0.37, 0.8])
def test_made_shares_are_found(prior, prior_from):
    even, outcome = _made(prior)
    given = shift_prior(even, 0.5, prior_from)
    # The deviation of the estimate is below 1.5 √(π(1 − π)/n) at this distance of classes.
    tolerance = 5 * 1.5 * np.sqrt(prior * (1 - prior) / len(outcome))
    assert estimate_prior(given, prior_from) == pytest.approx(outcome.mean(), abs=tolerance)


@pytest.mark.parametrize("seed", range(5))
def test_em_comes_to_rest_there(seed):
    rng = np.random.default_rng(seed)
    given = rng.beta(0.7, 1.5, size=200)
    prior = 0.3
    for _ in range(3000):
        prior = shift_prior(given, 0.3, prior).mean()
    assert estimate_prior(given, 0.3) == pytest.approx(prior, abs=1e-9)


def test_sure_rows_are_counted():
    assert estimate_prior([1, 0, 0, 1, 1], 0.2) == pytest.approx(0.6, abs=1e-12)


def test_nothing_known_of_a_row_leaves_it_out():
    # A row at the training prior is as likely in both classes, whatever their shares.
    given = [0.9, 0.2, 0.1, 0.6]
    assert estimate_prior([*given, 0.3, 0.3], 0.3) == pytest.approx(estimate_prior(given, 0.3))


def test_labels_may_be_turned_around():
    given = np.random.default_rng(3).beta(0.5, 2.0, size=300)
    turned = estimate_prior(1 - given, 0.75)
    assert estimate_prior(given, 0.25) == pytest.approx(1 - turned, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_say_nothing_leave_the_prior(dtype):
    assert estimate_prior(np.full(7, 0.3, dtype=dtype), 0.3) == 0.3
    assert estimate_prior(np.full(2, 0.01, dtype=dtype), 0.01) == 0.25
    # Near 1 the rounding of a float32 is a good part of what is left to 1.
    assert estimate_prior(np.full(10_000, 0.9999, dtype=dtype), 0.9999) == 0.9999
    assert estimate_prior(np.full(10_000, 1e-3, dtype=dtype), 1e-3) == 1e-3
    # Three ulps are such rounding, and a ten-thousandth says what it says.
    near = np.full(9, 0.3, dtype=dtype) * (1 + 3 * np.finfo(dtype).eps)
    assert estimate_prior(near.astype(dtype), 0.3) == 0.3
    assert estimate_prior(np.full(9, 0.3001, dtype=dtype), 0.3) == 17 / 18
    assert estimate_prior(np.full(9, 1e-3 * (1 + 1e4 * np.finfo(dtype).eps)), 1e-3) == 17 / 18


def test_none_and_all_stay_half_a_row_away():
    assert estimate_prior(np.full(50, 0.01), 0.3) == 0.01
    assert estimate_prior(np.full(50, 0.99), 0.3) == 0.99
    assert estimate_prior(np.zeros(10), 0.3) == 0.05
    assert estimate_prior(np.ones(10), 0.3) == 0.95
    assert estimate_prior([0.2], 0.5) == 0.5


def test_the_root_may_be_near_a_bound_or_beyond_it_by_little():
    # ½/(¼ + ½π) = 0.4/(0.7 − 0.4π) at π = 0.625; the slope at a bound, 1/4, is 2/3.
    assert estimate_prior([0.75, 0.3], 0.5) == pytest.approx(0.625, abs=1e-11)
    # One row that knows nothing and one in favour: the slope at 3/4 is 0.8.
    assert estimate_prior([0.75, 0.5], 0.5) == 0.75
    assert estimate_prior([0.25, 0.5], 0.5) == 0.25


def test_order_and_input_are_left_alone():
    given = np.random.default_rng(0).random(100)
    before = given.copy()
    assert estimate_prior(given, 0.4) == pytest.approx(estimate_prior(given[::-1], 0.4))
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize(
    ("probabilities", "prior_from", "message"),
    [
        ([], 0.5, "at least 1"),
        ([[0.1, 0.2]], 0.5, r"got shape \(1, 2\)"),
        ([0.5, 1.2], 0.5, "entry 1 is 1.2"),
        ([0.5, np.nan], 0.5, "entry 1 is nan"),
        ([0.5], 0.0, "prior_from must lie strictly between 0 and 1, got 0.0: give .* 0.1746"),
        ([0.5], 1, "prior_from"),
    ],
)
def test_bad_input_is_named(probabilities, prior_from, message):
    with pytest.raises(ValueError, match=message):
        estimate_prior(probabilities, prior_from)


def test_shift_prior_agrees_with_counted_populations():
    # 30 of 50 positives and 10 of 150 negatives carry a sign; tripling the negatives moves the
    # prior from 1/4 to 1/10 and the share of positives under the sign from 30/40 to 30/60.
    assert shift_prior([30 / 40], 50 / 200, 50 / 500)[0] == pytest.approx(30 / 60)


def test_shift_prior_laws():
    p = np.linspace(0, 1, 11)
    there = shift_prior(p, 0.37, 0.1746)
    np.testing.assert_allclose(shift_prior(there, 0.1746, 0.37), p, rtol=1e-14)
    np.testing.assert_allclose(shift_prior(p, 0.37, 0.37), p, rtol=1e-15)
    np.testing.assert_allclose(1 - shift_prior(1 - p, 0.63, 0.8254), there, atol=1e-15)
    assert there[0] == 0 and there[-1] == 1
    assert (there[1:-1] < p[1:-1]).all() and (np.diff(there) > 0).all()
    assert shift_prior(0.37, 0.37, 0.1746) == pytest.approx(0.1746)
    assert shift_prior(p.astype(np.float32), 0.5, 0.2).dtype == np.float32


def test_prior_weights_move_the_share_and_keep_the_total():
    y = np.random.default_rng(0).uniform(size=500) < 0.37
    weights = prior_weights(y, 0.1746)
    assert np.average(y, weights=weights) == pytest.approx(0.1746)
    assert weights.sum() == pytest.approx(500)
    assert len(np.unique(weights)) == 2


def test_weights_and_shift_make_the_prior_the_best_constant():
    y = np.r_[np.ones(37), np.zeros(63)]
    weights = prior_weights(y, 0.1746)
    best = float(shift_prior(0.37, 0.37, 0.1746))
    losses = [
        binary_log_loss(y, np.full(100, p), weights) for p in (best - 0.02, best, best + 0.02)
    ]
    assert losses[1] == min(losses)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shift_prior([0.5], 0.0, 0.5), "^prior_from must .*: give for instance 0.1746"),
        (lambda: shift_prior([0.5], 0.5, 1.0), "^prior_to must .*: give for instance 0.1746"),
        (lambda: shift_prior([-0.5], 0.5, 0.5), "must lie in"),
        (lambda: prior_weights([1, 1], 0.5), "only the class 1"),
        (
            lambda: prior_weights([1, 0], float("nan")),
            "^prior must lie .*: give for instance 0.1746",
        ),
    ],
)
def test_priors_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

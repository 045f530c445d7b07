import numpy as np
import pytest
from sklearn.metrics import log_loss

from film.pairs.checks import binary_labels
from film.pairs.log_loss import binary_log_loss
from film.pairs.priors import prior_weights, shift_prior


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_loss_is_scikit_learns(dtype, weighted):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    p = rng.uniform(size=200).astype(dtype)
    p[:4] = [0, 1, 0, 1]
    y[:4] = [0, 0, 1, 1]
    weights = rng.uniform(size=200) if weighted else None
    expected = log_loss(y, p, sample_weight=weights)
    # Sums of 200 terms of size up to 36 in float64; scikit-learn keeps float32 throughout.
    assert binary_log_loss(y, p, weights) == pytest.approx(
        expected, rel=200 * float(np.finfo(dtype).eps)
    )


def test_log_loss_at_certainty_is_finite_and_wrong_costs_more():
    right, wrong = binary_log_loss([1, 0], [1.0, 0.0]), binary_log_loss([1, 0], [0.0, 1.0])
    assert np.isfinite(wrong)
    assert 0 <= right < 1e-12 < 30 < wrong


def test_log_loss_of_saying_the_prior_is_the_entropy():
    y = np.r_[np.ones(3), np.zeros(7)]
    assert binary_log_loss(y, np.full(10, 0.3)) == pytest.approx(
        -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))
    )


def test_weight_two_is_the_row_twice():
    assert binary_log_loss([1, 0], [0.7, 0.4], [2, 1]) == pytest.approx(
        binary_log_loss([1, 1, 0], [0.7, 0.7, 0.4])
    )


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


@pytest.mark.parametrize("y", [[True, False], [1, 0], [1.0, 0.0], np.array([1, 0], object)])
def test_labels_of_every_dtype(y):
    np.testing.assert_array_equal(binary_labels(y), [True, False])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binary_log_loss([1, 2], [0.5, 0.5]), r"y\[1\] is .*2.*must be 0 or 1"),
        (lambda: binary_log_loss([1, np.nan], [0.5, 0.5]), r"y\[1\] is"),
        (lambda: binary_log_loss([], []), "at least 1"),
        (lambda: binary_log_loss([1, 0], [0.5]), r"p must have shape \(2,\)"),
        (lambda: binary_log_loss([1, 0], [0.5, 1.5]), "entry 1 is 1.5"),
        (lambda: binary_log_loss([1, 0], [0.5, np.nan]), "entry 1 is nan"),
        (lambda: binary_log_loss([1, 0], ["a", "b"]), "p must hold numbers"),
        (lambda: binary_log_loss([1, 0], [0.5, 0.5], [1]), "weights must have shape"),
        (lambda: binary_log_loss([1, 0], [0.5, 0.5], [1, -1]), "not negative"),
        (lambda: binary_log_loss([1, 0], [0.5, 0.5], [0, 0]), "not all 0"),
        (lambda: binary_log_loss([1, 0], [0.5, 0.5], [1, np.nan]), "finite"),
        (lambda: shift_prior([0.5], 0.0, 0.5), "prior_from"),
        (lambda: shift_prior([0.5], 0.5, 1.0), "prior_to"),
        (lambda: shift_prior([-0.5], 0.5, 0.5), "must lie in"),
        (lambda: prior_weights([1, 1], 0.5), "only the class 1"),
        (lambda: prior_weights([1, 0], float("nan")), "prior must lie"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

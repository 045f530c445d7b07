import numpy as np
import pytest
from sklearn.metrics import log_loss

from film.checks import binary_labels
from film.pairs.log_loss import binary_log_loss


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
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

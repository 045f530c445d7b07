"""Rows times a constant are the same rows to a metric, and so are its score and its cosines."""

import numpy as np
import pytest
import scipy.sparse as sp

from estimators import FILM, MiniBatchFILM
from estimators.metric.triplet_metric import in_units

METRICS = {
    "eigen": lambda: FILM(d=3, rank=8, random_state=0),
    "cayley": lambda: FILM(d=3, rank=8, solver="cayley", random_state=0),
    "threshold": lambda: FILM(d=3, rank=8, threshold=0.5, margin=0.05, random_state=0),
    "minibatch": lambda: MiniBatchFILM(d=3, rank=8, batch_size=16, max_iter=9, random_state=0),
}
LABELS = np.arange(40) % 5


def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((5, 12))[LABELS] + 0.7 * rng.standard_normal((40, 12))


def cosines(metric, X):
    Y = in_units(metric.transform(X))[0]
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    return Y @ Y.T


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_a_factor_of_all_rows_changes_no_cosine(name, sparse):
    X = rows()
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0)) if sparse else X
    one = METRICS[name]().fit(X, LABELS)
    for factor in (10, 1e160, 3e-160):
        other = METRICS[name]().fit(X * factor, LABELS)
        assert np.abs(cosines(one, X) - cosines(other, X * factor)).max() <= 1e-6, factor
        assert other.score(X * factor, LABELS) == one.score(X, LABELS)


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["eigen", "cayley"])
def test_a_factor_of_float32_changes_cosines_by_rounding(name, sparse):
    X = rows().astype(np.float32)
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0)) if sparse else X
    one = METRICS[name]().fit(X, LABELS)
    exact = (2.0**100, 2.0**-100)
    # Other factors round rows of float32 anew, and "cayley" amplifies their last digits.
    for factor in exact if name == "cayley" else (*exact, 10, 1e-3):
        scaled = X * np.float32(factor)
        other = METRICS[name]().fit(scaled, LABELS)
        # docs/limits.md gives the change by rounding.
        limit = 0 if factor in exact else 4e-6
        assert np.abs(cosines(one, X) - cosines(other, scaled)).max() <= limit, factor
        assert other.score(scaled, LABELS) == one.score(X, LABELS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_are_those_of_the_largest_entry(dtype):
    X = np.array([[3, -6], [0, 1]], dtype=dtype)
    scaled, unit = in_units(X)
    assert scaled.dtype == dtype
    assert unit == (8 if dtype == np.float32 else 6)
    assert np.array_equal(scaled, X / dtype(unit))
    assert in_units(0 * X)[1] == 1.0

"""FILM: what its objective is worth, what fitting leaves alone, and what it notes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from estimators import FILM, MiniBatchFILM, Triplets
from film.metric.contributions import largest_contributions
from film.metric.minibatch import batch_step
from film.metric.svd import project, threaded_product, truncated_svd

SOLVERS = ["eigen", "cayley"]


def test_an_estimator_says_what_its_objective_is_worth():
    X, labels = groups()
    metric = FILM(d=4, rank=12, random_state=0).fit(X, labels)
    assert 0 < metric.lower_bound_ <= metric.objective_ == metric.loss_curve_[-1]
    assert (np.diff(metric.loss_curve_) <= 0).all()
    with pytest.warns(ConvergenceWarning, match="with no margin the map of zeros costs nothing"):
        none = FILM(d=4, rank=12, margin=0, random_state=0).fit(X, labels)
    assert np.isfinite(none.components_).all()
    assert none.components_.any()


def groups(n=60, D=30):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 4
    return rng.standard_normal((4, D))[labels] + rng.standard_normal((n, D)), labels


def unsorted(kind):
    """A sparse matrix whose rows hold their entries in no order, and in two parts."""
    rng = np.random.default_rng(0)
    dense = groups()[0] * (rng.random((60, 30)) < 0.4)
    rows, columns = np.nonzero(dense)
    values = dense[rows, columns]
    rows, columns, values = np.tile(rows, 2), np.tile(columns, 2), np.tile(values / 2, 2)
    major, minor = (rows, columns) if kind.__name__.startswith("csr") else (columns, rows)
    order = np.lexsort((rng.random(len(major)), major))
    counts = np.bincount(major, minlength=60 if major is rows else 30)
    ends = np.concatenate([[0], np.cumsum(counts)])
    X = kind((values[order], minor[order], ends), shape=dense.shape)
    assert not X.has_sorted_indices
    return X


USES = {
    "fit": lambda metric, X, y: metric.fit(X, y),
    "fit triplets": lambda metric, X, y: metric.fit(
        Triplets(X, [[i, i + 4, i + 1] for i in range(50)])
    ),
    "partial_fit": lambda metric, X, y: metric.partial_fit(X, y),
    "transform": lambda metric, X, y: metric.transform(X),
    "score": lambda metric, X, y: metric.score(X, y),
    "decompose": lambda metric, X, y: truncated_svd(X, 5, random_state=0),
    "product": lambda metric, X, y: threaded_product(X, np.ones((30, 2))),
    "project": lambda metric, X, y: project(X, np.ones((2, 30))),
    "batch": lambda metric, X, y: batch_step(
        np.eye(2, 30), sp.csr_array(X), np.array([[0, 4, 1]]), n_steps=1, margin=0.2, rank=5
    ),
    "contributions": lambda metric, X, y: largest_contributions(X, X, np.ones((2, 30)), keep=9),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("solver", [*SOLVERS, "minibatch"])
@pytest.mark.parametrize("use", list(USES))
def test_the_callers_sparse_matrix_stays_as_it_was(use, solver, kind):
    if use == "partial_fit" and solver != "minibatch":
        pytest.skip("batches are MiniBatchFILM's")
    settings = {"d": 3, "rank": 8, "max_iter": 2, "random_state": 0}
    metric = MiniBatchFILM(**settings) if solver == "minibatch" else FILM(solver=solver, **settings)
    y = groups()[1]
    if use in ("transform", "score"):
        metric.fit(groups()[0], y)
    X = unsorted(kind)
    before = X.indices.copy(), X.indptr.copy(), X.data.copy()
    USES[use](metric, X, y)
    for kept, now in zip(before, (X.indices, X.indptr, X.data), strict=True):
        assert np.array_equal(kept, now)

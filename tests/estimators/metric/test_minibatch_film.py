"""MiniBatchFILM: its batches, steps and partial fits."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import estimators.metric.minibatch_film as minibatch_film
from estimators import MiniBatchFILM
from estimators.metric.triplet_metric import in_rounded_units
from film.metric.minibatch import initial_components
from film.metric.triplets import ordered_share
from tests.estimators.metric.groups import groups, mined, quiet, small


@quiet
def test_batches_come_close_to_the_full_solver():
    X, labels = groups(n=400)
    train, test = np.arange(200), np.arange(200, 400)
    triplets = mined(labels[test], seed=5)
    full = small("eigen").fit(X[train], labels[train]).score(X[test], triplets)
    batches = small("minibatch", batch_size=512, max_iter=20).fit(X[train], labels[train])
    assert batches.n_steps_ > 20 >= batches.n_iter_
    assert ordered_share(X[test], triplets) < full - 0.15
    assert batches.score(X[test], triplets) > full - 0.05


@quiet
def test_partial_fit_learns_far_beyond_the_random_projection():
    X, labels = groups(n=600, D=30)
    test, test_labels = X[500:], labels[500:]
    triplets = mined(test_labels)
    metric = small("minibatch", d=6, rank=30)
    rng = np.random.default_rng(0)
    start = initial_components(6, 30, 0, X.dtype)
    before = ordered_share(test @ start.T, triplets)
    for step in range(1, 41):
        rows = rng.permutation(500)[:100]
        metric.partial_fit(X[rows], labels[rows])
        assert metric.n_steps_ == len(metric.loss_curve_) == step
    assert before < 0.7
    assert metric.score(test, triplets) > before + 0.2
    assert not hasattr(metric, "n_iter_")
    assert "partial_fit" in metric.convergence_reason_


@quiet
def test_partial_fit_goes_on_from_a_fitted_map_with_small_steps():
    X, labels = groups()
    metric = small("minibatch").fit(X, labels)
    before, n_steps = metric.components_, metric.n_steps_
    metric.partial_fit(X[:60], labels[:60])
    assert metric.n_steps_ == n_steps + 1
    assert not np.array_equal(metric.components_, before)
    assert metric.score(X, labels) > 0.7
    with pytest.raises(ValueError, match="X has 19 features, but MiniBatchFILM is expecting 20"):
        metric.partial_fit(X[:, :19], labels)


@quiet
def test_fit_forgets_what_was_fitted_before():
    X, labels = groups()
    once = small("minibatch").fit(X, labels)
    twice = small("minibatch").fit(X[:50], labels[:50]).partial_fit(X, labels).fit(X, labels)
    assert np.array_equal(once.components_, twice.components_)
    assert (once.n_iter_, once.n_steps_) == (twice.n_iter_, twice.n_steps_)


def test_a_batch_holds_all_triplets_of_its_anchors(monkeypatch):
    X, labels = groups()
    triplets = mined(labels)
    seen = []
    step = minibatch_film.batch_step

    def record(components, points, local, **settings):
        # Rows are told apart by their first entry.
        seen.append([points[:, 0][local], settings["n_steps"]])
        return step(components, points, local, **settings)

    monkeypatch.setattr(minibatch_film, "batch_step", record)
    with pytest.warns(ConvergenceWarning):
        small("minibatch", max_iter=1, batch_size=500).fit(X, triplets)
    batches = [rows for rows, _ in seen]
    assert [number for _, number in seen] == list(range(1, len(seen) + 1))
    assert len(batches) == round(len(triplets) / 500) > 3
    assert max(map(len, batches)) < 600
    anchors = [set(rows[:, 0].tolist()) for rows in batches]
    assert sum(map(len, anchors)) == len(set.union(*anchors)) == 120
    together = {tuple(row) for rows in batches for row in rows.tolist()}
    firsts = in_rounded_units(X)[0][:, 0]
    assert together == {tuple(firsts[row]) for row in triplets}


def test_partial_fit_reduces_dimensions_with_one_warning_too():
    X, labels = groups()
    metric = MiniBatchFILM(d=50, random_state=0)
    with pytest.warns(UserWarning, match="d=50 were reduced to 20 and 20") as caught:
        metric.partial_fit(X[:60], labels[:60])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.partial_fit(X[60:], labels[60:])
    assert metric.components_.shape == (20, 20)

"""What both metrics learned from triplets keep: data, errors, warnings and the space."""

import copy
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import estimators.metric.film as film
import estimators.metric.minibatch_film as minibatch_film
import estimators.metric.triplet_metric as triplet_metric
from estimators import Triplets
from film.metric.triplets import ordered_share, triplets_from_labels
from tests.estimators.metric.groups import cosines, groups, mined, quiet, small, solvers

WORK = {
    "eigen": (film, "solve"),
    "cayley": (film, "solve"),
    "minibatch": (minibatch_film, "batch_step"),
}
"""Where each solver's work is done."""


@quiet
@solvers
def test_a_fitted_metric_orders_triplets_that_the_data_does_not(solver):
    X, labels = groups()
    held_out, held_labels = groups()[0][1::2], groups()[1][1::2]
    triplets = mined(held_labels, seed=9)
    metric = small(solver, max_iter=15).fit(X[::2], labels[::2])
    before = ordered_share(held_out, triplets)
    assert before < 0.7
    assert metric.score(held_out, triplets) > before + 0.15


@quiet
@solvers
def test_what_fitting_leaves(solver):
    X, labels = groups()
    metric = small(solver).fit(X, labels)
    assert metric.components_.shape == (4, 20)
    assert metric.n_features_in_ == 20
    rounds = metric.n_steps_ if solver == "minibatch" else metric.n_iter_
    assert rounds == len(metric.loss_curve_) >= metric.n_iter_ >= 1
    assert 0 <= metric.active_share_ <= 1
    assert "converged" in metric.convergence_reason_
    assert metric.n_triplets_ > 120
    assert np.isfinite(metric.loss_curve_).all()
    if solver != "minibatch":
        assert metric.objective_ == metric.loss_curve_.min()
        assert metric.gradient_norm_curve_.shape == (metric.n_iter_,)
        values = np.linalg.svd(X, compute_uv=False)[:12]
        assert np.allclose(metric.singular_values_, values, rtol=1e-6)
    assert np.allclose(metric.transform(X), X @ metric.components_.T, atol=1e-12)


@quiet
@solvers
def test_rows_of_zeros_are_mapped_to_zeros_and_bring_no_nan(solver):
    X, labels = groups()
    X[[3, 40]] = 0
    metric = small(solver).fit(X, labels)
    Y = metric.transform(X)
    assert (Y[[3, 40]] == 0).all()
    assert np.isfinite(Y).all()
    assert np.isfinite(metric.components_).all()
    assert metric.score(X, [[3, 0, 1]]) == 0.5


@quiet
@solvers
@pytest.mark.parametrize("wrap", [sp.csr_array, sp.csc_matrix])
def test_sparse_data_is_dense_data(solver, wrap):
    X, labels = groups()
    X[np.abs(X) < 1] = 0
    triplets = mined(labels)
    dense, sparse = (small(solver, max_iter=4).fit(M, triplets) for M in (X, wrap(X)))
    # "eigen" learns from sparse rows in float32; a hundred eps of the largest component.
    room = 1e-5 * np.abs(dense.components_).max() if solver == "eigen" else 1e-7
    assert np.allclose(sparse.components_, dense.components_, atol=room)
    assert np.allclose(sparse.transform(wrap(X)), dense.transform(X), atol=max(1e-6, 10 * room))
    assert sparse.score(wrap(X), triplets) == pytest.approx(dense.score(X, triplets), abs=1e-3)


@quiet
@solvers
def test_float32_stays_float32_and_near_float64(solver):
    X, labels = groups()
    triplets = mined(labels)
    # A NumPy number, as a grid of np.linspace gives, must not turn arrays into float64.
    settings = {"max_iter": 4, "margin": np.float64(0.3)}
    if solver != "minibatch":
        settings |= {"whitening": np.float64(0.5)}
    else:
        # One batch: over several, an anchor at the edge of activity parts the two paths.
        settings |= {"max_iter": 1, "batch_size": 10**6}
    if solver == "cayley":
        # The line search decides by comparing values, so that rounding may take it along another
        # path: what is promised is the end. It is one point where every anchor stays active.
        settings |= {"max_iter": 100, "margin": np.float64(100), "tol": 0}
    double = small(solver, **settings).fit(X, triplets)
    single = small(solver, **settings).fit(X.astype(np.float32), triplets)
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert double.components_.dtype == double.transform(X).dtype == np.float64
    # Single precision rounds at 6e-8, the decomposition and a few rounds make 1e-6 to 1e-5 of
    # it. A descent ends where the gradient is 2e-6 of its first length, and the angle to the
    # minimum is that divided by the relative gaps of the curvatures, some hundredths here.
    assert np.allclose(cosines(single.transform(X)), cosines(double.transform(X)), atol=1e-3)


@quiet
@solvers
def test_labels_are_the_triplets_mined_from_them(solver, monkeypatch):
    X, labels = groups()
    seen = []

    def mine(*args, **settings):
        seen.append(settings["n_random"])
        seen.append(triplets_from_labels(*args, **settings))
        return seen[-1]

    monkeypatch.setattr(triplet_metric, "triplets_from_labels", mine)
    metric = small(solver, n_random=2).fit(X, labels)
    n_random, triplets = seen
    assert n_random == 2
    assert metric.n_triplets_ == len(triplets)
    assert (labels[triplets[:, 0]] == labels[triplets[:, 1]]).all()
    assert (labels[triplets[:, 0]] != labels[triplets[:, 2]]).all()
    if solver == "eigen":
        # No randomness is left once the triplets are given, but for the start of the SVD.
        again = small(solver).fit(X, triplets)
        assert np.allclose(again.components_, metric.components_, atol=1e-6)


@quiet
def test_score_is_the_share_of_triplets_ordered_by_cosine():
    X, labels = groups()
    triplets = mined(labels)
    metric = small().fit(X, triplets)
    similarity = cosines(metric.transform(X))
    i, j, k = triplets.T
    assert metric.score(X, triplets) == pytest.approx((similarity[i, j] > similarity[i, k]).mean())
    # Labels are mined with a seed, so that a score can be repeated.
    assert metric.score(X, labels) == metric.score(X, labels)
    unseeded = small(random_state=None).fit(X, labels)
    assert unseeded.score(X, labels) == unseeded.score(X, labels)


def failing_fits():
    X, labels = groups()
    T = mined(labels)
    nan, inf = X.copy(), X.copy()
    nan[2, 3], inf[2, 3] = np.nan, np.inf
    sliced = Triplets(X, T)
    sliced.points = X[:7]
    few = T[:1].tolist()
    return {
        "nan": (nan, labels, "contains NaN"),
        "inf": (inf, labels, "contains infinity"),
        "sparse nan": (sp.csr_array(nan), labels, "contains NaN"),
        "texts": (["Is tea hot?", "Why?"], [0, 1], "X holds texts, such as 'Is tea hot?', but"),
        "array of texts": (
            np.array(["Is tea hot?", "Why?"]),
            [0, 1],
            "X holds texts, such as 'Is tea hot?', but",
        ),
        "series of texts": (pd.Series(["Is tea hot?", "Why?"]), [0, 1], "needs numbers; put"),
        "no y": (X, None, "requires y to be passed, but the target y is None; give group labels"),
        "outside": (X, [*few, [0, 1, 500]], "triplets[1] = [0, 1, 500] points outside X, which"),
        "negative": (X, [*few, [0, 1, -1]], "triplets[1] = [0, 1, -1] points outside X"),
        "same": (X, [*few, [4, 4, 1]], "triplets[1] = [4, 4, 1] names the same point as anchor"),
        "floats": (X, T.astype(float), "dtype float64; it must hold integer row indices"),
        "no triplet": (X, np.empty((0, 3), dtype=int), "triplets is empty"),
        "one class": (X, np.zeros(120), "it has 1 class for 120 samples; at least two classes"),
        "all distinct": (X, np.arange(120), "it has 120 classes for 120 samples; at least two"),
        "too few labels": (X, labels[:-1], "y has 119 labels for 120 rows of X; give one label"),
        "continuous": (X, np.linspace(0, 1, 120), "Unknown label type: continuous"),
        "zeros": (np.zeros((120, 20)), labels, "X has only zeros, so there is nothing to learn"),
        "sparse zeros": (sp.csr_array((120, 20)), labels, "X has only zeros"),
        "y twice": (Triplets(X, T), labels, "y must be None where X is Triplets"),
        "sliced": (sliced, None, "now have 7 rows, not the 120 its triplets were made for"),
        "one row": (X[:1], [0], "a minimum of 2 is required"),
    }


@solvers
@pytest.mark.parametrize("case", failing_fits())
def test_bad_data_is_named_before_any_work(solver, case, monkeypatch):
    def work(*args, **settings):
        raise AssertionError("the decomposition began")

    monkeypatch.setattr(film, "truncated_svd", work)
    X, y, message = failing_fits()[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        small(solver).fit(X, y)


@solvers
def test_a_failure_in_the_middle_of_the_work_leaves_the_fitted_state_alone(solver, monkeypatch):
    X, labels = groups()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = small(solver).fit(X, labels)
    before = copy.deepcopy(vars(metric))

    def broken(*args, **settings):
        raise MemoryError("no room")

    monkeypatch.setattr(*WORK[solver], broken)
    for attempt in ("fit", "partial_fit") if solver == "minibatch" else ("fit",):
        with pytest.raises(MemoryError, match="no room"):
            getattr(metric, attempt)(X[:80, :], labels[:80])
        assert vars(metric).keys() == before.keys()
        for name, value in before.items():
            assert np.array_equal(getattr(metric, name), value), name


@solvers
def test_something_must_be_mined(solver):
    with pytest.raises(ValueError, match="n_random=0 must be 1 or more"):
        small(solver, n_random=0).fit(*groups())


@solvers
@pytest.mark.parametrize(
    ("parameters", "reduced", "remedy"),
    [
        ({}, "rank=600 and d=100 were reduced to 20 and 20", "set rank and d lower"),
        (
            {"d": 30, "rank": 12},
            "d=30 was reduced to 12, because rank=12 leaves no more",
            "rank higher",
        ),
    ],
)
def test_dimensions_that_the_data_has_not_are_reduced_with_one_warning(
    solver, parameters, reduced, remedy
):
    X, labels = groups()
    metric = small(solver, **({"d": 100, "rank": 600} | parameters))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        metric.fit(X, labels)
    assert [w.category for w in caught] == [UserWarning]
    assert reduced in str(caught[0].message)
    assert remedy in str(caught[0].message)
    # Blamed on the line that called fit.
    assert caught[0].filename == __file__
    assert metric.components_.shape == ((20 if not parameters else 12), 20)
    assert metric.d == parameters.get("d", 100)


@solvers
def test_an_unfinished_fit_warns_once_with_reason_and_remedy(solver):
    X, labels = groups()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric = small(solver, max_iter=1, margin=0.1).fit(X, labels)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert str(caught[0].message) == f"{type(metric).__name__}: {metric.convergence_reason_}"
    assert "not converged: max_iter was reached; raise max_iter" in metric.convergence_reason_
    assert caught[0].filename == __file__


@solvers
def test_an_interrupt_keeps_the_best_map_and_says_so(solver, monkeypatch):
    X, labels = groups()
    original = getattr(*WORK[solver])
    calls = []

    def progress(text):
        calls.append(text)
        if len(calls) == 3:
            raise KeyboardInterrupt

    def interrupted(*args, **settings):
        if solver == "minibatch":
            progress("")
        else:
            settings["progress"] = progress
        return original(*args, **settings)

    monkeypatch.setattr(*WORK[solver], interrupted)
    metric = small(solver, margin=0.1)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard, and the best map"):
        metric.fit(X, labels)
    assert len(metric.loss_curve_) == (2 if solver == "minibatch" else 3)
    assert "interrupted" in metric.convergence_reason_
    assert metric.score(X, labels) > 0.6


TEXTS = ["red green", "green red", "red", "blue sky", "sky", "the blue sky", "a cat", "cat a cat"]


TOPICS = [0, 0, 0, 1, 1, 1, 2, 2]


@quiet
@solvers
def test_a_pipeline_takes_texts_with_labels_or_triplets(solver):
    pipeline = make_pipeline(TfidfVectorizer(), small(solver, d=3, rank=5))
    Y = pipeline.fit(TEXTS, TOPICS).transform([*TEXTS, "unknown words", ""])
    assert Y.shape == (10, 3)
    assert (Y[-2:] == 0).all()
    assert pipeline.score(TEXTS, TOPICS) > 0.9
    pipeline.fit(TEXTS, [[0, 1, 3], [3, 5, 6], [6, 7, 0]])
    assert pipeline[-1].n_triplets_ == 3
    name = type(pipeline[-1]).__name__.lower()
    assert pipeline.get_feature_names_out().tolist() == [f"{name}{i}" for i in range(3)]

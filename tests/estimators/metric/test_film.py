"""FILM as an estimator: scikit-learn's contract, what it learns, and what it refuses."""

import copy
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

import estimators.metric.film as film_module
from estimators import FILM, DisjointPairsKFold, Triplets
from film.datasets import make_question_pairs
from film.metric.triplets import ordered_share, triplets_from_labels, triplets_from_pairs
from film.text import normalize_text

SOLVERS = ["eigen", "cayley", "minibatch"]
solvers = pytest.mark.parametrize("solver", SOLVERS)
# Reductions and unfinished rounds are what small problems are about; tests of warnings say so.
quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:rank=:UserWarning"
)


def groups(seed=0, n=120, D=20, n_groups=6, noise=1.0, distraction=6.0):
    """Groups that differ in a few features, under louder ones that say nothing."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_groups)
    X = noise * rng.standard_normal((n, D))
    X[:, :5] += 2 * rng.standard_normal((n_groups, 5))[labels]
    X[:, 5:10] += distraction * rng.standard_normal((n, 5))
    return X, labels


def mined(labels, seed=1, n_random=3):
    return triplets_from_labels(labels, n_random=n_random, random_state=seed)


def small(solver="eigen", **parameters):
    settings = {"d": 4, "rank": 12, "random_state": 0, "batch_size": 256} | parameters
    return FILM(solver=solver, **settings)


def cosines(Y):
    return normalize(Y) @ normalize(Y).T


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
    assert metric.n_iter_ == len(metric.loss_curve_) >= 1
    assert 0 <= metric.active_share_ <= 1
    assert "converged" in metric.convergence_reason_
    assert metric.n_triplets_ > 120
    assert np.isfinite(metric.loss_curve_).all()
    if solver == "minibatch":
        assert metric.objective_ == metric.loss_curve_[-1]
        assert metric.gradient_norm_curve_.size == 0
    else:
        assert metric.objective_ == metric.loss_curve_.min()
        assert metric.gradient_norm_curve_.shape == (metric.n_iter_,)
        values = np.linalg.svd(X, compute_uv=False)[:12]
        assert np.allclose(metric.singular_values_, values, rtol=1e-6)
    assert np.allclose(metric.transform(X), X @ metric.components_.T, atol=1e-12)


@quiet
@pytest.mark.parametrize("whitening", [0.0, 0.5, 1.0])
def test_components_are_l_of_the_paper_written_in_features(whitening):
    # L = diag(√s) Pᵀ diag(σ^-α) Uᵀ, so that L X with α = 1 has the weights s as its moments on V.
    X, labels = groups(D=10)
    triplets = mined(labels)
    metric = FILM(d=10, rank=10, whitening=whitening, margin=1e6, random_state=0).fit(X, triplets)
    V, sigma, Ut = np.linalg.svd(X, full_matrices=False)
    sigma = sigma / sigma[0]
    coordinates = V * sigma ** (1 - whitening)
    A = np.zeros((10, 10))
    for i in np.unique(triplets[:, 0]):
        own = triplets[triplets[:, 0] == i]
        pull = (coordinates[own[:, 1]] - coordinates[own[:, 2]]).sum(axis=0) / (len(own) + 1)
        A += np.outer(pull, coordinates[i])
    # At a margin that nobody meets, M is the positive part of Σ a_i v_iᵀ, in its leading unit.
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    M = (vectors * np.maximum(values, 0) / values[-1]) @ vectors.T
    back = Ut.T * sigma**-whitening
    assert np.allclose(metric.components_.T @ metric.components_, back @ M @ back.T, atol=1e-8)


@quiet
@pytest.mark.parametrize("solver", ["eigen", "cayley"])
def test_the_margin_is_in_units_of_the_mean_squared_length_of_all_rows(solver):
    # Triplets among the shorter half of the rows, so that their own mean would be another.
    X, labels = groups()
    X[60:] *= 3
    triplets = mined(labels[:60])
    metric = small(solver, max_iter=1, margin=0.3).fit(X, triplets)
    Y = metric.transform(X)
    # Of the closed-form map, for either solver, so that their objectives compare.
    first = small("eigen", max_iter=1, margin=0.3).fit(X, triplets).transform(X)
    m = 0.3 * np.mean(np.sum(first**2, axis=1))
    active = []
    for i in np.unique(triplets[:, 0]):
        own = triplets[triplets[:, 0] == i]
        z = Y[i] @ (Y[own[:, 2]] - Y[own[:, 1]]).sum(axis=0) / (len(own) + 1)
        active.append(z + m > 0)
    assert 0 < np.mean(active) < 1
    assert metric.active_share_ == np.mean(active)


@quiet
@pytest.mark.parametrize("solver", ["eigen", "cayley"])
def test_units_of_the_data_do_not_matter(solver):
    X, labels = groups()
    triplets = mined(labels)
    plain, larger = (small(solver, max_iter=6).fit(M, triplets) for M in (X, 10 * X))
    assert np.allclose(cosines(plain.transform(X)), cosines(larger.transform(X)), atol=1e-5)
    # Two of the 120 anchors may stand at the edge, where rounding decides.
    assert larger.active_share_ == pytest.approx(plain.active_share_, abs=0.02)
    assert plain.active_share_ < 1


@quiet
@pytest.mark.parametrize("with_triplets", [True, False])
def test_twice_the_rows_are_the_same_metric(with_triplets):
    X, labels = groups()
    triplets = mined(labels)
    doubled = np.vstack([triplets, triplets + len(X)]) if with_triplets else triplets
    plain = small().fit(X, triplets)
    twice = small().fit(np.vstack([X, X]), doubled)
    assert twice.active_share_ == pytest.approx(plain.active_share_, abs=0.02)
    assert np.allclose(cosines(plain.transform(X)), cosines(twice.transform(X)), atol=1e-6)


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
@pytest.mark.parametrize("solver", ["eigen", "cayley"])
def test_the_order_of_triplets_does_not_matter(solver):
    X, labels = groups()
    triplets = mined(labels)
    shuffled = np.random.default_rng(0).permutation(triplets)
    first, second = (small(solver, max_iter=5).fit(X, T) for T in (triplets, shuffled))
    assert np.allclose(first.components_, second.components_, atol=1e-6)


@quiet
@solvers
def test_the_same_seed_gives_the_same_bits(solver):
    X, labels = groups()
    first, again, other = (
        small(solver, max_iter=3, random_state=seed).fit(X, labels).components_
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    drawn = [
        small(solver, max_iter=3, random_state=np.random.RandomState(5)).fit(X, labels)
        for _ in range(2)
    ]
    assert np.array_equal(drawn[0].components_, drawn[1].components_)


@quiet
@solvers
@pytest.mark.parametrize("wrap", [sp.csr_array, sp.csc_matrix])
def test_sparse_data_is_dense_data(solver, wrap):
    X, labels = groups()
    X[np.abs(X) < 1] = 0
    triplets = mined(labels)
    dense, sparse = (small(solver, max_iter=4).fit(M, triplets) for M in (X, wrap(X)))
    assert np.allclose(sparse.components_, dense.components_, atol=1e-7)
    assert np.allclose(sparse.transform(wrap(X)), dense.transform(X), atol=1e-6)
    assert sparse.score(wrap(X), triplets) == pytest.approx(dense.score(X, triplets), abs=1e-3)


@quiet
@solvers
def test_float32_stays_float32_and_near_float64(solver):
    X, labels = groups()
    triplets = mined(labels)
    # A NumPy number, as a grid of np.linspace gives, must not turn arrays into float64.
    settings = {"max_iter": 4, "whitening": np.float64(0.5), "margin": np.float64(0.3)}
    if solver == "minibatch":
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
def test_triplets_may_come_as_array_list_or_view(solver):
    X, labels = groups()
    triplets = mined(labels)
    expected = small(solver, max_iter=3).fit(X, triplets)
    listed = small(solver, max_iter=3).fit(X, triplets.tolist())
    viewed = small(solver, max_iter=3).fit(Triplets(X, triplets))
    assert np.array_equal(listed.components_, expected.components_)
    assert np.array_equal(viewed.components_, expected.components_)
    assert viewed.score(Triplets(X, triplets)) == expected.score(X, triplets)
    assert viewed.n_triplets_ == len(triplets)


@quiet
@solvers
def test_labels_are_the_triplets_mined_from_them(solver, monkeypatch):
    X, labels = groups()
    seen = []

    def mine(*args, **settings):
        seen.append((settings["n_random"], settings["n_nearest"]))
        seen.append(triplets_from_labels(*args, **settings))
        return seen[-1]

    monkeypatch.setattr(film_module, "triplets_from_labels", mine)
    metric = small(solver, n_random=2, n_nearest=1).fit(X, labels)
    counts, triplets = seen
    assert counts == (2, 1)
    assert metric.n_triplets_ == len(triplets)
    assert (labels[triplets[:, 0]] == labels[triplets[:, 1]]).all()
    assert (labels[triplets[:, 0]] != labels[triplets[:, 2]]).all()
    if solver == "eigen":
        # No randomness is left once the triplets are given, but for the start of the SVD.
        again = small(solver).fit(X, triplets)
        assert np.allclose(again.components_, metric.components_, atol=1e-6)


@quiet
@solvers
def test_hard_triplets_hold_the_nearest_dissimilar_point(solver, monkeypatch):
    X, labels = groups(n=60)
    caught = []

    def mine(*args, **settings):
        caught.append(triplets_from_labels(*args, **settings))
        return caught[-1]

    monkeypatch.setattr(film_module, "triplets_from_labels", mine)
    # All directions are kept, so that nearest by coordinates is nearest by cosine of X.
    small(solver, rank=20, n_random=0, n_nearest=1).fit(X, labels)
    similarity = cosines(X)
    similarity[labels[:, None] == labels] = -np.inf
    assert (caught[0][:, 2] == similarity.argmax(axis=1)[caught[0][:, 0]]).all()


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


@quiet
def test_the_descent_reaches_the_objective_of_the_closed_form():
    X, labels = groups()
    triplets = mined(labels)
    eigen, cayley = (
        small(solver, margin=1.0, max_iter=60, tol=1e-6).fit(X, triplets) for solver in SOLVERS[:2]
    )
    assert cayley.objective_ == pytest.approx(eigen.objective_, rel=0.02)
    both = [cosines(metric.transform(X)).ravel() for metric in (eigen, cayley)]
    assert np.corrcoef(both)[0, 1] > 0.99


@quiet
def test_each_solver_is_the_one_it_is_named_after():
    X, labels = groups()
    triplets = mined(labels)
    # One descent of few steps stops short of the eigenvectors; batches have no rounds.
    eigen, cayley, batches = (small(solver, max_iter=1).fit(X, triplets) for solver in SOLVERS)
    assert not np.allclose(cayley.components_, eigen.components_, atol=1e-9)
    assert eigen.n_iter_ == cayley.n_iter_ == 1 < batches.n_iter_
    assert not hasattr(batches, "singular_values_")


@quiet
def test_batches_come_close_to_the_full_solver():
    X, labels = groups(n=400)
    train, test = np.arange(200), np.arange(200, 400)
    triplets = mined(labels[test], seed=5)
    full = small("eigen").fit(X[train], labels[train]).score(X[test], triplets)
    batches = small("minibatch", batch_size=512, max_iter=20).fit(X[train], labels[train])
    assert batches.n_iter_ > 20
    assert ordered_share(X[test], triplets) < full - 0.15
    assert batches.score(X[test], triplets) > full - 0.05


@quiet
def test_partial_fit_learns_far_beyond_the_random_projection():
    X, labels = groups(n=600, D=30)
    test, test_labels = X[500:], labels[500:]
    triplets = mined(test_labels)
    metric = small("minibatch", d=6, rank=30)
    rng = np.random.default_rng(0)
    start = film_module.initial_components(6, 30, 0, X.dtype)
    before = ordered_share(test @ start.T, triplets)
    for step in range(1, 41):
        rows = rng.permutation(500)[:100]
        metric.partial_fit(X[rows], labels[rows])
        assert metric.n_iter_ == len(metric.loss_curve_) == step
    assert before < 0.7
    assert metric.score(test, triplets) > before + 0.2
    assert "partial_fit" in metric.convergence_reason_


@quiet
@pytest.mark.parametrize("solver", ["eigen", "minibatch"])
def test_partial_fit_goes_on_from_a_fitted_map_with_small_steps(solver):
    X, labels = groups()
    metric = small(solver).fit(X, labels)
    before, n_iter = metric.components_, metric.n_iter_
    metric.partial_fit(X[:60], labels[:60])
    assert metric.n_iter_ == n_iter + 1
    assert not np.array_equal(metric.components_, before)
    assert metric.score(X, labels) > 0.7
    with pytest.raises(ValueError, match="X has 19 features, but FILM is expecting 20"):
        metric.partial_fit(X[:, :19], labels)


@quiet
def test_fit_forgets_what_was_fitted_before():
    X, labels = groups()
    once = small("minibatch").fit(X, labels)
    twice = small("minibatch").fit(X[:50], labels[:50]).partial_fit(X, labels).fit(X, labels)
    assert np.array_equal(once.components_, twice.components_)
    assert once.n_iter_ == twice.n_iter_


def test_a_batch_holds_all_triplets_of_its_anchors(monkeypatch):
    X, labels = groups()
    triplets = mined(labels)
    seen = []
    step = film_module.batch_step

    def record(components, points, local, **settings):
        # Rows are told apart by their first entry.
        seen.append([points[:, 0][local], settings["n_steps"]])
        return step(components, points, local, **settings)

    monkeypatch.setattr(film_module, "batch_step", record)
    with pytest.warns(ConvergenceWarning):
        small("minibatch", max_iter=1, batch_size=500).fit(X, triplets)
    batches = [rows for rows, _ in seen]
    assert [number for _, number in seen] == list(range(1, len(seen) + 1))
    assert len(batches) == round(len(triplets) / 500) > 3
    assert max(map(len, batches)) < 600
    anchors = [set(rows[:, 0].tolist()) for rows in batches]
    assert sum(map(len, anchors)) == len(set.union(*anchors)) == 120
    together = {tuple(row) for rows in batches for row in rows.tolist()}
    assert together == {tuple(X[row, 0]) for row in triplets}


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


@pytest.mark.filterwarnings("error")
@solvers
@pytest.mark.parametrize("case", list(failing_fits()))
@pytest.mark.parametrize("fitted", [False, True])
def test_bad_data_is_named_and_leaves_the_fitted_state_alone(solver, case, fitted):
    X, y, message = failing_fits()[case]
    metric = small(solver)
    if fitted:
        # Fitted to other features, so that nothing of the failed data may stay.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric.fit(groups()[0][:, :15], groups()[1])
    before = copy.deepcopy(vars(metric))
    with pytest.raises(ValueError, match=re.escape(message)):
        metric.fit(X, y)
    assert vars(metric).keys() == before.keys()
    for name, value in before.items():
        assert np.array_equal(getattr(metric, name), value), name
    if fitted:
        metric.transform(groups()[0][:, :15])
    else:
        with pytest.raises(NotFittedError):
            metric.transform(groups()[0])


@solvers
@pytest.mark.parametrize("case", ["one class", "all distinct", "outside", "zeros"])
def test_bad_data_is_named_before_any_work(solver, case, monkeypatch):
    def work(*args, **settings):
        raise AssertionError("the decomposition began")

    monkeypatch.setattr(film_module, "truncated_svd", work)
    X, y, message = failing_fits()[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        small(solver, n_random=0, n_nearest=1).fit(X, y)


@solvers
def test_a_failure_in_the_middle_of_the_work_leaves_the_fitted_state_alone(solver, monkeypatch):
    X, labels = groups()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = small(solver).fit(X, labels)
    before = copy.deepcopy(vars(metric))

    def broken(*args, **settings):
        raise MemoryError("no room")

    monkeypatch.setattr(film_module, "batch_step" if solver == "minibatch" else "solve", broken)
    for attempt in ("fit", "partial_fit") if solver == "minibatch" else ("fit",):
        with pytest.raises(MemoryError, match="no room"):
            getattr(metric, attempt)(X[:80, :], labels[:80])
        assert vars(metric).keys() == before.keys()
        for name, value in before.items():
            assert np.array_equal(getattr(metric, name), value), name


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"d": 0}, ValueError, "d=0 must be 1 or more"),
        ({"d": 2.0}, TypeError, "d=2.0 must be an integer, 1 or more"),
        ({"d": True}, TypeError, "d=True must be an integer"),
        ({"rank": -3}, ValueError, "rank=-3 must be 1 or more"),
        ({"max_iter": 0}, ValueError, "max_iter=0 must be 1 or more"),
        ({"batch_size": "all"}, TypeError, "batch_size='all' must be an integer"),
        ({"n_random": -1}, ValueError, "n_random=-1 must be 0 or more"),
        ({"n_nearest": 1.5}, TypeError, "n_nearest=1.5 must be an integer, 0 or more"),
        ({"n_random": 0}, ValueError, "n_random=0 and n_nearest=0 leave nothing to mine"),
        ({"margin": -0.1}, ValueError, "margin=-0.1 must be a finite number from 0 to inf"),
        ({"margin": np.nan}, ValueError, "margin=nan must be a finite number"),
        ({"margin": np.inf}, ValueError, "margin=inf must be a finite number"),
        ({"margin": "large"}, TypeError, "margin='large' must be a number from 0"),
        ({"margin": True}, TypeError, "margin=True must be a number"),
        ({"whitening": 1.5}, ValueError, "whitening=1.5 must be a finite number from 0 to 1"),
        ({"tol": -1.0}, ValueError, "tol=-1.0 must be a finite number from 0"),
        ({"solver": "sgd"}, ValueError, "solver='sgd' must be one of 'eigen', 'cayley', 'minib"),
    ],
)
@pytest.mark.parametrize("attempt", ["fit", "partial_fit"])
def test_bad_parameters_are_named_with_what_is_allowed(parameters, error, message, attempt):
    X, labels = groups()
    metric = small(**parameters)
    with pytest.raises(error, match=re.escape(message)):
        getattr(metric, attempt)(X, labels)
    assert not hasattr(metric, "components_")


def test_parameters_may_be_numpy_numbers():
    X, labels = groups()
    numbers = {"d": np.int64(3), "rank": np.int32(8), "margin": np.float32(1), "tol": np.float64(1)}
    assert small(**numbers).fit(X, labels).components_.shape == (3, 20)


@solvers
@pytest.mark.parametrize(
    ("parameters", "reduced", "remedy"),
    [
        ({}, "rank=600 and d=100 were reduced to 20 and 20", "set rank and d lower"),
        (
            {"d": 30, "rank": 12},
            "d=30 was reduced to 12, for rank=12 leaves no more",
            "rank higher",
        ),
    ],
)
def test_dimensions_that_the_data_has_not_are_reduced_with_one_warning(
    solver, parameters, reduced, remedy
):
    X, labels = groups()
    metric = FILM(solver=solver, random_state=0, **parameters)
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


def test_partial_fit_reduces_dimensions_with_one_warning_too():
    X, labels = groups()
    metric = FILM(d=50, random_state=0)
    with pytest.warns(UserWarning, match="d=50 were reduced to 20 and 20") as caught:
        metric.partial_fit(X[:60], labels[:60])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.partial_fit(X[60:], labels[60:])
    assert metric.components_.shape == (20, 20)


@pytest.mark.parametrize("shape", [(120, 20), (120, 300)])
def test_data_of_lower_rank_than_asked_is_reduced_to_its_own(shape):
    n, D = shape
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, D))
    with pytest.warns(UserWarning, match="rank=10 and d=5 were reduced to 3 and 3"):
        metric = FILM(d=5, rank=10, whitening=1.0, random_state=0).fit(X, np.arange(n) % 6)
    assert metric.components_.shape == (3, D)
    assert np.isfinite(metric.transform(X)).all()


@solvers
def test_no_warning_where_all_is_well(solver):
    X, labels = groups(n_groups=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric = small(solver, max_iter=200, tol=0.05).fit(X, labels)
    assert metric.convergence_reason_.startswith("converged")


@solvers
def test_an_unfinished_fit_warns_once_with_reason_and_remedy(solver):
    X, labels = groups()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric = small(solver, max_iter=1, margin=0.1).fit(X, labels)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert str(caught[0].message) == f"FILM: {metric.convergence_reason_}"
    assert "not converged: max_iter was reached; raise max_iter" in metric.convergence_reason_
    assert caught[0].filename == __file__


@pytest.mark.parametrize("solver", ["eigen", "cayley"])
def test_triplets_without_a_direction_give_a_valid_map_and_a_warning(solver):
    # The similar point is always opposite and the dissimilar one the same.
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    metric = FILM(d=2, rank=2, solver=solver, random_state=0)
    with pytest.warns(ConvergenceWarning, match="no direction brings similar points closer"):
        metric.fit(X, [[0, 1, 2], [2, 1, 0]])
    Y = metric.transform(X)
    assert np.isfinite(Y).all()
    assert np.linalg.matrix_rank(Y) == 2


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_interrupt_keeps_the_best_map_and_says_so(solver, monkeypatch):
    X, labels = groups()
    name = "batch_step" if solver == "minibatch" else "solve"
    original = getattr(film_module, name)
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

    monkeypatch.setattr(film_module, name, interrupted)
    metric = small(solver, margin=0.1)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard and the best map"):
        metric.fit(X, labels)
    assert metric.n_iter_ == (2 if solver == "minibatch" else 3)
    assert "interrupted" in metric.convergence_reason_
    assert metric.score(X, labels) > 0.6


@quiet
@solvers
def test_an_interrupt_before_the_first_map_is_passed_on(solver, monkeypatch):
    X, labels = groups()
    metric = small(solver).fit(X, labels)
    before = metric.components_

    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        film_module, "batch_step" if solver == "minibatch" else "solve", interrupted
    )
    with pytest.raises(KeyboardInterrupt):
        metric.fit(X, labels)
    assert metric.components_ is before


@quiet
def test_a_progress_bar_is_shown_only_when_asked(capsys):
    X, labels = groups()
    small(max_iter=2).fit(X, labels)
    small("minibatch", max_iter=2).fit(X, labels)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    small(max_iter=2, verbose=1).fit(X, labels)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "FILM" in captured.err


@quiet
def test_features_have_names_and_frames_come_out():
    pandas = pytest.importorskip("pandas")
    X, labels = groups()
    names = [f"word{i}" for i in range(20)]
    frame = pandas.DataFrame(X, columns=names, index=np.arange(120) + 7)
    metric = small().set_output(transform="pandas").fit(frame, labels)
    assert metric.get_feature_names_out().tolist() == ["film0", "film1", "film2", "film3"]
    assert metric.feature_names_in_.tolist() == names
    out = metric.transform(frame)
    assert out.columns.tolist() == ["film0", "film1", "film2", "film3"]
    assert out.index.tolist() == frame.index.tolist()
    assert np.allclose(out, small().fit(X, labels).transform(X), atol=1e-12)
    assert metric.score(Triplets(frame, mined(labels))) == metric.score(frame, mined(labels))
    with pytest.raises(ValueError, match="feature names should match"):
        metric.transform(frame.rename(columns={"word0": "other"}))


def disjoint_triplets():
    """Triplets inside blocks of points, so that folds of them share none."""
    X, _ = groups(n=160)
    blocks = [mined(np.array([0, 0, 1, 1, 2, 2, 3, 3]), seed=i) + 8 * i for i in range(20)]
    # Pairs of rows 2i and 2i + 1 mean the same.
    rng = np.random.default_rng(0)
    X[1::2] = X[::2] + 0.3 * rng.standard_normal(X[::2].shape)
    X[:, 5:10] = 6 * rng.standard_normal((160, 5))
    return Triplets(X, np.vstack(blocks))


@quiet
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_triplets_go_through_cross_validation(n_jobs):
    samples = disjoint_triplets()
    folds = DisjointPairsKFold(4, random_state=0)
    metric = small(rank=20)
    scores = cross_val_score(metric, samples, cv=folds, n_jobs=n_jobs, error_score="raise")
    assert scores.shape == (4,)
    by_hand = [
        clone(metric).fit(samples[train]).score(samples[test])
        for train, test in folds.split(samples)
    ]
    assert np.allclose(scores, by_hand, atol=1e-12)
    raw = ordered_share(samples.points, samples.triplets)
    assert scores.mean() > raw + 0.05


@quiet
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_over_triplets_finds_the_better_margin_and_dimension(n_jobs):
    samples = disjoint_triplets()
    search = GridSearchCV(
        small(rank=20),
        {"d": [1, 8], "margin": [0.3, 1.0]},
        cv=DisjointPairsKFold(3, random_state=0),
        n_jobs=n_jobs,
        error_score="raise",
    ).fit(samples)
    assert search.best_params_["d"] == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.n_triplets_ == len(samples)
    assert search.score(samples) == search.best_estimator_.score(samples)


TEXTS = ["red green", "green red", "red", "blue sky", "sky", "the blue sky", "a cat", "cat a cat"]
TOPICS = [0, 0, 0, 1, 1, 1, 2, 2]


@quiet
@solvers
def test_a_pipeline_takes_texts_with_labels_or_triplets(solver):
    pipeline = make_pipeline(TfidfVectorizer(), FILM(d=3, rank=5, solver=solver, random_state=0))
    Y = pipeline.fit(TEXTS, TOPICS).transform([*TEXTS, "unknown words", ""])
    assert Y.shape == (10, 3)
    assert (Y[-2:] == 0).all()
    assert pipeline.score(TEXTS, TOPICS) > 0.9
    pipeline.fit(TEXTS, [[0, 1, 3], [3, 5, 6], [6, 7, 0]])
    assert pipeline["film"].n_triplets_ == 3
    assert pipeline.get_feature_names_out().tolist() == ["film0", "film1", "film2"]


def pair_cosines(vectors1, vectors2):
    return np.sum(normalize(vectors1) * normalize(vectors2), axis=1)


@quiet
@pytest.mark.parametrize("seed", [0, 1])
def test_the_learned_metric_beats_the_plain_svd_on_question_pairs(seed):
    data = make_question_pairs(1200, random_state=seed)
    train, test = next(DisjointPairsKFold(3, random_state=seed).split(data.pairs, data.y))
    texts = sorted({normalize_text(text) for pair in data.pairs[train] for text in pair})
    number = {text: i for i, text in enumerate(texts)}
    pairs = np.array([[number[normalize_text(text)] for text in p] for p in data.pairs[train]])
    words = TfidfVectorizer()
    X = words.fit_transform(texts)
    triplets = triplets_from_pairs(pairs, data.y[train], len(texts), n_random=3, random_state=0)
    left, right = (words.transform(data.pairs[test, side]) for side in (0, 1))

    def auc(embed):
        return roc_auc_score(data.y[test], pair_cosines(embed(left), embed(right)))

    metric = FILM(d=30, rank=150, random_state=0).fit(X, triplets)
    assert auc(metric.transform) > auc(TruncatedSVD(30, random_state=0).fit(X).transform) + 0.05

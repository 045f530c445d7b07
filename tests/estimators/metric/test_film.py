"""FILM as an estimator: what its solvers learn, in which units, and cross-validation."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Memory
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from estimators import FILM, DisjointPairsKFold, MiniBatchFILM
from estimators.metric import film as film_module
from film.datasets import make_question_pairs
from film.metric.triplets import triplets_from_pairs
from film.text import normalize_text
from tests.estimators.metric.groups import FULL, groups, mined, quiet, small

full_solvers = pytest.mark.parametrize("solver", FULL)


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
@full_solvers
def test_the_order_of_triplets_does_not_matter(solver):
    X, labels = groups()
    triplets = mined(labels)
    shuffled = np.random.default_rng(0).permutation(triplets)
    first, second = (small(solver, max_iter=5).fit(X, T) for T in (triplets, shuffled))
    assert np.allclose(first.components_, second.components_, atol=1e-6)


@quiet
def test_each_solver_is_the_one_it_is_named_after():
    X, labels = groups()
    triplets = mined(labels)
    # One descent of few steps stops short of the eigenvectors.
    eigen, cayley = (small(solver, max_iter=1).fit(X, triplets) for solver in FULL)
    assert not np.allclose(cayley.components_, eigen.components_, atol=1e-9)
    assert eigen.n_iter_ == cayley.n_iter_ == 1
    with pytest.raises(ValueError, match="solver='minibatch' is a separate estimator: MiniB"):
        FILM(solver="minibatch").fit(X, triplets)


@pytest.mark.parametrize("shape", [(120, 20), (120, 300)])
def test_data_of_lower_rank_than_asked_is_reduced_to_its_own(shape):
    n, D = shape
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, D))
    with pytest.warns(UserWarning, match="rank=10 and d=5 were reduced to 3 and 3"):
        metric = FILM(d=5, rank=10, whitening=1.0, random_state=0).fit(X, np.arange(n) % 6)
    assert metric.components_.shape == (3, D)
    assert np.isfinite(metric.transform(X)).all()


@full_solvers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "sparse", "constant", "two rows"])
def test_rows_that_triplets_do_not_tell_apart_are_not_called_converged(solver, dtype, kind):
    rng = np.random.default_rng(0)
    distinct = rng.standard_normal((300, 60)).astype(dtype)
    if kind == "constant":
        distinct = np.ones_like(distinct)
    elif kind == "two rows":
        distinct = distinct[np.arange(300) // 150]
    X = np.repeat(distinct, 4, axis=0)
    # Similar and dissimilar points are copies of each other.
    triplets = [(4 * ((row + 7) % 300), 4 * row, 4 * row + 3) for row in range(300)]
    metric = FILM(d=1, rank=60 if kind in ("dense", "sparse") else 1, solver=solver)
    with pytest.warns(ConvergenceWarning, match="no direction brings similar points closer"):
        metric.fit(sp.csr_array(X * (X > 0)) if kind == "sparse" else X, triplets)
    assert np.isfinite(metric.components_).all()
    mini = MiniBatchFILM(d=1, rank=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="no direction brings similar points closer"):
        mini.fit(X, triplets)


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


def test_dense_vectors_of_fewer_features_than_the_rank_are_taken_whole_without_a_warning():
    rng = np.random.default_rng(0)
    labels = np.arange(3000) % 500
    X = rng.standard_normal((500, 24))[labels] + rng.standard_normal((3000, 24))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        metric = FILM(d=10, random_state=0).fit(X, labels)
    np.testing.assert_allclose(
        metric.singular_values_, np.linalg.svd(X, compute_uv=False), rtol=1e-10
    )


def crowded(seed=0):
    """Unit vectors of pairs: duplicates differ along noise, others along the first coordinates."""
    rng = np.random.default_rng(seed)
    noise = np.zeros(12)
    noise[6:] = 0.35
    telling = np.zeros(12)
    telling[:3] = 0.35
    first = rng.normal(size=(300, 12))
    labels = np.arange(300) % 2
    step = rng.normal(size=(300, 12)) * np.where(labels[:, None], noise, telling)
    both = np.vstack([first, first / np.linalg.norm(first, axis=1, keepdims=True) + step])
    return both / np.linalg.norm(both, axis=1, keepdims=True), labels


def with_threshold(**parameters):
    settings = {"rank": 12, "margin": 0.05, "threshold": 0.8, "whitening": 0.0}
    return FILM(12, random_state=0, **settings | parameters)


@quiet
def test_a_threshold_learns_what_a_null_point_hides():
    """Every pair is near already: only what moves it over the cosine tells."""
    X, labels = crowded()
    X = np.vstack([X, np.zeros(12)])
    codes = np.column_stack([np.arange(300), np.arange(300, 600)])
    triplets = triplets_from_pairs(codes, labels, 601, n_random=1, null=600, random_state=0)

    def auc(metric):
        Y = normalize(metric.fit(X, triplets).transform(X))
        return roc_auc_score(labels, np.einsum("nd,nd->n", Y[codes[:, 0]], Y[codes[:, 1]]))

    plain = roc_auc_score(labels, np.einsum("nd,nd->n", X[codes[:, 0]], X[codes[:, 1]]))
    assert auc(with_threshold()) > max(plain, auc(FILM(12, rank=12, random_state=0))) + 0.02


@quiet
def test_lengths_of_rows_mean_nothing_under_a_threshold():
    X, labels = crowded()
    groups_of = np.concatenate([np.arange(300), np.where(labels, np.arange(300), 300 + labels)])
    scales = np.random.default_rng(1).uniform(0.1, 9, size=(600, 1))
    one, other = (with_threshold().fit(rows, groups_of).components_ for rows in (X, X * scales))
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * np.abs(one).max())


@pytest.mark.parametrize("wrong", [{"threshold": 1.5}, {"similar_weight": -1.0}])
def test_a_threshold_is_a_cosine_and_weights_are_not_negative(wrong):
    X, _ = crowded()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        with_threshold(**wrong).fit(X, np.arange(600) % 300)


@quiet
def test_fits_with_a_memory_share_the_decomposition_and_learn_the_same(tmp_path, monkeypatch):
    ranks, honest = [], film_module.truncated_svd

    def counted(X, rank, **options):
        ranks.append(rank)
        return honest(X, rank, **options)

    monkeypatch.setattr(film_module, "truncated_svd", counted)
    # Wide enough for a decomposition that draws.
    X, y = np.random.default_rng(0).standard_normal((200, 80)), np.arange(200) % 5
    memories = (str(tmp_path), Memory(str(tmp_path), mmap_mode="r", verbose=0))
    for margin, solver in ((0.2, "eigen"), (0.5, "cayley"), (0.7, "eigen")):
        metric = FILM(3, rank=6, margin=margin, solver=solver, max_iter=5, random_state=0)
        expected = metric.fit(X, y).components_
        for memory in memories:
            found = clone(metric).set_params(memory=memory).fit(X, y).components_
            # The draws after the decomposition, of mining and of a start, are the same too.
            np.testing.assert_array_equal(found, expected)
    # One is shared by all margins and solvers.
    assert ranks == [6] * (3 + 1)
    FILM(3, rank=5, random_state=0, memory=memories[0]).fit(X, y)
    FILM(3, rank=5, random_state=1, memory=memories[0]).fit(X, y)
    FILM(3, rank=5, random_state=1, memory=memories[0]).fit(X[1:], y[1:])
    assert ranks[4:] == [5, 5, 5]


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_sparse_rows_of_float64_are_learned_from_in_float32_whatever_their_units(unit):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 12)
    X = rng.poisson(rng.gamma(0.4, size=(8, 50))[y]) * 1.0
    # All dimensions, so that the objective is convex in the map and has one minimum.
    settings = {"d": 10, "rank": 10, "tol": 1e-4, "max_iter": 500, "random_state": 0}
    single = FILM(**settings).fit(X.astype(np.float32), y)
    metric = FILM(**settings).fit(sp.csr_array(unit * X), y)
    assert metric.components_.dtype == metric.singular_values_.dtype == np.float64
    np.testing.assert_allclose(metric.singular_values_ / unit, single.singular_values_, rtol=1e-5)
    # ½ ‖M − M*‖² is at most the share of the objective that the rounds leave.
    assert metric.objective_ == pytest.approx(single.objective_, rel=1e-3)
    seen = metric.transform(unit * X)
    np.testing.assert_allclose(seen @ seen.T / (seen**2).sum(), _gram(single, X), atol=1e-3)


def _gram(metric, X):
    seen = metric.transform(X)
    return seen @ seen.T / (seen**2).sum()

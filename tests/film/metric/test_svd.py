"""The truncated SVD against numpy's, and the laws of its factors, on both of its paths."""

import numpy as np
import pytest
import scipy.sparse as sp

import film.metric.svd as products
import film.metric.svd as svd
from film.metric import project, symmetric_root, truncated_svd
from film.metric.svd import threaded_product

# (n, D, rank): tall and wide by block Krylov, then the two that take the dense SVD.
ITERATED = [(300, 90, 12), (90, 300, 12)]
DENSE = [(40, 15, 12), (15, 40, 15)]
shapes = pytest.mark.parametrize(("n", "D", "rank"), ITERATED + DENSE)
DTYPES = [np.float32, np.float64]
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def with_spectrum(n, D, values, seed=0):
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((D, len(values))))[0]
    return (left * values) @ right.T


def made(n, D, seed=0):
    return with_spectrum(n, D, 5.0 * 0.7 ** np.arange(min(n, D)), seed)


def text_like(n, D, seed=0):
    """Sparse counts whose columns get rarer, as words do."""
    rng = np.random.default_rng(seed)
    rates = 8.0 / np.arange(1, D + 1)
    return sp.csr_array(rng.poisson(rates, (n, D)).astype(float))


def off_identity(block):
    return np.abs(block.T.astype(float) @ block.astype(float) - np.eye(block.shape[1])).max()


@shapes
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_factors_are_those_of_numpy(n, D, rank, wrap):
    X = made(n, D)
    left, values, right_t = np.linalg.svd(X, full_matrices=False)
    low = truncated_svd(wrap(X), rank, tol=0, random_state=0)
    assert low.left.shape == (n, rank)
    assert low.singular_values.shape == (rank,)
    assert low.right.shape == (D, rank)
    # The Krylov space of eleven blocks or more holds all that float64 can tell of such a spectrum.
    assert np.allclose(low.singular_values, values[:rank], rtol=1e-9)
    best = (left[:, :rank] * values[:rank]) @ right_t[:rank]
    assert np.allclose((low.left * low.singular_values) @ low.right.T, best, atol=1e-9)
    # Spectrum without ties: vectors agree one by one, up to sign.
    assert np.allclose(np.abs(np.sum(low.left * left[:, :rank], axis=0)), 1, atol=1e-9)
    assert np.allclose(np.abs(np.sum(low.right * right_t[:rank].T, axis=0)), 1, atol=1e-9)


@shapes
@dtypes
def test_factors_are_orthonormal_ordered_signed_and_belong_together(n, D, rank, dtype):
    X = made(n, D).astype(dtype)
    low = truncated_svd(X, rank, random_state=1)
    assert {low.left.dtype, low.singular_values.dtype, low.right.dtype} == {np.dtype(dtype)}
    # The Gram matrix gives V to eps (σ₁/σ_r)²; σ₁/σ_r = 0.7^-(r-1) < 150.
    tolerance = 150**2 * np.finfo(dtype).eps
    assert off_identity(low.left) < tolerance
    assert off_identity(low.right) < tolerance
    assert (np.diff(low.singular_values) < 0).all()
    assert (low.singular_values > 0).all()
    largest = np.abs(low.right).argmax(axis=0)
    assert (low.right[largest, np.arange(rank)] > 0).all()
    assert np.allclose(X @ low.right, low.left * low.singular_values, atol=5 * tolerance)


@pytest.mark.parametrize(("n", "D"), [(300, 90), (90, 300), (3000, 200), (20, 30)])
@dtypes
def test_a_rank_above_that_of_the_data_comes_back_smaller(n, D, dtype):
    X = with_spectrum(n, D, np.array([4.0, 3.0, 2.0, 1.0])).astype(dtype)
    low = truncated_svd(X, 15, random_state=0)
    assert len(low.singular_values) == low.left.shape[1] == low.right.shape[1] == 4
    tolerance = 200 * np.finfo(dtype).eps
    assert off_identity(low.left) < tolerance
    assert np.allclose((low.left * low.singular_values) @ low.right.T, X, atol=tolerance)


@dtypes
def test_small_values_are_kept_only_while_their_vectors_are_orthonormal(dtype):
    # Values down to 1e-14 of the largest: rounding of the Gram matrix makes directions of its own.
    X = with_spectrum(200, 300, np.logspace(0, -14, 60)).astype(dtype)
    low = truncated_svd(X, 40, random_state=0)
    assert len(low.singular_values) >= (8 if dtype == np.float32 else 25)
    assert off_identity(low.left) < 0.02


@pytest.mark.parametrize("n", [30, 300])
def test_zeros_give_one_zero_value_and_never_nan(n):
    low = truncated_svd(np.zeros((n, n)), 5, random_state=0)
    assert low.singular_values.tolist() == [0.0]
    assert np.isfinite(low.left).all()
    assert np.isfinite(low.right).all()


@pytest.mark.parametrize("tol", [3e-2, 1e-4])
@pytest.mark.parametrize("rank", [3, 60])
@pytest.mark.parametrize("spectrum", ["text", "flat", "steep"])
def test_what_is_missing_of_the_energy_is_within_the_tolerance(spectrum, rank, tol):
    X = {
        "text": lambda: text_like(900, 400),
        "flat": lambda: sp.csr_array(np.random.default_rng(1).standard_normal((500, 300))),
        "steep": lambda: sp.csr_array(made(500, 300)),
    }[spectrum]()
    exact = np.linalg.svd(X.toarray(), compute_uv=False)
    low = truncated_svd(X, rank, tol=tol, random_state=0)
    captured = np.square(low.singular_values).sum() / np.square(exact[:rank]).sum()
    assert 1 - tol <= captured <= 1 + 1e-12


def test_the_same_seed_gives_the_same_bits():
    X = text_like(400, 120)
    first = truncated_svd(X, 10, tol=0.3, random_state=5)
    again = truncated_svd(X, 10, tol=0.3, random_state=np.random.default_rng(5))
    other = truncated_svd(X, 10, tol=0.3, random_state=6)
    assert np.array_equal(first.left, again.left)
    assert np.array_equal(first.singular_values, again.singular_values)
    assert np.array_equal(first.right, again.right)
    assert not np.array_equal(first.left, other.left)


def test_progress_is_told_each_block():
    seen = []
    truncated_svd(made(300, 90), 5, random_state=0, progress=seen.append)
    assert seen[:3] == ["svd 8 directions", "svd 16 directions", "svd 24 directions"]


@pytest.mark.parametrize("rank", [0, -1, 6])
def test_an_impossible_rank_is_named_with_what_is_allowed(rank):
    with pytest.raises(ValueError, match=rf"rank={rank} must lie between 1 and .* = 5"):
        truncated_svd(np.ones((5, 9)), rank)


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("rows", [2, 5, 3000])
def test_threads_change_no_bit_of_a_product(rows, kind, monkeypatch):
    rng = np.random.default_rng(0)
    density = 40_000 / (rows * 20_000)
    left = sp.random_array((rows, 20_000), density=density, random_state=rng, format=kind)
    right = rng.standard_normal((20_000, 50))
    # Below a million multiplications threads are not worth starting, and would not be tested.
    assert left.nnz * right.shape[1] >= 1_000_000
    plain = left @ right
    for n_threads in (1, 2, 3, 7):
        monkeypatch.setattr(products, "usable_cores", lambda n=n_threads: n)
        assert np.array_equal(threaded_product(left, right), plain)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_products_are_those_of_the_dense_matrices(wrap):
    X = text_like(70, 50).toarray()
    right = np.random.default_rng(1).standard_normal((50, 4))
    product = threaded_product(wrap(X), right)
    assert type(product) is np.ndarray
    assert np.allclose(product, X @ right, atol=1e-12)


def test_a_product_of_float32_stays_float32():
    rng = np.random.default_rng(0)
    left = sp.random_array(
        (2000, 500), density=0.05, random_state=rng, format="csr", dtype=np.float32
    )
    right = rng.standard_normal((500, 30)).astype(np.float32)
    assert threaded_product(left, right).dtype == np.float32


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_projection_is_the_product_with_every_row(wrap):
    rng = np.random.default_rng(0)
    L, X = rng.standard_normal((3, 9)), rng.standard_normal((14, 9))
    X[3] = 0
    Y = project(wrap(X), L)
    assert type(Y) is np.ndarray
    for x, y in zip(X, Y, strict=True):
        assert np.allclose(y, L @ x, atol=1e-13)
    assert (Y[3] == 0).all()


@dtypes
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rank", [16, 40])
@pytest.mark.parametrize("turned", [False, True])
def test_almost_all_of_the_shorter_side_is_not_iterated(monkeypatch, wrap, rank, turned, dtype):
    """One eigendecomposition of a Gram matrix of 24 or 40 rows is exact."""
    D = 24 if rank == 16 else 40
    X = with_spectrum(200, D, np.linspace(3, 1, D)).astype(dtype)
    monkeypatch.setattr(svd, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(svd, "leading_eigenpairs", None)
    X = X.T if turned else X
    low = truncated_svd(wrap(X), rank, random_state=0)
    expected = np.linalg.svd(X.astype(float), compute_uv=False)[:rank]
    accuracy = 100 * np.finfo(dtype).eps  # σ² is a sum of 200 products, of values within 9 of σ²
    np.testing.assert_allclose(low.singular_values, expected, rtol=accuracy)
    assert low.left.dtype == low.right.dtype == dtype
    assert off_identity(low.left) < accuracy and off_identity(low.right) < accuracy
    if rank == D:
        rebuilt = (low.left * low.singular_values) @ low.right.T
        np.testing.assert_allclose(rebuilt, X, rtol=0, atol=accuracy)


@pytest.mark.parametrize("d", [1, 4, 6])
def test_the_root_keeps_inner_products_and_is_symmetric(d):
    rng = np.random.default_rng(d)
    L, x = rng.normal(size=(d, 6)), rng.normal(size=(9, 6))
    root = symmetric_root(L)
    np.testing.assert_array_equal(root, root.T)
    assert np.linalg.eigvalsh(root).min() > -1e-7  # the root of a rounding error of 1e-15
    mapped, narrow = x @ root, x @ L.T
    np.testing.assert_allclose(mapped @ mapped.T, narrow @ narrow.T, rtol=0, atol=1e-12)


def test_the_root_of_a_symmetric_map_is_that_map():
    # So that a model whose map is the identity is not turned.
    np.testing.assert_allclose(symmetric_root(2 * np.eye(3)), 2 * np.eye(3), rtol=0, atol=1e-14)

"""Eigenpairs of block Krylov against closed forms, and where its space gives out."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import film.metric.svd as gram_module
from film.metric import truncated_svd
from film.metric.svd import (
    balanced_edges,
    block_width,
    feature_gram,
    leading_eigenpairs,
    orthonormalise,
    row_slice,
)

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def pairs(G, rank, tol=1e-4, width=None, dtype=np.float64, start=None):
    rng = np.random.default_rng(0)
    G = np.asarray(G, dtype=dtype)
    if start is None:
        start = rng.standard_normal((len(G), width or block_width(rank, len(G)))).astype(dtype)
    return leading_eigenpairs(lambda B: G @ B, start, rank, tol=tol, rng=rng)


@dtypes
@pytest.mark.parametrize("rank", [1, 5, 40, 120])
def test_vectors_are_orthonormal_and_diagonalise_the_matrix(rank, dtype):
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((200, 200)))[0]
    G = (Q / np.arange(1, 201)) @ Q.T
    values, vectors = pairs(G, rank, dtype=dtype)
    assert vectors.dtype == dtype and vectors.shape == (200, rank)
    # Orthogonalised once where a column keeps a third of its length: three eps, in sums of 200.
    room = 10 * np.sqrt(200) * np.finfo(dtype).eps
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), rtol=0, atol=room)
    np.testing.assert_allclose(vectors.T @ G @ vectors, np.diag(values), rtol=0, atol=room)
    assert (np.diff(values) <= 0).all()
    best = 1 / np.arange(1, rank + 1)
    assert 1 - 1e-4 <= values.sum() / best.sum() <= 1 + room


@dtypes
def test_equal_eigenvalues_are_all_found(dtype):
    # The Krylov space of a block of 8 holds 8 directions of each eigenspace, of which there are 2.
    G = np.diag(np.repeat([3.0, 1.0], [30, 50]))
    values, vectors = pairs(G, 35, dtype=dtype, width=8)
    np.testing.assert_allclose(values, [3.0] * 30 + [1.0] * 5, rtol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(35), rtol=0, atol=1e-5)


@dtypes
def test_a_start_that_sees_a_part_of_the_matrix_is_left(dtype):
    """A block inside an invariant subspace goes on in random directions."""
    start = np.eye(60, 8, dtype=dtype)
    G = np.diag(np.r_[np.full(8, 1.0), np.linspace(9, 2, 52)])
    values = pairs(G, 10, dtype=dtype, start=start, tol=0)[0]
    np.testing.assert_allclose(values, G.diagonal()[8:18], rtol=1e-5)


@dtypes
def test_zeros_and_a_rank_below_the_wish_stay_finite(dtype):
    for G in (np.zeros((40, 40)), np.diag(np.r_[5.0, 4.0, np.zeros(38)])):
        values, vectors = pairs(G, 6, dtype=dtype)
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(values, np.sort(G.diagonal())[:-7:-1], atol=1e-5)


def test_columns_that_depend_on_each_other_still_give_orthonormal_ones():
    rng = np.random.default_rng(2)
    block = rng.standard_normal((50, 3))
    block = np.column_stack([block, block[:, 0], 1e-12 * block[:, 1] + block[:, 2]])
    Q = orthonormalise(block)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), rtol=0, atol=1e-13)
    np.testing.assert_allclose(Q @ (Q.T @ block), block, rtol=0, atol=1e-12)


@dtypes
def test_a_later_block_that_depends_on_itself_is_mended(dtype):
    """All columns of the image are one direction, beyond what the space has."""
    G = np.diag(np.r_[np.full(8, 1.0), np.full(8, 2.0), np.zeros(24)])
    start = np.eye(40, 8) + np.eye(40, 1, k=-8)
    values, vectors = pairs(G, 12, dtype=dtype, start=start.astype(dtype), tol=0)
    np.testing.assert_allclose(values, [2.0] * 8 + [1.0] * 4, rtol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), rtol=0, atol=1e-5)


@dtypes
@pytest.mark.parametrize("apart", [0.2, 0.02, 1e-3, 1e-6])
def test_images_that_lean_on_each_other_leave_the_space_orthonormal(apart, dtype):
    """What they have in common cancels, and what rounding left of the space grows."""
    rng = np.random.default_rng(5)
    B = rng.standard_normal((92, 1)) + apart * rng.standard_normal((92, 8))
    G = np.block([[20 * np.eye(8), B.T], [B, 2 * B @ B.T + np.eye(92)]])
    Q = np.linalg.qr(rng.standard_normal((100, 100)))[0]
    G, blocks = (Q @ G @ Q.T).astype(dtype), []

    def times(block):
        blocks.append(block)
        return G @ block

    start = Q[:, :8].astype(dtype)
    values, _ = leading_eigenpairs(times, start, 16, tol=0, rng=rng)
    space = np.column_stack(blocks[:2])
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(space.T @ space, np.eye(16), rtol=0, atol=10 * eps)
    exact = np.linalg.eigvalsh(G)[:-17:-1]
    np.testing.assert_allclose(values, exact, rtol=0, atol=100 * eps * exact[0])


def words(n, D, seed=0):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.poisson(6.0 / np.arange(1, D + 1), (n, D)).astype(float))


@dtypes
@pytest.mark.parametrize("form", ["formed", "all dense", "none dense", "two products", "dense X"])
def test_the_gram_matrix_multiplies_as_what_it_stands_for(monkeypatch, form, dtype):
    # Rare words first, a column of zeros that are stored, and one that is empty.
    X = sp.csr_array(words(700, 130).astype(dtype)[:, ::-1])
    X.data[X.indices == 3] = 0
    X = sp.csr_array(sp.hstack([X, sp.csr_array((700, 1), dtype=dtype)]))
    setting = {"all dense": ("_COMMON", 0), "none dense": ("_COMMON", 1e9)}
    setting["two products"] = ("_MOST_PAIRS", 0)
    if form in setting:
        monkeypatch.setattr(gram_module, *setting[form])
    gram = feature_gram(X.toarray() if form == "dense X" else X, 130)
    part = X.toarray()[:, gram.features]
    assert 130 not in gram.features or form == "dense X"
    np.testing.assert_array_equal(part, gram.rows if form == "dense X" else gram.rows.toarray())
    block = np.random.default_rng(3).standard_normal((part.shape[1], 7)).astype(dtype)
    exact = part.T.astype(float) @ (part.astype(float) @ block)
    room = 100 * np.finfo(dtype).eps * np.abs(exact).max()
    np.testing.assert_allclose(gram.times(block), exact, rtol=0, atol=room)
    np.testing.assert_allclose(gram.diagonal, np.square(part).sum(axis=0), rtol=1e-5)
    assert gram.times(block).dtype == gram.diagonal.dtype == dtype


def test_wide_dense_data_are_multiplied_twice_instead_of_a_wide_gram_matrix():
    X = np.random.default_rng(4).standard_normal((20, 300))
    block = np.eye(300, 2)
    for n_products in (10, 1000):
        np.testing.assert_allclose(feature_gram(X, n_products).times(block), X.T @ X[:, :2])


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 100])
def test_blocks_cover_all_rows_with_about_as_much_work_each(n_blocks):
    X = words(90, 40)
    edges = balanced_edges(X.indptr, n_blocks)
    assert edges[0] == 0 and edges[-1] == 90 and (np.diff(edges) > 0).all()
    assert len(edges) <= n_blocks + 1
    widest = np.diff(X.indptr).max()
    assert np.diff(X.indptr[edges]).max() <= X.nnz / n_blocks + widest
    parts = [row_slice(X, a, b).toarray() for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.vstack(parts), X.toarray())


def flat(kind):
    rng = np.random.default_rng(0)
    if kind == "dense":
        return rng.standard_normal((1500, 700))
    if kind == "counts":
        return sp.csr_array(rng.poisson(0.01, (2000, 800)).astype(np.float64))
    return sp.random_array((2000, 800), density=0.01, rng=rng, format="csr")


@pytest.mark.parametrize("kind", ["dense", "sparse", "counts"])
def test_a_flat_spectrum_keeps_the_tolerance_unless_the_space_ends(kind):
    X = flat(kind)
    energies = np.square(np.linalg.svd(X.toarray() if sp.issparse(X) else X, compute_uv=False))
    ended = 0
    for rank in (1, 3, 30):
        for tol in (1e-2, 2e-3):
            told = []
            found = truncated_svd(X, rank, tol=tol, random_state=0, progress=told.append)
            missing = 1 - np.square(found.singular_values).sum() / energies[:rank].sum()
            limit = max(4 * rank, rank + 16 * block_width(rank, X.shape[1]))
            at_end = int(told[-1].split()[1]) == limit
            ended += at_end
            assert at_end or missing <= tol, (rank, tol, missing)
    assert ended < 4

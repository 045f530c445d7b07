"""Sums over row blocks against the same rows in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from film.corpus import write_blocks
from film.metric import anchor_sums, block_moments, block_svd, triplets_from_labels, truncated_svd


def rows(n=300, D=60, dense=False, dtype=np.float64, seed=0):
    """Sparse rows whose leading singular values stand well apart."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, D), density=0.2, format="csr", random_state=rng)
    X = sp.csr_array(X @ sp.diags_array(np.maximum(0.9 ** np.arange(D), 1e-3))).astype(dtype)
    return X.toarray() if dense else X


def on_disk(X, folder, size=37):
    return write_blocks(folder, [X[start : start + size] for start in range(0, X.shape[0], size)])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_decomposition_is_that_of_the_rows_in_memory(tmp_path, dense, dtype):
    X = rows(dense=dense, dtype=dtype)
    found = block_svd(on_disk(X, tmp_path), 5, random_state=0)
    _, values, right = np.linalg.svd(X if dense else X.toarray())
    # Gaps of a tenth between singular values: an error of eps in XᵀX turns vectors by ten of it.
    atol = 1e-5 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found.singular_values, values[:5], rtol=atol)
    np.testing.assert_allclose(np.abs(right[:5] @ found.right), np.eye(5), atol=10 * atol)
    assert found.right.dtype == dtype
    same = truncated_svd(X, 5, tol=0, random_state=0).right
    np.testing.assert_allclose(found.right, same, atol=30 * atol)


def test_many_features_are_iterated_on(tmp_path):
    X = sp.csr_array(rows(n=500, D=1010))
    found = block_svd(on_disk(X, tmp_path, 200), 20, tol=1e-4, random_state=0)
    values = np.linalg.svd(X.toarray(), compute_uv=False)[:20]
    captured = np.square(found.singular_values).sum() / np.square(values).sum()
    assert 0.9999 < captured < 1 + 1e-9
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(20), atol=1e-9)
    other = block_svd(on_disk(X, tmp_path / "other", 171), 20, tol=1e-4, random_state=0)
    np.testing.assert_allclose(other.singular_values, found.singular_values, rtol=1e-9)


@pytest.mark.parametrize("dense", [False, True])
def test_anchors_and_their_pulls_are_those_of_coordinates_in_memory(tmp_path, dense):
    X = rows(dense=dense)
    triplets = triplets_from_labels(np.arange(300) % 40, n_random=3, random_state=0)
    triplets = triplets[triplets[:, 0] % 3 == 0]
    axes = np.random.default_rng(0).standard_normal((X.shape[1], 4))
    anchors, pulls = anchor_sums(triplets, X @ axes)
    found = block_moments(on_disk(X, tmp_path), triplets, axes)
    np.testing.assert_allclose(found[0], (X @ axes)[anchors], atol=1e-12)
    np.testing.assert_allclose(found[1], pulls, atol=1e-12)


def test_bad_rows_and_ranks_are_refused(tmp_path):
    X = rows(n=20, D=8, dense=True)
    blocks = on_disk(X, tmp_path / "x")
    for rank in (0, 9):
        with pytest.raises(ValueError, match=f"rank={rank} must lie between 1 and"):
            block_svd(blocks, rank)
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        block_svd(on_disk(X, tmp_path / "y"), 2)

"""Shared and unshared features, against a loop over words."""

import numpy as np
import pytest
import scipy.sparse as sp

from film.pairs.differences import shared_and_unshared


def random_counts(rng, n, D, dtype=np.float64):
    counts = rng.integers(0, 4, (n, D)) * (rng.random((n, D)) < 0.4)
    return counts.astype(dtype)


def by_hand(first, second):
    n, D = first.shape
    features = np.zeros((n, 2 * D))
    for i in range(n):
        for w in range(D):
            features[i, w] = min(int(first[i, w]), int(second[i, w]))
            features[i, D + w] = abs(int(first[i, w]) - int(second[i, w]))
    return features


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_features_are_those_of_a_loop(kind, dtype):
    rng = np.random.default_rng(0)
    first, second = random_counts(rng, 20, 7, dtype), random_counts(rng, 20, 7, dtype)
    found = shared_and_unshared(kind(first), kind(second))
    assert np.array_equal(found.toarray(), by_hand(first, second))
    assert found.dtype == dtype
    assert isinstance(found, sp.csr_array)


def test_order_changes_nothing_and_both_texts_can_be_had_back():
    rng = np.random.default_rng(1)
    first, second = (sp.csr_array(rng.random((30, 5)) * (rng.random((30, 5)) < 0.5)) for _ in "12")
    found = shared_and_unshared(first, second)
    assert (found != shared_and_unshared(second, first)).nnz == 0
    shared, unshared = found[:, :5], found[:, 5:]
    assert np.allclose((2 * shared + unshared).toarray(), (first + second).toarray(), atol=1e-15)


def test_a_text_beside_itself_leaves_nothing_unshared():
    x = sp.csr_array(random_counts(np.random.default_rng(2), 6, 4))
    found = shared_and_unshared(x, x)
    assert np.array_equal(found.toarray(), np.hstack([x.toarray(), np.zeros((6, 4))]))
    # Stored zeros would cost memory for every shared word.
    assert found.nnz == x.nnz


def test_arguments_stay_as_they_were():
    x, z = sp.csr_array([[1, 0, 2]]), sp.csr_array([[0, 5, 1]])
    shared_and_unshared(x, z)
    assert x.toarray().tolist() == [[1, 0, 2]]
    assert z.toarray().tolist() == [[0, 5, 1]]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (3, 4)])
def test_nothing_to_compare(shape):
    found = shared_and_unshared(sp.csr_array(shape), sp.csr_array(shape))
    assert found.shape == (shape[0], 2 * shape[1])
    assert found.nnz == 0


@pytest.mark.parametrize("shape", [(1, 3), (2, 4), (2, 1), (1, 1)])
def test_shapes_that_differ_are_named(shape):
    with pytest.raises(ValueError, match=r"first has shape \(2, 3\) and second .*one row per pair"):
        shared_and_unshared(sp.csr_array((2, 3)), sp.csr_array(shape))

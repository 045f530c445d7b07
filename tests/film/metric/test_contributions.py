import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import film.metric.contributions as contributions_module
from film.metric.contributions import largest_contributions


def cosine_contributions(tokens1, tokens2, components=None):
    return largest_contributions(tokens1, tokens2, components, keep=10**9).contributions.toarray()


def _case(seed=0, t1=4, t2=6, D=9, d=5):
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((t1, D)), rng.standard_normal((t2, D))
    first[rng.uniform(size=first.shape) < 0.5] = 0
    second[rng.uniform(size=second.shape) < 0.5] = 0
    return first, second, rng.standard_normal((d, D))


def _looped(first, second, L):
    """The definition, one feature pair after the other."""
    x1, x2 = first.sum(axis=0), second.sum(axis=0)
    metric = [
        [math.fsum(L[:, f] * L[:, g]) for g in range(len(x2))]
        for f in range(len(x1))  # L'L
    ]
    norm1, norm2 = np.linalg.norm(L @ x1), np.linalg.norm(L @ x2)
    C = np.zeros((len(first), len(second)))
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            for f in range(len(a)):
                for g in range(len(b)):
                    C[i, j] += a[f] * metric[f][g] * b[g] / (norm1 * norm2)
    return C


@pytest.mark.parametrize("seed", range(5))
def test_contributions_are_the_definition(seed):
    first, second, L = _case(seed)
    np.testing.assert_allclose(
        cosine_contributions(first, second, L), _looped(first, second, L), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_contributions_sum_to_the_cosine(seed, dtype):
    first, second, L = (part.astype(dtype) for part in _case(seed, 30, 40, 200, 50))
    found = cosine_contributions(first, second, L)
    assert found.dtype == np.float64
    y1, y2 = (
        L.astype(np.float64) @ part.astype(np.float64).sum(axis=0) for part in (first, second)
    )
    cosine = y1 @ y2 / np.linalg.norm(y1) / np.linalg.norm(y2)
    assert found.sum() == pytest.approx(cosine, abs=1e-9)


def test_without_a_map_it_is_the_identity():
    first, second, _ = _case(1)
    np.testing.assert_allclose(
        cosine_contributions(first, second),
        cosine_contributions(first, second, np.eye(first.shape[1])),
        atol=1e-15,
    )


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_matrix, np.ndarray.tolist])
def test_any_form_of_matrix_gives_the_same(make):
    first, second, L = _case(2)
    before = first.copy(), second.copy(), L.copy()
    np.testing.assert_array_equal(
        cosine_contributions(make(first), make(second), L), cosine_contributions(first, second, L)
    )
    for array, copy in zip((first, second, L), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_sides_are_alike_and_lengths_do_not_count():
    first, second, L = _case(3)
    found = cosine_contributions(first, second, L)
    np.testing.assert_allclose(cosine_contributions(second, first, L), found.T, atol=1e-15)
    for scale in (1e-200, 1e-3, 1e200):
        scaled = cosine_contributions(first * scale, second, L)
        np.testing.assert_allclose(scaled, found, rtol=1e-12)


def test_only_columns_in_use_are_read():
    L = np.array([[1.0, np.nan, 2.0]])
    found = cosine_contributions([[1.0, 0.0, 0.0]], [[0.0, 0.0, 3.0]], L)
    assert found.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("first", "second", "L"),
    [
        ([[0.0, 0.0]], [[1.0, 2.0]], None),
        ([[1.0, 0.0]], [[0.0, 0.0]], np.eye(2)),
        ([[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]),
        ([[0.1, 0.2], [-0.1, -0.2]], [[1.0, 2.0]], [[0.3, 0.7]]),
        (np.zeros((0, 2)), [[1.0, 2.0]], None),
        (np.zeros((0, 2)), np.zeros((0, 2)), np.eye(2)),
    ],
)
def test_texts_without_direction_contribute_nothing(first, second, L):
    found = cosine_contributions(first, second, L)
    assert found.shape == (len(first), len(second))
    assert not found.any()
    largest = largest_contributions(first, second, L, keep=3)
    assert largest.similarity == 0 == largest.n_rest
    assert not largest.totals1.any() and not largest.totals2.any()


def test_tokens_that_cancel_only_after_summing_leave_no_noise():
    rng = np.random.default_rng(0)
    first = rng.integers(-8, 8, size=(7, 50)) / 16
    first[-1] = -first[:-1].sum(axis=0)
    assert not cosine_contributions(
        first, rng.uniform(size=(3, 50)), rng.normal(size=(9, 50))
    ).any()


@pytest.mark.parametrize("block", [1, 8, 17, 10**6])
@pytest.mark.parametrize("keep", [1, 3, 10, 12, 40, 41, 100])
@pytest.mark.parametrize("shape", [(7, 8), (6, 1), (1, 6)])
def test_the_largest_are_those_of_the_whole_table(monkeypatch, block, keep, shape):
    # Small whole numbers: many ties and zeros.
    rng = np.random.default_rng(keep)
    first, second = (rng.integers(-1, 3, size=(t, 4)).astype(float) for t in shape)
    whole = cosine_contributions(first, second)
    monkeypatch.setattr(contributions_module, "BLOCK_CELLS", block)
    found = largest_contributions(first, second, keep=keep)
    flat = whole.ravel()
    order = [n for n in np.argsort(-np.abs(flat), kind="stable") if flat[n]][:keep]
    expected = np.zeros(flat.shape)
    expected[order] = flat[order]
    assert found.contributions.shape == shape
    np.testing.assert_array_equal(found.contributions.toarray().ravel(), expected)
    np.testing.assert_allclose(found.totals1, whole.sum(axis=1), atol=1e-15)
    np.testing.assert_allclose(found.totals2, whole.sum(axis=0), atol=1e-15)
    assert found.similarity == pytest.approx(whole.sum(), abs=1e-14)
    assert found.n_rest == np.count_nonzero(whole) - len(order)


@pytest.mark.parametrize(
    ("t2", "cells", "rows"), [(7, 21, 3), (7, 27, 3), (7, 1, 1), (1, 3, 3), (0, 3, 3)]
)
def test_a_block_is_as_large_as_its_cells_and_a_row_at_least(t2, cells, rows, monkeypatch):
    blocks = []
    dense = contributions_module._dense

    def watched(product):
        blocks.append(product.shape)
        return dense(product)

    monkeypatch.setattr(contributions_module, "_dense", watched)
    monkeypatch.setattr(contributions_module, "BLOCK_CELLS", cells)
    largest_contributions(np.ones((9, 2)), np.ones((t2, 2)), keep=5)
    assert blocks == [(rows, t2)] * (9 // rows)


def test_the_table_of_long_texts_is_never_whole(monkeypatch):
    first, second = np.random.default_rng(0).standard_normal((2, 700, 2))
    monkeypatch.setattr(contributions_module, "BLOCK_CELLS", 7_000)
    tracemalloc.start()
    largest_contributions(first, second, np.eye(2), keep=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 700 * 700 * 8 / 4

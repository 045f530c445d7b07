"""Search among sparse points, against all products."""

import numpy as np
import pytest
import scipy.sparse as sp

from film.corpus import SparseSearch, rare_terms


def _points(n, n_terms, n_each, seed=0):
    """Unit rows; low terms are frequent."""
    rng = np.random.default_rng(seed)
    term = (n_terms * rng.random((n, n_each)) ** 2).astype(int)
    values = rng.random(term.size) + 0.1
    rows = sp.csr_array((values, (np.repeat(np.arange(n), n_each), term.ravel())), (n, n_terms))
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / lengths) @ rows, dtype=np.float32)


def _nearest(cosines, k):
    """The k largest positive numbers of each row, padded as the search pads."""
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(cosines, order, axis=1)
    return np.where(best > 0, order, -1), np.where(best > 0, best, -np.inf)


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("block", [1, 7, 256])
def test_all_products_without_a_limit(k, block, monkeypatch):
    monkeypatch.setattr(rare_terms, "BLOCK_QUERIES", block)
    points = _points(300, 60, 6)
    position, cosine = SparseSearch(points)(points[:100], k)
    expected = _nearest((points[:100] @ points.T).toarray(), k)
    np.testing.assert_allclose(cosine, expected[1], atol=1e-6)
    assert (position == expected[0]).mean() > 0.99


def test_points_among_some_rows_and_a_limit_that_fits_all():
    points = _points(200, 50, 6)
    rows = np.arange(0, 200, 3)
    position, cosine = SparseSearch(points, rows)(points, 4)
    assert np.isin(position, [*rows, -1]).all()
    limited = SparseSearch(points, rows, most=10**6)(points, 4)
    np.testing.assert_array_equal(limited[0], position)
    np.testing.assert_allclose(limited[1], cosine, atol=1e-6)


def test_rare_terms_find_most_neighbours_by_few_products():
    points = _points(3000, 2000, 12)
    exact = SparseSearch(points)(points, 5)[0]
    found = [SparseSearch(points, most=most)(points, 5)[0] for most in (10, 100, 4000)]
    shares = [np.mean([np.isin(a, b).mean() for a, b in zip(exact, f, strict=True)]) for f in found]
    assert shares == sorted(shares) and shares[0] < 0.8 and shares[2] > 0.95


def test_a_term_of_all_points_costs_no_more_than_the_limit():
    points = sp.csr_array(np.linspace(0.1, 1, 50, dtype=np.float32)[:, None])
    position, cosine = SparseSearch(points, most=5)(points[:1], 10)
    assert position[0, :5].tolist() == [49, 48, 47, 46, 45] and (position[0, 5:] == -1).all()
    assert np.isneginf(cosine[0, 5:]).all()


def test_equal_cosines_come_in_the_order_of_points_and_nothing_shared_is_no_neighbour():
    points = sp.csr_array(np.array([[0, 1], [1, 0], [1, 0], [1, 0]], dtype=np.float32))
    for most in (None, 100):
        position, cosine = SparseSearch(points, most=most)(points, 3)
        assert position.tolist() == [[0, -1, -1], *[[1, 2, 3]] * 3]
        assert cosine[1].tolist() == [1, 1, 1]


def test_a_heavy_term_comes_before_a_light_one_of_somewhat_fewer_points():
    rows = np.array([[0.9, 0.4, 0], [0.9, 0, 0.4], [0.9, 0, 0.4], [0, 0.4, 0.9]], dtype=np.float32)
    position, _ = SparseSearch(sp.csr_array(rows), most=3)(sp.csr_array(rows[:1]), 3)
    assert position.tolist() == [[0, 1, 2]]

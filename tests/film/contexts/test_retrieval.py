import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from film.contexts import context_sets, largest_first, nearest_rows


def brute_force(queries, points, n):
    products = queries @ points.T
    return [sorted(range(len(points)), key=lambda j: (-row[j], j))[:n] for row in products]


@pytest.mark.parametrize("n", [1, 7, 40, 99])
@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array])
def test_nearest_rows_are_those_of_a_full_sort(n, form, monkeypatch):
    monkeypatch.setattr(context_sets, "_BLOCK_CELLS", 40 * n % 90)
    rng = np.random.default_rng(n)
    # Small integers make many ties, and products that are the same in any order of summation.
    queries = rng.integers(0, 3, size=(5, 30)) * (rng.random((5, 30)) < 0.2)
    points = rng.integers(-1, 3, size=(40, 30)) * (rng.random((40, 30)) < 0.2)
    found, products = nearest_rows(form(queries), form(points), n)
    assert found.dtype == np.int64
    assert found.tolist() == brute_force(queries, points, n)
    np.testing.assert_array_equal(products, np.take_along_axis(queries @ points.T, found, axis=1))


@pytest.mark.parametrize("n", [-1, 0, 1, 5, 20, 30])
def test_the_largest_come_first_and_ties_by_place(n):
    values = np.random.default_rng(0).integers(0, 5, 20)
    expected = sorted(range(20), key=lambda k: (-values[k], k))[: max(n, 0)]
    assert largest_first(values, n).tolist() == expected

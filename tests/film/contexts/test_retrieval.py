import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix, random_array

from film.contexts import nearest_rows, retrieval


def brute_force(queries, points, n):
    products = queries @ points.T
    return [sorted(range(len(points)), key=lambda j: (-row[j], j))[:n] for row in products]


@pytest.mark.parametrize("n", [1, 7, 40, 99])
@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array])
def test_nearest_rows_are_those_of_a_full_sort(n, form):
    rng = np.random.default_rng(n)
    # Small integers make many ties, and products that are the same in any order of summation.
    queries = rng.integers(0, 3, size=(5, 30)) * (rng.random((5, 30)) < 0.2)
    points = rng.integers(-1, 3, size=(40, 30)) * (rng.random((40, 30)) < 0.2)
    found, products = nearest_rows(form(queries), form(points), n, return_products=True)
    assert found.dtype == np.int64
    assert found.tolist() == brute_force(queries, points, n)
    np.testing.assert_array_equal(products, np.take_along_axis(queries @ points.T, found, axis=1))


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    queries = random_array((23, 50), density=0.2, random_state=rng, format="csr")
    points = random_array((60, 50), density=0.2, random_state=rng, format="csr")
    whole = nearest_rows(queries, points, 20)
    for cells in (1, 60, 150):
        monkeypatch.setattr(retrieval, "_BLOCK_CELLS", cells)
        np.testing.assert_array_equal(nearest_rows(queries, points, 20), whole)


def test_a_query_without_known_words_has_products_of_0_in_order_of_rows():
    points = csr_array(np.eye(4))
    rows, products = nearest_rows(csr_array((1, 4)), points, 3, return_products=True)
    assert rows.tolist() == [[0, 1, 2]]
    assert products.tolist() == [[0, 0, 0]]


def test_arguments_are_not_changed():
    queries, points = csr_array(np.eye(3)), csc_array(np.eye(3))
    nearest_rows(queries, points, 2)
    np.testing.assert_array_equal(points.toarray(), np.eye(3))
    np.testing.assert_array_equal(queries.toarray(), np.eye(3))


@pytest.mark.parametrize(
    ("queries", "points", "n", "named"),
    [
        (np.eye(2), csr_array(np.eye(2)), 1, "queries must be a sparse matrix"),
        (csr_array(np.eye(2)), csr_array(np.eye(3)), 1, "same columns"),
        (csr_array(np.eye(2)), csr_array(np.eye(2)), 0, "n must be"),
        (csr_array(np.eye(2)), csr_array(np.eye(2)), 1.5, "n must be"),
        (csr_array(np.eye(2) * np.nan), csr_array(np.eye(2)), 1, "got a product of NaN"),
        (csr_array(np.eye(3)), csr_array(np.diag([1, 1, np.inf])), 1, "infinity for query 2"),
    ],
)
def test_wrong_arguments_are_named(queries, points, n, named):
    with pytest.raises(ValueError, match=named):
        nearest_rows(queries, points, n)

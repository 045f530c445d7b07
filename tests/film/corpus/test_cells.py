import numpy as np
import pytest

from film.corpus import NearestSearch, learn_centres
from film.corpus import cells as _cells


def unit_rows(n, d, seed=0, n_groups=None):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    if n_groups:
        rows = 0.15 * rows + rng.standard_normal((n_groups, d))[rng.integers(n_groups, size=n)]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute_force(points, rows, queries, k):
    """Rows of the k largest products, of equals the lower; exact for rows of few bits."""
    products = queries.astype(np.float64) @ points[rows].astype(np.float64).T
    order = np.argsort(-products, axis=1, kind="stable")[:, :k]
    return rows[order], np.take_along_axis(products, order, 1)


@pytest.fixture(params=[4, 7, 4096])
def small_blocks(request, monkeypatch):
    """Blocks, parts and settling so small that each is met many times."""
    monkeypatch.setattr(_cells, "BLOCK_POINTS", request.param)
    monkeypatch.setattr(_cells, "BLOCK_NUMBERS", 50)
    monkeypatch.setattr(_cells, "PART_QUERIES", 9)
    monkeypatch.setattr(_cells, "FEW_QUERIES", request.param)


@pytest.mark.parametrize("seed", range(4))
def test_without_cells_the_nearest_are_those_of_brute_force(small_blocks, seed):
    # Components are multiples of 1/4: products are exact, and many are equal.
    rng = np.random.default_rng(seed)
    points = (rng.integers(-2, 3, (60, 3)) / 4).astype(np.float32)
    queries = (rng.integers(-2, 3, (25, 3)) / 4).astype(np.float32)
    rows = np.sort(rng.permutation(60)[:40])
    for some, k in ((None, 5), (rows, 5), (rows, 40), (rows, 1)):
        search = NearestSearch(points, some)
        position, cosine = search(queries, k)
        used = np.arange(60) if some is None else some
        expected, products = brute_force(points, used, queries, k)
        np.testing.assert_array_equal(position, expected)
        np.testing.assert_array_equal(cosine, products)


def test_more_neighbours_than_points_leave_places_empty():
    points = unit_rows(5, 4)
    for centres in (None, learn_centres(points, 2, seed=0)):
        position, cosine = NearestSearch(points, centres=centres, n_probe=2)(points[:3], 7)
        assert (np.sort(position[:, :5], axis=1) == np.arange(5)).all()
        assert (position[:, 5:] == -1).all() and np.isneginf(cosine[:, 5:]).all()
        assert (np.diff(cosine[:, :5]) <= 0).all()


@pytest.mark.parametrize("k", [1, 4])
def test_with_all_cells_probed_the_search_is_exact(small_blocks, k):
    points, queries = unit_rows(80, 5), unit_rows(30, 5, seed=1)
    rows = np.arange(0, 80, 2)
    centres = learn_centres(points, 6, 0, rows)
    position, _ = NearestSearch(points, rows, centres=centres, n_probe=6)(queries, k)
    expected, _ = brute_force(points, rows, queries, k)
    # Random directions in float32 have no two products as close as its rounding here.
    np.testing.assert_array_equal(position, expected)


def test_few_cells_find_the_near_ones_of_grouped_points():
    points = unit_rows(3000, 16, n_groups=50)
    centres = learn_centres(points, 50, seed=0)
    found, _ = NearestSearch(points, centres=centres, n_probe=4)(points[:300], 5)
    exact, _ = NearestSearch(points)(points[:300], 5)
    assert (found[:, 0] == np.arange(300)).all()
    shared = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, exact, strict=True)])
    assert shared > 0.95
    # Only points of the probed cells are compared.
    one, _ = NearestSearch(points, centres=centres, n_probe=1)(points[:300], 5)
    cell = (points @ centres.T).argmax(axis=1)
    assert (cell[one] == cell[:300, None]).all()


def test_centres_part_groups_and_are_seeded():
    points = unit_rows(600, 8, n_groups=6)
    centres = learn_centres(points, 12, seed=0)
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(centres, learn_centres(points, 12, seed=0))
    assert not np.array_equal(centres, learn_centres(points, 12, seed=1))
    first = learn_centres(points, 12, seed=0, n_iter=0)

    def fit(these):
        return (points @ these.T).max(axis=1).mean()

    assert fit(centres) > fit(first)
    # Centres of some rows are directions of these alone.
    half = np.flatnonzero(points[:, 0] > 0)
    assert (learn_centres(points, 3, 0, half)[:, 0] > 0).all()


def test_the_number_of_threads_changes_nothing(monkeypatch):
    points = unit_rows(500, 6)
    centres = learn_centres(points, 10, seed=0)
    answers = []
    for threads in (1, 3):
        monkeypatch.setattr(_cells, "usable_cores", lambda threads=threads: threads)
        answers.append(NearestSearch(points, centres=centres, n_probe=3)(points, 4))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_allclose(answers[0][1], answers[1][1], atol=1e-6)

"""Ranks up to k_max, against brute force, and the bounds that skip, against what they skip."""

from typing import ClassVar

import numpy as np
import pytest

from film.pairs import neighbour_ranks
from film.pairs.neighbours import bounds, cells, rank_search
from film.pairs.neighbours.bounds import Leads, principal_axes, turned_units
from film.pairs.neighbours.cells import nearest, part
from film.pairs.neighbours.cosines import exact_units, product_bound
from film.pairs.ranks import INFINITE_RANK


@pytest.fixture
def small_cells(monkeypatch):
    """Cells of few points, so that small corpora have many of them."""
    monkeypatch.setattr(cells, "_ROWS_PER_CELL", 6)
    monkeypatch.setattr(cells, "_QUERIES_PER_CELL", 1)
    monkeypatch.setattr(rank_search, "_NEAR_CELLS", 2)
    monkeypatch.setattr(rank_search, "_GROUP_CELLS", 5)


def integer_points(rng, n=500, d=5):
    """Clustered rows of small integers: ties, copies, multiples and zero rows."""
    centres = rng.integers(-4, 5, size=(n // 20, d))
    points = centres[rng.integers(len(centres), size=n)] + rng.integers(-1, 2, size=(n, d))
    points[rng.integers(n, size=n // 25)] = 0
    copies = rng.integers(n, size=(2, n // 10))
    points[copies[0]] = 2 * points[copies[1]]
    return points


def brute_ranks(points, pairs, counted):
    """Ranks in integers: cos(x, z) orders as p|p| / ‖z‖² does, with p = x·z."""
    ranks = np.zeros((len(pairs), 2), dtype=np.int64)
    squares = (points**2).sum(axis=1)
    for side in (0, 1):
        x, goal = pairs[:, side], pairs[:, 1 - side]
        products = points[x] @ points[counted].T
        signed = products * np.abs(products)
        ours = (points[x] * points[goal]).sum(axis=1)
        ours *= np.abs(ours)
        closer = signed * squares[goal][:, None] > ours[:, None] * squares[counted]
        closer &= (counted != x[:, None]) & (counted != goal[:, None]) & (squares[counted] > 0)
        ranks[:, side] = closer.sum(axis=1)
        ranks[((squares[x] == 0) | (squares[goal] == 0)) & (x != goal), side] = INFINITE_RANK
        ranks[x == goal, side] = 0
    return ranks


@pytest.mark.parametrize("seed", range(12))
def test_thousands_of_ranks_are_those_of_brute_force(seed, small_cells):
    rng = np.random.default_rng(seed)
    points = integer_points(rng)
    pairs = rng.integers(len(points), size=(1000, 2))
    # Half of the pairs are near ones, or every rank would be far past k_max.
    units = exact_units(points.astype(float), np.arange(len(points)))
    some = pairs[:500, 0]
    order = np.argsort(-(units[some] @ units.T), axis=1)
    pairs[:500, 1] = order[np.arange(500), rng.integers(1, 40, size=500)]
    counted = np.arange(len(points))
    if seed % 2:
        counted = rng.permutation(len(points))[:350]
    k_max = int(rng.choice([1, 3, 7, 20, 60]))
    wanted = brute_ranks(points, pairs, counted)
    assert (wanted < 20).mean() > 0.2
    found = neighbour_ranks(points, pairs, counted, k_max=k_max)
    np.testing.assert_array_equal(found, np.minimum(wanted, k_max))
    if seed < 5:
        np.testing.assert_array_equal(neighbour_ranks(points, pairs, counted), wanted)


@pytest.mark.parametrize("d", [1, 2, 3, 40])
def test_real_rows_of_any_width(d, small_cells):
    rng = np.random.default_rng(d)
    points = rng.standard_normal((30, d))[rng.integers(30, size=600)]
    points += 0.2 * rng.standard_normal(points.shape)
    pairs = np.vstack([rng.integers(600, size=(300, 2)), np.arange(300).reshape(-1, 2)])
    full = neighbour_ranks(points, pairs)
    for k_max in (1, 5, 55, 10**6):
        found = neighbour_ranks(points, pairs, k_max=k_max)
        np.testing.assert_array_equal(found, np.minimum(full, k_max))


def test_neither_blocks_nor_tiles_nor_cells_change_a_rank(small_cells, monkeypatch):
    rng = np.random.default_rng(0)
    points = integer_points(rng)
    pairs = rng.integers(len(points), size=(150, 2))
    wanted = neighbour_ranks(points, pairs, k_max=9)
    for value in (1, 3, 64):
        monkeypatch.setattr(rank_search, "_LEAST_QUERIES", value)
        monkeypatch.setattr(rank_search, "_BLOCK_QUERIES", value**2)
        monkeypatch.setattr(rank_search, "_TILE_ROWS", value)
        monkeypatch.setattr(rank_search, "_TILE_BYTES", 28 * value)
        monkeypatch.setattr(cells, "_ROWS_PER_CELL", 5 * value)
        monkeypatch.setattr(bounds, "_LEADING", value)
        np.testing.assert_array_equal(neighbour_ranks(points, pairs, k_max=9), wanted)
    order = rng.permutation(len(pairs))
    again = neighbour_ranks(points, pairs[order][:, ::-1], k_max=9)
    np.testing.assert_array_equal(again, wanted[order][:, ::-1])


def clustered(seed=0, n=3000, d=24):
    rng = np.random.default_rng(seed)
    # Energy falls from coordinate to coordinate, as in a learned map, and families are tight.
    scale = 1 / np.sqrt(1 + np.arange(d))
    centres = rng.standard_normal((n // 30, d)) * scale
    return centres[np.arange(n) % len(centres)] + 0.15 * scale * rng.standard_normal((n, d))


def test_what_the_bounds_skip_is_not_closer_and_it_is_most(small_cells):
    points = clustered()
    everyone = np.arange(len(points))
    rows = turned_units(points, everyone, principal_axes(points, everyone))
    parted = part(rows, len(rows))
    assert len(parted.centres) > 100
    order = np.argsort(parted.label, kind="stable")
    rows, label = rows[order], parted.label[order]
    edges = np.searchsorted(label, np.arange(len(parted.centres) + 1))
    leads = Leads(rows, label, parted.centres)
    asked = np.arange(0, 3000, 29)
    cosines = rows[asked].astype(np.float64) @ rows.astype(np.float64).T
    threshold = np.sort(cosines, axis=1)[:, -20]
    threshold[0] = -0.5
    lead_bounds = leads.bounds_of(rows[asked])
    every = slice(0, len(parted.centres))
    held = parted.may_hold(parted.queries(rows[asked], threshold), every)
    along = lead_bounds.along(every)
    n_scanned = 0
    for cell in range(len(parted.centres)):
        places = slice(edges[cell], edges[cell + 1])
        if places.start == places.stop:
            continue
        greatest = cosines[:, places].max(axis=1)
        assert (greatest[~held[cell]] <= threshold[~held[cell]]).all()
        most = lead_bounds.most(places, np.arange(len(asked)), along[cell])
        assert (most >= greatest).all()
        n_scanned += np.count_nonzero(held[cell] & (most > threshold))
    assert held[:, 0].all()
    # Twenty near points lie in few of the cells; a bound that skips nothing would be idle.
    assert held[:, 1:].mean() < 0.5
    assert n_scanned < 0.1 * held.size


def test_principal_axes_hold_falling_shares_of_the_squares():
    points = clustered()
    rows = np.arange(0, len(points), 3)
    axes = principal_axes(points, rows)
    np.testing.assert_allclose(axes.T @ axes, np.eye(24), atol=1e-12)
    turned = exact_units(points, rows) @ axes
    products = turned.T @ turned
    shares = np.diag(products)
    assert (np.diff(shares) <= 0).all()
    np.testing.assert_allclose(products, np.diag(shares), atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 7, 8, 24])
def test_the_bound_of_a_cosine_is_that_of_cauchy_and_schwarz_within_its_slack(d):
    rng = np.random.default_rng(d)
    rows, asked, centres = (
        exact_units(rng.standard_normal((n, d)), np.arange(n)) for n in (60, 9, 3)
    )
    # A centre without other coordinates than the first has no direction among them.
    centres[0] = np.eye(1, d)
    labels = np.repeat([0, 1, 2], 20)
    leads = Leads(rows.astype(np.float32), labels, centres.astype(np.float32))
    slack = 5 * product_bound(d + 2)
    assert 4 * product_bound(d + 2) < leads.slack < 6 * product_bound(d + 2)
    found = leads.bounds_of(asked.astype(np.float32))
    along = found.along(slice(0, 3))
    p = max(1, d // 4)
    for cell in range(3):
        tail = centres[cell, p:]
        c = tail / max(np.linalg.norm(tail), 1e-300)
        part = slice(20 * cell, 20 * cell + 20)
        wanted = np.empty((20, 9))
        for i, z in enumerate(rows[part]):
            for j, x in enumerate(asked):
                on_z, on_x = z[p:] @ c, x[p:] @ c
                off = np.linalg.norm(z[p:] - on_z * c) * np.linalg.norm(x[p:] - on_x * c)
                wanted[i, j] = x[:p] @ z[:p] + on_x * on_z + off
        asking = np.arange(9)[::-1]
        most = found.most(part, asking, along[cell])
        bound = wanted.max(axis=0)[asking]
        # The two lengths across may be longer by √slack each, for their squares are by slack.
        assert (most >= bound).all()
        assert (most <= bound + 2 * np.sqrt(slack) + 4 * slack).all()


class Counted(np.ndarray):
    """Rows of the corpus that keep how many cosines they are multiplied to."""

    n_cosines: ClassVar[list[int]] = []

    def __matmul__(self, other):
        self.n_cosines.append(len(self) * other.shape[1])
        return np.asarray(self) @ other


@pytest.fixture
def n_cosines(monkeypatch):
    """Numbers of cosines that a search multiplies in full."""
    made = rank_search.RankSearch.__init__

    def counting(self, *args, **settings):
        made(self, *args, **settings)
        self.corpus_rows = self.corpus_rows.view(Counted)

    monkeypatch.setattr(rank_search.RankSearch, "__init__", counting)
    monkeypatch.setattr(Counted, "n_cosines", [])
    return Counted.n_cosines


@pytest.mark.parametrize(("far", "k_max"), [(False, 55), (False, None), (True, 5)])
def test_few_products_are_multiplied(far, k_max, small_cells, n_cosines):
    points = clustered(1)
    pairs = np.array([(i, i + 100) for i in range(0, 2900, 4)])
    if far:
        # No bound skips what is nearer than these, but few points are enough.
        pairs = np.random.default_rng(0).integers(len(points), size=(700, 2))
    neighbour_ranks(points, pairs, k_max=k_max)
    assert 0 < sum(n_cosines) < 0.03 * 2 * len(pairs) * len(points)


def test_tiles_stay_within_their_bytes(small_cells, n_cosines, monkeypatch):
    points = clustered(1, n=600)
    pairs = np.random.default_rng(0).integers(len(points), size=(300, 2))
    monkeypatch.setattr(rank_search, "_TILE_ROWS", 4)
    monkeypatch.setattr(rank_search, "_TILE_BYTES", 4 * 20)
    for k_max in (None, 9):
        neighbour_ranks(points, pairs, k_max=k_max)
    assert max(n_cosines) == 20


def test_cells_hold_every_row_within_their_reach():
    rows = clustered(2).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    parted = part(rows, len(rows))
    assert len(parted.centres) == 3000 // 128
    label, _ = nearest(rows, parted.centres)
    np.testing.assert_array_equal(label, parted.label)
    cosine = np.einsum("ij,ij->i", rows.astype(float), parted.centres[label].astype(float))
    assert (cosine >= parted.reach[label]).all()
    # Few queries are not worth cells.
    assert len(part(rows, 31).centres) == 1


@pytest.mark.parametrize("k_max", [0, -3, 1.5, True])
def test_k_max_is_a_positive_integer(k_max):
    with pytest.raises((TypeError, ValueError), match="k_max must be"):
        neighbour_ranks(np.eye(3), [[0, 1]], k_max=k_max)

"""Nearest points by products on a device of torch, against those of NumPy."""

import sys

import numpy as np
import pytest

from film.corpus import NearestSearch, checked_device, learn_centres
from film.corpus import cells as _cells
from film.corpus import devices as _devices
from tests.film.corpus.test_cells import brute_force, unit_rows

torch = pytest.importorskip("torch", reason="needs the extra neural")


@pytest.fixture(params=[(2, 50), (3, 2**24)])
def many_steps(request, monkeypatch):
    """Groups, steps and blocks so small that each is met many times; few queries go there too."""
    group, numbers = request.param
    monkeypatch.setattr(_devices, "GROUP", group)
    monkeypatch.setattr(_devices, "BLOCK_NUMBERS", numbers)
    monkeypatch.setattr(_cells, "BLOCK_POINTS", 17)
    monkeypatch.setattr(_cells, "FEW_QUERIES", 0)


def coarse_rows(rng, n):
    """Multiples of 1/4: products are exact; many are equal, some rows are zero or copies."""
    rows = (rng.integers(-2, 3, (n, 3)) / 4).astype(np.float32)
    rows[n // 2 : n // 2 + 5] = 0
    rows[-7:] = rows[:7]
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_are_those_of_numpy_to_the_bit(many_steps, seed):
    rng = np.random.default_rng(seed)
    points, queries = coarse_rows(rng, 60), coarse_rows(rng, 25)
    some = np.sort(rng.permutation(60)[:40])
    for rows, k in ((None, 1), (None, 5), (None, 60), (some, 5), (some, 43)):
        search = NearestSearch(points, rows)
        position, cosine = search(queries, k, "cpu")
        wanted, near = search(queries, k)
        np.testing.assert_array_equal(position, wanted)
        np.testing.assert_array_equal(cosine, near)
        assert position.dtype == wanted.dtype and cosine.dtype == near.dtype
        used = np.arange(60) if rows is None else rows
        expected, products = brute_force(points, used, queries, k)
        np.testing.assert_array_equal(position[:, : len(used)], expected)
        np.testing.assert_array_equal(cosine[:, : len(used)], products)
        assert (position[:, len(used) :] == -1).all()
        assert np.isneginf(cosine[:, len(used) :]).all()


@pytest.mark.parametrize("n_probe", [1, 3, 6])
def test_the_same_cells_are_probed(many_steps, n_probe):
    rng = np.random.default_rng(0)
    points, queries = coarse_rows(rng, 80), coarse_rows(rng, 30)
    rows = np.arange(0, 80, 2)
    centres = learn_centres(points, 6, 0, rows)
    search = NearestSearch(points, rows, centres=centres, n_probe=n_probe)
    for k in (1, 4, 50):
        for found, wanted in zip(search(queries, k, "cpu"), search(queries, k), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_the_nearest_of_grouped_points_are_those_of_numpy_up_to_rounding():
    points = unit_rows(9000, 32, n_groups=300)
    points[1::50] = points[::50]
    for centres in (None, learn_centres(points, 90, seed=0)):
        search = NearestSearch(points, centres=centres, n_probe=9)
        position, cosine = search(points[:700], 11, "cpu")
        wanted, near = search(points[:700], 11)
        # Sums of 32 products, each no larger than one, in another order.
        np.testing.assert_allclose(cosine, near, rtol=0, atol=2e-6)
        other = position != wanted
        assert other.mean() < 0.01
        row = np.nonzero(other)[0]
        exact = np.einsum("ij,ij->i", points[row], points[position[other]], dtype=np.float64)
        np.testing.assert_allclose(exact, near[other], rtol=0, atol=4e-6)
        assert all(len(set(row)) == 11 for row in position.tolist())


def test_zeros_are_equal_whatever_their_signs(monkeypatch):
    monkeypatch.setattr(_cells, "FEW_QUERIES", 0)
    # The first product is too small for float32, and keeps its sign.
    points = np.array([[-1e-30], [1e-30], [0.0], [-1.0]], dtype=np.float32)
    position, cosine = NearestSearch(points)(np.full((5, 1), 1e-30, np.float32), 4, "cpu")
    assert position.tolist() == [[0, 1, 2, 3]] * 5
    assert cosine[0].tolist() == [0, 0, 0, pytest.approx(-1e-30)]


def test_arrays_that_are_not_to_be_written_are_read(monkeypatch):
    monkeypatch.setattr(_cells, "FEW_QUERIES", 0)
    points = unit_rows(20, 4)
    expected = NearestSearch(points)(points, 3)[0]
    points.flags.writeable = False
    np.testing.assert_array_equal(NearestSearch(points)(points, 3, "cpu")[0], expected)
    turned = points[:, ::-1]
    np.testing.assert_array_equal(NearestSearch(turned)(turned, 3, "cpu")[0], expected)


@pytest.mark.parametrize("precision", ["highest", "medium"])
def test_many_queries_go_to_the_device_in_whole_float32(precision, monkeypatch):
    seen = []
    honest = _devices.BestOnDevice.compare

    def compare(self, rows, points, members):
        seen.append((torch.get_float32_matmul_precision(), len(rows)))
        honest(self, rows, points, members)

    monkeypatch.setattr(_devices.BestOnDevice, "compare", compare)
    points = unit_rows(80, 4)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        for n in (64, 65):
            position, _ = NearestSearch(points)(points[:n], 3, "cpu")
            np.testing.assert_array_equal(position, NearestSearch(points)(points[:n], 3)[0])
        assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)
    assert seen == [("highest", 65)]


def test_a_device_that_is_not_there_is_named(monkeypatch):
    search = NearestSearch(np.eye(3, dtype=np.float32))
    for ask in (checked_device, lambda device: search(np.eye(3, dtype=np.float32), 1, device)):
        with pytest.raises(ValueError, match=r"device='gpu' must be .*, or device=None"):
            ask("gpu")
        with pytest.raises(ValueError, match=r"device=1\.5 must be a device of torch"):
            ask(1.5)
        with pytest.raises(ValueError, match="device='meta' does not compute here"):
            ask("meta")
    assert checked_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no GPU"):
        checked_device("cuda")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cuda' needs torch.*film-metric\[neural\]"):
        checked_device("cuda")

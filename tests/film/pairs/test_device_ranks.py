"""Ranks by products on a device of torch, against those of NumPy."""

import numpy as np
import pytest

from film.pairs import neighbour_ranks
from film.pairs.neighbours import device_search
from tests.film.pairs.test_bounded_ranks import clustered, integer_points


@pytest.mark.parametrize("k_max", [None, 9])
@pytest.mark.parametrize("precision", ["highest", "medium"])
def test_torch_gives_the_same_ranks(k_max, precision, monkeypatch):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    pairs = rng.integers(500, size=(400, 2))
    counted = rng.permutation(500)[:350]
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        for points in (integer_points(rng), clustered(3, n=500)):
            for rows, tasks, queries in ((2**14, 2**12, 2**16), (64, 37, 50)):
                monkeypatch.setattr(device_search, "_DEVICE_ROWS", rows)
                monkeypatch.setattr(device_search, "_DEVICE_TASKS", tasks)
                monkeypatch.setattr(device_search, "_BLOCK_QUERIES", queries)
                for corpus in (None, counted):
                    found = neighbour_ranks(points, pairs, corpus, k_max=k_max, device="cpu")
                    wanted = neighbour_ranks(points, pairs, corpus, k_max=k_max)
                    np.testing.assert_array_equal(found, wanted)
        assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)


def test_a_device_that_is_not_there_is_named(monkeypatch):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="device='gpu' must be a device of torch"):
        neighbour_ranks(np.eye(3), [[0, 1]], device="gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no GPU"):
        neighbour_ranks(np.eye(3), [[0, 1]], device="cuda")

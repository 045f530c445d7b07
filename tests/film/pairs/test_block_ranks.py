import numpy as np
import pytest

from film.corpus import write_blocks
from film.pairs import block_ranks, neighbour_ranks


def points(seed, n=40, d=3):
    """Few directions, so that copies, ties and rows of zeros abound."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, d)).astype(rng.choice([np.float32, np.float64]))
    X *= rng.choice([1, 2, 0.5], size=(n, 1)).astype(X.dtype)
    smooth = rng.random(n) < 0.5
    X[smooth] = rng.standard_normal((smooth.sum(), d))
    return X


def cut(X, folder, size):
    return write_blocks(folder, [X[start : start + size] for start in range(0, len(X), size)])


@pytest.mark.parametrize("seed", range(4))
def test_ranks_are_those_of_the_points_in_memory(tmp_path, seed):
    X = points(seed)
    pairs = np.random.default_rng(seed).integers(len(X), size=(60, 2))
    expected = neighbour_ranks(X, pairs)
    blocks = cut(X, tmp_path / "x", 1 + 7 * (seed % 4))
    assert np.array_equal(block_ranks(blocks, pairs), expected)
    for k_max in (1, 5, 55):
        found = block_ranks(blocks, pairs, k_max=k_max)
        assert np.array_equal(found, np.minimum(expected, k_max))
    assert block_ranks(blocks, np.empty((0, 2), int)).shape == (0, 2)


def test_wrong_pairs_are_refused(tmp_path):
    blocks = cut(points(0), tmp_path, 7)
    with pytest.raises(ValueError, match="pairs"):
        block_ranks(blocks, [[0, 40]])
    with pytest.raises(ValueError, match="k_max"):
        block_ranks(blocks, [[0, 1]], k_max=0)

"""Near pairs against a plain loop: known ones left out, ties, points of zeros."""

import numpy as np
import pytest
import scipy.sparse as sp

import film.corpus.neighbour_pairs as module
from film.corpus import near_pairs


def looped(points, k, known):
    norms = np.linalg.norm(points, axis=1)
    left_out = {frozenset(pair) for pair in known}
    found = {}
    for i in range(len(points)):
        cosines = []
        for j in range(len(points)):
            if j != i and norms[i] * norms[j] > 0 and frozenset((i, j)) not in left_out:
                cosines.append((-(points[i] @ points[j]) / norms[i] / norms[j], j))
        for minus, j in sorted(cosines)[:k]:
            if minus < 0:
                found[min(i, j), max(i, j)] = -minus
    return found


@pytest.mark.parametrize("k", [1, 3, 50])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block", [1, 100, 2**24])
def test_pairs_are_those_of_a_plain_loop(k, kind, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(23, 4))
    points[7] = 0
    known = [[0, 1], [5, 2], [3, 3], *([8, j] for j in range(20))]
    pairs, cosines = near_pairs(kind(points), k, known)
    expected = looped(points, k, known)
    assert list(map(tuple, pairs.tolist())) == sorted(expected)
    np.testing.assert_allclose(cosines, [expected[tuple(pair)] for pair in pairs.tolist()])
    assert (pairs[:, 0] < pairs[:, 1]).all() and not (pairs == 7).any() and (cosines > 0).all()


def test_of_equals_the_lower_number_counts():
    pairs, _ = near_pairs(np.ones((4, 1), dtype=np.float32), 1)
    assert pairs.tolist() == [[0, 1], [0, 2], [0, 3]]


def test_a_point_alone_has_no_neighbour():
    pairs, cosines = near_pairs([[1.0, 2.0]])
    assert pairs.shape == (0, 2) and cosines.shape == (0,)


def test_nothing_given_is_changed_and_scale_does_not_matter():
    points = np.random.default_rng(0).normal(size=(9, 3))
    before = points.copy()
    one, other = near_pairs(points), near_pairs(points * np.arange(1, 10)[:, None] * 1e3)
    np.testing.assert_array_equal(points, before)
    np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0, 2.0],), ValueError, r"points has shape \(2,\)"),
        ((np.ones((3, 2)), 0), ValueError, "n_neighbors=0 must be 1 or more"),
        ((np.ones((3, 2)), 1, [[0, 3]]), ValueError, r"pairs\[0\] is \[0, 3\]"),
        ((np.ones((3, 2)), 1, [[0.0, 1.0]]), TypeError, "integer"),
    ],
)
def test_what_is_wrong_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        near_pairs(*arguments)

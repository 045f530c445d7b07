"""Neighbourhoods of pairs, against their definition written with loops."""

import tracemalloc

import numpy as np
import pytest

from film.pairs import (
    NEIGHBOURHOOD_NAMES,
    nearest_neighbours,
    neighbour_ranks,
    neighbourhood_features,
    ranks_and_neighbourhoods,
)
from film.pairs.neighbours import neighbourhoods
from film.pairs.neighbours.cosines import tie_width


def unit(row):
    length = np.linalg.norm(row)
    return row / length if length else row


def neighbours_by_hand(points, query, counted):
    """All counted rows but the query, the nearest first, with cosines."""
    if not points[query].any():
        return []
    others = [row for row in counted if row != query and points[row].any()]
    near = [(float(unit(points[query]) @ unit(points[row])), row) for row in others]
    return sorted(near, key=lambda entry: (-round(entry[0], 12), entry[1]))


def features_by_hand(points, pair, counted, k):
    cosine = float(unit(points[pair[0]]) @ unit(points[pair[1]]))
    densities, leads, sets = [], [], []
    for x, partner in (pair, pair[::-1]):
        near = [(c, row) for c, row in neighbours_by_hand(points, x, counted) if row != partner][:k]
        densities.append(np.mean([c for c, _ in near]) if near else 0.0)
        leads.append(cosine - (near[0][0] if near else 0.0))
        sets.append({row for _, row in near})
    union = sets[0] | sets[1]
    shared = len(sets[0] & sets[1]) / len(union) if union else 0.0
    scaled = 2 * cosine - sum(densities)
    return [min(densities), max(densities), scaled, min(leads), max(leads), shared]


def cloud(seed, n=40, d=6, dtype=np.float64):
    points = np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)
    points[3] = 0
    points[7] = 2 * points[6]  # the same direction
    return points


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("corpus", [None, np.arange(0, 40, 3), np.array([5, 6])])
@pytest.mark.parametrize("k", [1, 4, 60])
def test_neighbours_are_those_of_a_loop(dtype, corpus, k):
    points = cloud(0, dtype=dtype)
    counted = range(40) if corpus is None else corpus.tolist()
    found, cosines = nearest_neighbours(points, np.arange(40), k, corpus)
    assert found.shape == cosines.shape == (40, k)
    for query in range(40):
        wanted = neighbours_by_hand(points.astype(np.float64), query, counted)[:k]
        n = len(wanted)
        assert found[query, :n].tolist() == [row for _, row in wanted]
        assert (found[query, n:] == -1).all() and (cosines[query, n:] == 0).all()
        # float32 rows are given as they are, so only float64 rounding is left.
        assert np.allclose(cosines[query, :n], [c for c, _ in wanted], rtol=0, atol=1e-12)


@pytest.mark.parametrize("corpus", [None, np.arange(1, 40, 2), np.array([5, 6])])
@pytest.mark.parametrize("k", [1, 3, 60])
def test_features_are_those_of_the_definition(corpus, k):
    points = cloud(1)
    counted = range(40) if corpus is None else corpus.tolist()
    pairs = np.array([(0, 1), (6, 7), (5, 6), (3, 9), (9, 3), (4, 4), (1, 11), (20, 30), (2, 39)])
    found = neighbourhood_features(points, pairs, corpus, k=k)
    wanted = [features_by_hand(points, pair, counted, k) for pair in pairs.tolist()]
    assert found.shape == (len(pairs), len(NEIGHBOURHOOD_NAMES))
    assert np.allclose(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("corpus", [None, np.arange(1, 40, 2), np.array([5, 6])])
@pytest.mark.parametrize("k", [1, 3, 60])
def test_ranks_are_those_of_the_search_for_ranks_up_to_k(corpus, k):
    points = cloud(4)
    points[12] = points[11] + 1e-16  # a copy but for rounding
    pairs = np.vstack([np.random.default_rng(0).integers(0, 40, (200, 2)), [(3, 3), (3, 8)]])
    ranks, features = ranks_and_neighbourhoods(points, pairs, corpus, k=k)
    assert np.array_equal(ranks, np.minimum(neighbour_ranks(points, pairs, corpus), k))
    assert np.array_equal(features, neighbourhood_features(points, pairs, corpus, k=k))


def test_order_and_company_change_nothing(monkeypatch):
    points = cloud(2, n=300)
    pairs = np.random.default_rng(0).integers(0, 300, (50, 2))
    found = neighbourhood_features(points, pairs, k=5)
    assert np.array_equal(neighbourhood_features(points, pairs[:, ::-1], k=5), found)
    alone = [neighbourhood_features(points, pairs[row : row + 1], k=5)[0] for row in range(50)]
    assert np.array_equal(alone, found)
    ranks = ranks_and_neighbourhoods(points, pairs, k=5)[0]
    for pairs_at_once in (1, 7, 50):
        monkeypatch.setattr(neighbourhoods, "_BLOCK_PAIRS", pairs_at_once)
        again, features = ranks_and_neighbourhoods(points, pairs, k=5)
        assert np.array_equal(again, ranks) and np.array_equal(features, found)
    monkeypatch.setattr(neighbourhoods, "_BLOCK_BYTES", 4 * 300 * 7)
    assert np.array_equal(neighbourhood_features(points, pairs, k=5), found)
    # Only directions matter; powers of two leave no rounding.
    assert np.array_equal(neighbourhood_features(points * 8, pairs, k=5), found)


def test_the_nearest_are_exact_where_float32_cannot_tell():
    # Cosines that differ by 1e-10: in float32 they are one.
    angles = 0.5 + 1e-10 * np.arange(30)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.vstack([points, [[1.0, 0.0]]])
    found, _ = nearest_neighbours(points, [30], 5, np.random.default_rng(0).permutation(30))
    assert found.tolist() == [[0, 1, 2, 3, 4]]


def test_what_float32_rounds_the_wrong_way_is_found_all_the_same():
    rng = np.random.default_rng(0)
    base, query = rng.normal(size=64), rng.normal(size=64)
    # Cosines spread by some 1e-8: less than the error of a float32 product of 64 terms.
    points = np.vstack([base + 3e-8 * rng.normal(size=(400, 64)), query])
    units = points / np.linalg.norm(points, axis=1)[:, None]
    wanted = np.argsort(-(units[:400] @ units[400]), kind="stable")[:6]
    in_float32 = units[:400].astype(np.float32) @ units[400].astype(np.float32)
    assert np.argsort(-in_float32, kind="stable")[:6].tolist() != wanted.tolist()
    found, _ = nearest_neighbours(points, [400], 6, np.arange(400))
    assert found[0].tolist() == wanted.tolist()


def test_pairs_that_are_listed_do_not_matter():
    points = cloud(3)
    found = neighbourhood_features(points, [(0, 1)], k=5)
    many = neighbourhood_features(points, [(0, 1), (0, 2), (0, 5), (1, 5), (0, 1)], k=5)
    assert np.array_equal(many[[0, 4]], np.vstack([found, found]))
    assert neighbourhood_features(points, np.empty((0, 2), dtype=int)).shape == (0, 6)
    ten = neighbourhood_features(points, [(0, 1)], k=10)
    assert np.array_equal(neighbourhood_features(points, [(0, 1)]), ten)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (([[np.nan, 1.0]], [(0, 0)]), ValueError, "entries must be finite"),
        (([[1.0, 1.0]], [(0, 1)]), ValueError, "pairs"),
        (([[1.0, 1.0]], [(0.5, 0)]), TypeError, "pairs"),
        (([[1.0, 1.0]], [(0, 0)], []), ValueError, "corpus"),
        (([[1.0, 1.0]], [(0, 0)], [0, 0]), ValueError, "corpus names row 0 2 times"),
    ],
)
def test_wrong_input_is_named(given, error, message):
    with pytest.raises(error, match=message):
        neighbourhood_features(*given)
    with pytest.raises(ValueError, match="k "):
        neighbourhood_features([[1.0, 1.0]], [(0, 0)], k=0)


def test_a_gap_of_just_the_width_of_ties_is_a_tie():
    width = tie_width(2)
    # Of length 1 in float64, and their cosines with the first row are 0, the width and more.
    points = np.array([[1.0, 0.0], [0.0, 1.0], [width, 1.0]])
    assert ranks_and_neighbourhoods(points, [[0, 1]], k=10)[0].tolist() == [[0, 1]]
    assert neighbour_ranks(points, [[0, 1]]).tolist() == [[0, 1]]
    points[2, 0] = np.nextafter(width, 1)
    assert ranks_and_neighbourhoods(points, [[0, 1]], k=10)[0].tolist() == [[1, 1]]
    assert neighbour_ranks(points, [[0, 1]]).tolist() == [[1, 1]]


def test_cosines_are_never_whole(monkeypatch):
    points = np.random.default_rng(0).normal(size=(1200, 2))
    monkeypatch.setattr(neighbourhoods, "_BLOCK_BYTES", 4 * 1200 * 10)
    tracemalloc.start()
    nearest_neighbours(points, np.arange(1200), 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1200 * 1200 * 4 / 4

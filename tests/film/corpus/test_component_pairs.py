"""Pairs without a score in connected parts, against a plain loop, and parts that are too large."""

import itertools

import numpy as np
import pytest

import film.corpus.component_pairs as module
from film.corpus import connected_groups, link_scores, missing_pairs


def scored(n, share, seed):
    """All pairs of points with a score each, and a part of them."""
    rng = np.random.default_rng(seed)
    every = np.array(list(itertools.combinations(range(n), 2)))
    scores = rng.random(len(every))
    some = rng.random(len(every)) < share
    return every, scores, some


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("must", [[], [[3, 1], [0, 29], [29, 3]]])
def test_pairs_are_those_that_a_loop_misses(share, must):
    every, scores, some = scored(30, share, 0)
    pairs, values = every[some][:, ::-1], scores[some]
    missing, n_incomplete = missing_pairs(pairs, values, 30, threshold=0.7, must_link=must)
    strong = [*pairs[values >= 0.7].tolist(), *must]
    part = connected_groups(strong, 30)
    given = {tuple(sorted(pair)) for pair in pairs.tolist()}
    expected = {(a, b) for a, b in every.tolist() if part[a] == part[b]} - given
    assert n_incomplete == 0 and len(missing) == len(expected)
    assert set(map(tuple, missing.tolist())) == expected


def test_what_a_large_part_lacks_is_listed_where_its_links_are_strong(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_PART", 10)
    # Two rings of nine points with strong links, joined by a weak one; and a pair.
    rings = [[start + i, start + (i + 1) % 9] for start in (0, 9) for i in range(9)]
    pairs, scores = [*rings, [8, 9], [18, 19]], [*[0.9] * 18, 0.6, 0.7]
    missing, n_incomplete = missing_pairs(pairs, scores, 20, threshold=0.5)
    assert len(missing) == 2 * (36 - 9) and n_incomplete == 18
    assert set((missing // 9).ravel().tolist()) == {0, 1}
    assert ((missing[:, 0] < 9) == (missing[:, 1] < 9)).all()
    # As an answer at a higher threshold has it.
    high = missing_pairs(pairs, scores, 20, threshold=0.8)
    np.testing.assert_array_equal(missing, high[0])
    assert high[1] == 0


def test_no_more_pairs_are_listed_than_are_to_be_scored_and_small_parts_come_first(monkeypatch):
    monkeypatch.setattr(module, "MOST_MISSING", 10)
    # Chains of 6, 3 and 4 points lack 10, 1 and 3 pairs.
    pairs = [[i, i + 1] for i in range(12) if i not in (5, 8)]
    missing, n_incomplete = missing_pairs(pairs, np.ones(len(pairs)), 13, threshold=0.5)
    assert missing.tolist() == [[6, 8], [9, 11], [9, 12], [10, 12]]
    assert n_incomplete == 6


def test_a_large_part_of_equal_links_is_told(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_PART", 3)
    pairs = [[0, 1], [1, 2], [2, 3]]
    missing, n_incomplete = missing_pairs(pairs, [1, 1, 1], 5, threshold=0.5)
    assert len(missing) == 0 and n_incomplete == 4
    # Nothing is missing where all its pairs are known, however large it is.
    every, scores, _ = scored(8, 1, 0)
    assert missing_pairs(every, scores, 8, threshold=0.1)[1] == 0


@pytest.mark.parametrize("seed", range(5))
def test_with_them_groups_are_those_of_all_pairs(seed):
    every, scores, some = scored(25, 0.3, seed)
    missing, _ = missing_pairs(every[some], scores[some], 25, threshold=0.8)
    known = some | np.isin(every @ [25, 1], missing @ [25, 1])
    expected = link_scores(every, np.where(known | (scores < 0.8), scores, 0), 25, threshold=0.8)
    found = link_scores(every[known], scores[known], 25, threshold=0.8)
    np.testing.assert_allclose(found, expected)

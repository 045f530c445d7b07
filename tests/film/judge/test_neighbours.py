"""Ranks and margins of pairs, by a loop over the neighbours of both texts."""

import numpy as np
import pytest

from film.judge import neighbour_features


def slow(pairs, cosines, asked, asked_cosines, one_sided=False):
    near = {}
    for (a, b), cosine in zip(pairs.tolist(), cosines.tolist(), strict=True):
        near.setdefault(a, {})[b] = cosine
        if not one_sided:
            near.setdefault(b, {})[a] = cosine
    rows = []
    for (a, b), cosine in zip(asked.tolist(), asked_cosines.tolist(), strict=True):
        n_closer, thirds = 0, [0.0]
        for text, other in ((a, b), (b, a))[: 1 if one_sided else 2]:
            others = {name: value for name, value in near.get(text, {}).items() if name != other}
            n_closer = max(n_closer, sum(value > cosine + 0.05 for value in others.values()))
            thirds += sorted(others.values(), reverse=True)[2:3]
        rows.append([np.log(1 + min(n_closer, 5)), cosine - max(thirds)])
    return np.array(rows).reshape(-1, 2)


def random_graph(n_texts, share, seed, levels=None):
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((n_texts, n_texts)) < share, 1))
    flipped = rng.random(len(pairs)) < 0.5
    pairs[flipped] = pairs[flipped, ::-1]
    rng.shuffle(pairs)
    if levels is None:
        return pairs, rng.random(len(pairs))
    return pairs, rng.integers(0, levels + 1, len(pairs)) / levels


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.1, 0.4, 1.0])
@pytest.mark.parametrize("levels", [None, 7])
def test_ranks_and_margins_are_those_of_a_loop(seed, share, levels):
    pairs, cosines = random_graph(25, share, seed, levels)
    found = neighbour_features(pairs, cosines, pairs, cosines)
    np.testing.assert_allclose(found, slow(pairs, cosines, pairs, cosines), atol=1e-9)
    one_sided = neighbour_features(pairs, cosines, pairs, cosines, one_sided=True)
    expected = slow(pairs, cosines, pairs, cosines, one_sided=True)
    np.testing.assert_allclose(one_sided, expected, atol=1e-9)
    some = np.random.default_rng(seed).permutation(len(pairs))[:20]
    turned = neighbour_features(pairs, cosines, pairs[some, ::-1], cosines[some])
    np.testing.assert_allclose(turned, found[some], atol=1e-12)


def test_near_copies_are_equally_close():
    """A neighbour is closer from .05 on."""
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    cosines = np.array([0.80, 0.84, 0.86])
    ranks = neighbour_features(pairs, cosines, pairs, cosines)[:, 0]
    np.testing.assert_allclose(ranks, np.log([2, 1, 1]))


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("last", [False, True])
def test_texts_of_few_neighbours(n, last):
    pairs = np.array([[n, other] if last else [0, other + 1] for other in range(n)])
    cosines = np.linspace(0.9, 0.1, n)
    found = neighbour_features(pairs, cosines, pairs, cosines)
    np.testing.assert_allclose(found, slow(pairs, cosines, pairs, cosines), atol=1e-12)


def test_no_pairs():
    none, no_cosines = np.empty((0, 2), dtype=np.intp), np.empty(0)
    assert neighbour_features(none, no_cosines, none, no_cosines).shape == (0, 2)
    asked = np.array([[0, 3]])
    found = neighbour_features(none, no_cosines, asked, np.array([0.4]))
    np.testing.assert_allclose(found, [[0, 0.4]])

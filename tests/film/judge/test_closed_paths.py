"""Transitivity of scores against all paths of two pairs."""

import itertools

import numpy as np
import pytest

from film.judge import transitivity

THRESHOLDS = np.array([0.3, 0.5, 0.7])


def slow_transitivity(scores, listed):
    """Shares and numbers of paths, from the scores of all pairs of rows and of those listed."""
    n = len(scores)
    shares, numbers = [], []
    for threshold in THRESHOLDS:
        closed = []
        for b in range(n):
            ends = [a for a in range(n) if listed[a, b] and scores[a, b] >= threshold]
            closed += [scores[a, c] >= threshold for a, c in itertools.combinations(ends, 2)]
        chance = np.mean(scores[np.triu_indices(n, 1)] >= threshold)
        shares.append((np.mean(closed) - chance) / (1 - chance) if closed else 1.0)
        numbers.append(len(closed))
    return shares, numbers


@pytest.mark.parametrize("n_groups", [2, 5, 12])
def test_shares_are_those_of_all_paths(n_groups):
    rng = np.random.default_rng(n_groups)
    group = rng.integers(n_groups, size=60)
    scores = rng.random((60, 60)) * 0.6 + 0.35 * (group[:, None] == group)
    scores = np.minimum(np.triu(scores, 1) + np.triu(scores, 1).T, 1)
    listed = np.triu(rng.random((60, 60)) < 0.5, 1)
    pairs = np.argwhere(listed)
    asked = []

    def ask(more):
        asked.append(more)
        return scores[tuple(more.T)]

    found = transitivity(pairs, scores[tuple(pairs.T)], THRESHOLDS, ask)
    shares, numbers = slow_transitivity(scores, listed | listed.T)
    assert found.n_paths.tolist() == numbers
    np.testing.assert_allclose(found.shares, shares, atol=0.2)
    (more,) = asked
    assert (more[:, 0] < more[:, 1]).all()
    assert len(more) < 1400


def test_without_paths_the_share_is_one():
    def ask(more):
        raise AssertionError("nothing is asked")

    found = transitivity(np.array([[0, 1], [2, 3]]), np.array([0.9, 0.8]), THRESHOLDS, ask)
    assert found.shares.tolist() == [1, 1, 1]
    assert found.n_paths.tolist() == [0, 0, 0]

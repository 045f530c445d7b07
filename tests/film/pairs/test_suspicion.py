import itertools

import numpy as np
import pytest

from film.pairs import confident_contradictions, label_chains


def slow_chain(pairs, y, p, row):
    """The likeliest chain of pairs labelled same, of all simple ones."""
    start, goal = pairs[row]
    same = [i for i in range(len(y)) if y[i]]
    best, found = -1.0, None
    for n in range(len(same) + 1):
        for chain in itertools.permutations(same, n):
            at = start
            for i in chain:
                if at not in pairs[i]:
                    break
                at = pairs[i][0] + pairs[i][1] - at
            else:
                value = np.prod(np.clip(p[list(chain)], 0.02, 0.98))
                if at == goal and value > best:
                    best, found = value, list(chain)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_chains_are_the_likeliest_of_all(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 5, (8, 2)).tolist()
    y = rng.random(8) < 0.6
    p = rng.random(8)
    expected = []
    for row in range(8):
        chain = None if y[row] else slow_chain(pairs, y, p, row)
        if chain is not None:
            expected.append((row, chain))
    found = label_chains(pairs, y, p)
    assert [row for row, _ in found] == [row for row, _ in expected]
    for (_, ours), (_, theirs) in zip(found, expected, strict=True):
        assert np.prod(p[ours].clip(0.02, 0.98)) == pytest.approx(
            np.prod(p[theirs].clip(0.02, 0.98))
        )
        assert len(ours) == len(theirs)


def test_consistent_labels_have_no_chains():
    assert label_chains([[0, 1], [1, 2], [0, 3], [2, 3]], [1, 1, 0, 0], [0.9] * 4) == []
    assert label_chains(np.empty((0, 2), dtype=int), [], []) == []


def test_a_text_that_differs_from_itself_is_a_chain_of_nothing():
    assert label_chains([[0, 1], [2, 2]], [1, 0], [0.9, 0.5]) == [(1, [])]


def test_confidence_is_that_of_the_class():
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    p = np.array([0.9, 0.8, 0.45, 0.05, 0.1, 0.2, 0.55, 0.9])
    # The usual confidence is 0.55 for duplicates, and 0.5625 for others.
    assert (
        confident_contradictions(y, p).tolist() == [False] * 3 + [True] + [False] * 2 + [True] * 2
    )
    assert confident_contradictions(~y, 1 - p).tolist() == confident_contradictions(y, p).tolist()


def test_labels_of_one_class_are_not_contradicted():
    assert not confident_contradictions([1, 1], [0.1, 0.9]).any()
    assert not confident_contradictions([0, 0], [0.1, 0.9]).any()


def test_lengths_must_fit():
    with pytest.raises(ValueError, match="probabilities have shape"):
        confident_contradictions([1, 0], [0.5])
    with pytest.raises(ValueError, match="labels"):
        label_chains([[0, 1]], [1, 0], [0.5])

"""The best pairs with at most one partner each, by SciPy's dense solver and by every choice."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from film.judge import one_to_one


def dense(pairs, scores):
    """Scores as a matrix, 0 where there is no pair: a row may stay alone."""
    table = np.zeros(pairs.max(axis=0) + 1)
    table[pairs[:, 0], pairs[:, 1]] = scores
    return table


def check_no_row_twice(pairs):
    for side in pairs.T:
        assert len(np.unique(side)) == len(side)


@pytest.mark.parametrize("shape", [(7, 7), (4, 9), (12, 5), (1, 6), (30, 30)])
@pytest.mark.parametrize("share", [0.15, 0.6, 1.0])
def test_the_total_is_that_of_a_dense_solver(shape, share):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pairs = np.argwhere(rng.random(shape) < share)
        rng.shuffle(pairs)
        if not len(pairs):
            continue
        scores = rng.random(len(pairs))
        chosen, n_ties = one_to_one(pairs, scores)
        assert chosen.dtype == bool and chosen.shape == scores.shape
        check_no_row_twice(pairs[chosen])
        table = dense(pairs, scores)
        rows, columns = linear_sum_assignment(table, maximize=True)
        assert scores[chosen].sum() == pytest.approx(table[rows, columns].sum(), abs=1e-12)
        assert n_ties == 0


def test_all_choices_of_few_pairs():
    """Scores of few levels, so that many choices are equally good."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pairs = np.argwhere(rng.random((4, 4)) < 0.6)[:9]
        scores = rng.integers(1, 4, len(pairs)) / 4
        best = 0.0
        for choice in itertools.product([False, True], repeat=len(pairs)):
            taken = pairs[list(choice)]
            if all(len(set(side)) == len(side) for side in taken.T.tolist()):
                best = max(best, scores[list(choice)].sum())
        chosen, n_ties = one_to_one(pairs, scores)
        check_no_row_twice(pairs[chosen])
        assert scores[chosen].sum() == pytest.approx(best)
        tied = 0
        for taken in np.flatnonzero(chosen):
            near = (pairs == pairs[taken]).any(axis=1) & (scores == scores[taken])
            tied += near.sum() > 1
        assert n_ties == tied


@pytest.mark.parametrize(
    ("pairs", "scores", "expected", "n_ties"),
    [
        ([[5, 900]], [0.3], [[5, 900]], 0),
        ([[0, 0], [0, 1]], [0.5, 0.5], None, 1),
        ([[0, 0], [1, 0]], [0.5, 0.5], None, 1),
        ([[0, 0], [0, 1]], [0.5, 0.6], [[0, 1]], 0),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [1.0] * 4, None, 2),
        ([[3, 8], [7, 2]], [1.0, 1.0], [[3, 8], [7, 2]], 0),
    ],
)
def test_by_example(pairs, scores, expected, n_ties):
    pairs = np.array(pairs)
    chosen, found = one_to_one(pairs, np.array(scores))
    assert found == n_ties
    if expected is not None:
        assert pairs[chosen].tolist() == expected


def test_no_pairs():
    chosen, n_ties = one_to_one(np.empty((0, 2), dtype=np.intp), np.empty(0))
    assert chosen.shape == (0,) and n_ties == 0

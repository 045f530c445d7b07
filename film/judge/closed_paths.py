"""Whether scores are transitive: whether duplicates of one row are duplicates of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Transitivity", "transitivity"]

Floats = NDArray[np.float64]

N_SAMPLED = 100
"""Paths of two pairs that are sampled for each interval between two thresholds."""


N_RANDOM = 1000
"""Random pairs that are scored."""


class Transitivity(NamedTuple):
    """How often the third pair of three rows has a high score if two have.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_thresholds,)
        Estimated share of paths of two pairs at or above the threshold whose ends are such a pair
        too, less what is expected of random pairs: (share − random share) / (1 − random share). It
        is 1 if there is no path.
    n_paths : ndarray of int, shape (n_thresholds,)
        Number of paths of two pairs at or above the threshold.
    """

    shares: Floats
    n_paths: NDArray[np.intp]


def transitivity(
    pairs: NDArray[np.intp],
    scores: Floats,
    thresholds: Floats,
    ask: Callable[[NDArray[np.intp]], Floats],
    *,
    seed: int = 0,
) -> Transitivity:
    """Estimate how often two pairs of one row are closed by a third one, for each threshold.

    Parameters
    ----------
    pairs : ndarray of int, shape (n, 2)
        Distinct pairs of rows.
    scores : ndarray of float64, shape (n,)
        Their scores.
    thresholds : ndarray of float64, shape (n_thresholds,)
        Increasing.
    ask : function
        Returns the scores of m given pairs, the lower number first.
    seed : int, default=0
        Of the sample.

    Returns
    -------
    found : Transitivity

    Notes
    -----
    Among equal texts and rows of one entity, "is a duplicate of" is transitive; among rows that are
    merely similar, it is not. O(n log n), and at most 100 third pairs for each threshold and 1,000
    random pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import transitivity
    >>> pairs = np.array([[0, 1], [1, 2], [3, 4], [4, 5]])
    >>> closed_once = lambda pairs: np.where(pairs.sum(axis=1) == 2, 0.9, 0.2)
    >>> found = transitivity(pairs, np.full(4, 0.9), np.array([0.5]), closed_once)
    >>> bool(0.2 < found.shares[0] < 0.8), found.n_paths.tolist()
    (True, [2])
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= thresholds[0]]
    ends, level = pairs[order], np.searchsorted(thresholds, scores[order], side="right") - 1
    # Pairs of each row by rank: a path belongs to the pair with the lower score.
    rank = np.tile(np.arange(len(order)), 2)
    row, other = ends.T.ravel(), ends.T[::-1].ravel()
    by_row = np.lexsort((rank, row))
    starts = np.searchsorted(row[by_row], row[by_row])
    before = np.empty(len(by_row), dtype=np.intp)
    before[by_row] = np.arange(len(by_row)) - starts
    first = np.empty(len(by_row), dtype=np.intp)
    first[by_row] = starts
    n_levels = len(thresholds)
    n_paths = np.bincount(np.tile(level, 2), before, n_levels).astype(np.intp)
    rng = np.random.default_rng(seed)
    levels, far = [], []
    for number in np.flatnonzero(n_paths).tolist():
        here = np.flatnonzero(np.tile(level, 2) == number)
        total = np.cumsum(before[here])
        drawn = rng.integers(total[-1], size=min(N_SAMPLED, 2 * int(total[-1])))
        place = np.searchsorted(total, drawn, side="right")
        earlier = by_row[first[here[place]] + drawn - (total[place] - before[here[place]])]
        far.append(np.sort(np.column_stack([other[here[place]], other[earlier]]), axis=1))
        levels.append(np.full(len(drawn), number))
    closed, by_chance = np.zeros((n_levels, n_levels)), np.zeros(n_levels)
    if far:
        rows = np.unique(pairs)
        random = np.sort(rng.choice(rows, (N_RANDOM, 2)), axis=1)
        random = random[random[:, 0] < random[:, 1]]
        wanted, which = np.unique(np.concatenate([*far, random]), axis=0, return_inverse=True)
        third = np.searchsorted(thresholds, ask(wanted), side="right")[which.ravel()]
        by_chance = (third[-len(random) :, None] > np.arange(n_levels)).mean(axis=0)
        of_level = np.concatenate(levels)
        for number in np.unique(of_level).tolist():
            reached = third[: len(of_level)][of_level == number]
            closed[number] = (reached[:, None] > np.arange(n_levels)).mean(axis=0)
    from_here = np.cumsum(n_paths[::-1])[::-1]
    above = np.tril(np.ones((n_levels, n_levels)))  # level ≥ threshold
    n_closed = (closed * n_paths[:, None] * above).sum(axis=0)
    shares: Floats = np.divide(n_closed, from_here, out=np.ones(n_levels), where=from_here > 0)
    beyond = (shares - by_chance) / np.maximum(1 - by_chance, 1e-9)
    return Transitivity(np.where(from_here, beyond, 1.0), from_here)

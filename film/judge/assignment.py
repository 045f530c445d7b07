"""The best pairs of two tables in which every row has at most one partner."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

__all__ = ["one_to_one"]


def one_to_one(
    pairs: NDArray[np.intp], scores: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], int]:
    """Choose pairs of highest total score such that no row occurs twice.

    Parameters
    ----------
    pairs : ndarray of int, shape (n, 2)
        Distinct pairs of a row of one table and a row of the other.
    scores : ndarray of float64, shape (n,)
        Scores of the pairs, 0 to 1.

    Returns
    -------
    chosen : ndarray of bool, shape (n,)
        Whether each pair is chosen.
    n_ties : int
        Number of chosen pairs that share a row with another pair of the same score; the choice
        between them is arbitrary.

    Notes
    -----
    Maximum-weight bipartite matching by SciPy (LAPJVsp; Jonker and Volgenant, 1987), on the sparse
    graph of the pairs. Typically almost linear in n.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import one_to_one
    >>> pairs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> chosen, n_ties = one_to_one(pairs, np.array([0.9, 0.8, 0.8, 0.1]))
    >>> pairs[chosen].tolist(), n_ties
    ([[0, 1], [1, 0]], 0)
    """
    chosen = np.zeros(len(pairs), dtype=bool)
    if not len(pairs):
        return chosen, 0
    left, rows = np.unique(pairs[:, 0], return_inverse=True)
    right, columns = np.unique(pairs[:, 1], return_inverse=True)
    # A row without a partner takes a column of its own, which costs as much as a score of 0.
    costs = np.concatenate([2 - scores, np.full(len(left), 2.0)])
    ends = (
        np.concatenate([rows, np.arange(len(left))]),
        np.concatenate([columns, len(right) + np.arange(len(left))]),
    )
    graph = sp.csr_array((costs, ends), shape=(len(left), len(right) + len(left)))
    matched: Any = min_weight_full_bipartite_matching(graph)
    partner = np.full(len(left), -1)
    partner[matched[0]] = matched[1]
    chosen = partner[rows] == columns
    n_ties = np.zeros(len(pairs), dtype=bool)
    for side in (rows, columns):
        score = np.full(side.max() + 1, np.nan)
        score[side[chosen]] = scores[chosen]
        tied = np.bincount(side, np.abs(scores - score[side]) < 1e-9) > 1
        n_ties |= chosen & tied[side]
    return chosen, int(n_ties.sum())

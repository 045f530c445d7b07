"""Which labels of pairs are probably wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from film.checks import checked_integers
from film.corpus import connected_groups

__all__ = ["confident_contradictions", "label_chains"]

SUREST = 0.98
"""No single label is taken to be right with a higher probability."""


def confident_contradictions(y: ArrayLike, probabilities: ArrayLike) -> NDArray[np.bool_]:
    """Say which labels a model contradicts with confidence.

    Parameters
    ----------
    y : array-like of bool, shape (n,)
        Labels.
    probabilities : array-like of float, shape (n,)
        Probability of True by a model that did not see the label.

    Returns
    -------
    contradicted : ndarray of bool, shape (n,)
        Whether the other class is likelier than the label, and at least as likely as on average
        among samples labelled with it.

    References
    ----------
    Northcutt, Jiang and Chuang, "Confident learning: estimating uncertainty in dataset labels",
    2021, equations 1 and 2.

    Examples
    --------
    >>> from film.pairs import confident_contradictions
    >>> confident_contradictions([1, 1, 1, 0, 0], [0.9, 0.8, 0.1, 0.2, 0.7]).tolist()
    [False, False, True, False, True]
    """
    true = np.asarray(y, dtype=bool)
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape != true.shape:
        raise ValueError(f"probabilities have shape {p.shape}, but labels {true.shape}")
    usual1 = p[true].mean() if true.any() else np.inf
    usual0 = (1 - p[~true]).mean() if not true.all() else np.inf
    return np.where(true, (p < 0.5) & (1 - p >= usual0), (p > 0.5) & (p >= usual1))


def label_chains(
    pairs: ArrayLike, y: ArrayLike, probabilities: ArrayLike
) -> list[tuple[int, list[int]]]:
    """Find pairs labelled different whose items a chain of pairs labelled same connects.

    Parameters
    ----------
    pairs : array-like of int, shape (n, 2)
        Items of each pair.
    y : array-like of bool, shape (n,)
        Whether the items of a pair are the same.
    probabilities : array-like of float, shape (n,)
        Probability that they are.

    Returns
    -------
    chains : list of (int, list of int)
        A row that is labelled different, and the rows of the chain: of all that connect its two
        items, the one whose labels are all right with the highest probability, if labels are
        independent. It is empty if the two items are one.

    Notes
    -----
    Dijkstra's algorithm within each connected group of same items that such a row contradicts.

    Examples
    --------
    >>> from film.pairs import label_chains
    >>> label_chains([[0, 1], [1, 2], [0, 2], [3, 0]], [1, 1, 0, 0], [0.9, 0.8, 0.6, 0.1])
    [(2, [0, 1])]
    """
    true = np.asarray(y, dtype=bool)
    p = np.clip(np.asarray(probabilities, dtype=np.float64), 1 - SUREST, SUREST)
    n = int(np.max(pairs, initial=-1)) + 1
    ends = checked_integers("pairs", np.ravel(pairs), below=n).reshape(-1, 2)
    if p.shape != true.shape or len(ends) != len(true):
        raise ValueError(f"{len(ends)} pairs, {true.shape} labels and {p.shape} probabilities")
    same = np.flatnonzero(true & (ends[:, 0] != ends[:, 1]))
    # Of equal pairs, the likeliest.
    same = same[np.argsort(-p[same], kind="stable")]
    low, high = np.sort(ends[same], axis=1).T
    _, first = np.unique(low * n + high, return_index=True)
    same, low, high = same[first], low[first], high[first]
    group = connected_groups(np.column_stack([low, high]), n)
    contradicted = ~true & (group[ends[:, 0]] == group[ends[:, 1]])
    row_of = dict(zip(zip(low.tolist(), high.tolist(), strict=True), same.tolist(), strict=True))
    chains: list[tuple[int, list[int]]] = []
    by_group = same[np.argsort(group[low], kind="stable")]
    bounds = np.searchsorted(group[ends[by_group, 0]], [np.arange(n), np.arange(n) + 1])
    rows = np.flatnonzero(contradicted)
    for number in np.unique(group[ends[rows, 0]]).tolist():
        inside = by_group[bounds[0][number] : bounds[1][number]]
        items, local = np.unique(ends[inside], return_inverse=True)
        a, b = local.reshape(-1, 2).T
        graph = csr_array((-np.log(p[inside]), (a, b)), shape=(len(items), len(items)))
        own = rows[group[ends[rows, 0]] == number]
        starts, of_row = np.unique(ends[own, 0], return_inverse=True)
        before = np.empty((len(starts), 0), dtype=int)
        if len(items):
            where = np.searchsorted(items, starts)
            before = dijkstra(graph, directed=False, indices=where, return_predecessors=True)[1]
        for row, start in zip(own.tolist(), of_row.tolist(), strict=True):
            chain: list[int] = []
            item, goal = int(ends[row, 1]), int(ends[row, 0])
            while item != goal:
                last = int(items[before[start, np.searchsorted(items, item)]])
                chain.append(row_of[min(item, last), max(item, last)])
                item = last
            chains.append((row, chain[::-1]))
    return sorted(chains)

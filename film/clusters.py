"""Hierarchical clustering of a sparse graph of scored pairs, into groups that hold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.groups import connected_groups

__all__ = ["WeakestLinks", "cut", "link_scores", "weakest_links"]

Method = Literal["average", "complete"]
Graph = list[dict[int, float]]
"""Scores (complete link) or sums of scores (average link) of each group, by the other group."""


def link_scores(
    pairs: ArrayLike,
    scores: ArrayLike,
    n_points: int,
    *,
    method: Method = "average",
    threshold: float = 0.0,
) -> NDArray[np.float64]:
    """Merge points into ever larger groups, the closest two groups first.

    The link of two groups A and B is the mean of the scores of their |A||B| pairs (``"average"``,
    UPGMA), or the lowest of them (``"complete"``). A pair that is not listed counts as score 0:
    one that was not even a candidate is no duplicate. So one false link cannot chain two groups,
    as it does in connected components. Where candidates are each point's k nearest neighbours, a
    dense group of many more than k points comes in parts: raise k where groups are that large.

    Parameters
    ----------
    pairs : array-like of int, shape (m, 2)
        Two different points each, in [0, n_points); order does not matter, and no pair may be
        listed twice. m may be 0.
    scores : array-like of float, shape (m,)
        Similarity of each pair, finite and not negative; higher is closer.
    n_points : int
        Number of points, at least 1.
    method : {"average", "complete"}
        Link between groups.
    threshold : float, default=0
        Merges below are left out, which spares the work on what they would join.

    Returns
    -------
    merges : ndarray of float64, shape (n_merges, 3)
        Node, node, and the score of their merge, scores falling: a threshold cuts a prefix.
        Nodes below n_points are points, node n_points + i is the group made by merge i; that is
        SciPy's convention, with similarity for distance. Merges at score 0 are left out.

    Raises
    ------
    TypeError
        If pairs are not integers.
    ValueError
        If a shape is wrong, a point is out of range or paired with itself, a pair is listed
        twice, a score is negative or not finite, or the method is unknown.

    Notes
    -----
    Exact: this is the clustering that `scipy.cluster.hierarchy.linkage` gives for the dense
    matrix of distances c − score, which is never formed. Nearest-neighbour chains (Murtagh, *A
    Survey of Recent Advances in Hierarchical Clustering Algorithms*, 1983) over rows that hold
    only scores above 0. With average link a row holds sums of scores, which add up as groups
    merge (Lance and Williams, 1967); with complete link, the minima over the neighbours that both
    groups have. Where two merges tie, either may come first, which can change groups.

    Memory O(n_points + m), however large a component is. A step costs the neighbours of one
    group: O(n_points²) in all at worst, about m log m on nearest-neighbour graphs.

    Examples
    --------
    >>> from film.clusters import link_scores
    >>> link_scores([[0, 1], [1, 2]], [0.9, 0.8], n_points=3)
    array([[0. , 1. , 0.9],
           [2. , 3. , 0.4]])
    >>> link_scores([[0, 1], [1, 2]], [0.9, 0.8], n_points=3, method="complete")
    array([[0. , 1. , 0.9]])
    """
    if method not in ("average", "complete"):
        raise ValueError(f"method={method!r} must be 'average' or 'complete'")
    links, weights = _checked(pairs, scores, n_points)
    # Where no pair of two groups reaches the threshold, neither does their mean or minimum.
    component = connected_groups(links[weights >= threshold], n_points)
    together = (component[links[:, 0]] == component[links[:, 1]]) & (weights > 0)
    graph: Graph = [{} for _ in range(n_points)]
    for (a, b), weight in zip(links[together].tolist(), weights[together].tolist(), strict=True):
        graph[a][b] = graph[b][a] = weight
    merges = _numbered(_chains(graph, method == "average"), n_points)
    return merges[merges[:, 2] >= threshold]


def cut(merges: ArrayLike, n_points: int, threshold: float) -> NDArray[np.intp]:
    """Label the groups that merges of at least a threshold make.

    Parameters
    ----------
    merges : array-like of float, shape (n_merges, 3)
        As `link_scores` returns them.
    n_points : int
        Number of points.
    threshold : float
        Lowest score of a merge that is still done.

    Returns
    -------
    labels : ndarray of intp, shape (n_points,)
        Group of each point, 0, 1, 2, … in order of each group's lowest point; a point by itself
        is a group.

    Notes
    -----
    O(n_points + n_merges).

    Examples
    --------
    >>> from film.clusters import cut
    >>> cut([[0, 1, 0.9], [2, 3, 0.4]], n_points=3, threshold=0.5)
    array([0, 0, 1])
    """
    table = np.asarray(merges, dtype=np.float64).reshape(-1, 3)
    done = table[table[:, 2] >= threshold, :2].astype(np.intp)
    member = np.arange(n_points + len(done))
    for i, node in enumerate(done[:, 0].tolist()):
        member[n_points + i] = member[node]
    return connected_groups(member[done], n_points)


@dataclass(frozen=True)
class WeakestLinks:
    """What holds each group together least.

    Attributes
    ----------
    pairs : ndarray of intp, shape (n_groups, 2)
        The pair of members with the lowest score; −1 where no pair of members has a score.
    scores : ndarray of float64, shape (n_groups,)
        Its score, NaN where there is none.
    n_unscored : ndarray of int64, shape (n_groups,)
        Pairs of members without a score.
    """

    pairs: NDArray[np.intp]
    scores: NDArray[np.float64]
    n_unscored: NDArray[np.int64]


def weakest_links(pairs: ArrayLike, scores: ArrayLike, labels: ArrayLike) -> WeakestLinks:
    """Find in each group the pair of members with the lowest score of its own.

    Parameters
    ----------
    pairs : array-like of int, shape (m, 2)
        Scored pairs, as for `link_scores`.
    scores : array-like of float, shape (m,)
        Their scores.
    labels : array-like of int, shape (n_points,)
        Group of each point, 0 to n_groups − 1.

    Returns
    -------
    weakest : WeakestLinks
        One entry a group; of equal scores, the pair listed first.

    Raises
    ------
    TypeError, ValueError
        If pairs and scores are not what `link_scores` takes.

    Notes
    -----
    O(n_points + m log m).

    Examples
    --------
    >>> from film.clusters import weakest_links
    >>> weakest = weakest_links([[0, 1], [1, 2], [2, 3]], [0.9, 0.8, 0.1], [0, 0, 0, 1])
    >>> weakest.pairs.tolist(), weakest.n_unscored.tolist()
    ([[1, 2], [-1, -1]], [1, 0])
    """
    group = np.asarray(labels, dtype=np.intp)
    links, weights = _checked(pairs, scores, len(group))
    size = np.bincount(group)
    inside = np.flatnonzero(group[links[:, 0]] == group[links[:, 1]])
    owner = group[links[inside, 0]]
    n_scored = np.bincount(owner, minlength=len(size))
    order = np.lexsort((inside, weights[inside], owner))
    known, first = np.unique(owner[order], return_index=True)
    lowest = inside[order[first]]
    weakest = np.full((len(size), 2), -1, dtype=np.intp)
    weakest[known] = links[lowest]
    score = np.full(len(size), np.nan)
    score[known] = weights[lowest]
    return WeakestLinks(weakest, score, size * (size - 1) // 2 - n_scored)


def _checked(
    pairs: ArrayLike, scores: ArrayLike, n_points: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    links = np.asarray(pairs)
    # Checks type, shape and range of the points.
    connected_groups(links, n_points)
    links = links.reshape(-1, 2).astype(np.intp)
    weights = np.asarray(scores, dtype=np.float64)
    if weights.shape != (len(links),):
        raise ValueError(
            f"scores must have shape ({len(links)},), one a pair, got shape {weights.shape}"
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"scores[{row}] is {weights[row]}, but scores must be finite and not negative: a pair "
            "that is not listed counts as 0, so clip at 0 first"
        )
    loop = links[:, 0] == links[:, 1]
    if loop.any():
        row = int(loop.argmax())
        raise ValueError(f"pairs row {row} is {links[row].tolist()}, a point with itself: drop it")
    keys = links.min(axis=1) * n_points + links.max(axis=1) if len(links) else links[:, 0]
    order = np.argsort(keys, kind="stable")
    again = keys[order[1:]] == keys[order[:-1]]
    if again.any():
        row = int(order[1:][again].min())
        raise ValueError(f"pairs row {row} is {links[row].tolist()}, listed before: keep one score")
    return links, weights


def _chains(graph: Graph, average: bool) -> list[tuple[int, int, float]]:
    """Merge along chains of nearest neighbours; a group is known by one of its points.

    Returns (kept, gone, score), a child before its parent.
    """
    sizes = [1] * len(graph)
    lowest = [np.inf] * len(graph)
    merges: list[tuple[int, int, float]] = []
    starts = list(reversed(range(len(graph))))
    while starts:
        chain = [starts.pop()]
        while chain:
            top = chain[-1]
            below = chain[-2] if len(chain) > 1 else -1
            nearest, score = _nearest(graph[top], sizes[top], below, sizes, average)
            if nearest < 0:
                chain.pop()
            elif nearest != below:
                chain.append(nearest)
            else:
                del chain[-2:]
                # Fewer neighbours move: that of a hub stays where it is.
                kept, gone = sorted((top, below), key=lambda point: -len(graph[point]))
                _join(graph, kept, gone, average)
                sizes[kept] += sizes[gone]
                # In exact arithmetic no parent is closer than its children.
                lowest[kept] = min(score, lowest[kept], lowest[gone])
                merges.append((kept, gone, lowest[kept]))
                # With complete link a chain can lose touch with the group it has made.
                starts.append(kept)
    return merges


def _nearest(
    row: dict[int, float], size: int, below: int, sizes: list[int], average: bool
) -> tuple[int, float]:
    """Find the closest neighbour; of equal ones the one below in the chain, so that it ends."""
    best, best_score = -1, 0.0
    for point, total in row.items():
        score = total / (size * sizes[point]) if average else total
        if score > best_score or (score == best_score and point == below):
            best, best_score = point, score
    return best, best_score


def _join(graph: Graph, kept: int, gone: int, average: bool) -> None:
    """Move the links of one group to another: their sums, or their minima where both have one."""
    ours, theirs = graph[kept], graph[gone]
    del ours[gone], theirs[kept]
    for point, total in theirs.items():
        row = graph[point]
        del row[gone]
        if average:
            row[kept] = ours[point] = ours.get(point, 0.0) + total
        elif point in ours:
            row[kept] = ours[point] = min(ours[point], total)
    if not average:
        for point in ours.keys() - theirs.keys():
            del ours[point], graph[point][kept]
    graph[gone] = {}


def _numbered(found: list[tuple[int, int, float]], n_points: int) -> NDArray[np.float64]:
    """Sort merges by falling score, and name groups by the merges that made them."""
    merges = np.empty((len(found), 3))
    node = list(range(n_points))
    # Stable, so that of equal scores a child stays before its parent.
    for i, (kept, gone, score) in enumerate(sorted(found, key=lambda merge: -merge[2])):
        merges[i] = (*sorted((node[kept], node[gone])), score)
        node[kept] = n_points + i
    return merges

"""Hierarchical clustering of a sparse graph of scored pairs."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs, connected_groups, must_link_path
from film.corpus.links import checked_links

__all__ = ["cut", "link_scores"]

Method = Literal["average", "complete"]
Graph = list[dict[int, float]]
"""Links of each group to others: scores (complete link) or sums of scores (average link)."""


def link_scores(
    pairs: ArrayLike,
    scores: ArrayLike,
    n_points: int,
    *,
    method: Method = "average",
    threshold: float = 0.0,
    must_link: ArrayLike = (),
    cannot_link: ArrayLike = (),
) -> NDArray[np.float64]:
    """Cluster points hierarchically, merging the two closest groups first.

    The link of two groups A and B is the mean of the scores of their |A||B| pairs (``"average"``,
    UPGMA) or the lowest score (``"complete"``). A pair that is not listed has score 0. So, unlike
    in connected components, one false link cannot join two groups. If the pairs are each point's
    k nearest neighbours, a dense group of many more than k points is split, unless the pairs from
    `missing_pairs` are listed too.

    Parameters
    ----------
    pairs : array-like of int, shape (m, 2)
        Pairs of different points in [0, n_points), each listed once, in either order. m may be 0.
    scores : array-like of float, shape (m,)
        Similarity of each pair, finite and not negative.
    n_points : int
        Number of points; may be 0.
    method : {"average", "complete"}
        Link between groups.
    threshold : float, default=0
        Merges below it are left out, which saves work.
    must_link : array-like of int, shape (n_must, 2), default=()
        Pairs of points that are merged before all others.
    cannot_link : array-like of int, shape (n_cannot, 2), default=()
        Pairs of points that may not be in one group: groups with such a pair between them are never
        merged; their links to other groups are unchanged.

    Returns
    -------
    merges : ndarray of float64, shape (n_merges, 3)
        Two nodes and the score of their merge, in descending order of score: a threshold cuts a
        prefix. Nodes below n_points are points; node n_points + i is the group made by merge i, as
        in SciPy but with similarities. Merges at score 0 are left out; merges from ``must_link``
        come first, with score infinity.

    Raises
    ------
    TypeError
        If pairs are not integers.
    ValueError
        If a shape is wrong, a point is out of range or paired with itself, a pair is listed twice,
        a score is negative or not finite, the method is unknown, or ``must_link`` joins a pair of
        ``cannot_link``.

    Notes
    -----
    Exact: the result equals that of `scipy.cluster.hierarchy.linkage` on the dense matrix of
    distances c − score, which is never formed. It follows nearest-neighbour chains (Murtagh, *A
    Survey of Recent Advances in Hierarchical Clustering Algorithms*, 1983) over rows that hold only
    scores above 0. With average link a row holds sums of scores, which add up as groups merge
    (Lance and Williams, 1967); with complete link it holds minima over the neighbours that both
    groups have. Tied merges may come in either order, which can change groups.

    With constraints, the result equals repeatedly merging the two closest groups that may be
    merged. A forbidden link stays forbidden as groups grow, like a link of −∞, so a merge never
    brings groups closer (the reducibility that chains need). See Davidson and Ravi, *Agglomerative
    Hierarchical Clustering with Constraints*, 2005.

    Memory is O(n_points + m) for any component size. A step costs the neighbours of one group:
    O(n_points²) in total at worst, about m log m on nearest-neighbour graphs.

    Examples
    --------
    >>> from film.corpus import link_scores
    >>> link_scores([[0, 1], [1, 2]], [0.9, 0.8], n_points=3)
    array([[0. , 1. , 0.9],
           [2. , 3. , 0.4]])
    >>> link_scores([[0, 1], [1, 2]], [0.9, 0.8], n_points=3, method="complete")
    array([[0. , 1. , 0.9]])
    """
    if method not in ("average", "complete"):
        raise ValueError(f"method={method!r} must be 'average' or 'complete'")
    links, weights = checked_links(pairs, scores, n_points)
    must, cannot = (checked_pairs(each, n_points) for each in (must_link, cannot_link))
    path = must_link_path(must, cannot, n_points)
    if path:
        raise ValueError(
            f"cannot_link separates points {path[0]} and {path[-1]}, but must_link joins them: "
            f"{' – '.join(map(str, path))}; drop one of these pairs"
        )
    # If no pair of two groups reaches the threshold, neither does their mean or minimum.
    component = connected_groups(np.vstack([links[weights >= threshold], must]), n_points)
    together = (component[links[:, 0]] == component[links[:, 1]]) & (weights > 0)
    graph: Graph = [{} for _ in range(n_points)]
    for (a, b), weight in zip(links[together].tolist(), weights[together].tolist(), strict=True):
        graph[a][b] = graph[b][a] = weight
    groups = _Groups(graph, cannot, method == "average")
    merges = _numbered([*groups.join_all(must), *groups.chains()], n_points)
    return merges[merges[:, 2] >= threshold]


def cut(merges: ArrayLike, n_points: int, threshold: float) -> NDArray[np.intp]:
    """Label the groups formed by merges at or above a threshold.

    Parameters
    ----------
    merges : array-like of float, shape (n_merges, 3)
        From `link_scores`.
    n_points : int
        Number of points.
    threshold : float
        Lowest score of an accepted merge.

    Returns
    -------
    labels : ndarray of intp, shape (n_points,)
        Group of each point, numbered 0, 1, 2, … by each group's lowest point; a single point is a
        group.

    Notes
    -----
    O(n_points + n_merges).

    Examples
    --------
    >>> from film.corpus import cut
    >>> cut([[0, 1, 0.9], [2, 3, 0.4]], n_points=3, threshold=0.5)
    array([0, 0, 1])
    """
    table = np.asarray(merges, dtype=np.float64).reshape(-1, 3)
    done = table[table[:, 2] >= threshold, :2].astype(np.intp)
    member = np.arange(n_points + len(done))
    for i, node in enumerate(done[:, 0].tolist()):
        member[n_points + i] = member[node]
    return connected_groups(member[done], n_points)


class _Groups:
    """Groups that merge; each is identified by one of its points.

    Merges are (kept, gone, score), children before parents. Forbidden links are not in the graph,
    so only joins need to check them.
    """

    def __init__(self, graph: Graph, cannot: NDArray[np.intp], average: bool) -> None:
        self._graph = graph
        self._average = average
        self._sizes = [1] * len(graph)
        self._lowest = [np.inf] * len(graph)
        self._forbidden: dict[int, set[int]] = {}
        for a, b in cannot.tolist():
            self._forbidden.setdefault(a, set()).add(b)
            self._forbidden.setdefault(b, set()).add(a)
            graph[a].pop(b, None)
            graph[b].pop(a, None)

    def join_all(self, pairs: NDArray[np.intp]) -> list[tuple[int, int, float]]:
        """Merge the groups of each pair, at score infinity."""
        merges = []
        member = list(range(len(self._graph)))
        for a, b in pairs.tolist():
            while member[a] != a:
                a = member[a]
            while member[b] != b:
                b = member[b]
            if a != b:
                kept, gone = self._join(a, b)
                member[gone] = kept
                merges.append((kept, gone, np.inf))
        return merges

    def chains(self) -> list[tuple[int, int, float]]:
        """Merge along chains of nearest neighbours."""
        graph, lowest = self._graph, self._lowest
        merges: list[tuple[int, int, float]] = []
        starts = [point for point in reversed(range(len(graph))) if graph[point]]
        while starts:
            chain = [starts.pop()]
            while chain:
                top = chain[-1]
                below = chain[-2] if len(chain) > 1 else -1
                nearest, score = self._nearest(top, below)
                if nearest < 0:
                    chain.pop()
                elif nearest != below:
                    chain.append(nearest)
                else:
                    del chain[-2:]
                    kept, gone = self._join(top, below)
                    # In exact arithmetic a parent's score never exceeds its children's.
                    lowest[kept] = min(score, lowest[kept], lowest[gone])
                    merges.append((kept, gone, lowest[kept]))
                    # With complete link, a merged group may no longer be a neighbour of its chain.
                    starts.append(kept)
        return merges

    def _nearest(self, point: int, below: int) -> tuple[int, float]:
        """Find the closest neighbour; ties prefer the previous group of the chain, so it ends."""
        sizes, size = self._sizes, self._sizes[point]
        best, best_score = -1, 0.0
        for other, total in self._graph[point].items():
            score = total / (size * sizes[other]) if self._average else total
            if score > best_score or (score == best_score and other == below):
                best, best_score = other, score
        return best, best_score

    def _join(self, a: int, b: int) -> tuple[int, int]:
        """Merge the links of two groups: sums, or minima over shared neighbours.

        The group with fewer neighbours moves.
        """
        graph = self._graph
        kept, gone = sorted((a, b), key=lambda point: -len(graph[point]))
        ours, theirs = graph[kept], graph[gone]
        ours.pop(gone, None)
        theirs.pop(kept, None)
        for point, total in theirs.items():
            row = graph[point]
            del row[gone]
            if self._average:
                row[kept] = ours[point] = ours.get(point, 0.0) + total
            elif point in ours:
                row[kept] = ours[point] = min(ours[point], total)
        if not self._average:
            for point in ours.keys() - theirs.keys():
                del ours[point], graph[point][kept]
        graph[gone] = {}
        self._sizes[kept] += self._sizes[gone]
        self._forbid(kept, gone)
        return kept, gone

    def _forbid(self, kept: int, gone: int) -> None:
        """Add the forbidden merges of ``gone`` to those of ``kept``."""
        inherited = self._forbidden.pop(gone, set())
        if not inherited and kept not in self._forbidden:
            return
        own = self._forbidden.setdefault(kept, set())
        for other in inherited:
            theirs = self._forbidden[other]
            theirs.discard(gone)
            theirs.add(kept)
            own.add(other)
        for other in own:
            if self._graph[kept].pop(other, None) is not None:
                del self._graph[other][kept]


def _numbered(found: list[tuple[int, int, float]], n_points: int) -> NDArray[np.float64]:
    """Sort merges by descending score and number groups by the merges that made them."""
    merges = np.empty((len(found), 3))
    node = list(range(n_points))
    # The sort is stable, so a child stays before a parent of equal score.
    for i, (kept, gone, score) in enumerate(sorted(found, key=lambda merge: -merge[2])):
        merges[i] = (*sorted((node[kept], node[gone])), score)
        node[kept] = n_points + i
    return merges

"""Unscored pairs inside the connected components of a graph of scored pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs, connected_groups
from film.corpus.links import checked_links

__all__ = ["missing_pairs"]

LARGEST_PART = 1000
"""Maximum points of a component that is completed as it is: about half a million pairs."""

MOST_MISSING = 1_000_000
"""Maximum number of pairs returned."""


def missing_pairs(
    pairs: ArrayLike,
    scores: ArrayLike,
    n_points: int,
    *,
    threshold: float,
    must_link: ArrayLike = (),
) -> tuple[NDArray[np.intp], int]:
    """List the pairs that `link_scores` needs to have every pair of a component scored.

    Components are connected by pairs of at least ``threshold`` and pairs of ``must_link``; no group
    extends beyond one. A component of more than 1000 points loses the weaker half of its pairs,
    repeatedly, until its pieces are small enough. At most a million pairs are returned, small
    components first.

    Parameters
    ----------
    pairs, scores, n_points, threshold, must_link
        As in `link_scores`.

    Returns
    -------
    missing : ndarray of intp, shape (m, 2)
        Pairs that are not in ``pairs``, lower point first.
    n_incomplete : int
        Number of points in components with a pair that is neither given nor returned.

    Raises
    ------
    TypeError, ValueError
        If `link_scores` would reject the pairs or scores.

    Notes
    -----
    O((n_points + m) log m) for m given and returned pairs.

    Examples
    --------
    >>> from film.corpus import missing_pairs
    >>> missing, n_incomplete = missing_pairs([[0, 1], [1, 2]], [0.9, 0.8], 4, threshold=0.8)
    >>> missing.tolist(), n_incomplete
    ([[0, 2]], 0)
    """
    links, weights = checked_links(pairs, scores, n_points)
    must = checked_pairs(must_link, n_points)
    joined = np.concatenate([links[weights >= threshold], must])
    strength = np.concatenate([weights[weights >= threshold], np.full(len(must), np.inf)])
    whole = part = connected_groups(joined, n_points)
    while True:
        large = np.bincount(part)[part[joined[:, 0]]] > LARGEST_PART
        if not large.any():
            break
        weakest, middle = strength[large].min(), np.median(strength[large])
        kept = ~large | (strength >= middle if weakest < middle else strength > middle)
        joined, strength = joined[kept], strength[kept]
        part = connected_groups(joined, n_points)
    lacking = _lacking(part, links)
    order = np.argsort(lacking, kind="stable")
    order = order[lacking[order] > 0]
    order = order[np.cumsum(lacking[order]) <= MOST_MISSING]
    by_part, ends = np.argsort(part, kind="stable"), np.cumsum(np.bincount(part))
    found = [np.empty((0, 2), dtype=np.intp)]
    for number in order.tolist():
        inside = by_part[ends[number - 1] if number else 0 : ends[number]]
        a, b = np.triu_indices(len(inside), k=1)
        found.append(np.column_stack([inside[a], inside[b]]))
    every = np.concatenate(found)
    given = np.sort(links[part[links[:, 0]] == part[links[:, 1]]], axis=1) @ [n_points, 1]
    missing = every[~np.isin(every @ [n_points, 1], given)]
    incomplete = _lacking(whole, np.concatenate([links, missing])) > 0
    return missing, int(incomplete[whole].sum())


def _lacking(part: NDArray[np.intp], links: NDArray[np.intp]) -> NDArray[np.intp]:
    """Count the pairs of each component that are not among the links."""
    size = np.bincount(part)
    inside = part[links[:, 0]] == part[links[:, 1]]
    return size * (size - 1) // 2 - np.bincount(part[links[inside, 0]], minlength=len(size))

"""Pairs that have no score inside the connected parts of a graph of scored pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs, connected_groups
from film.corpus.links import checked_links

__all__ = ["missing_pairs"]

LARGEST_PART = 1000
"""Points of a part that is completed as it is: some half a million pairs."""

MOST_MISSING = 1_000_000
"""Pairs listed in all."""


def missing_pairs(
    pairs: ArrayLike,
    scores: ArrayLike,
    n_points: int,
    *,
    threshold: float,
    must_link: ArrayLike = (),
) -> tuple[NDArray[np.intp], int]:
    """List the pairs whose scores `link_scores` lacks to see each connected part whole.

    A part is what pairs of at least ``threshold`` and pairs of ``must_link`` connect: no group
    reaches beyond it. One of more than 1000 points loses its weaker pairs, half of them at a time,
    until what is left of it is smaller. A million pairs are listed at most, of small parts first.

    Parameters
    ----------
    pairs, scores, n_points, threshold, must_link
        As `link_scores` takes them.

    Returns
    -------
    missing : ndarray of intp, shape (m, 2)
        Pairs that are not among ``pairs``, the lower point first.
    n_incomplete : int
        Points of parts in which some pair is neither given nor listed.

    Raises
    ------
    TypeError, ValueError
        If pairs and scores are not what `link_scores` takes.

    Notes
    -----
    O((n_points + m) log m) for m pairs, those given and those listed.

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
    """Count in each part the pairs that are not among the links."""
    size = np.bincount(part)
    inside = part[links[:, 0]] == part[links[:, 1]]
    return size * (size - 1) // 2 - np.bincount(part[links[inside, 0]], minlength=len(size))

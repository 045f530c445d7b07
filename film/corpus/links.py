"""Scored pairs of points: validation, weakest links, and merges that include copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.corpus.groups import checked_pairs

__all__ = ["WeakestLinks", "checked_links", "merges_of_rows", "weakest_links"]


def checked_links(
    pairs: ArrayLike, scores: ArrayLike, n_points: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Check that scored pairs are valid, as described in `link_scores`."""
    links = checked_pairs(pairs, n_points)
    weights = np.asarray(scores, dtype=np.float64)
    if weights.shape != (len(links),):
        raise ValueError(
            f"scores must have shape ({len(links)},), one per pair, got shape {weights.shape}"
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


@dataclass(frozen=True)
class WeakestLinks:
    """The weakest link of each group.

    Attributes
    ----------
    pairs : ndarray of intp, shape (n_groups, 2)
        The pair of members with the lowest score; −1 if no pair of members has a score.
    scores : ndarray of float64, shape (n_groups,)
        The score of that pair; NaN if there is none.
    n_unscored : ndarray of int64, shape (n_groups,)
        Number of pairs of members without a score.
    """

    pairs: NDArray[np.intp]
    scores: NDArray[np.float64]
    n_unscored: NDArray[np.int64]


def weakest_links(pairs: ArrayLike, scores: ArrayLike, labels: ArrayLike) -> WeakestLinks:
    """Find the scored pair of members with the lowest score in each group.

    Parameters
    ----------
    pairs : array-like of int, shape (m, 2)
        Scored pairs, as in `link_scores`.
    scores : array-like of float, shape (m,)
        Their scores.
    labels : array-like of int, shape (n_points,)
        Group of each point, 0 to n_groups − 1.

    Returns
    -------
    weakest : WeakestLinks
        One entry per group; ties go to the pair listed first.

    Raises
    ------
    TypeError, ValueError
        If `link_scores` would reject the pairs or scores.

    Notes
    -----
    O(n_points + m log m).

    Examples
    --------
    >>> from film.corpus import weakest_links
    >>> weakest = weakest_links([[0, 1], [1, 2], [2, 3]], [0.9, 0.8, 0.1], [0, 0, 0, 1])
    >>> weakest.pairs.tolist(), weakest.n_unscored.tolist()
    ([[1, 2], [-1, -1]], [1, 0])
    """
    group = np.asarray(labels, dtype=np.intp)
    links, weights = checked_links(pairs, scores, len(group))
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


def merges_of_rows(
    links: np.ndarray, codes: np.ndarray, first_rows: np.ndarray, copies: np.ndarray
) -> np.ndarray:
    """Turn merges of unique texts into merges of rows, with copies merged first, at score 1.

    Parameters
    ----------
    links : ndarray of float64, shape (n_links, 3)
        Merges of unique texts from `link_scores`; scores above 1 are set to 1.
    codes : ndarray of int, shape (n_rows,)
        Unique text of each row, −1 if it has no text.
    first_rows : ndarray of int, shape (n_texts,)
        First row of each unique text.
    copies : ndarray of int, shape (n_copies,)
        The other rows with a text.

    Returns
    -------
    merges : ndarray of float64, shape (n_copies + n_links, 3)
        Merges of rows, in the same format.
    """
    n_rows = len(codes)
    merges = np.empty((len(copies), 3))
    node = first_rows.copy()
    for i, row in enumerate(copies.tolist()):
        merges[i] = (*sorted((int(node[codes[row]]), row)), 1.0)
        node[codes[row]] = n_rows + i
    made = n_rows + len(copies) + np.arange(len(links))
    nodes = np.concatenate([node, made])[links[:, :2].astype(np.intp)]
    return np.vstack(
        [merges, np.column_stack([np.sort(nodes, axis=1), np.minimum(links[:, 2], 1)])]
    )

"""Nearest dissimilar points, for mining hard triplets."""

from __future__ import annotations

import numpy as np


def nearest_dissimilar(
    points: np.ndarray, anchors: np.ndarray, labels: np.ndarray, count: int
) -> np.ndarray:
    """Closest points by cosine that carry another label.

    Parameters
    ----------
    points : ndarray of shape (n, r)
        Rows; zero rows are nobody's neighbour.
    anchors : ndarray of int, shape (m,)
        Rows to find neighbours of.
    labels : ndarray of shape (n,)
        Group of each point.
    count : int
        Neighbours an anchor.

    Returns
    -------
    neighbours : ndarray of intp, shape (m, count)
        Nearest first, −1 where there are too few. Costs O(m n r) in blocks of bounded memory.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import nearest_dissimilar
    >>> points = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]])
    >>> nearest_dissimilar(points, np.array([0]), np.array([0, 0, 1, 2]), 1)
    array([[2]])
    """
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    unit = np.divide(points, norms, out=np.zeros_like(points), where=norms > 0)
    known = np.flatnonzero(norms.ravel() > 0)
    order = known[np.argsort(labels[known], kind="stable")]
    ordered, ordered_labels = unit[order], labels[order]
    starts = np.searchsorted(ordered_labels, labels[anchors], side="left")
    stops = np.searchsorted(ordered_labels, labels[anchors], side="right")

    found = np.full((len(anchors), count), -1, dtype=np.intp)
    width = min(count, len(order))
    block = max(1, 32_000_000 // max(1, len(order)))
    for first in range(0, len(anchors), block):
        rows = anchors[first : first + block]
        similarity = unit[rows] @ ordered.T
        for position in range(len(rows)):
            own = slice(starts[first + position], stops[first + position])
            similarity[position, own] = -np.inf
        best = np.argpartition(-similarity, width - 1, axis=1)[:, :width]
        values = np.take_along_axis(similarity, best, axis=1)
        rank = np.lexsort((best, -values), axis=1)
        best = np.take_along_axis(best, rank, axis=1)
        values = np.take_along_axis(values, rank, axis=1)
        found[first : first + block, :width] = np.where(np.isfinite(values), order[best], -1)
    return found

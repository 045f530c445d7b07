"""Pulls of single pairs towards either side of a cosine threshold."""

from __future__ import annotations

import numpy as np


def threshold_pulls(
    triplets: np.ndarray, points: np.ndarray, threshold: float, similar_weight: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute pulls that move pairs to the right side of a cosine threshold.

    A triplet (i, j, k) requires y_i · y_j > y_i · y_k + m. Here its two pairs are treated
    separately: j should be closer to i than a cosine τ, and k farther. With unit vectors,
    y_i · y_j > τ ‖y_i‖² + m and y_i · y_k < τ ‖y_i‖² − m, so the pulls of Eq. 8 of the FILM paper
    become v_j − τ v_i and τ v_i − v_k, one hinge per pair. Pairs on the right side of τ are
    inactive. In contrast, the mean over an anchor's triplets lets easy pairs hide hard ones.

    Parameters
    ----------
    triplets : ndarray of int, shape (T, 3)
        Validated triplets.
    points : ndarray of shape (n, r)
        Coordinates v of unit vectors. Pairs with a zero row, such as the null point of
        `triplets_from_pairs`, are left out.
    threshold : float
        τ, from 0 to 1.
    similar_weight : float, default=1.0
        Weight of similar pairs; dissimilar pairs have weight 1.

    Returns
    -------
    anchors : ndarray of intp, shape (M,)
        i of every distinct pair, similar pairs first; a point occurs once per pair.
    pulls : ndarray of shape (M, r)
        Costs O(M r).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import threshold_pulls
    >>> points = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> threshold_pulls(np.array([[0, 1, 2]]), points, 0.5)
    (array([0, 0]), array([[-0.5,  1. ],
           [-0.1, -0.8]]))
    """
    known = np.any(points, axis=1)
    pairs, weights = [], []
    for column, weight in ((1, similar_weight), (2, -1.0)):
        kind = triplets[:, [0, column]]
        pairs.append(np.unique(kind[known[kind].all(axis=1)], axis=0))
        weights.append(np.full(len(pairs[-1]), weight, dtype=points.dtype))
    anchors, others = np.vstack(pairs).T
    pulls = points[others] - points.dtype.type(threshold) * points[anchors]
    pulls *= np.concatenate(weights)[:, None]
    return anchors, pulls

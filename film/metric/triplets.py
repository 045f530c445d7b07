"""Triplets (anchor, similar, dissimilar): validation, mining and per-anchor sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from film.corpus import connected_groups
from film.metric.svd import threaded_product

MAX_SIMILAR = 10
"""Maximum similar points per anchor, so that a cluster of m points costs m · MAX_SIMILAR."""
# Maximum number of triplets whose vectors are held at a time.
_TRIPLETS = 65_536


def check_triplets(triplets: Any, n_points: int) -> np.ndarray:
    """Validate triplets of row indices.

    Parameters
    ----------
    triplets : array-like of int, shape (T, 3)
        Rows (anchor, similar, dissimilar).
    n_points : int
        Number of rows that the indices refer to.

    Returns
    -------
    triplets : ndarray of intp, shape (T, 3)
        The same triplets.

    Raises
    ------
    ValueError
        If the shape or dtype is wrong, there are no triplets, an index is out of range, or two
        members of a triplet are the same point; the message names the first bad row.

    Examples
    --------
    >>> from film.metric import check_triplets
    >>> check_triplets([[0, 1, 2]], 3)
    array([[0, 1, 2]])
    """
    array = np.asarray(triplets)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(
            f"triplets has shape {array.shape}; it must be (n_triplets, 3), with columns "
            "(anchor, similar, dissimilar)"
        )
    if len(array) == 0:
        raise ValueError(
            "triplets is empty; give at least one (anchor, similar, dissimilar) row, for "
            "instance from film.metric.triplets_from_pairs"
        )
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"triplets has dtype {array.dtype}; it must hold integer row indices into X"
        )
    outside = (array < 0) | (array >= n_points)
    if outside.any():
        row = int(outside.any(axis=1).argmax())
        raise ValueError(
            f"triplets[{row}] = {array[row].tolist()} points outside X, which has {n_points} "
            f"rows; indices must lie between 0 and {n_points - 1}"
        )
    for first, second, names in (
        (0, 1, "anchor and similar"),
        (0, 2, "anchor and dissimilar"),
        (1, 2, "similar and dissimilar"),
    ):
        same = array[:, first] == array[:, second]
        if same.any():
            row = int(same.argmax())
            raise ValueError(
                f"triplets[{row}] = {array[row].tolist()} names the same point as {names}; "
                "remove such rows"
            )
    return array.astype(np.intp, copy=False)


def triplets_from_pairs(
    pairs: np.ndarray,
    y: np.ndarray,
    n_points: int,
    *,
    n_random: int,
    null: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> np.ndarray:
    """Mine triplets from labelled pairs.

    Positive pairs are closed transitively into clusters. Each point of a cluster of two or more
    points is an anchor. It is combined with the other points of its cluster (a random
    `MAX_SIMILAR` of them in a large cluster) and with two kinds of dissimilar points: those of its
    labelled negative pairs, and random points outside the cluster.

    Parameters
    ----------
    pairs : ndarray of int, shape (n_pairs, 2)
        Row indices.
    y : ndarray of shape (n_pairs,)
        1 similar, 0 dissimilar.
    n_points : int
        Number of points.
    n_random : int
        Random dissimilar points per anchor.
    null : int, optional
        Row of a zero point that is in no pair. If given, a negative pair counts even if an end has
        no known similar point: as (end, null, other end), which requires the ends to have no
        positive similarity. Most negatives of a pair corpus are of this kind.
    random_state : int, Generator or None
        Seeds the choice of mates and of random dissimilar points.

    Returns
    -------
    triplets : ndarray of intp, shape (T, 3)
        Sorted by anchor, without repeats; empty if nothing can be mined. Negatives with both ends
        in one cluster are left out.

    Raises
    ------
    ValueError
        If y contains values other than 0 or 1, or an index is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import triplets_from_pairs
    >>> triplets_from_pairs(np.array([[0, 1], [1, 2]]), np.array([1, 0]), 3, n_random=0)
    array([[1, 0, 2]])
    """
    pairs, y = np.asarray(pairs, dtype=np.intp), np.asarray(y)
    if not np.isin(y, (0, 1)).all():
        raise ValueError(
            f"y holds {np.setdiff1d(y, (0, 1))[0]!r}; labels of pairs are 1 (similar) and 0 "
            "(dissimilar)"
        )
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < n_points:
        raise ValueError(
            f"pairs point to rows {pairs.min()} … {pairs.max()}, of {n_points} points; indices "
            f"must lie between 0 and {n_points - 1}"
        )
    y = y.astype(bool)
    clusters = connected_groups(pairs[y], n_points)
    negatives = pairs[~y]
    negatives = negatives[clusters[negatives[:, 0]] != clusters[negatives[:, 1]]]
    labelled = np.vstack([negatives, negatives[:, ::-1]])
    triplets = _combine(clusters, labelled, n_random, random_state)
    if null is None:
        return triplets
    alone = np.unique(labelled[~np.isin(labelled[:, 0], triplets[:, 0])], axis=0)
    both = np.vstack([triplets, np.insert(alone, 1, null, axis=1)])
    return both[np.argsort(both[:, 0], kind="stable")]


def triplets_from_labels(
    labels: np.ndarray,
    *,
    n_random: int,
    random_state: int | np.random.Generator | None = None,
) -> np.ndarray:
    """Mine triplets from group labels.

    Parameters
    ----------
    labels : ndarray of shape (n_points,)
        Points with the same label are similar, all others dissimilar.
    n_random : int
        Random dissimilar points per anchor.
    random_state : int, Generator or None
        Seeds the choice of mates and of random dissimilar points.

    Returns
    -------
    triplets : ndarray of intp, shape (T, 3)
        Sorted by anchor, without repeats; empty if no label has two points or there is only one
        label.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import triplets_from_labels
    >>> triplets_from_labels(np.array([0, 0, 1]), n_random=1, random_state=0)
    array([[0, 1, 2],
           [1, 0, 2]])
    """
    _, clusters = np.unique(labels, return_inverse=True)
    nothing = np.zeros((0, 2), dtype=np.intp)
    return _combine(clusters.ravel(), nothing, n_random, random_state)


def _combine(
    clusters: np.ndarray,
    labelled: np.ndarray,
    n_random: int,
    random_state: int | np.random.Generator | None,
) -> np.ndarray:
    rng = np.random.default_rng(random_state)
    similar = _mates(clusters, rng)
    anchors = np.unique(similar[:, 0])
    dissimilar = labelled[np.isin(labelled[:, 0], anchors)]
    outside = _random_outside(anchors, clusters, n_random, rng)
    listed = np.column_stack([np.repeat(anchors, n_random), outside.ravel()])
    dissimilar = np.vstack([dissimilar, listed[listed[:, 1] >= 0]])
    return _join(similar, np.unique(dissimilar, axis=0), len(clusters))


def _mates(clusters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the ordered pairs (anchor, similar) inside each cluster."""
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    # Process clusters of one size together, with one array operation per size.
    found = [np.zeros((0, 2), dtype=np.intp)]
    for size in np.unique(sizes):
        members = order[starts[sizes == size][:, None] + np.arange(size)]
        shifts = np.arange(1, size)
        if size - 1 > MAX_SIMILAR:
            shifts = np.sort(rng.choice(shifts, MAX_SIMILAR, replace=False))
            members = rng.permuted(members, axis=1)
        for shift in shifts:
            found.append(
                np.column_stack([members.ravel(), np.roll(members, -shift, axis=1).ravel()])
            )
    pairs = np.vstack(found)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _random_outside(
    anchors: np.ndarray, clusters: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw random points of other clusters: positions in cluster order, skipping the own."""
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    own, start = sizes[clusters[anchors]], (np.cumsum(sizes) - sizes)[clusters[anchors]]
    outside = len(clusters) - own
    draw = (rng.random((len(anchors), count)) * outside[:, None]).astype(np.intp)
    draw += np.where(draw >= start[:, None], own[:, None], 0)
    return np.where(outside[:, None] > 0, order[np.minimum(draw, len(order) - 1)], -1)


def _join(similar: np.ndarray, dissimilar: np.ndarray, n_points: int) -> np.ndarray:
    """Return all (anchor, similar, dissimilar) with a common anchor, sorted by anchor."""
    n_dissimilar = np.bincount(dissimilar[:, 0], minlength=n_points)
    first = np.cumsum(n_dissimilar) - n_dissimilar
    repeat = n_dissimilar[similar[:, 0]]
    rows = np.repeat(np.arange(len(similar)), repeat)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    which = first[similar[rows, 0]] + offset
    return np.column_stack([similar[rows], dissimilar[which, 1]]).astype(np.intp)


def anchor_sums(triplets: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the direction in which each anchor is pulled.

    a_i = 1/(|T_i|+1) · Σ_{(i,j,k) ∈ T_i} (v_j − v_k), the constant part of Eq. 8 and Eq. 10 of
    the FILM paper.

    Parameters
    ----------
    triplets : ndarray of int, shape (T, 3)
        Validated triplets.
    points : ndarray of shape (n, r)
        Rows v_i.

    Returns
    -------
    anchors : ndarray of intp, shape (m,)
        Points with at least one triplet, in ascending order.
    sums : ndarray of shape (m, r)
        a_i of those anchors.

    Notes
    -----
    O(T r).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import anchor_sums
    >>> anchor_sums(np.array([[0, 1, 2]]), np.array([[0.0], [4.0], [1.0]]))
    (array([0]), array([[1.5]]))
    """
    anchors, signed = anchor_weights(triplets, len(points), points.dtype)
    return anchors, threaded_product(signed, points)


def anchor_weights(
    triplets: np.ndarray, n_points: int, dtype: Any = np.float64
) -> tuple[np.ndarray, sp.csr_array]:
    """Return the anchors and the (m, n_points) weights that multiply points to `anchor_sums`."""
    anchors, position, counts = np.unique(triplets[:, 0], return_inverse=True, return_counts=True)
    weight = 1.0 / (counts + 1.0)[position]
    signed = sp.csr_array(
        (
            np.concatenate([weight, -weight]).astype(dtype),
            (np.tile(position, 2), np.concatenate([triplets[:, 1], triplets[:, 2]])),
        ),
        shape=(len(anchors), n_points),
    )
    return anchors, signed


def ordered_share(points: np.ndarray, triplets: np.ndarray) -> float:
    """Fraction of triplets whose similar point is closer than the dissimilar one, by cosine.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Rows; a zero row has cosine 0 with every other.
    triplets : ndarray of int, shape (T, 3)
        Validated triplets.

    Returns
    -------
    share : float
        From 0 to 1; a tie counts as one half.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import ordered_share
    >>> ordered_share(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]]), np.array([[0, 1, 2]]))
    1.0
    """
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    unit = np.divide(points, norms, out=np.zeros_like(points), where=norms > 0)
    ordered = 0.0
    for start in range(0, len(triplets), _TRIPLETS):
        anchors, similar, dissimilar = triplets[start : start + _TRIPLETS].T
        gap = np.einsum("td,td->t", unit[anchors], unit[similar] - unit[dissimilar])
        ordered += float(np.where(gap > 0, 1.0, np.where(gap == 0, 0.5, 0.0)).sum())
    return ordered / len(triplets)


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

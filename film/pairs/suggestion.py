"""Which points of a pool to label next, so that the labelled ones stand for the whole pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist

from film.pairs.checks import check_at_least_one, checked_integers

LARGEST = 4.0
"""Standard deviations at which a feature is cut: one far value must not be all of a distance."""
BANDWIDTH = 0.3
"""Scale of the kernel, in median distances of the pool."""
_BLOCK = 512
_SAMPLE = 1000


def standard_scores(features: ArrayLike) -> NDArray[np.float64]:
    """Give features the mean 0 and standard deviation 1.

    Parameters
    ----------
    features : array-like of float, shape (n, d)
        Points. A constant column becomes 0.

    Returns
    -------
    scores : ndarray of float64, shape (n, d)
        Cut at `LARGEST` and divided by √d, so that a typical point has length 1.

    Raises
    ------
    ValueError
        If a shape does not fit or a value is not finite.

    Notes
    -----
    O(n d).

    Examples
    --------
    >>> from film.pairs import standard_scores
    >>> standard_scores([[0.0, 7.0], [2.0, 7.0]]) * 2**0.5
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    X = _matrix("features", features)
    deviation = X.std(axis=0)
    centred = X - X.mean(axis=0)
    # Rounding leaves a constant column a deviation of some ulps of its size.
    varies = deviation > 1e-12 * np.abs(X).max(axis=0, initial=0)
    scores = np.divide(centred, deviation, out=np.zeros_like(X), where=varies)
    return np.clip(scores, -LARGEST, LARGEST) / np.sqrt(X.shape[1])


def select_representative(
    points: ArrayLike,
    n: int,
    *,
    weights: ArrayLike | None = None,
    known: ArrayLike | None = None,
    barred: ArrayLike | None = None,
    members: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Choose points so that equal weights on them stand for the whole pool.

    Kernel herding (Chen, Welling and Smola, *Super-samples from kernel herding*, UAI 2010). With
    the kernel ``k(x, z) = exp(−‖x − z‖ / h)``, h being `BANDWIDTH` times the median distance, and
    t points chosen already, the next one is

        argmax_x  Σ_z w_z k(x, z) − Σ_{i ≤ t} k(x, x_i) / (t + 1),

    which lowers the distance of means ``‖Σ_z w_z k(z, ·) − Σ_i k(x_i, ·) / t‖`` greedily. For any
    function f of the kernel's space, the plain mean of f over the chosen points is off its mean
    over the pool by at most ‖f‖ times that distance, which falls faster than the 1/√t of a random
    sample. So whatever is learned from the chosen points needs no weights, a share of positives
    among them. No label is looked at, hence no label can bias the choice, and batches of any size
    follow the same rule.

    Parameters
    ----------
    points : array-like of float, shape (m, d)
        The pool, or a sample of it, for instance from `standard_scores`.
    n : int
        Points wanted, at least 1; fewer are given where fewer are free.
    weights : array-like of float, shape (m,), optional
        How much of the pool each point stands for, not negative; only ratios matter. 1 each by
        default; 0 for points that are no part of it.
    known : array-like of int, shape (l,), optional
        Positions of points with a label. They count as chosen, and are not chosen again.
    barred : array-like of int, shape (b,), optional
        Positions of further points that may not be chosen.
    members : array-like of int, shape (m, c), optional
        What points consist of, such as the two texts of a pair. A point that shares a member with
        one chosen by this call waits until no other point is left.

    Returns
    -------
    chosen : ndarray of intp, shape (≤ n,)
        Distinct positions, in order of choice.

    Raises
    ------
    TypeError, ValueError
        If n < 1, a shape does not fit, a position is no integer or out of range, or a value is not
        finite or a weight negative.

    Notes
    -----
    O(m² d) for the means, then O(m d) per point; memory O(m d + m · 512).

    Examples
    --------
    >>> from film.pairs import select_representative
    >>> pool = [[0.0], [0.1], [0.3], [5.0], [5.4]]
    >>> select_representative(pool, 3).tolist()
    [1, 3, 2]
    >>> select_representative(pool, 1, known=[1, 3, 4]).tolist()
    [2]
    """
    X = _matrix("points", points)
    m = len(X)
    check_at_least_one("n", n)
    share = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.shape != (m,) or not (np.isfinite(share) & (share >= 0)).all():
        raise ValueError(
            f"weights must be {m} finite numbers, not negative, got shape {share.shape}: give one "
            "per point."
        )
    parts: Any = np.arange(m)[:, None] if members is None else np.asarray(members)
    if parts.ndim != 2 or len(parts) != m:
        raise ValueError(f"members must have shape ({m}, c), got {parts.shape}: one row per point.")
    labelled, without = (
        checked_integers(name, [] if rows is None else rows, below=m)
        for name, rows in (("known", known), ("barred", barred))
    )
    left = np.ones(m, dtype=bool)
    left[labelled] = left[without] = False
    if not left.any():
        return np.empty(0, dtype=np.intp)

    scale = BANDWIDTH * _typical_distance(X)
    target = _kernel_sums(X, X, share / (share.sum() or 1), scale)
    covered = _kernel_sums(X, X[labelled], np.ones(len(labelled)), scale)
    free = np.ones(m, dtype=bool)
    chosen: list[int] = []
    while len(chosen) < n and left.any():
        allowed = left & free if (left & free).any() else left
        gain = target - covered / (len(labelled) + len(chosen) + 1)
        best = int(np.where(allowed, gain, -np.inf).argmax())
        chosen.append(best)
        left[best] = False
        free &= ~np.isin(parts, parts[best]).any(axis=1)
        covered += _kernel_sums(X, X[best : best + 1], np.ones(1), scale)
    return np.array(chosen, dtype=np.intp)


def _kernel_sums(
    X: NDArray[np.float64], Z: NDArray[np.float64], weights: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """``Σ_z w_z exp(−‖x − z‖ / scale)`` at every x."""
    sums = np.zeros(len(X))
    for start in range(0, len(Z), _BLOCK):
        block = slice(start, start + _BLOCK)
        # No BLAS: equal points must have equal sums, whatever kernel multiplies.
        sums += (np.exp(-cdist(X, Z[block]) / scale) * weights[block]).sum(axis=1)
    return sums


def _typical_distance(X: NDArray[np.float64]) -> float:
    """Median distance of points, of a sample spread over them where there are many."""
    distances = pdist(X[:: -(-len(X) // _SAMPLE)])
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _matrix(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, d), got {array.shape}: one row per point.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but holds NaN or infinity: drop or fill them.")
    return array

"""Which points of a pool to label next, so that predictions over the whole pool gain most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LARGEST", "design_rows", "select_informative"]

LARGEST = 4.0
"""Standard deviations at which a feature is cut: the farthest points are rarely telling ones."""


def design_rows(
    features: ArrayLike, pool: ArrayLike, importance: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Standardise features and give each the length that it matters by.

    Parameters
    ----------
    features : array-like of float, shape (n, d)
        Points to convert.
    pool : array-like of float, shape (m, d)
        Points whose mean and standard deviation are taken. A constant column becomes 0.
    importance : array-like of float, shape (d,), optional
        Share of each feature in what is to be predicted, not negative, of sum 1. Equal ones by
        default.

    Returns
    -------
    rows : ndarray of float64, shape (n, d + 1)
        A column of ones, then standard scores, cut at `LARGEST` and times √importance: under
        independent standard normal coefficients, a typical point's prediction has variance 2.

    Raises
    ------
    ValueError
        If a shape does not fit or a value is not finite.

    Notes
    -----
    O((n + m) d).

    Examples
    --------
    >>> from film.suggestion import design_rows
    >>> design_rows([[2.0, 7.0]], [[0.0, 7.0], [2.0, 7.0]], [1.0, 0.0])
    array([[1., 1., 0.]])
    """
    reference = _matrix("pool", pool, None)
    X = _matrix("features", features, reference.shape[1])
    d = X.shape[1]
    share = np.full(d, 1 / d) if importance is None else np.asarray(importance, dtype=np.float64)
    if share.shape != (d,) or not (share >= 0).all() or not np.isclose(share.sum(), 1):
        raise ValueError(
            f"importance must be {d} numbers, not negative, of sum 1, but has shape {share.shape} "
            f"and sum {share.sum():.6g}: divide them by their sum."
        )
    deviation = reference.std(axis=0)
    centred = X - reference.mean(axis=0)
    scores = np.divide(centred, deviation, out=np.zeros_like(X), where=deviation > 0)
    return np.column_stack([np.ones(len(X)), np.clip(scores, -LARGEST, LARGEST) * np.sqrt(share)])


def select_informative(
    rows: ArrayLike,
    n: int,
    *,
    known: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    members: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Choose points whose labels would lessen the variance of predictions over the pool most.

    Bayesian linear regression, standard normal coefficients and noise of variance 1. With P the
    covariance of the coefficients after what is known, a label at x lowers the variance of the
    prediction at z by ``(zᵀ P x)² / (1 + xᵀ P x)``. The x with the largest weighted sum over all
    z of the pool is chosen, P updated, and so on: no label is needed, so batches of any size and
    a start from nothing are the same rule, and a point close to a chosen one is worth little.
    It is the criterion of Cohn, Ghahramani and Jordan, *Active learning with statistical models*
    (1996), made greedy; as weights ``p(1 − p)``, the uncertainty of Lewis and Gale, *A sequential
    algorithm for training text classifiers* (1994), say where variance costs most.

    Parameters
    ----------
    rows : array-like of float, shape (m, d)
        The pool, for instance from `design_rows`.
    n : int
        Points wanted, at least 1; at most m are given.
    known : array-like of float, shape (l, d), optional
        Points labelled already.
    weights : array-like of float, shape (m,), optional
        Cost of variance at each point of the pool, not negative; only ratios matter. 1 each by
        default.
    members : array-like of int, shape (m, c), optional
        What points consist of, such as the two texts of a pair. A point that shares a member with
        one chosen before waits until no other point is left.

    Returns
    -------
    chosen : ndarray of intp, shape (min(n, m),)
        Distinct positions in the pool, the most informative first.

    Raises
    ------
    ValueError
        If n < 1, a shape does not fit, or a value is not finite or a weight negative.

    Notes
    -----
    O(m d² + l d² + d³) to begin with, then O(m d²) a point; memory O(m d).

    Examples
    --------
    >>> from film.suggestion import select_informative
    >>> pool = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> select_informative(pool, 2)
    array([1, 2])
    >>> select_informative(pool, 1, known=[[1.0, 0.0]] * 9)
    array([2])
    """
    X = _matrix("rows", rows, None)
    m, d = X.shape
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}: say how many points are wanted.")
    seen = np.empty((0, d)) if known is None else _matrix("known", known, d)
    cost = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    if cost.shape != (m,) or not (np.isfinite(cost) & (cost >= 0)).all():
        raise ValueError(
            f"weights must be {m} finite numbers, not negative, got shape {cost.shape}: give one "
            "a point of the pool."
        )
    parts: Any = np.arange(m)[:, None] if members is None else np.asarray(members)
    if parts.ndim != 2 or len(parts) != m:
        raise ValueError(f"members must have shape ({m}, c), got {parts.shape}: one row a point.")

    covariance = np.linalg.inv(np.eye(d) + seen.T @ seen)
    moment = (X * cost[:, None]).T @ X
    left, free = np.ones(m, dtype=bool), np.ones(m, dtype=bool)
    chosen = np.empty(min(n, m), dtype=np.intp)
    for place in range(len(chosen)):
        spread = X @ covariance
        total = 1 + np.einsum("md,md->m", spread, X)
        gain = np.einsum("md,md->m", spread @ moment, spread) / total
        allowed = left & free if (left & free).any() else left
        best = int(np.where(allowed, gain, -np.inf).argmax())
        chosen[place] = best
        left[best] = False
        free &= ~np.isin(parts, parts[best]).any(axis=1)
        covariance = covariance - np.outer(spread[best], spread[best]) / total[best]
    return chosen


def _matrix(name: str, values: ArrayLike, n_columns: int | None) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0 or array.shape[1] != (n_columns or array.shape[1]):
        wanted = "(n, d)" if n_columns is None else f"(n, {n_columns})"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}: one row a point.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but holds NaN or infinity: drop or fill them.")
    return array

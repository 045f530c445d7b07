"""How like the texts that a model was fitted to others are, and judgements where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import expit, logit

_BLOCK_CELLS = 20_000_000
"""Products that are held at once."""

_CLIP = 6.0
"""Standard deviations beyond which a statistic says no more."""

_FLAGGED, _MOST_FLAGGED = 0.025, 0.05
"""Share of pairs of the fitted kind that a limit flags, and that it stays below by three errors."""

_LIKE, _UNLIKE = 0.9, 0.6
"""Likeness of a collection above which training alone judges it, and below which it does not."""


def mean_rarities(counts: Any, frequencies: ArrayLike, n_texts: int) -> NDArray[np.float64]:
    """Average how rare the features of each text are.

    A feature that f of n fitted texts have weighs ``log((n + 1) / (f + 1))``: 0 where all have it,
    log(n + 1) where none has.

    Parameters
    ----------
    counts : sparse matrix, shape (m, D)
        Features that each text has, such as n-grams; their values are not used.
    frequencies : array-like of shape (D,)
        Number of fitted texts with each feature.
    n_texts : int
        Number of fitted texts.

    Returns
    -------
    rarities : ndarray of float64, shape (m,)
        Mean weight over a text's features; log(n + 1) for a text without any.

    Notes
    -----
    O(nnz).

    Examples
    --------
    >>> from scipy.sparse import csr_array, issparse
    >>> mean_rarities(csr_array([[1, 1], [0, 1], [0, 0]]), [3, 0], 3).round(3).tolist()
    [0.693, 1.386, 1.386]
    """
    rows = csr_array(counts)
    weights = np.log((n_texts + 1) / (np.asarray(frequencies, dtype=np.float64) + 1))
    sizes = np.diff(rows.indptr)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.bincount(owners, weights=weights[rows.indices], minlength=len(sizes))
    return np.divide(totals, sizes, out=np.full(len(sizes), np.log(n_texts + 1)), where=sizes > 0)


def mean_of_nearest(queries: Any, points: Any, n: int = 5) -> NDArray[np.float64]:
    """Average the n largest products of each query with the points.

    Parameters
    ----------
    queries, points : sparse matrix or ndarray, shapes (m, D) and (p, D)
        Rows of length 1: non-negative and sparse, such as TF-IDF, or dense.
    n : int, default=5
        Products to average. Where fewer are there, or of sparse rows fewer are positive, the rest
        count as 0.

    Returns
    -------
    means : ndarray of float64, shape (m,)
        0 for a query that shares nothing with any point.

    Notes
    -----
    O(m p D) with dense rows. The products of sparse ones are sparse: cheap where common features
    were left out.

    Examples
    --------
    >>> from scipy.sparse import csr_array, issparse
    >>> points = csr_array([[1.0, 0.0], [0.6, 0.8]])
    >>> mean_of_nearest(csr_array([[1.0, 0.0], [0.0, 0.0]]), points, 2).tolist()
    [0.8, 0.0]
    """
    if not issparse(queries):
        return _mean_of_nearest_dense(np.asarray(queries), np.asarray(points), n)
    asked, index = csr_array(queries), csr_array(csr_array(points).T)
    (n_queries, _), (_, n_points) = asked.shape, index.shape  # pyright: ignore
    means = np.zeros(n_queries)
    step = max(1, _BLOCK_CELLS // max(1, n_points))
    for start in range(0, n_queries, step):
        block = csr_array(asked[start : start + step] @ index)
        for row, (low, high) in enumerate(zip(block.indptr, block.indptr[1:], strict=False), start):
            products = block.data[low:high]
            if len(products) > n:
                products = np.partition(products, len(products) - n)[len(products) - n :]
            means[row] = products.sum() / n
    return means


def _mean_of_nearest_dense(
    queries: NDArray[np.floating], points: NDArray[np.floating], n: int
) -> NDArray[np.float64]:
    means = np.zeros(len(queries))
    if len(points) == 0:
        return means
    rest = max(0, len(points) - n)
    step = max(1, _BLOCK_CELLS // len(points))
    for start in range(0, len(queries), step):
        products = queries[start : start + step] @ points.T
        nearest = np.partition(products, rest, axis=1)[:, rest:]
        means[start : start + step] = nearest.sum(axis=1, dtype=np.float64) / n
    return means


def standardised(
    statistics: ArrayLike, means: ArrayLike, deviations: ArrayLike
) -> NDArray[np.float64]:
    """Express statistics in standard deviations from the mean, none beyond ± 6.

    Parameters
    ----------
    statistics : array-like of shape (n, m)
        Of texts or pairs.
    means, deviations : array-like of shape (m,)
        Of texts of the fitted kind. A statistic that has no deviation counts in its own unit.

    Returns
    -------
    z : ndarray of float64, shape (n, m)

    Examples
    --------
    >>> standardised([[3.0], [99.0]], [1.0], [2.0]).tolist()
    [[1.0], [6.0]]
    """
    spread = np.asarray(deviations, dtype=np.float64)
    z = np.asarray(statistics, dtype=np.float64) - np.asarray(means)
    return np.clip(z / np.where(spread > 0, spread, 1.0), -_CLIP, _CLIP)


def familiarities(
    statistics: ArrayLike,
    means: ArrayLike,
    deviations: ArrayLike,
    weights: ArrayLike,
    intercepts: ArrayLike,
) -> NDArray[np.float64]:
    """Probability that texts are of the fitted kind rather than of one of several others.

    A multinomial logistic model on standardised statistics z, whose first class, the fitted kind,
    has weights 0: ``1 / (1 + Σ_k exp(b_k + w_k · z))``. Each other kind is a way of being unlike,
    and one that holds is enough.

    Parameters
    ----------
    statistics : array-like of shape (n, m)
        Of texts or pairs.
    means, deviations : array-like of shape (m,)
        Of texts of the fitted kind that were not counted themselves.
    weights : array-like of shape (k, m)
        Of k other kinds.
    intercepts : array-like of shape (k,)
        Of them.

    Returns
    -------
    familiarities : ndarray of float64, shape (n,)
        From 0, unlike, to 1.

    See Also
    --------
    standardised : Gives z.

    Examples
    --------
    >>> familiarities([[0.0], [4.0]], [0.0], [1.0], [[1.0]], [-2.0]).round(3).tolist()
    [0.881, 0.119]
    """
    z = standardised(statistics, means, deviations)
    others = z @ np.asarray(weights, dtype=np.float64).T + np.asarray(intercepts)
    return 1 / (1 + np.exp(others).sum(axis=1))


def familiarity_limit(held_out: ArrayLike, n_groups: int) -> float:
    """Choose a familiarity that few pairs of the fitted kind have or fall below.

    Parameters
    ----------
    held_out : array-like of shape (n,)
        Familiarity of pairs of the fitted kind, to texts that theirs were not among.
    n_groups : int
        Groups of linked texts that these pairs are of: pairs of one group count as one.

    Returns
    -------
    limit : float
        From 0 to ½. A share q of new pairs of the kind is expected at or below it: .025, or less
        where q + 3 √(q / n_groups), three standard errors more, would exceed .05. It is the
        ⌊q (n + 1)⌋-th lowest familiarity, and 0 where ⌊q (n + 1)⌋ is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import familiarity_limit
    >>> familiarity_limit(np.linspace(0, 1, 999), 10_000), familiarity_limit([0.5, 1.0], 2)
    (0.024048096192384766, 0.0)
    """
    error = 1.5 / np.sqrt(max(n_groups, 1))
    share = min(_FLAGGED, (np.sqrt(error**2 + _MOST_FLAGGED) - error) ** 2)
    values = np.sort(np.asarray(held_out, dtype=np.float64))
    lowest = int(share * (len(values) + 1))
    return min(0.5, float(values[lowest - 1])) if lowest else 0.0


def untrained_share(familiarity: ArrayLike, typical: float) -> float:
    """Share that untrained similarity has in the judgements of a collection.

    Linear from 0 where m / t is 0.9 or more, to 1 where it is 0.6 or less, with m the mean
    familiarity of its texts and t that of texts of the fitted kind.

    Parameters
    ----------
    familiarity : array-like of shape (n,)
        Of texts of the collection, from 0 to 1, n at least 1.
    typical : float
        Mean familiarity of texts of the fitted kind that were not counted themselves, in (0, 1].

    Returns
    -------
    share : float
        From 0 to 1.

    Notes
    -----
    One share for all pairs of a collection: shares pair by pair put log-odds of two kinds, whose
    levels differ, into one order, and cost more than untrained similarity gains.

    Examples
    --------
    >>> untrained_share([0.8, 1.0], 0.9), round(untrained_share([0.5, 0.7], 0.8), 3)
    (0.0, 0.5)
    """
    likeness = float(np.mean(np.asarray(familiarity, dtype=np.float64))) / typical
    share = (_LIKE - likeness) / (_LIKE - _UNLIKE)
    return min(1.0, max(0.0, share))


def fallen_back(p: ArrayLike, untrained: ArrayLike, share: float) -> NDArray[np.float64]:
    """Move probabilities of a trained model towards untrained similarity, in log-odds.

    ``(1 − λ) · logit p + λ · untrained`` with λ the share.

    Parameters
    ----------
    p : array-like of shape (n,)
        Probabilities of the trained model, clipped to 10⁻⁶ from 0 and 1.
    untrained : array-like of shape (n,)
        Log-odds by untrained similarity.
    share : float
        From 0 to 1.

    Returns
    -------
    p : ndarray of float64, shape (n,)
        Probabilities; with share 0 those given.

    Examples
    --------
    >>> fallen_back([0.9, 0.2], [0.0, 0.0], 1.0).tolist()
    [0.5, 0.5]
    >>> fallen_back([0.9, 0.2], [0.0, 0.0], 0.0).tolist()
    [0.9, 0.2]
    """
    trained = np.asarray(p, dtype=np.float64)
    if share == 0:
        return trained
    inner = np.clip(trained, 1e-6, 1 - 1e-6)
    return expit((1 - share) * logit(inner) + share * np.asarray(untrained, dtype=np.float64))

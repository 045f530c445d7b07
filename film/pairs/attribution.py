"""Contributions of inputs to a model's output: Shapley values and leave-one-out effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH_ROWS = 20_000
"""Rows that the model computes at once."""
N_ORDERS = 16
"""Orders of the groups: half of them random, the others these from behind."""


def shapley_effects(
    model: Callable[[NDArray[np.float64]], Any],
    inputs: ArrayLike,
    baseline: ArrayLike,
    groups: Sequence[Sequence[int]],
) -> NDArray[np.float64]:
    """Divide the change of a model's output from a baseline to each row among groups of inputs.

    With f the model, x a row and b the baseline, groups of inputs change from b to x one by one, in
    some order. The effect of a group is the mean over orders of the change of f at its step. The
    mean over all orders is the Shapley value.

    Parameters
    ----------
    model : callable
        Maps (m, n_inputs) to (m,), row by row.
    inputs : array-like of float, shape (n, n_inputs)
        Rows to explain.
    baseline : array-like of float, shape (n_inputs,)
        The starting point of all rows.
    groups : sequence of sequences of int
        Columns of each group; each column is in one group.

    Returns
    -------
    effects : ndarray of float64, shape (n, n_groups)
        Sums over groups are exactly ``model(inputs) − model(baseline)``. A group whose inputs equal
        the baseline has effect 0.

    Raises
    ------
    ValueError
        If groups do not contain each column once.

    Notes
    -----
    All rows use the same `N_ORDERS` orders, so a row's effects do not depend on other rows. For
    each row of the inputs, the model computes ``N_ORDERS (n_groups − 1) + 1`` rows.

    References
    ----------
    Shapley, "A value for n-person games", 1953; sampled as in Štrumbelj and Kononenko,
    "Explaining prediction models and individual predictions with feature contributions", 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import shapley_effects
    >>> product = lambda X: X[:, 0] * X[:, 1] + X[:, 2]
    >>> shapley_effects(product, [[2.0, 3.0, 1.0]], [0.0, 0.0, 0.0], [[0], [1], [2]])
    array([[3., 3., 1.]])
    """
    X, start = np.asarray(inputs, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    n, n_inputs = X.shape
    group_of = np.full(n_inputs, -1)
    for group, columns in enumerate(groups):
        group_of[list(columns)] = group
    if sum(map(len, groups)) != n_inputs or (group_of < 0).any():
        raise ValueError(f"groups must hold each of the {n_inputs} columns once, got {groups}")
    effects = np.zeros((n, len(groups)))
    if not len(groups) or not n:
        return effects
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(groups)) for _ in range(N_ORDERS // 2)]
    orders += [order[::-1] for order in orders]
    # Position of each group in an order; after step s, groups at positions up to s have changed.
    places = np.array([np.argsort(order) for order in orders])
    steps = np.arange(len(groups) - 1)
    changed = (places[:, None, :] <= steps[:, None]).reshape(-1, len(groups))[:, group_of]
    before = float(np.ravel(model(start[None, :]))[0])
    size = max(1, BATCH_ROWS // max(len(changed), 1))
    for first in range(0, n, size):
        rows = X[first : first + size]
        whole = np.asarray(model(rows), dtype=np.float64)
        path = np.empty((len(rows), N_ORDERS, len(groups) + 1))
        path[:, :, 0], path[:, :, -1] = before, whole[:, None]
        if len(changed):
            mixed = np.where(changed, rows[:, None, :], start).reshape(-1, n_inputs)
            path[:, :, 1:-1] = np.reshape(model(mixed), (len(rows), N_ORDERS, -1))
        moves = np.diff(path, axis=2)
        for number, order in enumerate(orders):
            effects[first : first + size, order] += moves[:, number] / N_ORDERS
    return effects


def left_out_contributions(
    whole: float, without1: ArrayLike, without2: ArrayLike, without_both: ArrayLike
) -> NDArray[np.float64]:
    """Divide the score of a pair among words, from its scores with words left out.

    f(I, J) is the score of the first text without the words I and the second without the words J.
    The contribution of two words is the second difference

        c_ij = f(∅, ∅) − f({i}, ∅) − f(∅, {j}) + f({i}, {j}),

    the loss without each word, summed, minus the loss without both. Row and column 0 belong to the
    rest. They make the contributions of a word sum to the loss without it, f(∅, ∅) − f({i}, ∅), and
    all contributions sum to f(∅, ∅).

    Parameters
    ----------
    whole : float
        f(∅, ∅).
    without1, without2 : array-like of float, shapes (t1,) and (t2,)
        f({i}, ∅) and f(∅, {j}).
    without_both : array-like of float, shape (t1, t2)
        f({i}, {j}); NaN if it is unknown, which makes c_ij 0.

    Returns
    -------
    contributions : ndarray of float64, shape (t1 + 1, t2 + 1)
        Row and column 0, then c_ij.

    Examples
    --------
    A score that is a sum over pairs of words is given back:

    >>> import numpy as np
    >>> from film.pairs import left_out_contributions
    >>> S = np.array([[2.0, -1.0], [0.5, 3.0], [0.0, 1.0]])
    >>> both = [[np.delete(np.delete(S, i, 0), j, 1).sum() for j in range(2)] for i in range(3)]
    >>> alone = S.sum() - S.sum(axis=1), S.sum() - S.sum(axis=0)
    >>> left_out_contributions(S.sum(), *alone, both)
    array([[ 0. ,  0. ,  0. ],
           [ 0. ,  2. , -1. ],
           [ 0. ,  0.5,  3. ],
           [ 0. ,  0. ,  1. ]])
    """
    f1, f2 = (np.asarray(scores, dtype=np.float64) for scores in (without1, without2))
    both = np.asarray(without_both, dtype=np.float64).reshape(len(f1), len(f2))
    lost1, lost2 = whole - f1, whole - f2
    pairs = np.nan_to_num(whole - f1[:, None] - f2 + both, nan=0.0)
    found = np.empty((len(f1) + 1, len(f2) + 1))
    found[1:, 1:] = pairs
    found[1:, 0] = lost1 - pairs.sum(axis=1)
    found[0, 1:] = lost2 - pairs.sum(axis=0)
    found[0, 0] = whole - lost1.sum() - lost2.sum() + pairs.sum()
    return found

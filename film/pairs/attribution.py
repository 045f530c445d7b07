"""What each input of a model adds to its output: on the way from a baseline, or by being there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH_ROWS = 20_000
"""Rows given to the model at once."""
N_ORDERS = 16
"""Orders of the groups: half of them random, the others these from behind."""


def shapley_effects(
    model: Callable[[NDArray[np.float64]], Any],
    inputs: ArrayLike,
    baseline: ArrayLike,
    groups: Sequence[Sequence[int]],
) -> NDArray[np.float64]:
    """Share the change of a model's output from a baseline to each row out among groups of inputs.

    With f the model, x a row, b the baseline and π an order of the groups, the effect of group g is
    the mean over orders of ``f(x on g and the groups before it, b elsewhere) − f(x on the groups
    before it, b elsewhere)``. Over all orders this is the Shapley value.

    Parameters
    ----------
    model : callable
        (m, n_inputs) → (m,), row by row.
    inputs : array-like of float, shape (n, n_inputs)
        Rows to explain.
    baseline : array-like of float, shape (n_inputs,)
        The point where all start.
    groups : sequence of sequences of int
        Columns of each group; together each column once.

    Returns
    -------
    effects : ndarray of float64, shape (n, n_groups)
        Sums over groups are ``model(inputs) − model(baseline)``, whatever the orders. A group whose
        inputs are as in the baseline has effect 0.

    Raises
    ------
    ValueError
        If groups do not hold each column once.

    Notes
    -----
    `N_ORDERS` orders, the same for all rows, so that a row's effects do not depend on the others:
    ``N_ORDERS (n_groups − 1) + 1`` rows for the model per row of the inputs.

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
    # Place of each group in an order; after step s the groups at places up to s have their values.
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
    """Share the score of a pair of texts out by what it is with words left out.

    With f(I, J) the score of the first text without the words I and the second without the words J,
    two words contribute what the score loses with both of them less than with each alone, the
    second difference

        c_ij = f(∅, ∅) − f({i}, ∅) − f(∅, {j}) + f({i}, {j}).

    Row and column 0 stand for the rest, so that the contributions of a word sum to what leaving it
    out costs, f(∅, ∅) − f({i}, ∅), and all contributions to f(∅, ∅).

    Parameters
    ----------
    whole : float
        f(∅, ∅).
    without1, without2 : array-like of float, shapes (t1,) and (t2,)
        f({i}, ∅) and f(∅, {j}).
    without_both : array-like of float, shape (t1, t2)
        f({i}, {j}); NaN where it was not asked, and c_ij is 0.

    Returns
    -------
    contributions : ndarray of float64, shape (t1 + 1, t2 + 1)
        c_ij behind row and column 0.

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

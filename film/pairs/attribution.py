"""What each input of a model adds on the way from one point to another."""

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

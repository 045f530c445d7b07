"""Log loss of probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from film.checks import binary_labels, check_length, checked_probabilities


def binary_log_loss(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the mean log loss, in nats, of probabilities p for outcomes y.

    ``−Σ w (y ln p + (1 − y) ln(1 − p)) / Σ w``, the cross-entropy of the FILM paper's figure 4.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, 0 and 1 or booleans.
    p : array-like of float, shape (n,)
        Probability of outcome 1, in [0, 1]. As in scikit-learn, p is clipped to one machine epsilon
        of its dtype from 0 and 1, so a confident mistake costs 36 nats instead of infinity.
    weights : array-like of float, shape (n,), optional
        Non-negative weight of each row, for example from `prior_weights`; 1 by default.

    Returns
    -------
    loss : float
        At least 0; lower is better.

    Raises
    ------
    ValueError
        If y is not binary or empty, a probability lies outside [0, 1], lengths differ, or the
        weights are negative, not finite or sum to 0.

    Examples
    --------
    >>> from film.pairs import binary_log_loss
    >>> round(binary_log_loss([1, 0], [0.5, 0.5]), 4)
    0.6931
    >>> binary_log_loss([1, 0], [0.9, 0.2]) < binary_log_loss([1, 0], [0.2, 0.9])
    True
    """
    outcome = binary_labels(y)
    probability = checked_probabilities(p)
    check_length("p", probability, len(outcome))
    epsilon = float(np.finfo(probability.dtype).eps)
    probability = np.clip(probability.astype(np.float64, copy=False), epsilon, 1.0 - epsilon)
    cost = -np.where(outcome, np.log(probability), np.log1p(-probability))
    if weights is None:
        return float(cost.mean())
    weight = np.asarray(weights, dtype=np.float64)
    check_length("weights", weight, len(outcome))
    total = weight.sum()
    if not (np.isfinite(total) and total > 0 and weight.min() >= 0):
        raise ValueError(
            f"weights must be finite, not negative and not all 0, but their least is "
            f"{weight.min():.6g} and their sum {total:.6g}: leave weights out for equal ones."
        )
    return float(weight @ cost / total)

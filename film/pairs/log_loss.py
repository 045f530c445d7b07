"""Binary probabilities judged, and carried from one class prior to another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["binary_labels", "binary_log_loss", "prior_weights", "shift_prior"]


def binary_log_loss(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean cost, in nats, of having said probability p where the outcome was y.

    ``−Σ w (y ln p + (1 − y) ln(1 − p)) / Σ w``, the cross-entropy of the FILM paper's figure 4.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, 0 and 1 or booleans.
    p : array-like of float, shape (n,)
        Probability of outcome 1, in [0, 1]. As in scikit-learn, p is kept one machine epsilon of
        its dtype away from 0 and 1, so that a confident mistake costs 36 nats and not infinity.
    weights : array-like of float, shape (n,), optional
        Weight of each row, not negative, for instance from `prior_weights`; 1 each by default.

    Returns
    -------
    loss : float
        Not negative; less is better.

    Raises
    ------
    ValueError
        If y is not binary or empty, a probability lies outside [0, 1], lengths differ, or the
        weights are negative, not finite or sum to 0.

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> from film.pairs import binary_log_loss
    >>> round(binary_log_loss([1, 0], [0.5, 0.5]), 4)
    0.6931
    >>> binary_log_loss([1, 0], [0.9, 0.2]) < binary_log_loss([1, 0], [0.2, 0.9])
    True
    """
    outcome = binary_labels(y)
    probability = _probabilities(p)
    _check_length("p", probability, len(outcome))
    epsilon = float(np.finfo(probability.dtype).eps)
    probability = np.clip(probability.astype(np.float64, copy=False), epsilon, 1.0 - epsilon)
    cost = -np.where(outcome, np.log(probability), np.log1p(-probability))
    if weights is None:
        return float(cost.mean())
    weight = np.asarray(weights, dtype=np.float64)
    _check_length("weights", weight, len(outcome))
    total = weight.sum()
    if not (np.isfinite(total) and total > 0 and weight.min() >= 0):
        raise ValueError(
            f"weights must be finite, not negative and not all 0, but their least is "
            f"{weight.min():.6g} and their sum {total:.6g}: leave weights out for equal ones."
        )
    return float(weight @ cost / total)


def shift_prior(p: ArrayLike, prior_from: float, prior_to: float) -> NDArray[np.floating[Any]]:
    """Carry probabilities to a population with another share of positives.

    Bayes' rule on odds, for classes that look the same and only come more or less often:
    ``p′/(1 − p′) = p/(1 − p) · [b/(1 − b)] / [a/(1 − a)]`` from prior a to prior b.

    Parameters
    ----------
    p : array-like of float
        Probabilities that hold at ``prior_from``, in [0, 1], of any shape.
    prior_from, prior_to : float in (0, 1)
        Share of positives where p was learned, and where it is to be used.

    Returns
    -------
    shifted : ndarray, shape of p
        Probabilities at ``prior_to``, in p's order; 0 and 1 stay as they are. float32 stays
        float32.

    Raises
    ------
    ValueError
        If a prior lies outside (0, 1) or a probability outside [0, 1].

    Notes
    -----
    O(n). Going there and back returns p up to rounding.

    Examples
    --------
    >>> from film.pairs import shift_prior
    >>> shift_prior([0.0, 0.5, 1.0], prior_from=0.5, prior_to=0.25)
    array([0.  , 0.25, 1.  ])
    """
    probability = _probabilities(p)
    start, end = _prior("prior_from", prior_from), _prior("prior_to", prior_to)
    positive = probability * (end / start)
    negative = (1.0 - probability) * ((1.0 - end) / (1.0 - start))
    return positive / (positive + negative)


def prior_weights(y: ArrayLike, prior: float) -> NDArray[np.float64]:
    """Weigh rows so that the positive ones make up a given share.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes, 0 and 1 or booleans, both present.
    prior : float in (0, 1)
        Share of positives wanted.

    Returns
    -------
    weights : ndarray of float64, shape (n,)
        ``prior / share`` for positives, ``(1 − prior) / (1 − share)`` for the others, where
        share is the mean of y. Their mean is 1.

    Raises
    ------
    ValueError
        If prior lies outside (0, 1), or y is not binary or holds one class only.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> from film.pairs import prior_weights
    >>> prior_weights([1, 0, 1, 1], prior=0.5)
    array([0.66666667, 2.        , 0.66666667, 0.66666667])
    """
    outcome = binary_labels(y)
    wanted = _prior("prior", prior)
    share = float(outcome.mean())
    if share in (0.0, 1.0):
        raise ValueError(
            f"y holds only the class {int(share)}; no weights give a share of {wanted:g}: "
            "give rows of both classes."
        )
    return np.where(outcome, wanted / share, (1.0 - wanted) / (1.0 - share))


def binary_labels(y: ArrayLike) -> NDArray[np.bool_]:
    """Read outcomes given as 0 and 1 or as booleans.

    Parameters
    ----------
    y : array-like of shape (n,)
        Outcomes; integers, floats and booleans will do.

    Returns
    -------
    outcome : ndarray of bool, shape (n,)
        True where y is 1.

    Raises
    ------
    ValueError
        If y is empty, not one-dimensional, or holds anything but 0 and 1; the row is named.

    Examples
    --------
    >>> from film.pairs import binary_labels
    >>> binary_labels([0.0, 1.0])
    array([False,  True])
    """
    array = np.asarray(y)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"y must have shape (n,) with n at least 1, got shape {array.shape}: "
            "give one outcome a row."
        )
    if array.dtype == np.bool_:
        return array
    one = array == 1
    other = ~(one | (array == 0))
    if other.any():
        row = int(other.argmax())
        raise ValueError(
            f"y[{row}] is {array[row]!r}; outcomes must be 0 or 1: recode the labels, and drop "
            "rows without one."
        )
    return one


def _probabilities(p: ArrayLike) -> NDArray[np.floating[Any]]:
    array = np.asarray(p)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"p must hold numbers in [0, 1], got dtype {array.dtype}: convert it.")
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    # Not "outside the range": NaN compares false with everything and must not pass.
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"p must lie in [0, 1], but entry {row} is {array.flat[row]:.6g}: give probabilities, "
            "not scores or log odds."
        )
    return array


def _check_length(name: str, array: NDArray[Any], n: int) -> None:
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have shape ({n},), as y has, got shape {array.shape}: "
            "give one value a row."
        )


def _prior(name: str, value: float) -> float:
    if not 0.0 < value < 1.0:
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, got {value!r}: give the share of "
            "positives, for instance 0.1746."
        )
    return float(value)

"""Class priors: probabilities and weights at another share of duplicates, and an estimate of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from film.checks import both_classes, check_share, checked_probabilities


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
        Probabilities at ``prior_to``, in p's order; 0 and 1 do not change. float32 stays float32.

    Raises
    ------
    TypeError
        If a prior is not a number.
    ValueError
        If a prior lies outside (0, 1) or a probability outside [0, 1].

    Notes
    -----
    Going there and back returns p up to rounding.

    Examples
    --------
    >>> from film.pairs import shift_prior
    >>> shift_prior([0.0, 0.5, 1.0], prior_from=0.5, prior_to=0.25)
    array([0.  , 0.25, 1.  ])
    """
    probability = checked_probabilities(p)
    start = check_share("prior_from", prior_from, 0.1746)
    end = check_share("prior_to", prior_to, 0.1746)
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
    TypeError
        If prior is not a number.
    ValueError
        If prior lies outside (0, 1), or y is not binary or holds one class only.

    Examples
    --------
    >>> from film.pairs import prior_weights
    >>> prior_weights([1, 0, 1, 1], prior=0.5)
    array([0.66666667, 2.        , 0.66666667, 0.66666667])
    """
    outcome = both_classes(y)
    wanted = check_share("prior", prior, 0.1746)
    share = float(outcome.mean())
    return np.where(outcome, wanted / share, (1.0 - wanted) / (1.0 - share))


def estimate_prior(probabilities: ArrayLike, prior_from: float) -> float:
    """Estimate the share of positives from probabilities that hold at another share.

    The maximum-likelihood prior π under label shift: both classes look as they did where the
    probabilities were learned, only their shares differ. It is the point at which the EM of
    Saerens, Latinne and Decaestecker (2002), *Adjusting the Outputs of a Classifier to New a Priori
    Probabilities*, comes to rest: ``π = mean(shift_prior(probabilities, prior_from, π))``.

    Parameters
    ----------
    probabilities : array-like of float, shape (n,)
        Calibrated probabilities of class 1, in [0, 1], n at least 1.
    prior_from : float in (0, 1)
        Share of class 1 where they were learned.

    Returns
    -------
    prior : float
        Estimated share, at least half a row away from none and all: in [1/(2n), 1 − 1/(2n)], so
        that `film.pairs.shift_prior` takes it. Where every probability equals ``prior_from``,
        rows carry nothing about their share, and ``prior_from`` comes back within those bounds.

    Raises
    ------
    TypeError
        If ``prior_from`` is not a number.
    ValueError
        If probabilities are empty, not one-dimensional or outside [0, 1], or ``prior_from`` is
        outside (0, 1).

    Notes
    -----
    With q the probabilities at even priors, the log-likelihood Σ log(π q + (1 − π)(1 − q)) is
    concave in π: its derivative has one root. That is bracketed, instead of stepped to by EM,
    which is slow where classes overlap and stops short of it at any tolerance. O(n) time for each
    of some ten evaluations.

    It is as good as the assumption. A classifier that is not calibrated, or candidates whose
    non-duplicates are harder than those of its training, bias it.

    Examples
    --------
    >>> from film.pairs import estimate_prior
    >>> round(estimate_prior([0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], prior_from=0.5), 4)
    0.1875
    """
    given = checked_probabilities(probabilities)
    even = shift_prior(given, prior_from, 0.5).astype(np.float64, copy=False)
    if even.ndim != 1 or len(even) == 0:
        raise ValueError(
            f"probabilities must have shape (n,) with n at least 1, got shape {even.shape}: give "
            "one probability per row"
        )
    signs = 2 * even - 1

    def slope(prior: float) -> float:
        return float(np.sum(signs / (prior * even + (1 - prior) * (1 - even))))

    low = 0.5 / len(even)
    high = 1 - low
    # Rounding parts a probability from prior_from by some ulps. Near 1 these weigh much in even
    # priors, and so are looked at before.
    if np.abs(given - np.float64(prior_from)).max() <= 8 * np.finfo(given.dtype).eps * prior_from:
        return float(np.clip(prior_from, low, high))
    if low == high or slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    root: Any = brentq(slope, low, high, xtol=1e-12)
    return float(root)

"""Share of duplicates among pairs without labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from film.pairs.log_loss import shift_prior

__all__ = ["estimate_prior"]


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
        rows say nothing of their share, and ``prior_from`` comes back within those bounds.

    Raises
    ------
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
    shifted = shift_prior(probabilities, prior_from, 0.5)
    even = shifted.astype(np.float64, copy=False)
    if even.ndim != 1 or len(even) == 0:
        raise ValueError(
            f"probabilities must have shape (n,) with n at least 1, got shape {even.shape}: give "
            "one probability a row"
        )
    signs = 2 * even - 1

    def slope(prior: float) -> float:
        return float(np.sum(signs / (prior * even + (1 - prior) * (1 - even))))

    low = 0.5 / len(even)
    high = 1 - low
    # Rounding in shift_prior parts a probability from prior_from by some ulps.
    if np.abs(signs).max() <= 8 * np.finfo(shifted.dtype).eps:
        return float(np.clip(prior_from, low, high))
    if low == high or slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    root: Any = brentq(slope, low, high, xtol=1e-12)
    return float(root)

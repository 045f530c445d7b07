"""Scores of sentences in contexts, and the similarity of two sentences by their scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

TERMS = ("discriminator", "sentence", "left", "right")
"""Columns of terms: log p(y=1|s, c), and mean log p per token of the sentence, left, right."""
SHRINKAGE = 0.1
"""Share of the mean variance that is added to all variances of `whiten_scores`."""
ROUNDING = 1e-13
"""Bound on the rounding error of a mean score, as a share of the size of scores."""


def combine_terms(terms: ArrayLike, weights: ArrayLike = (1.0, 1.0, 1.0, 1.0)) -> NDArray:
    """Score how well sentences fit contexts (Equation 3 of the paper).

    S(s, c) = λ₁ log p(y=1|s, c) + λ₂ log p(s|c) / |s| + λ₃ log p(l|s, r) / |l|
    + λ₄ log p(r|l, s) / |r|, with l and r the left and right side of the context c.

    Parameters
    ----------
    terms : array-like of float, shape (..., 4)
        The four terms in the order of the equation, the last three already divided by the number
        of tokens; natural logarithms.
    weights : array-like of float, shape (4,), default=(1, 1, 1, 1)
        λ. A term with weight 0 is ignored and may be infinite.

    Returns
    -------
    scores : ndarray of float, shape (...)
        S, in the dtype of `terms` if it is float32 or float64.

    References
    ----------
    Sun et al., *Sentence Similarity Based on Contexts*, TACL 2022.

    Examples
    --------
    >>> combine_terms([[-0.1, -4.0, -3.0, -2.0]], (1, 1, 0, 2))
    array([-8.1])
    """
    values = np.asarray(terms)
    if values.dtype != np.float32:
        values = values.astype(np.float64)
    factors = np.asarray(weights, dtype=values.dtype)
    used = np.flatnonzero(factors)
    chosen = values[..., used]
    _check_finite(chosen, "terms")
    return chosen @ factors[used]


def context_shares(scores1: ArrayLike, scores2: ArrayLike) -> NDArray[np.float64]:
    """Return the share of each context in the similarity (Equation 4 of the paper).

    sim(s₁, s₂) = cosine(v₁, v₂), with v the scores S(s, c) over C_s₁ + C_s₂. Log-probabilities are
    all negative, so all raw cosines are close to 1; those of centred scores cover [−1, 1].

    Parameters
    ----------
    scores1, scores2 : array-like of float, shapes (..., n)
        v₁ and v₂, over the same n contexts in the same order.

    Returns
    -------
    shares : ndarray of float64, shape (..., n)
        v₁c v₂c / (‖v₁‖ ‖v₂‖): their sum is the similarity. Zeros where a vector is zero.

    Raises
    ------
    ValueError
        When a value is NaN or infinite.

    Examples
    --------
    >>> context_shares([-3.0, -4.0], [-4.0, -3.0]).round(2)
    array([0.48, 0.48])
    """
    units = []
    for name, scores in (("scores1", scores1), ("scores2", scores2)):
        values = np.asarray(scores, dtype=np.float64)
        _check_finite(values, name)
        # Dividing by the largest entry first keeps squares from overflow and from vanishing.
        peak = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
        scaled = np.divide(values, peak, out=np.zeros_like(values), where=peak > 0)
        norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
        units.append(np.divide(scaled, norm, out=np.zeros_like(scaled), where=norm > 0))
    return units[0] * units[1]


def whiten_scores(
    scores: ArrayLike, reference: ArrayLike, shrinkage: float = SHRINKAGE
) -> NDArray[np.float64]:
    """Centre and whiten scores, so that similar contexts do not count several times.

    Each sentence has similar scores in contexts with the same words. In the cosine of Eq. 4, common
    words would therefore count several times, and rare words hardly at all. With X the scores of
    reference sentences minus their means μ, and Σ = XᵀX / R, the result is
    (v − μ)(Σ + ρ t I)^(−1/2), with t the mean variance. Its columns are nearly uncorrelated. Among
    all whitening matrices, the symmetric one changes the scores least, so each column still belongs
    to its context.

    Parameters
    ----------
    scores : array-like of float, shape (k, n)
        Scores of k texts in n contexts.
    reference : array-like of float, shape (R, n)
        Scores of other sentences in the same contexts; R ≥ 1.
    shrinkage : float, default=0.1
        ρ > 0.

    Returns
    -------
    whitened : ndarray of float64, shape (k, n)
        Scores without unit; if the reference scores do not vary, they are only centred.

    Raises
    ------
    ValueError
        When a value is NaN or infinite.

    Notes
    -----
    O(R n min(R, n)) time.

    References
    ----------
    Kessy, Lewin and Strimmer, *Optimal whitening and decorrelation*, 2018 (ZCA).

    Examples
    --------
    Two equal contexts and a third one: the equal contexts count as one.

    >>> reference = [[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
    >>> whiten_scores([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], reference, 1e-9).round(2)
    array([[1.  , 1.  , 0.  ],
           [0.  , 0.  , 1.41]])
    """
    values, others = (np.asarray(each, dtype=np.float64) for each in (scores, reference))
    _check_finite(values, "scores")
    _check_finite(others, "reference")
    mean = others.mean(axis=0)
    centred, spread = values - mean, others - mean
    largest = float(np.abs(spread).max())
    if largest <= ROUNDING * float(np.abs(others).max()):
        return centred
    # Squares stay in range, and the result does not depend on the unit of scores.
    spread = spread / largest
    scale = float(np.sqrt(np.mean(spread**2)))
    centred, spread = centred / largest / scale, spread / scale
    n_reference, n_contexts = spread.shape
    if n_contexts <= n_reference:
        variances, axes = np.linalg.eigh(spread.T @ spread / n_reference)
    else:
        variances, rows = np.linalg.eigh(spread @ spread.T / n_reference)
        held = variances > 1e-12 * variances[-1]
        variances = variances[held]
        axes = spread.T @ (rows[:, held] / np.sqrt(n_reference * variances))
    rest = shrinkage**-0.5
    gains = (np.maximum(variances, 0) + shrinkage) ** -0.5 - rest
    return rest * centred + ((centred @ axes) * gains) @ axes.T


def _check_finite(values: NDArray, name: str) -> None:
    if not np.isfinite(values).all():
        place = tuple(map(int, np.argwhere(~np.isfinite(values))[0]))
        raise ValueError(f"{name} must be finite, got {values[place]} at {place}")

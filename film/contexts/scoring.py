"""Scores of sentences in contexts, and what two vectors of them say about their sentences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

TERMS = ("discriminator", "sentence", "left", "right")
"""Columns of terms: log p(y=1|s, c), and mean log p per token of the sentence, left, right."""
SHRINKAGE = 0.1
"""Share of the mean variance that is added to all variances of `whiten_scores`."""
ROUNDING = 1e-13
"""Share of the size of scores that the rounding of their mean may reach."""


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
        λ. A term of weight 0 is not looked at and may be infinite.

    Returns
    -------
    scores : ndarray of float, shape (...)
        S, in the dtype of `terms` where that is float32 or float64.

    Raises
    ------
    ValueError
        When a shape does not fit, a weight is not finite, or a term with a weight is NaN or
        infinite.

    References
    ----------
    Sun et al., *Sentence Similarity Based on Contexts*, TACL 2022.

    Examples
    --------
    >>> combine_terms([[-0.1, -4.0, -3.0, -2.0]], (1, 1, 0, 2))
    array([-8.1])
    """
    values = _floats(terms)
    factors = np.asarray(weights, dtype=values.dtype)
    if factors.shape != (4,) or not np.isfinite(factors).all():
        raise ValueError(f"weights must be 4 finite numbers, got {weights!r}")
    if values.ndim == 0 or values.shape[-1] != 4:
        raise ValueError(f"terms must have 4 columns, {', '.join(TERMS)}, got shape {values.shape}")
    used = np.flatnonzero(factors)
    chosen = values[..., used]
    _check_finite(chosen, "terms")
    return chosen @ factors[used]


def context_similarity(
    scores1: ArrayLike, scores2: ArrayLike, centre: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Compare two sentences by their scores in the same contexts (Equation 4 of the paper).

    sim(s₁, s₂) = cosine(v₁ − μ, v₂ − μ), with v the scores S(s, c) over C_s₁ + C_s₂ and μ = 0 in
    the paper. Log-probabilities are all negative, so raw cosines crowd at 1; with a centre they
    spread over [−1, 1].

    Parameters
    ----------
    scores1, scores2 : array-like of float, shapes (..., n)
        v₁ and v₂, over the same n contexts in the same order.
    centre : array-like of float, broadcastable to (..., n), optional
        μ, what each context gives to any sentence: the mean of its scores over a reference set
        of sentences. A number, or an array of shape (..., 1), is one for all contexts. None is 0.

    Returns
    -------
    similarity : ndarray of float64, shape (...)
        Cosines in [−1, 1]; 0 where a centred vector is zero.

    Raises
    ------
    ValueError
        When shapes do not fit or a value is NaN or infinite.

    See Also
    --------
    context_shares : what each context adds to the similarity.

    Examples
    --------
    >>> round(float(context_similarity([-3.0, -4.0], [-4.0, -3.0])), 2)
    0.96
    >>> round(float(context_similarity([-3.0, -4.0], [-4.0, -3.0], centre=[-3.5, -3.5])), 2)
    -1.0
    """
    return np.clip(context_shares(scores1, scores2, centre).sum(axis=-1), -1.0, 1.0)


def context_shares(
    scores1: ArrayLike, scores2: ArrayLike, centre: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Divide the similarity of two sentences among the contexts.

    Parameters
    ----------
    scores1, scores2, centre
        As in `context_similarity`.

    Returns
    -------
    shares : ndarray of float64, shape (..., n)
        (v₁ − μ)_c (v₂ − μ)_c / (‖v₁ − μ‖ ‖v₂ − μ‖): their sum is the similarity. Zeros where a
        centred vector is zero.

    Raises
    ------
    ValueError
        As in `context_similarity`.

    Examples
    --------
    >>> context_shares([3.0, 4.0], [4.0, 3.0]).round(2).tolist()
    [0.48, 0.48]
    """
    units = []
    first, second = (np.asarray(_floats(v), dtype=np.float64) for v in (scores1, scores2))
    if first.ndim == 0 or second.ndim == 0 or first.shape[-1] != second.shape[-1]:
        raise ValueError(
            "scores1 and scores2 must be over the same contexts, got shapes "
            f"{first.shape} and {second.shape}"
        )
    shift = np.asarray(0.0 if centre is None else centre, dtype=np.float64)
    _check_finite(shift, "centre")
    for values, name in ((first, "scores1"), (second, "scores2")):
        _check_finite(values, name)
        try:
            centred = values - shift
        except ValueError as error:
            raise ValueError(
                f"centre must fit scores of shape {values.shape}, got shape {shift.shape}"
            ) from error
        # Dividing by the largest entry first keeps squares from overflow and from vanishing.
        peak = np.abs(centred).max(axis=-1, keepdims=True, initial=0.0)
        scaled = np.divide(centred, peak, out=np.zeros_like(centred), where=peak > 0)
        norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
        units.append(np.divide(scaled, norm, out=np.zeros_like(scaled), where=norm > 0))
    return units[0] * units[1]


def whiten_scores(
    scores: ArrayLike, reference: ArrayLike, shrinkage: float = SHRINKAGE
) -> NDArray[np.float64]:
    """Centre scores, and take from each context what the other contexts say already.

    Contexts that hold the same words are given like scores by any sentence, so that in the cosine
    of Eq. 4 they count again and again, and what few of them hold hardly counts. With X the scores
    of reference sentences less their means μ, and Σ = XᵀX / R, it is (v − μ)(Σ + ρ t I)^(−1/2),
    with t the mean variance: the scores of a text in contexts that do not go together. Of all
    matrices that do so the symmetric one changes the scores least, so that each column stays that
    of its context.

    Parameters
    ----------
    scores : array-like of float, shape (k, n)
        Of k texts in n contexts.
    reference : array-like of float, shape (R, n)
        Of other sentences in the same contexts; R ≥ 1.
    shrinkage : float, default=0.1
        ρ > 0.

    Returns
    -------
    whitened : ndarray of float64, shape (k, n)
        Without unit; only centred where the reference does not vary.

    Raises
    ------
    ValueError
        When shapes do not fit, a value is NaN or infinite, or ``shrinkage`` is not above 0.

    Notes
    -----
    O(R n min(R, n)) time.

    References
    ----------
    Kessy, Lewin and Strimmer, *Optimal whitening and decorrelation*, 2018 (ZCA).

    Examples
    --------
    Two contexts that are the same, and a third one: the pair counts as one.

    >>> reference = [[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
    >>> whiten_scores([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], reference, 1e-9).round(2)
    array([[1.  , 1.  , 0.  ],
           [0.  , 0.  , 1.41]])
    """
    values, others = (np.asarray(_floats(each), dtype=np.float64) for each in (scores, reference))
    if (
        values.ndim != 2
        or others.ndim != 2
        or values.shape[1] != others.shape[1]
        or not others.size
    ):
        raise ValueError(
            "scores and reference must be tables over the same contexts, got shapes "
            f"{values.shape} and {others.shape}"
        )
    if not (np.isfinite(shrinkage) and shrinkage > 0):
        raise ValueError(f"shrinkage={shrinkage!r} must be above 0")
    _check_finite(values, "scores")
    _check_finite(others, "reference")
    mean = others.mean(axis=0)
    centred, spread = values - mean, others - mean
    largest = float(np.abs(spread).max())
    if largest <= ROUNDING * float(np.abs(others).max()):
        return centred
    # Squares stay in range, and the unit of scores plays no part.
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


def _floats(values: ArrayLike) -> NDArray:
    array = np.asarray(values)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _check_finite(values: NDArray, name: str) -> None:
    if not np.isfinite(values).all():
        place = tuple(map(int, np.argwhere(~np.isfinite(values))[0]))
        raise ValueError(f"{name} must be finite, got {values[place]} at {place}")

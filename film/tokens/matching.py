"""Token matching: score each token by its best and second-best match in the other text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.tokens.ragged import Ragged
from film.tokens.token_pairs import (
    Advance,
    Floats,
    Rows,
    TokenPairs,
    average,
    checked_rows,
    masses,
    unit_tokens,
)

Function = Literal["significance", "uniqueness", "both"]
MATCHING: tuple[Function, ...] = get_args(Function)
"""Matching functions; see `match`."""

FACTORS = {"significance": (1, 0), "uniqueness": (1, 1), "both": (2, 1)}
"""Coefficients of the best and the second-best similarity."""


class Matching(NamedTuple):
    """The token matching of two texts.

    Attributes
    ----------
    scores1, scores2 : ndarray of float64, shapes (L1,) and (L2,)
        Token scores m, before weighting.
    plan : ndarray of float64, shape (L1, L2)
        Coefficient of each similarity in the sentence score.
    similarity : float64
        The sum of the contributions.
    contributions : ndarray of float64, shape (L1, L2)
        plan ∘ S, with S the token similarities. Second-best matches contribute negatively if S is
        positive.
    """

    scores1: NDArray[np.float64]
    scores2: NDArray[np.float64]
    plan: NDArray[np.float64]
    similarity: np.float64
    contributions: NDArray[np.float64]


def match(
    x1: ArrayLike,
    x2: ArrayLike,
    function: Function = "both",
    weights1: ArrayLike | None = None,
    weights2: ArrayLike | None = None,
    cosine: bool = True,
) -> Matching:
    """Match the tokens of two texts and return the contribution of each token pair.

    With S the token similarities, the score of a token t over the tokens j of the other text is

    - ``"significance"``: m(t) = max_j S_tj;
    - ``"uniqueness"``: m(t) = max_j S_tj − 2nd-max_j S_tj;
    - ``"both"``, their sum: m(t) = 2 max_j S_tj − 2nd-max_j S_tj (Equation 1).

    If the other text has one token, the second maximum equals the first: m is the maximum, or 0
    for uniqueness. The sentence score is Σ w m / (2 Σ w) over one text plus the same over the
    other (Equation 2): each side is averaged with its own weights, and both count half.

    Parameters
    ----------
    x1, x2 : array-like of float, shapes (L1, h) and (L2, h)
        Token vectors from the model.
    function : {"significance", "uniqueness", "both"}
        Matching function.
    weights1, weights2 : array-like of float, shapes (L1,) and (L2,), optional
        w, nonnegative with a positive sum per text; ones if None. A token of weight 0 is not
        scored but can still be the match of another.
    cosine : bool, default=True
        Whether S is the cosine or, as in the paper, the dot product. A zero vector has cosine 0.

    Returns
    -------
    matching : Matching
        Token scores, plan, similarity and contributions, all float64. In the plan, the best
        similarity of a row has coefficient +2 and the second best −1 (or as set by the function),
        times w / (2 Σ w); columns add theirs in the same way. Ties go to the first token.

    Raises
    ------
    ValueError
        If the function is unknown, or a token contains NaN or infinity.

    Notes
    -----
    O(L1 L2 h) time and O(L1 L2) memory.

    References
    ----------
    Wang and Yu, *Going Beyond Sentence Embeddings: A Token-Level Matching Algorithm for
    Calculating Semantic Textual Similarity*, ACL 2023.

    Examples
    --------
    >>> from film.tokens import match
    >>> found = match([[1.0, 0.0]], [[1.0, 0.0], [0.6, 0.8]])
    >>> found.scores1, found.scores2
    (array([1.4]), array([1. , 0.6]))
    >>> round(float(found.similarity), 2), found.plan
    (1.1, array([[ 1.25, -0.25]]))
    """
    _check_function(function)
    first, second, weights1, weights2 = checked_rows(x1, x2, weights1, weights2)
    if cosine:
        first, second = unit_tokens(first), unit_tokens(second)
    S = first @ second.T
    rows, columns = _choices(S, function), _choices(S.T, function).T
    w1, w2 = masses(np.asarray(weights1)) / 2, masses(np.asarray(weights2)) / 2
    plan = rows * w1[:, np.newaxis] + columns * w2
    contributions = plan * S
    return Matching(
        (rows * S).sum(axis=1),
        (columns * S).sum(axis=0),
        plan,
        contributions.sum(),
        contributions,
    )


def ragged_matching(
    tokens1: Ragged,
    tokens2: Ragged,
    function: Function = "both",
    weights1: ArrayLike | None = None,
    weights2: ArrayLike | None = None,
    cosine: bool = True,
    *,
    pairs: ArrayLike | None = None,
    advance: Advance | None = None,
) -> NDArray[np.float64]:
    """Compute token-matching similarities of many pairs of texts.

    Parameters
    ----------
    tokens1, tokens2, pairs, advance
        As in `film.tokens.ragged_similarities`.
    function, cosine
        As in `match`.
    weights1, weights2 : array-like of float, shapes (N1,) and (N2,), optional
        Weight of each row of ``tokens1.values`` and ``tokens2.values``, nonnegative with a positive
        sum per text; ones if None.

    Returns
    -------
    similarity : ndarray of float64, shape (n,)
        Independent of the other pairs and their order.

    Raises
    ------
    ValueError
        As in `match`.

    Notes
    -----
    Pairs are scored one at a time: O(L1 L2 h) per pair, and one extra number per token in memory.
    float32 tokens are multiplied in float32, which changes cosines by about 1e-7.

    Examples
    --------
    >>> import numpy as np
    >>> from film.tokens import ragged_matching
    >>> from film.tokens import Ragged
    >>> texts = Ragged.from_rows([np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.6, 0.8]])])
    >>> ragged_matching(texts, texts, pairs=[[0, 0], [0, 1]])
    array([1. , 1.1])
    """
    _check_function(function)
    walk = TokenPairs(tokens1, tokens2, pairs, weights1, weights2, unit=cosine)
    return walk.map(_pair_score(function), advance)


def _check_function(function: Any) -> None:
    if function not in MATCHING:
        raise ValueError(f"function={function!r} must be one of {', '.join(map(repr, MATCHING))}.")


def _choices(S: Floats, function: Function) -> Floats:
    """Return the coefficient of each similarity in its row's score."""
    best_factor, next_factor = FACTORS[function]
    rows, best = np.arange(len(S)), S.argmax(axis=1)
    rest = S.copy()
    rest[rows, best] = -np.inf
    runner_up = best if S.shape[1] == 1 else rest.argmax(axis=1)
    counts, taken = np.zeros(S.shape), np.zeros(S.shape)
    counts[rows, best], taken[rows, runner_up] = best_factor, next_factor
    return counts - taken


def _pair_score(function: Function) -> Callable[[Rows], float]:
    def score(rows: Rows) -> float:
        S = rows.x1 @ rows.x2.T
        mean1 = average(_token_scores(S, 1, function), rows.weights1)
        mean2 = average(_token_scores(S, 0, function), rows.weights2)
        return (mean1 + mean2) / 2

    return score


def _token_scores(S: Floats, axis: int, function: Function) -> Floats:
    """Token scores of one pair, in as few NumPy passes as possible."""
    best_factor, next_factor = FACTORS[function]
    length = S.shape[axis]
    if next_factor == 0 or length == 1:
        return (best_factor - next_factor) * S.max(axis=axis)
    top = np.partition(S, length - 2, axis=axis)
    runner_up, best = (top[:, -2], top[:, -1]) if axis else (top[-2], top[-1])
    return best_factor * best - next_factor * runner_up

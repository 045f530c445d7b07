"""Sentence similarity as transport between contextual tokens: AVG, CMD, RCMD, RCMD+AVG and CLS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from film.tokens.exact_transport import check_solver, exact_plan, exact_score, scores_in_processes
from film.tokens.ragged import Ragged
from film.tokens.token_pairs import (
    Advance,
    Floats,
    Rows,
    TokenPairs,
    average,
    checked_rows,
    masses,
    row_norms,
    unit_tokens,
)

Method = Literal["avg", "cmd", "rcmd1", "rcmd2", "rcmd", "rcmd+avg", "cls"]
METHODS: tuple[Method, ...] = get_args(Method)
"""Transport plans; see `transport_plan`."""
ONE_SIDED: tuple[Method, ...] = ("rcmd1", "rcmd2")
"""Plans whose similarity depends on the order of the pair."""


class Transport(NamedTuple):
    """A transport between the tokens of two texts.

    Attributes
    ----------
    cost : ndarray of float64, shape (L1, L2)
        The cost M.
    plan : ndarray of float64, shape (L1, L2)
        The plan T: the mass sent from token to token.
    similarity : float64
        The sum of the contributions.
    contributions : ndarray of float64, shape (L1, L2)
        T ∘ S, with S the cosines.
    """

    cost: NDArray[np.float64]
    plan: NDArray[np.float64]
    similarity: np.float64
    contributions: NDArray[np.float64]


def transport_plan(
    x1: ArrayLike,
    x2: ArrayLike,
    method: Method = "rcmd",
    *,
    weights1: ArrayLike | None = None,
    weights2: ArrayLike | None = None,
) -> Transport:
    """Explain the similarity of two texts by the transport between their tokens.

    Let S_ij be the cosine of token i of the first text and token j of the second, T the plan and M
    its cost. The token masses a_i and b_j are w / Σ w, or 1/L1 and 1/L2 without weights. The
    similarity is Σ T_ij S_ij = 1 − Σ T_ij M_ij:

    - ``"rcmd1"``: each row sends its mass a_i to its best column (Equation 4 of CLRCMD).
      ``"rcmd2"``: each column takes b_j from its best row. ``"rcmd"``: the mean of both plans.
      Ties go to the first column or row. M = 1 − S.
    - ``"cmd"``: the exact optimum with row sums a_i and column sums b_j. M = 1 − S.
    - ``"avg"``: the cosine of the means s¹ = Σ a_i x_i and s² = Σ b_j x_j, with
      T_ij = a_i b_j ‖x_i‖‖x_j‖ / (‖s¹‖‖s²‖) and M_ij = ‖s¹‖‖s²‖ / (‖x_i‖‖x_j‖) − S_ij
      (Equation 3). T has rank one and its mass is not 1.
    - ``"rcmd+avg"``: the mean of both similarities and of both plans. M_ij is the summed cost of
      both, divided by T_ij: (T^rcmd_ij + a_i b_j) / 2T_ij − S_ij.
    - ``"cls"``: all mass goes from first token to first token. M = 1 − S.

    Parameters
    ----------
    x1, x2 : array-like of float, shapes (L1, h) and (L2, h)
        Token vectors from the model.
    method : {"avg", "cmd", "rcmd1", "rcmd2", "rcmd", "rcmd+avg", "cls"}
        The plan.
    weights1, weights2 : array-like of float, shapes (L1,) and (L2,), optional
        w, nonnegative with a positive sum per text; ones if None. They are the masses that tokens
        send: a token of weight 0 can still be the best match of another. "rcmd1" uses only
        weights1, "rcmd2" only weights2, and "cls" accepts none.

    Returns
    -------
    plan : Transport
        Cost, plan, similarity and contributions, all float64.

    Raises
    ------
    ImportError
        If method is "cmd" and POT is not installed.
    RuntimeError
        If the solver of "cmd" stops before the optimum.
    ValueError
        If the method is unknown, or a token contains NaN or infinity.

    Notes
    -----
    The papers' plans have no weights, and "rcmd+avg" is not from a paper.

    A zero vector has cosine 0 with every other. Under "avg" zero vectors are left out: they send
    nothing, M is set to 1 − S because the definition divides by zero, and the masses of the other
    tokens sum to 1. A text whose mean is zero has similarity 0: its token i sends
    a_i ‖x_i‖ / Σ a_k ‖x_k‖, or a_i if all its tokens are zero, and its factor of M + S is 1. Under
    "rcmd+avg" M is 1 − S where nothing is sent.

    The matrix displayed in section 4.3 of the paper is T ∘ M, but T ∘ S, its (1 − M) ∘ T, is
    meant. The two agree except for "avg" and "rcmd+avg", where 1 − M is not S; T ∘ S sums to the
    similarity for every method.

    O(L1 L2 h) time and O(L1 L2) memory; "cmd" adds an exact network simplex.

    References
    ----------
    Lee et al., *Toward Interpretable Semantic Textual Similarity via Optimal Transport-based
    Contrastive Sentence Learning*, ACL 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from film.tokens import transport_plan
    >>> found = transport_plan([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], method="rcmd1")
    >>> found.plan.tolist(), float(found.similarity)
    ([[0.5], [0.5]], 0.5)
    >>> found = transport_plan([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], "rcmd1", weights1=[3.0, 1.0])
    >>> found.plan.tolist(), float(found.similarity)
    ([[0.75], [0.25]], 0.75)
    """
    _check_method(method)
    pair = checked_rows(x1, x2, weights1, weights2)
    S = unit_tokens(pair.x1) @ unit_tokens(pair.x2).T
    cost = 1 - S
    if method == "avg":
        plan, cost = _mean_plan(pair, S)
    elif method == "rcmd+avg":
        plan, cost = _joint_plan(pair, S)
    elif method == "cmd":
        plan = exact_plan()(S, pair.weights1, pair.weights2)
    elif method == "cls":
        plan = np.zeros(S.shape)
        plan[0, 0] = 1
    else:
        plan = _relaxed_plan(pair, S, method)
    contributions = plan * S
    return Transport(cost, plan, contributions.sum(), contributions)


def ragged_similarities(
    tokens1: Ragged,
    tokens2: Ragged,
    method: Method = "rcmd",
    *,
    weights1: ArrayLike | None = None,
    weights2: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    n_jobs: int = 1,
    advance: Advance | None = None,
) -> NDArray[np.float64]:
    """Compute similarities of many pairs of texts.

    Parameters
    ----------
    tokens1, tokens2 : Ragged
        Token vectors. Both may be the same object.
    method : {"avg", "cmd", "rcmd1", "rcmd2", "rcmd", "rcmd+avg", "cls"}
        As in `transport_plan`.
    weights1, weights2 : array-like of float, shapes (N1,) and (N2,), optional
        Weight of each row of ``tokens1.values`` and ``tokens2.values``; see `transport_plan`.
    pairs : array-like of int, shape (n, 2), optional
        Each row is a text of tokens1 and a text of tokens2. If None, text i of tokens1 is compared
        with text i of tokens2.
    n_jobs : int, default=1
        Number of processes for "cmd", as in joblib. Starting workers takes seconds, so it pays from
        about 50,000 pairs. The other methods are fast and always run in this process.
    advance : callable, optional
        Called with the number of pairs done since the last call.

    Returns
    -------
    similarity : ndarray of float64, shape (n,)
        Does not depend on the other pairs, their order or n_jobs.

    Raises
    ------
    ImportError, RuntimeError
        As in `transport_plan`.
    ValueError
        If the method is unknown, or a token contains NaN or infinity.

    Notes
    -----
    Pairs are scored one at a time: O(L1 L2 h) per pair. Memory is one number per token on top of
    the input, and a few blocks of cost matrices if n_jobs is above 1. Cosines of float32 tokens
    are multiplied in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from film.tokens import Ragged
    >>> from film.tokens import ragged_similarities
    >>> texts = Ragged.from_rows([np.eye(2), np.ones((1, 2))])
    >>> ragged_similarities(texts, texts, "rcmd", pairs=[[0, 0], [0, 1]]).round(3)
    array([1.   , 0.707])
    """
    _check_method(method)
    if method == "cmd":
        check_solver()
    unit = method not in ("avg", "rcmd+avg", "cls")
    walk = TokenPairs(tokens1, tokens2, pairs, weights1, weights2, unit=unit)
    if method == "cmd" and effective_n_jobs(n_jobs) > 1:
        return scores_in_processes(walk, n_jobs, advance)
    return walk.map(_pair_score(method), advance)


def _check_method(method: Any) -> None:
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}.")


def _cosine(first: Floats, second: Floats) -> Any:
    units = unit_tokens(first.astype(np.float64)), unit_tokens(second.astype(np.float64))
    return np.einsum("...i,...i->...", *units)[()]


def _relaxed_plan(pair: Rows, S: Floats, method: Method) -> Floats:
    plans = []
    if method != "rcmd2":
        plans.append(_best_plan(S, pair.weights1))
    if method != "rcmd1":
        plans.append(_best_plan(S.T, pair.weights2).T)
    return np.asarray(sum(plans)) / len(plans)


def _best_plan(S: Floats, weights: Any) -> Floats:
    plan = np.zeros(S.shape)
    plan[np.arange(len(S)), S.argmax(axis=1)] = masses(weights)
    return plan


def _sums(x: Floats, weights: Floats) -> Floats:
    return np.einsum("...l,...lh->...h", weights, x)


def _mean_plan(pair: Rows, S: Floats) -> tuple[Floats, Floats]:
    """Plan and cost for the cosine of means, each from one factor per side."""
    sent1, ratios1 = _mean_factors(pair.x1, pair.weights1)
    sent2, ratios2 = _mean_factors(pair.x2, pair.weights2)
    ratios = ratios1[:, np.newaxis] * ratios2
    return sent1[:, np.newaxis] * sent2, np.where(ratios > 0, ratios, 1) - S


def _joint_plan(pair: Rows, S: Floats) -> tuple[Floats, Floats]:
    """Plan and cost for the mean of "rcmd" and "avg"."""
    relaxed = _relaxed_plan(pair, S, "rcmd")
    of_means, cost = _mean_plan(pair, S)
    plan = (relaxed + of_means) / 2
    paid = relaxed * (1 - S) + of_means * cost
    return plan, np.divide(paid, 2 * plan, out=1 - S, where=plan > 0)


def _mean_factors(x: Floats, weights: Any) -> tuple[Floats, Floats]:
    """Factors a ‖x‖ / ‖s‖ and ‖s‖ / ‖x‖ of each token; masses and mean skip zero vectors."""
    norms = row_norms(x)
    taking_part = np.where(norms > 0, weights, 0)
    if not taking_part.any():
        return masses(weights), np.ones_like(norms)
    shares = masses(taking_part)
    length = row_norms(_sums(x, shares))
    if not length:
        return masses(shares * norms), np.ones_like(norms)
    return shares * norms / length, np.divide(
        length, norms, out=np.zeros_like(norms), where=norms > 0
    )


def _pair_score(method: Method) -> Callable[[Rows], float]:
    """Return a function that scores one pair in as few NumPy passes as possible."""
    if method == "avg":
        return _mean_score
    if method == "cls":
        return lambda rows: _cosine(rows.x1[0], rows.x2[0])
    if method == "cmd":
        solve = exact_plan()
        return lambda rows: exact_score(solve, rows.x1 @ rows.x2.T, rows.weights1, rows.weights2)
    of_unit_tokens = {"rcmd1": _rows_score, "rcmd2": _columns_score, "rcmd": _both_score}
    return {"rcmd+avg": _joint_score, **of_unit_tokens}[method]


def _mean_score(rows: Rows) -> float:
    sides = (rows.x1, rows.weights1), (rows.x2, rows.weights2)
    return _cosine(*(_sums(x, np.ones(len(x)) if w is None else w) for x, w in sides))


def _joint_score(rows: Rows) -> float:
    units = Rows(unit_tokens(rows.x1), unit_tokens(rows.x2), rows.weights1, rows.weights2)
    return (_both_score(units) + _mean_score(rows)) / 2


def _rows_score(rows: Rows) -> float:
    return average((rows.x1 @ rows.x2.T).max(axis=1), rows.weights1)


def _columns_score(rows: Rows) -> float:
    return average((rows.x1 @ rows.x2.T).max(axis=0), rows.weights2)


def _both_score(rows: Rows) -> float:
    S = rows.x1 @ rows.x2.T
    return (average(S.max(axis=1), rows.weights1) + average(S.max(axis=0), rows.weights2)) / 2

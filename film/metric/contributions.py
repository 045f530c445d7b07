"""Contributions of token pairs to the cosine of two texts after a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

BLOCK_CELLS = 1_000_000
"""Contributions computed at a time: 8 MB, large enough for fast matrix products."""


@dataclass(frozen=True)
class LargestContributions:
    """The largest contributions to a cosine, and exact sums over all of them.

    Attributes
    ----------
    contributions : csr_array of float64, shape (t1, t2)
        The contributions that were kept.
    totals1, totals2 : ndarray of float64, shapes (t1,) and (t2,)
        Sums over all contributions of each token, kept or not.
    similarity : float
        The cosine: the sum of all contributions.
    n_rest : int
        Number of nonzero contributions that were not kept.
    """

    contributions: Any
    totals1: NDArray[np.float64]
    totals2: NDArray[np.float64]
    similarity: float
    n_rest: int


def largest_contributions(
    tokens1: Any, tokens2: Any, components: ArrayLike | None = None, *, keep: int
) -> LargestContributions:
    """Split a cosine into contributions of token pairs and keep the largest.

    With A₁ and A₂ the features of the tokens and x₁, x₂ their sums over tokens, the features of
    the texts, ``C = (A₁ Lᵀ)(A₂ Lᵀ)ᵀ / (‖L x₁‖ ‖L x₂‖)`` sums to the cosine of L x₁ and L x₂. If
    every token is one feature w of weight x_w, this is ``x₁w (LᵀL)ww′ x₂w′ / (‖y₁‖ ‖y₂‖)``, the
    word contributions of FILM.

    Parameters
    ----------
    tokens1, tokens2 : array-like or sparse matrix of float, shapes (t1, D) and (t2, D)
        Feature weights of each token. A text may have no tokens.
    components : array-like of float, shape (d, D), optional
        L; the identity by default. Only columns of features in use are read.
    keep : int
        Maximum number of contributions kept, at least 1: those largest in absolute value; ties keep
        text order.

    Returns
    -------
    largest : LargestContributions
        All of C if it has at most ``keep`` nonzero entries. Zeros if a text is mapped to zero.

    Raises
    ------
    ValueError
        If keep < 1.

    Notes
    -----
    Sums are in float64, by blocks of rows. O((t1 + t2) u d + t1 t2 d) time for u features in use,
    and O((t1 + t2) d + keep) memory plus one block of `BLOCK_CELLS`.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import largest_contributions
    >>> largest = largest_contributions(np.diag([3.0, 4.0]), np.diag([3.0, 4.0]), keep=1)
    >>> largest.contributions.toarray()
    array([[0.  , 0.  ],
           [0.  , 0.64]])
    >>> largest.totals1, round(largest.similarity, 12), largest.n_rest
    (array([0.36, 0.64]), 1.0, 1)
    """
    if keep < 1:
        raise ValueError(f"keep must be at least 1, got {keep}")
    (first, whole1), (second, whole2) = _both_directed(tokens1, tokens2, components)
    t1, t2 = first.shape[0], second.shape[0]
    turned = second.T.tocsc() if sp.issparse(second) else second.T
    places, values = np.empty(0, dtype=np.int64), np.empty(0)
    least, n_nonzero = 0.0, 0
    step = max(1, BLOCK_CELLS // max(t2, 1))
    for start in range(0, t1, step):
        block = _dense(first[start : start + step] @ turned).ravel()
        n_nonzero += np.count_nonzero(block)
        large = np.flatnonzero(np.abs(block) > least)
        places = np.concatenate([places, large + start * t2])
        values = np.concatenate([values, block[large]])
        if len(values) > keep:
            # Positions are in ascending order, so a stable sort keeps ties in text order.
            kept = np.sort(np.argsort(-np.abs(values), kind="stable")[:keep])
            places, values = places[kept], values[kept]
            least = float(np.abs(values).min())
    indices = np.divmod(places, max(t2, 1))
    return LargestContributions(
        contributions=sp.csr_array((values, indices), shape=(t1, t2)),
        totals1=np.asarray(first @ whole2, dtype=np.float64),
        totals2=np.asarray(second @ whole1, dtype=np.float64),
        similarity=float(whole1 @ whole2),
        n_rest=int(n_nonzero) - len(values),
    )


def _both_directed(tokens1: Any, tokens2: Any, components: Any) -> Any:
    """Map the tokens of both texts; return them with the unit vector of each text."""
    sides: Any = [sp.csr_array(tokens, dtype=np.float64) for tokens in (tokens1, tokens2)]
    first, second = sides
    used = np.union1d(first.indices, second.indices)
    columns = None
    if components is not None:
        columns = np.asarray(components)[:, used].T
    return _directed(first[:, used], columns), _directed(second[:, used], columns)


def _directed(tokens: Any, columns: NDArray[np.float64] | None) -> Any:
    """Map tokens and scale them by the length of their text; also return the text vector."""
    # Map the text itself: if tokens cancel, the sum of mapped tokens would be rounding noise
    # instead of zero.
    text = np.asarray(tokens.sum(axis=0))
    mapped, whole = (tokens, text) if columns is None else (tokens @ columns, text @ columns)
    length = scipy.linalg.norm(whole) if whole.size else 0.0
    return (mapped / length, whole / length) if length > 0 else (mapped * 0, whole * 0)


def _dense(product: Any) -> NDArray[np.float64]:
    return product.toarray() if sp.issparse(product) else product

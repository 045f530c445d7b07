"""What each pair of tokens contributes to the cosine of two texts after a linear map."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

__all__ = ["cosine_contributions"]


def cosine_contributions(
    tokens1: Any, tokens2: Any, components: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Share a cosine out among pairs of tokens.

    With A₁ and A₂ the features of each token and x₁, x₂ their sums over tokens, the features of
    the texts, ``C = (A₁ Lᵀ)(A₂ Lᵀ)ᵀ / (‖L x₁‖ ‖L x₂‖)`` sums to the cosine of L x₁ and L x₂. Where
    every token is one feature w of weight x_w this is ``x₁w (LᵀL)ww′ x₂w′ / (‖y₁‖ ‖y₂‖)``, the
    word contributions of FILM.

    Parameters
    ----------
    tokens1, tokens2 : array-like or sparse matrix of float, shapes (t1, D) and (t2, D)
        How much of each feature each token brings into its text. A text may have no token.
    components : array-like of float, shape (d, D), optional
        L; without it, the identity.

    Returns
    -------
    contributions : ndarray of float64, shape (t1, t2)
        Zeros where one of the texts is mapped to zero, which has no direction.

    Raises
    ------
    ValueError
        If a shape does not fit, or an entry in use is NaN or infinite.

    Notes
    -----
    Summed in float64. O((t1 + t2) u d + t1 t2 d) time for u features in use; only their columns of
    L are read.

    Examples
    --------
    >>> import numpy as np
    >>> from film.contributions import cosine_contributions
    >>> cosine_contributions(np.eye(2), [[3.0, 0.0], [0.0, 4.0]]) * np.sqrt(2) * 5
    array([[3., 0.],
           [0., 4.]])
    >>> cosine_contributions(np.eye(2), np.eye(2), components=[[1.0, 1.0]])
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    first, second = _matrix("tokens1", tokens1), _matrix("tokens2", tokens2)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"tokens1 has {first.shape[1]} features and tokens2 {second.shape[1]}: give both in "
            "the features of one vectoriser."
        )
    used = np.union1d(first.indices, second.indices)
    units1, units2 = first[:, used].toarray(), second[:, used].toarray()
    if components is not None:
        L = np.asarray(components)
        if L.ndim != 2 or L.shape[1] != first.shape[1]:
            raise ValueError(
                f"components must have shape (d, {first.shape[1]}), one column a feature of the "
                f"tokens, got shape {L.shape}."
            )
        columns = L[:, used].T
        if not np.isfinite(columns).all():
            raise ValueError("components holds NaN or infinity; fit the map again on finite data.")
    else:
        columns = None
    return _directed(units1, columns) @ _directed(units2, columns).T


def _matrix(name: str, tokens: Any) -> Any:
    matrix: Any = sp.csr_matrix(tokens, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} holds NaN or infinity; give finite weights.")
    return matrix


def _directed(
    tokens: NDArray[np.float64], columns: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Tokens in the mapped space, in units of the length of the text they make up."""
    # The text is mapped by itself: where tokens cancel, their mapped sum would be rounding noise
    # instead of zero.
    text = tokens.sum(axis=0)
    mapped, whole = (tokens, text) if columns is None else (tokens @ columns, text @ columns)
    length = scipy.linalg.norm(whole) if whole.size else 0.0
    return mapped / length if length > 0 else np.zeros_like(mapped)

"""Losses on similarities of texts, differentiable in them."""

from __future__ import annotations

import math
from typing import Any


def contrastive_loss(similarity: Any, temperature: float = 0.05, excluded: Any = None) -> Any:
    """Ask of each text that its own partner is the closest of all.

    The cross-entropy of SimCSE (Gao et al., 2021, Eq. 1 and 5), as CLRCMD uses it: the mean over
    rows i of ``log Σ_j exp(s_ij / τ) - s_ii / τ``.

    Parameters
    ----------
    similarity : tensor of float, shape (B, C)
        Similarity s of B texts with C >= B: the partners of all in order, then any others.
    temperature : float, default=0.05
        τ, greater than 0. The lower, the more the closest of the others count.
    excluded : tensor of bool, shape (B, C), default=None
        True where a text is not taken for a wrong partner, such as one that means the same. A
        row's own partner cannot be left out.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``similarity``. It is never negative, and log C where all are alike.

    Raises
    ------
    TypeError, ValueError
        If a shape, a type or ``temperature`` is wrong, or ``excluded`` holds a row's own partner.

    Notes
    -----
    Time and memory are O(B C).

    Examples
    --------
    >>> import torch
    >>> from film.training import contrastive_loss
    >>> contrastive_loss(torch.tensor([[0.9, 0.2], [0.1, 0.8]]), temperature=0.5)
    tensor(0.2204)
    """
    import torch

    _check(similarity, temperature)
    shape = tuple(similarity.shape)
    if similarity.ndim != 2 or not 1 <= shape[0] <= shape[1]:
        raise ValueError(
            f"similarity has shape {shape}; it must be (B, C) with C >= B >= 1, the partner of "
            "row i in column i"
        )
    scaled = similarity / temperature
    if excluded is not None:
        _check_excluded(excluded, shape)
        scaled = scaled.masked_fill(excluded, -math.inf)
    return torch.nn.functional.cross_entropy(
        scaled, torch.arange(shape[0], device=similarity.device)
    )


def rank_loss(similarity: Any, scores: Any, temperature: float = 0.05) -> Any:
    """Ask of all pairs of texts that those scored higher are more similar.

    With s the similarities and y the scores of n pairs, it is ``log(1 + Σ exp((s_i - s_j) / τ))``,
    summed over all i, j with ``y_i < y_j``: the loss called CoSENT. Scores count by their order
    alone, so any unit will do; with labels 0 and 1 it asks for a large area under the ROC curve.

    Parameters
    ----------
    similarity : tensor of float, shape (n,)
        Similarity s of n pairs.
    scores : tensor, shape (n,)
        Their scores y.
    temperature : float, default=0.05
        τ, greater than 0. The lower, the less ordered pairs count.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``similarity``; 0 where all scores are equal.

    Raises
    ------
    TypeError, ValueError
        If a shape, a type or ``temperature`` is wrong.

    Notes
    -----
    Time and memory are O(n²).

    Examples
    --------
    >>> import torch
    >>> from film.training import rank_loss
    >>> rank_loss(torch.tensor([0.9, 0.8]), torch.tensor([4.5, 1.0]), temperature=0.1)
    tensor(0.3133)
    """
    import torch

    _check(similarity, temperature)
    if similarity.ndim != 1 or tuple(scores.shape) != tuple(similarity.shape):
        raise ValueError(
            f"similarity has shape {tuple(similarity.shape)} and scores {tuple(scores.shape)}; "
            "both must be (n,)"
        )
    below = scores[:, None] < scores
    gaps = ((similarity[:, None] - similarity) / temperature)[below]
    return torch.logsumexp(torch.cat([gaps.new_zeros(1), gaps]), dim=0)


def _check(similarity: Any, temperature: float) -> None:
    import torch

    if not isinstance(similarity, torch.Tensor) or not similarity.is_floating_point():
        raise TypeError(f"similarity must be a tensor of floats, got {_kind(similarity)}")
    if not (0 < temperature < math.inf):
        raise ValueError(f"temperature={temperature!r} must be a finite number above 0")


def _check_excluded(excluded: Any, shape: tuple[int, ...]) -> None:
    import torch

    if not isinstance(excluded, torch.Tensor) or excluded.dtype != torch.bool:
        raise TypeError(f"excluded must be a tensor of bool, got {_kind(excluded)}")
    if tuple(excluded.shape) != shape:
        raise ValueError(
            f"excluded has shape {tuple(excluded.shape)}; it must be that of similarity, {shape}"
        )
    own = excluded.diagonal()
    if own.any():
        row = int(own.int().argmax())
        raise ValueError(
            f"excluded[{row}, {row}] is True, but column {row} holds the partner of row {row}, "
            "which cannot be left out; set the diagonal to False"
        )


def _kind(value: Any) -> str:
    """Type of a value, and of its elements where it is a tensor."""
    return str(getattr(value, "dtype", type(value).__name__))

"""Differentiable pooling of token vectors into one vector per text."""

from __future__ import annotations

from typing import Any


def weighted_mean(tokens: Any, weights: Any, mask: Any) -> Any:
    """Compute the weighted mean of each text's token vectors.

    Wang and Yu (2023, "Token Weighting") use the sum of ``w_i t_i``, which has the same direction.

    Parameters
    ----------
    tokens : tensor of float, shape (B, L, h)
        Vectors t of the tokens of B texts.
    weights : tensor of float, shape (B, L)
        Token weights w, in any scale and of the same type.
    mask : tensor of bool, shape (B, L)
        True at tokens, False at padding. Padding may hold any values, including NaN. Each text has
        a token, and its weights do not sum to 0.

    Returns
    -------
    means : tensor, shape (B, h)
        ``Σ w_i t_i / Σ w_i``.

    Notes
    -----
    Time and memory are O(B L h).

    Examples
    --------
    >>> import torch
    >>> from film.training import weighted_mean
    >>> tokens = torch.tensor([[[4.0, 0.0], [0.0, 4.0], [9.0, 9.0]]])
    >>> weighted_mean(tokens, torch.tensor([[3.0, 1.0, 5.0]]), torch.tensor([[True, True, False]]))
    tensor([[3., 1.]])
    """
    kept = weights.masked_fill(~mask, 0.0)
    shares = kept / kept.sum(dim=1, keepdim=True)
    padded = tokens.masked_fill(~mask[:, :, None], 0.0)
    return (shares[:, None, :] @ padded)[:, 0]

"""Differentiable similarity of text i of one batch with text i of another."""

from __future__ import annotations

from typing import Any

from film.training.text_batches import (
    Side,
    Trainable,
    checked_sides,
    firsts,
    masses,
    means,
    unit_rows,
)


def rowpairs_similarity(
    x1: Any,
    x2: Any,
    mask1: Any = None,
    mask2: Any = None,
    method: Trainable = "rcmd",
    *,
    weights1: Any = None,
    weights2: Any = None,
) -> Any:
    """Compute the similarity of text i of one batch with text i of another.

    Parameters
    ----------
    x1 : tensor of float, shape (B, L1, h)
        Token vectors of B texts.
    x2 : tensor of float, shape (B, L2, h)
        Token vectors of B texts, of the same type and on the same device.
    mask1, mask2, method, weights1, weights2
        As in `film.training.allpairs_similarity`.

    Returns
    -------
    similarity : tensor, shape (B,)
        The diagonal of `film.training.allpairs_similarity`; differentiable in the tokens.

    Notes
    -----
    Time is O(B L1 L2 h) and extra memory O(B L1 L2).

    Examples
    --------
    >>> import torch
    >>> from film.training import rowpairs_similarity
    >>> x = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [-1.0, 0.0]]])
    >>> rowpairs_similarity(x, x.flip(0))
    tensor([0.5000, 0.5000])
    """
    import torch

    side1, side2 = checked_sides(x1, x2, mask1, mask2, method, weights1, weights2)
    # Full precision under autocast, as in `allpairs_similarity`.
    with torch.autocast(x1.device.type, enabled=False):
        if method == "cls":
            return (unit_rows(firsts(side1)) * unit_rows(firsts(side2))).sum(dim=1)
        if method == "avg":
            return _of_means(side1, side2)
        exact = side1.weights.dtype
        S = _unit_tokens(side1, exact) @ _unit_tokens(side2, exact).mT
        S = S.masked_fill(~side2.mask[:, None], -float("inf"))
        S = S.masked_fill(~side1.mask[..., None], -float("inf"))
        # A maximum over padding only is infinite; its mass is zero.
        rows = S.max(dim=2).values.masked_fill(~side1.mask, 0)
        columns = S.max(dim=1).values.masked_fill(~side2.mask, 0)
        forth, back = (rows * masses(side1)).sum(dim=1), (columns * masses(side2)).sum(dim=1)
        if method in ("rcmd1", "rcmd2"):
            return forth if method == "rcmd1" else back
        relaxed = (forth + back) / 2
        return (relaxed + _of_means(side1, side2)) / 2 if method == "rcmd+avg" else relaxed


def _of_means(side1: Side, side2: Side) -> Any:
    return (unit_rows(means(side1)) * unit_rows(means(side2))).sum(dim=1)


def _unit_tokens(side: Side, dtype: Any) -> Any:
    # Padding may hold any values, including NaN.
    return unit_rows(side.x.to(dtype).masked_fill(~side.mask[..., None], 0))

"""Differentiable similarity of text i of one batch with text i of another."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

Trainable = Literal["rcmd", "rcmd1", "rcmd2", "rcmd+avg", "avg", "cls"]
TRAINABLE: tuple[Trainable, ...] = get_args(Trainable)
"""Differentiable plans; see `film.tokens.transport_plan`."""

EPSILON = 1e-12
"""Vectors of at most this length have cosines of 0 and no gradient."""


class Side(NamedTuple):
    """One batch of texts; mask and weights are never None."""

    x: Any
    mask: Any
    weights: Any

    def as_exact(self) -> Side:
        """Convert the tokens to the precision in which they are summed."""
        return Side(self.x.to(self.weights.dtype), self.mask, self.weights)


class Operand(NamedTuple):
    """One batch of texts, with 1/‖x‖ and the mass of each token."""

    x: Any
    scale: Any
    mask: Any
    mass: Any


def checked_sides(
    x1: Any, x2: Any, mask1: Any, mask2: Any, method: Any, weights1: Any, weights2: Any
) -> tuple[Side, Side]:
    """Return two batches with masks and weights."""
    if method not in TRAINABLE:
        remedy = "; train with 'rcmd' and score with 'cmd'" if method == "cmd" else ""
        raise ValueError(f"method={method!r} must be one of {', '.join(TRAINABLE)}{remedy}")
    return _side(x1, mask1, weights1), _side(x2, mask2, weights2)


def _side(x: Any, mask: Any, weights: Any) -> Side:
    """Fill in the mask and weights; padding has weight 0."""
    import torch

    if mask is None:
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    exact = _exact_type(x)
    weights = mask.to(exact) if weights is None else weights.to(exact).masked_fill(~mask, 0)
    # The kernel needs contiguous texts.
    return Side(x.contiguous(), mask, weights)


def masses(side: Side) -> Any:
    """Return the mass of each token; the masses of a text sum to 1."""
    # Divide by the maximum first, so that the sum cannot overflow.
    weights = side.weights / side.weights.amax(dim=1, keepdim=True)
    return weights / weights.sum(dim=1, keepdim=True)


def means(side: Side) -> Any:
    """Weighted mean of each text's tokens."""
    x = side.x.to(side.weights.dtype).masked_fill(~side.mask[..., None], 0)
    return (x * masses(side)[..., None]).sum(dim=1)


def firsts(side: Side) -> Any:
    """Return the first token of each text."""
    import torch

    first = side.mask.int().argmax(dim=1)
    texts = torch.arange(len(first), device=first.device)
    return side.x[texts, first].to(side.weights.dtype)


def unit_rows(x: Any) -> Any:
    """Scale vectors to unit length, differentiably; vectors near zero become zero.

    Parameters
    ----------
    x : tensor of float, shape (..., h)
        Vectors.

    Returns
    -------
    unit : tensor, shape (..., h)
        Rows of length 1. Rows of length 1e-12 or less become zero and have no gradient, because
        ``1 / length`` would amplify rounding errors. Lengths do not overflow.

    Examples
    --------
    >>> import torch
    >>> from film.training import unit_rows
    >>> x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    >>> unit_rows(x).sum().backward()
    >>> unit_rows(x.detach()), x.grad[1]
    (tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]]), tensor([0., 0.]))
    """
    import torch

    x = moderate(x)
    lengths = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    short = lengths <= EPSILON
    return x.masked_fill(short, 0) / lengths.masked_fill(short, 1)


def moderate(x: Any) -> Any:
    """Scale down vectors whose squares would overflow; cosines do not change."""
    import torch

    exact = _exact_type(x)
    exponent = math.frexp(torch.finfo(exact).max)[1] // 2
    lengths = torch.linalg.vector_norm(x.detach(), dim=-1, keepdim=True, dtype=exact)
    great = lengths > 2.0 ** (exponent - 12)
    # A power of 2 causes no rounding.
    return torch.where(great, x * 2.0 ** -(exponent + 12), x) if bool(great.any()) else x


def _exact_type(x: Any) -> Any:
    """Dtype in which tokens are summed."""
    import torch

    return torch.float64 if x.dtype == torch.float64 else torch.float32


def scales(x: Any, mask: Any) -> Any:
    """Return 1/‖x‖ of each token; 0 for padding and zero vectors."""
    import torch

    exact = _exact_type(x)
    norms = torch.linalg.vector_norm(x, dim=-1, dtype=exact)
    # Infinite tokens give NaN in the result, as NaN tokens do.
    found = norms.reciprocal().masked_fill_(norms.isinf(), torch.nan)
    return found.masked_fill_(~mask | (norms <= EPSILON), 0)


def scaled(x: Any, scale: Any) -> Any:
    """Multiply tokens by their scale; where the scale is 0 the result is 0, even for NaN."""
    return x.to(scale.dtype).masked_fill((scale == 0)[..., None], 0).mul_(scale[..., None])


def through_unit(d: Any, u: Any, scale: Any) -> Any:
    """Turn the gradient of unit rows into that of the original rows, in place."""
    import torch

    # Autocast would round this product.
    with torch.autocast(d.device.type, enabled=False):
        along = torch.einsum("blh,blh->bl", d, u)
    return d.addcmul_(u, along[..., None], value=-1).mul_(scale[..., None])


def place_type(length: int) -> Any:
    """Smallest integer type for token positions."""
    import torch

    return torch.uint8 if length <= 256 else torch.int16 if length <= 2**15 else torch.int32


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

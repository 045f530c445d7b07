"""Two batches of texts as padded tensors of tokens: checked, and what both similarities need."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

Trainable = Literal["rcmd", "rcmd1", "rcmd2", "rcmd+avg", "avg", "cls"]
TRAINABLE: tuple[Trainable, ...] = get_args(Trainable)
"""Plans with a gradient here, as `film.tokens.transport_plan` defines them."""

EPSILON = 1e-12
"""Vectors of this length or less have cosines of 0 and no gradient."""


class Side(NamedTuple):
    """One batch of texts; masks and weights are never None."""

    x: Any
    mask: Any
    weights: Any

    def as_exact(self) -> Side:
        """Give tokens as exact as sums of them are."""
        return Side(self.x.to(self.weights.dtype), self.mask, self.weights)


class Operand(NamedTuple):
    """One batch of texts, with 1/‖x‖ of each token and what its maximum counts."""

    x: Any
    scale: Any
    mask: Any
    mass: Any


def checked_sides(
    x1: Any, x2: Any, mask1: Any, mask2: Any, method: Any, weights1: Any, weights2: Any
) -> tuple[Side, Side]:
    """Check two batches; say what is wrong by the name of the argument."""
    import torch

    if method not in TRAINABLE:
        remedy = "; train with 'rcmd' and score with 'cmd'" if method == "cmd" else ""
        raise ValueError(f"method={method!r} must be one of {', '.join(TRAINABLE)}{remedy}")
    for name, weights in (("weights1", weights1), ("weights2", weights2)):
        if method == "cls" and weights is not None:
            raise ValueError(
                f"{name} must be None where method='cls', because the first token has all the "
                "mass: leave the weights out, or take another method"
            )
    for name, x in (("x1", x1), ("x2", x2)):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            raise TypeError(f"{name} must be a tensor of floats, got {kind_of(x)}")
        if x.ndim != 3:
            raise ValueError(f"{name} must have shape (texts, tokens, width), got {_shape(x)}")
    if x1.shape[2] != x2.shape[2] or x1.dtype != x2.dtype or x1.device != x2.device:
        raise ValueError(
            f"x1 is {kind_of(x1)} on {x1.device} and x2 {kind_of(x2)} on {x2.device}; width, type "
            "and device must be equal"
        )
    return _checked_side("1", x1, mask1, weights1), _checked_side("2", x2, mask2, weights2)


def _checked_side(side: str, x: Any, mask: Any, weights: Any) -> Side:
    import torch

    shape = x.shape[:2]
    if mask is None:
        mask = torch.ones(shape, dtype=torch.bool, device=x.device)
    else:
        _check_each_token(f"mask{side}", mask, x, "True at tokens")
        if mask.dtype != torch.bool:
            raise ValueError(
                f"mask{side} must be of bool, True at tokens, got {kind_of(mask)}; turn an "
                "attention mask into one by mask.bool()"
            )
    exact = _exact_type(x)
    if weights is None:
        weights = mask.to(exact)
    else:
        _check_each_token(f"weights{side}", weights, x, "one per token")
        weights = weights.to(exact).masked_fill(~mask, 0)
        if bool((~torch.isfinite(weights) | (weights < 0)).any()):
            raise ValueError(f"weights{side} must be finite and not negative")
    empty = (weights == 0).all(dim=1)
    if bool(empty.any()):
        text = int(empty.nonzero()[0])
        raise ValueError(
            f"x{side}[{text}] has no token, or only tokens without weight: leave that text out"
        )
    # The kernel reads texts one after the other.
    return Side(x.contiguous(), mask, weights)


def _check_each_token(name: str, given: Any, x: Any, meaning: str) -> None:
    """Raise unless a tensor has a number for each token of ``x``, where ``x`` is."""
    import torch

    if (
        not isinstance(given, torch.Tensor)
        or given.shape != x.shape[:2]
        or given.device != x.device
    ):
        where = f" on {given.device}" if isinstance(given, torch.Tensor) else ""
        raise ValueError(
            f"{name} must be a tensor of shape {_shape(x)[:2]} on {x.device}, {meaning}, got "
            f"{kind_of(given)}{where}"
        )


def masses(side: Side) -> Any:
    """Give what each token's maximum counts; the masses of a text sum to 1."""
    # By the greatest first, so that no sum overflows.
    weights = side.weights / side.weights.amax(dim=1, keepdim=True)
    return weights / weights.sum(dim=1, keepdim=True)


def means(side: Side) -> Any:
    """Weighted mean of each text's tokens."""
    x = side.x.to(side.weights.dtype).masked_fill(~side.mask[..., None], 0)
    return (x * masses(side)[..., None]).sum(dim=1)


def firsts(side: Side) -> Any:
    """Give the first token of each text."""
    import torch

    first = side.mask.int().argmax(dim=1)
    texts = torch.arange(len(first), device=first.device)
    return side.x[texts, first].to(side.weights.dtype)


def unit_rows(x: Any) -> Any:
    """Divide vectors by their lengths, differentiably; one without a direction becomes zeros.

    Parameters
    ----------
    x : tensor of float, shape (..., h)
        Vectors.

    Returns
    -------
    unit : tensor, shape (..., h)
        Rows of length 1. A row of length 1e-12 or less is zeros, and its gradient is zero: one of
        ``1 / length`` would be that of rounding errors. Lengths do not overflow.

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
    """Scale vectors down whose squares would overflow, which changes no cosine."""
    import torch

    exact = _exact_type(x)
    exponent = math.frexp(torch.finfo(exact).max)[1] // 2
    lengths = torch.linalg.vector_norm(x.detach(), dim=-1, keepdim=True, dtype=exact)
    great = lengths > 2.0 ** (exponent - 12)
    # By a power of 2, which rounds nothing.
    return torch.where(great, x * 2.0 ** -(exponent + 12), x) if bool(great.any()) else x


def _exact_type(x: Any) -> Any:
    """Type that tokens are summed in."""
    import torch

    return torch.float64 if x.dtype == torch.float64 else torch.float32


def kind_of(x: Any) -> str:
    """Name the type and shape of what was given, for messages."""
    dtype = getattr(x, "dtype", None)
    return type(x).__name__ if dtype is None else f"{dtype} of shape {_shape(x)}"


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape)


def scales(x: Any, mask: Any) -> Any:
    """Give 1/‖x‖ of each token; 0 for padding and tokens without a direction."""
    import torch

    exact = _exact_type(x)
    norms = torch.linalg.vector_norm(x, dim=-1, dtype=exact)
    # A token of infinity shows in the result, as one of NaN does.
    found = norms.reciprocal().masked_fill_(norms.isinf(), torch.nan)
    return found.masked_fill_(~mask | (norms <= EPSILON), 0)


def scaled(x: Any, scale: Any) -> Any:
    """Tokens times their scale: unit rows, and zeros where the scale is 0, whatever they hold."""
    return x.to(scale.dtype).masked_fill((scale == 0)[..., None], 0).mul_(scale[..., None])


def through_unit(d: Any, u: Any, scale: Any) -> Any:
    """Turn the gradient for unit rows into that for rows of any length, in place."""
    import torch

    # A product of matrices, which autocast would round.
    with torch.autocast(d.device.type, enabled=False):
        along = torch.einsum("blh,blh->bl", d, u)
    return d.addcmul_(u, along[..., None], value=-1).mul_(scale[..., None])


def place_type(length: int) -> Any:
    """Smallest integers that hold the places of tokens."""
    import torch

    return torch.uint8 if length <= 256 else torch.int16 if length <= 2**15 else torch.int32

"""Differentiable similarity of every text of one batch with every text of another, in tiles."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from film.training.rowpairs import (
    Operand,
    Side,
    Trainable,
    checked_sides,
    firsts,
    masses,
    means,
    moderate,
    place_type,
    scaled,
    scales,
    through_unit,
    unit_rows,
)

TILE = 2**22
"""Cosines per tile: 16 MB in float32."""
TILE_ON_CUDA = 2**25
"""Cosines per tile on a GPU."""


def allpairs_similarity(
    x1: Any,
    x2: Any,
    mask1: Any = None,
    mask2: Any = None,
    method: Trainable = "rcmd",
    *,
    weights1: Any = None,
    weights2: Any = None,
    tile: int | None = None,
    kernel: bool | None = None,
) -> Any:
    """Compute the similarities of all pairs of two batches, differentiable in the tokens.

    The similarities are those of `film.tokens.transport_plan`. Gradients of maxima go to the
    selected cosines, the first on ties, as in CLRCMD (Lee et al., 2022, Section 3.3).

    Parameters
    ----------
    x1 : tensor of float, shape (B, L1, h)
        Token vectors of B texts, in float32, float64, bfloat16 or float16.
    x2 : tensor of float, shape (C, L2, h)
        Token vectors of C texts, of the same type and on the same device.
    mask1 : tensor of bool, shape (B, L1), default=None
        True at tokens, False at padding; padding may hold any values. None means no padding.
    mask2 : tensor of bool, shape (C, L2), default=None
        The mask of ``x2``.
    method : {"rcmd", "rcmd1", "rcmd2", "rcmd+avg", "avg", "cls"}, default="rcmd"
        Transport plan.
    weights1 : tensor of float, shape (B, L1), default=None
        Token masses, not negative, in any scale; None means equal. They get no gradient from
        cosines of tokens. "cls" accepts none.
    weights2 : tensor of float, shape (C, L2), default=None
        The masses of ``x2``.
    tile : int, default=None
        Cosines per tile, but at least those of one pair. None uses 4,194,304, or eight times as
        many on CUDA. It affects only memory and speed.
    kernel : bool, default=None
        Whether a fused Triton kernel finds the maxima on CUDA. None uses it if Triton is installed
        and the tensors are on CUDA in bfloat16 or float16.

    Returns
    -------
    similarity : tensor, shape (B, C)
        Float64 for float64 tokens, otherwise float32.

    Notes
    -----
    The B L1 × C L2 cosines are computed tile by tile. Only the positions of the maxima are kept for
    the gradient: B C (L1 + L2) bytes for texts of up to 256 tokens, twice as many for longer texts,
    so memory is O(B C L) without the width h. The backward pass takes two products per tile and is
    deterministic. Cosines are in float32 under autocast too. On CUDA, 16-bit tokens are multiplied
    in 16 bits and summed in float32. The backward pass then rounds the plan to 16 bits too.

    A token or mean vector of length 1e-12 or less has cosines of 0 and no gradient.

    Examples
    --------
    >>> import torch
    >>> from film.training import allpairs_similarity
    >>> x = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [-1.0, 0.0]]])
    >>> allpairs_similarity(x, x)
    tensor([[1.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    import torch

    side1, side2 = checked_sides(x1, x2, mask1, mask2, method, weights1, weights2)
    fused = _uses_kernel(kernel, x1)
    with torch.autocast(x1.device.type, enabled=False):
        if method == "cls":
            return unit_rows(firsts(side1)) @ unit_rows(firsts(side2)).T
        if method == "avg":
            return _of_means(side1, side2)
        if method == "rcmd+avg" and not x1.is_cuda:
            # Keep full precision so that the sum of the two gradients is rounded once.
            side1, side2 = side1.as_exact(), side2.as_exact()
        share = 0.5 if method in ("rcmd", "rcmd+avg") else 1.0
        mass1 = masses(side1) * (0.0 if method == "rcmd2" else share)
        mass2 = masses(side2) * (0.0 if method == "rcmd1" else share)
        if tile is None:
            tile = TILE_ON_CUDA if x1.is_cuda else TILE
        relaxed = _function().apply(
            moderate(side1.x), moderate(side2.x), side1.mask, side2.mask, mass1, mass2, tile, fused
        )
        return (relaxed + _of_means(side1, side2)) / 2 if method == "rcmd+avg" else relaxed


def _of_means(side1: Side, side2: Side) -> Any:
    return unit_rows(means(side1)) @ unit_rows(means(side2)).T


def _uses_kernel(kernel: bool | None, x: Any) -> bool:
    if kernel is False:
        return False
    import importlib.util

    import torch

    # Torch is faster in float32, which GPU tensor cores do not multiply.
    fits = x.is_cuda and x.dtype in (torch.bfloat16, torch.float16)
    there = importlib.util.find_spec("triton") is not None
    if kernel and not (fits and there):
        raise ValueError(
            f"kernel=True needs Triton and tensors on CUDA in bfloat16 or float16, got "
            f"{x.dtype} on {x.device}{'' if there else ' and no Triton'}; give kernel=None"
        )
    return fits and there


@cache
def _function() -> Any:
    """Create the autograd function on first use, because its base class needs torch."""
    import torch

    class Transport(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, x1: Any, x2: Any, mask1: Any, mask2: Any, mass1: Any, mass2: Any, tile: int,
            fused: bool,
        ) -> Any:  # fmt: skip
            side1 = Operand(x1, scales(x1, mask1), mask1, mass1)
            side2 = Operand(x2, scales(x2, mask2), mask2, mass2)
            if fused:
                from film.training.allpairs_kernel import fused_maxima

                similarity, best1, best2 = fused_maxima(side1, side2)
            else:
                similarity, best1, best2 = _maxima(side1, side2, tile)
            ctx.save_for_backward(x1, x2, side1.scale, side2.scale, mass1, mass2, best1, best2)
            ctx.tile = tile
            return similarity

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            x1, x2, scale1, scale2, mass1, mass2, best1, best2 = ctx.saved_tensors
            u1, u2 = scaled(x1, scale1), scaled(x2, scale2)
            (B, L1, h), (C, L2, _) = u1.shape, u2.shape
            d1, d2 = torch.zeros_like(u1), torch.zeros_like(u2)
            size: Any = None
            if _has_short_products(x1):
                # Scale so that no weight of the plan underflows in float16.
                size = gradient.abs().amax().clamp_min(torch.finfo(gradient.dtype).tiny)
                gradient, u1, u2 = gradient / size, u1.to(x1.dtype), u2.to(x2.dtype)
            for rows, columns in _tiles(B, L1, C, L2, ctx.tile):
                W = _chosen(
                    gradient[rows, columns],
                    mass1[rows],
                    mass2[columns],
                    best1[rows, :, columns].long(),
                    best2[rows, columns].long(),
                    u1.dtype,
                )
                W = W.view(-1, W.shape[2] * L2)
                _add_product(d1[rows].view(-1, h), W, u2[columns].view(-1, h))
                _add_product(d2[columns].view(-1, h), W.T, u1[rows].view(-1, h))
            if size is not None:
                d1, d2 = d1.mul_(size), d2.mul_(size)
                u1, u2 = scaled(x1, scale1), scaled(x2, scale2)
            found1 = through_unit(d1, u1, scale1).to(x1.dtype)
            found2 = through_unit(d2, u2, scale2).to(x2.dtype)
            return found1, found2, None, None, None, None, None, None

    return Transport


def _maxima(side1: Operand, side2: Operand, tile: int) -> tuple[Any, Any, Any]:
    """Return the similarities, (B, C), and the argmaxima, (B, L1, C) and (B, C, L2)."""
    import torch

    mask1, mask2, mass1, mass2 = side1.mask, side2.mask, side1.mass, side2.mass
    (B, L1, _), (C, L2, _) = side1.x.shape, side2.x.shape
    padded1, padded2 = not bool(mask1.all()), not bool(mask2.all())
    short = _has_short_products(side1.x)
    # Cosines of padding are overwritten below.
    rows1, rows2 = (side.x if short else scaled(side.x, side.scale) for side in (side1, side2))
    similarity = side1.scale.new_empty(B, C)
    # The gradient needs only the position of each maximum.
    best1 = mask1.new_empty(B, L1, C, dtype=place_type(L2))
    best2 = mask1.new_empty(B, C, L2, dtype=place_type(L1))
    for rows, columns in _tiles(B, L1, C, L2, tile):
        S = _cosines(rows1[rows], rows2[columns])
        if short:
            S.mul_(side1.scale[rows][:, :, None, None]).mul_(side2.scale[columns])
        # Padding must not beat a negative cosine.
        if padded1:
            S.masked_fill_(~mask1[rows][:, :, None, None], -torch.inf)
        if padded2:
            S.masked_fill_(~mask2[columns], -torch.inf)
        most1, place1 = S.max(dim=3)
        most2, place2 = S.max(dim=1)
        best1[rows, :, columns], best2[rows, columns] = place1, place2
        # A maximum over padding only is infinite; its mass is zero.
        if padded1:
            most1.masked_fill_(~mask1[rows][:, :, None], 0)
        if padded2:
            most2.masked_fill_(~mask2[columns], 0)
        similarity[rows, columns] = torch.einsum("bic,bi->bc", most1, mass1[rows]) + torch.einsum(
            "bcj,cj->bc", most2, mass2[columns]
        )
    return similarity, best1, best2


def _tiles(B: int, L1: int, C: int, L2: int, tile: int) -> list[tuple[slice, slice]]:
    """Cut B × C pairs into near-square tiles of at most ``tile`` cosines and at least one pair."""
    height = max(1, min(B, math.isqrt(tile) // L1))
    width = max(1, min(C, tile // (height * L1 * L2)))
    return [
        (slice(b, min(b + height, B)), slice(c, min(c + width, C)))
        for b in range(0, B, height)
        for c in range(0, C, width)
    ]


def _chosen(gradient: Any, mass1: Any, mass2: Any, place1: Any, place2: Any, dtype: Any) -> Any:
    """Gradient of a tile's cosines: the mass at the position of each maximum."""
    (b, L1, c), L2 = place1.shape, place2.shape[2]
    W = gradient.new_zeros(b, L1, c, L2, dtype=dtype)
    of1 = (gradient[:, None] * mass1[:, :, None])[..., None].to(dtype)
    W.scatter_(3, place1[..., None], of1)
    # No position is added to twice within a call, so the order of the sums is fixed.
    return W.scatter_add_(1, place2[:, None], (gradient[..., None] * mass2)[:, None].to(dtype))


def _has_short_products(x: Any) -> bool:
    """Return whether 16-bit tokens are multiplied in 16 bits and summed in float32."""
    import torch

    # Before torch 2.8 and on CPU, `torch.mm` only returns the type of its inputs.
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    return x.is_cuda and x.dtype in (torch.bfloat16, torch.float16) and version >= (2, 8)


def _product(a: Any, b: Any) -> Any:
    """Multiply two matrices; products of 16-bit matrices are returned in float32."""
    import torch

    # Autocast would round the result.
    with torch.autocast(a.device.type, enabled=False):
        if a.dtype in (torch.float32, torch.float64):
            return a @ b
        return torch.mm(a, b, out_dtype=torch.float32) if a.is_cuda else a.float() @ b.float()


def _add_product(d: Any, a: Any, b: Any) -> None:
    if a.dtype == d.dtype:
        d.addmm_(a, b)
    else:
        d.add_(_product(a, b))


def _cosines(u1: Any, u2: Any) -> Any:
    """Cosines of all tokens, (b, L1, c, L2), of texts (b, L1, h) and (c, L2, h)."""
    (b, L1, h), (c, L2, _) = u1.shape, u2.shape
    return _product(u1.reshape(-1, h), u2.reshape(-1, h).T).view(b, L1, c, L2)

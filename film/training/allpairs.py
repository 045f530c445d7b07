"""Similarity of every text of one batch with every text of another, with gradients, in tiles."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from film.training.text_batches import (
    Side,
    Trainable,
    checked_sides,
    firsts,
    kind_of,
    masses,
    means,
    place_type,
    scaled,
    scales,
    through_unit,
    unit,
)

TILE = 2**22
"""Cosines held at once: 16 MB in float32."""


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
    """Similarity of all pairs of two batches of texts, differentiable in their tokens.

    The similarities are those of `film.tokens.transport_plan`. The gradient of maxima is that of
    the cosines which they choose, the first of equals, as in CLRCMD (Lee et al., 2022, Section
    3.3).

    Parameters
    ----------
    x1 : tensor of float, shape (B, L1, h)
        Tokens of B texts, in float32, float64, bfloat16 or float16.
    x2 : tensor of float, shape (C, L2, h)
        Tokens of C texts, of the same type and on the same device.
    mask1 : tensor of bool, shape (B, L1), default=None
        True at tokens, False at padding, which may hold anything. None: all are tokens.
    mask2 : tensor of bool, shape (C, L2), default=None
        The same for ``x2``.
    method : {"rcmd", "rcmd1", "rcmd2", "rcmd+avg", "avg", "cls"}, default="rcmd"
        Plan of transport.
    weights1 : tensor of float, shape (B, L1), default=None
        Masses of tokens, not negative, in any scale; None: all alike. They get a gradient where
        they ask for one. "cls" takes none.
    weights2 : tensor of float, shape (C, L2), default=None
        The same for ``x2``.
    tile : int, default=None
        Cosines held at once, but those of one pair at least; None: 4,194,304. It changes
        memory and speed alone, and nothing where the kernel works.
    kernel : bool, default=None
        Whether one fused Triton kernel does the work of the maxima on CUDA; None: where Triton is
        there, the tensors are on CUDA in float32, bfloat16 or float16, and no weight asks for a
        gradient.

    Returns
    -------
    similarity : tensor, shape (B, C)
        Float64 for float64, else float32.

    Raises
    ------
    TypeError, ValueError
        If tensors do not fit each other, a text has no token or only tokens without weight, or
        ``method``, ``tile`` or ``kernel`` cannot be used.

    Notes
    -----
    One product of B L1 by C L2 cosines is done tile by tile. Kept for the gradient are one byte a
    token and text, B C (L1 + L2) bytes for texts of up to 256 tokens (two bytes above), so memory
    is O(B C L) without the width h. The gradient is two products a tile and deterministic: every
    sum has a fixed order. Cosines are in float32 under autocast too. The gradient of weights is one
    product a tile more, and the kernel, which has none, leaves such tensors to torch.

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
    if tile is not None and (isinstance(tile, bool) or not isinstance(tile, int) or tile < 1):
        raise ValueError(f"tile={tile!r} must be an integer of at least 1, or None")
    learns = torch.is_grad_enabled() and (
        side1.weights.requires_grad or side2.weights.requires_grad
    )
    fused = _uses_kernel(kernel, x1, learns)
    with torch.autocast(x1.device.type, enabled=False):
        if method == "cls":
            return unit(firsts(side1)) @ unit(firsts(side2)).T
        if method == "avg":
            return _of_means(side1, side2)
        if method == "rcmd+avg" and not fused:
            # So that the sum of two gradients is rounded once.
            side1, side2 = side1.as_exact(), side2.as_exact()
        share = 0.5 if method in ("rcmd", "rcmd+avg") else 1.0
        mass1 = masses(side1) * (0.0 if method == "rcmd2" else share)
        mass2 = masses(side2) * (0.0 if method == "rcmd1" else share)
        arguments = side1.x, side2.x, side1.mask, side2.mask, mass1, mass2
        if fused:
            from film.training.allpairs_kernel import fused_allpairs

            relaxed = fused_allpairs(*arguments)
        else:
            relaxed = _function().apply(*arguments, TILE if tile is None else tile)
        return (relaxed + _of_means(side1, side2)) / 2 if method == "rcmd+avg" else relaxed


def _of_means(side1: Side, side2: Side) -> Any:
    return unit(means(side1)) @ unit(means(side2)).T


def _uses_kernel(kernel: bool | None, x: Any, learns: bool = False) -> bool:
    if kernel is False:
        return False
    if learns:
        if kernel:
            raise ValueError(
                "kernel=True gives weights no gradient, and some ask for one; give kernel=None"
            )
        return False
    import importlib.util

    import torch

    fits = x.is_cuda and x.dtype != torch.float64
    there = importlib.util.find_spec("triton") is not None
    if kernel and not (fits and there):
        raise ValueError(
            f"kernel=True needs Triton and tensors on CUDA in float32, bfloat16 or float16, got "
            f"{kind_of(x)} on {x.device}{'' if there else ' and no Triton'}; give kernel=None"
        )
    return fits and there


@cache
def _function() -> Any:
    """Make the autograd function when it is first used, since its base class needs torch."""
    import torch

    class TiledTransport(torch.autograd.Function):
        """Weighted maxima of cosines, both ways."""

        @staticmethod
        def forward(
            ctx: Any, x1: Any, x2: Any, mask1: Any, mask2: Any, mass1: Any, mass2: Any, tile: int
        ) -> Any:
            scale1, scale2 = scales(x1, mask1), scales(x2, mask2)
            u1, u2 = scaled(x1, scale1), scaled(x2, scale2)
            (B, L1, _), (C, L2, _) = u1.shape, u2.shape
            padded1, padded2 = not bool(mask1.all()), not bool(mask2.all())
            similarity = u1.new_empty(B, C)
            # The place of each maximum is all that the gradient needs to know of the cosines.
            best1 = torch.empty(B, L1, C, dtype=place_type(L2), device=u1.device)
            best2 = torch.empty(B, C, L2, dtype=place_type(L1), device=u1.device)
            for rows, columns in _tiles(B, L1, C, L2, tile):
                S = _cosines(u1[rows], u2[columns])
                # Padding must not beat a negative cosine.
                if padded1:
                    S.masked_fill_(~mask1[rows][:, :, None, None], -torch.inf)
                if padded2:
                    S.masked_fill_(~mask2[columns], -torch.inf)
                most1, place1 = S.max(dim=3)
                most2, place2 = S.max(dim=1)
                best1[rows, :, columns], best2[rows, columns] = place1, place2
                # Maxima over padding alone are infinite, and their mass is zero.
                if padded1:
                    most1.masked_fill_(~mask1[rows][:, :, None], 0)
                if padded2:
                    most2.masked_fill_(~mask2[columns], 0)
                similarity[rows, columns] = torch.einsum(
                    "bic,bi->bc", most1, mass1[rows]
                ) + torch.einsum("bcj,cj->bc", most2, mass2[columns])
            ctx.save_for_backward(x1, x2, scale1, scale2, mass1, mass2, best1, best2)
            ctx.tile = tile
            return similarity

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            x1, x2, scale1, scale2, mass1, mass2, best1, best2 = ctx.saved_tensors
            u1, u2 = scaled(x1, scale1), scaled(x2, scale2)
            (B, L1, h), (C, L2, _) = u1.shape, u2.shape
            d1, d2 = torch.zeros_like(u1), torch.zeros_like(u2)
            learns = ctx.needs_input_grad[4] or ctx.needs_input_grad[5]
            of_mass1: Any = torch.zeros_like(mass1) if learns else None
            of_mass2: Any = torch.zeros_like(mass2) if learns else None
            for rows, columns in _tiles(B, L1, C, L2, ctx.tile):
                if learns:
                    S, g = _cosines(u1[rows], u2[columns]), gradient[rows, columns]
                    most1 = S.gather(3, best1[rows, :, columns].long()[..., None])[..., 0]
                    most2 = S.gather(1, best2[rows, columns].long()[:, None])[:, 0]
                    of_mass1[rows] += torch.einsum("bic,bc->bi", most1, g)
                    of_mass2[columns] += torch.einsum("bcj,bc->cj", most2, g)
                W = _chosen(
                    gradient[rows, columns],
                    mass1[rows],
                    mass2[columns],
                    best1[rows, :, columns].long(),
                    best2[rows, columns].long(),
                )
                W = W.view(-1, W.shape[2] * L2)
                d1[rows].view(-1, h).addmm_(W, u2[columns].view(-1, h))
                d2[columns].view(-1, h).addmm_(W.T, u1[rows].view(-1, h))
            found1 = through_unit(d1, u1, scale1).to(x1.dtype)
            found2 = through_unit(d2, u2, scale2).to(x2.dtype)
            return found1, found2, None, None, of_mass1, of_mass2, None

    return TiledTransport


def _tiles(B: int, L1: int, C: int, L2: int, tile: int) -> list[tuple[slice, slice]]:
    """Cut B × C pairs into near squares of at most ``tile`` cosines, and at least one pair."""
    height = max(1, min(B, math.isqrt(tile) // L1))
    width = max(1, min(C, tile // (height * L1 * L2)))
    return [
        (slice(b, min(b + height, B)), slice(c, min(c + width, C)))
        for b in range(0, B, height)
        for c in range(0, C, width)
    ]


def _cosines(u1: Any, u2: Any) -> Any:
    """Cosines (b, L1, c, L2) of a tile."""
    (b, L1, h), (c, L2, _) = u1.shape, u2.shape
    return (u1.view(-1, h) @ u2.view(-1, h).T).view(b, L1, c, L2)


def _chosen(gradient: Any, mass1: Any, mass2: Any, place1: Any, place2: Any) -> Any:
    """Gradient for the cosines of a tile: mass at the place of each maximum."""
    (b, L1, c), L2 = place1.shape, place2.shape[2]
    W = gradient.new_zeros(b, L1, c, L2)
    W.scatter_(3, place1[..., None], (gradient[:, None] * mass1[:, :, None])[..., None])
    # No two sums fall on one place within a call, so their order is fixed.
    return W.scatter_add_(1, place2[:, None], (gradient[..., None] * mass2)[:, None])

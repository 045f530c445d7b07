"""Similarity of all pairs of two batches in one fused Triton kernel, and its gradient in another.

`film.training.allpairs` has the definition and the same in torch.
"""

# A kernel has constants for types.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from film.training.text_batches import place_type, scaled, scales, through_unit

TOKENS = 128
"""Tokens of each side in a block of the product; a power of 2."""
FEWEST = 16
"""Fewest tokens per side of a product of Triton."""
ROWS, COLUMNS, WIDTH = 64, 32, 64
"""Block of the gradient: these numbers alone fit into the registers from Turing to Hopper."""
WARPS = 8

# Triton looks for its language among a kernel's globals; loaded when it is first used.
tl: Any = None


def fused_allpairs(x1: Any, x2: Any, mask1: Any, mask2: Any, mass1: Any, mass2: Any) -> Any:
    """Weighted maxima of the cosines of all pairs, both ways, differentiable in x1 and x2.

    The block of cosines of a few texts with a few others stays on chip until the maxima and their
    places of both directions are found; places alone go to memory. The gradient multiplies by the
    plan, of which each block is made from the places when it is needed. No two programs add to one
    number, so it is the same each time.

    Parameters
    ----------
    x1 : tensor of float32, bfloat16 or float16, shape (B, L1, h)
        Tokens, contiguous.
    x2 : tensor, shape (C, L2, h)
        The same of the other side.
    mask1 : tensor of bool, shape (B, L1)
        True at tokens; each text has one.
    mask2 : tensor of bool, shape (C, L2)
        The same of the other side.
    mass1 : tensor of float32, shape (B, L1)
        What each token's maximum counts; 0 at padding.
    mass2 : tensor of float32, shape (C, L2)
        The same of the other side.

    Returns
    -------
    similarity : tensor of float32, shape (B, C)
        Products are summed in float32. Those of float32 are in TF32 where
        `torch.set_float32_matmul_precision` allows it.
    """
    return _function().apply(x1, x2, mask1, mask2, mass1, mass2)


class Operand(NamedTuple):
    """What the kernels read of one side."""

    x: Any
    scale: Any
    mask: Any
    mass: Any


@cache
def _function() -> Any:
    """Make the autograd function when it is first used, since its base class needs torch."""
    import torch

    class FusedTransport(torch.autograd.Function):
        """Weighted maxima of cosines, both ways."""

        @staticmethod
        def forward(
            ctx: Any, x1: Any, x2: Any, mask1: Any, mask2: Any, mass1: Any, mass2: Any
        ) -> Any:
            side1 = Operand(x1, scales(x1, mask1), mask1.byte(), mass1)
            side2 = Operand(x2, scales(x2, mask2), mask2.byte(), mass2)
            similarity, best1, best2 = _maxima(side1, side2)
            ctx.save_for_backward(*side1, *side2, best1, best2)
            return similarity

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            side1, side2 = Operand(*ctx.saved_tensors[:4]), Operand(*ctx.saved_tensors[4:8])
            best1, best2 = ctx.saved_tensors[8:]
            found1 = _gradient(gradient, side1, side2, best1, best2)
            found2 = _gradient(
                gradient.T, side2, side1, best2.transpose(0, 1), best1.transpose(0, 1)
            )
            return found1, found2, None, None, None, None

    return FusedTransport


def _maxima(side1: Operand, side2: Operand) -> tuple[Any, Any, Any]:
    """Similarities, and places of the maxima, (B, C, L1) and (B, C, L2)."""
    import torch

    (B, L1, _), (C, L2, _) = side1.x.shape, side2.x.shape
    similarity = side1.scale.new_empty(B, C)
    best1 = side1.x.new_empty(B, C, L1, dtype=place_type(L2))
    best2 = side1.x.new_empty(B, C, L2, dtype=place_type(L1))
    if L1 <= TOKENS:
        _launch(side1, side2, similarity, best1, best2, both=True)
    elif L2 <= TOKENS:
        _launch(side2, side1, similarity.T, best2.transpose(0, 1), best1.transpose(0, 1), both=True)
    else:
        # A maximum over long texts is found block by block, so each direction has its own pass.
        backwards = torch.empty_like(similarity)
        _launch(side1, side2, similarity, best1, best2, both=False)
        _launch(side2, side1, backwards.T, best2.transpose(0, 1), best1.transpose(0, 1), both=False)
        similarity += backwards
    return similarity, best1, best2


def _launch(
    side1: Operand, side2: Operand, similarity: Any, best1: Any, best2: Any, *, both: bool
) -> None:
    import torch

    (B, L1, h), (C, L2, _) = side1.x.shape, side2.x.shape
    rows, columns = _block(L1), _block(L2)
    texts1, texts2 = TOKENS // rows, TOKENS // columns
    wide = -(-C // texts2)
    # Triton launches on the current device.
    with torch.cuda.device_of(side1.x):
        _kernels().maxima[(-(-B // texts1) * wide,)](
            *side1,
            *side2,
            similarity,
            best1,
            best2,
            *similarity.stride(),
            *best1.stride()[:2],
            *best2.stride()[:2],
            B,
            C,
            L1,
            L2,
            h,
            wide,
            TEXTS1=texts1,
            ROWS=rows,
            TEXTS2=texts2,
            COLUMNS=columns,
            WIDTH=32,
            BOTH=both,
            PRECISION=_precision(side1.x),
            num_warps=WARPS,
            num_stages=2,
        )


def _gradient(gradient: Any, own: Operand, other: Operand, best: Any, best_other: Any) -> Any:
    """Gradient for the tokens of one side; ``gradient`` and places have its texts first."""
    import torch

    (T, L, h), (_, L_other, _) = own.x.shape, other.x.shape
    d = own.scale.new_empty(T, L, h)
    across = -(-h // WIDTH)
    with torch.cuda.device_of(own.x):
        _kernels().gradient[(-(-T * L // ROWS) * across,)](
            gradient,
            own.mass,
            *other,
            best,
            best_other,
            d,
            *gradient.stride(),
            *best.stride()[:2],
            *best_other.stride()[:2],
            T * L,
            other.x.shape[0] * L_other,
            L,
            L_other,
            h,
            across,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
            WIDTH=WIDTH,
            # The plan in 11 bits is as exact as tokens of 16 bits are.
            PRECISION=_precision(own.x) if own.x.dtype == torch.float32 else "tf32",
            num_warps=WARPS,
            num_stages=2,
        )
    return through_unit(d, scaled(own.x, own.scale), own.scale).to(own.x.dtype)


def _block(length: int) -> int:
    """Tokens of one text in a block: a power of 2."""
    return min(TOKENS, max(FEWEST, 1 << (length - 1).bit_length()))


def _precision(x: Any) -> str:
    import torch

    exact = x.dtype != torch.float32 or torch.get_float32_matmul_precision() == "highest"
    return "ieee" if exact else "tf32"


class Kernels(NamedTuple):
    """Compiled when they are first called."""

    maxima: Any
    gradient: Any


@cache
def _kernels() -> Kernels:
    """Make the kernels when they are first used, since they need Triton."""
    global tl
    import triton  # pyright: ignore[reportMissingImports]
    import triton.language as tl  # pyright: ignore[reportMissingImports]

    @triton.jit
    def maxima(
        x1,
        scale1,
        mask1,
        mass1,
        x2,
        scale2,
        mask2,
        mass2,
        similarity,
        best1,
        best2,
        similarity_row,
        similarity_column,
        best1_row,
        best1_column,
        best2_row,
        best2_column,
        B,
        C,
        L1,
        L2,
        h,
        wide,
        TEXTS1: tl.constexpr,
        ROWS: tl.constexpr,
        TEXTS2: tl.constexpr,
        COLUMNS: tl.constexpr,
        WIDTH: tl.constexpr,
        BOTH: tl.constexpr,
        PRECISION: tl.constexpr,
    ):
        program = tl.program_id(0)
        first1, first2 = program // wide * TEXTS1, program % wide * TEXTS2
        m, n, k = tl.arange(0, TEXTS1 * ROWS), tl.arange(0, TEXTS2 * COLUMNS), tl.arange(0, WIDTH)
        text1, text2 = first1 + m // ROWS, first2 + n // COLUMNS
        # Tokens in 32 bits, numbers of them in 64: a batch of texts may hold more than 2**31.
        b = (first1 + tl.arange(0, TEXTS1)).to(tl.int64)[:, None, None]
        sums = tl.zeros((TEXTS1, TEXTS2), tl.float32)
        for i0 in range(0, L1, ROWS):
            i = i0 + m % ROWS
            at1 = text1 * L1 + i
            real1 = (text1 < B) & (i < L1)
            real1 = tl.load(mask1 + at1, mask=real1, other=0) != 0
            length1 = tl.load(scale1 + at1, mask=real1, other=0.0)
            most1 = tl.full((TEXTS1, ROWS, TEXTS2), -float("inf"), tl.float32)
            place1 = tl.zeros((TEXTS1, ROWS, TEXTS2), tl.int32)
            for j0 in range(0, L2, COLUMNS):
                j = j0 + n % COLUMNS
                at2 = text2 * L2 + j
                real2 = (text2 < C) & (j < L2)
                real2 = tl.load(mask2 + at2, mask=real2, other=0) != 0
                length2 = tl.load(scale2 + at2, mask=real2, other=0.0)
                S = tl.zeros((TEXTS1 * ROWS, TEXTS2 * COLUMNS), tl.float32)
                for k0 in range(0, h, WIDTH):
                    inside = k0 + k < h
                    left = tl.load(
                        x1 + at1.to(tl.int64)[:, None] * h + (k0 + k)[None, :],
                        mask=real1[:, None] & inside[None, :],
                        other=0.0,
                    )
                    right = tl.load(
                        x2 + at2.to(tl.int64)[None, :] * h + (k0 + k)[:, None],
                        mask=real2[None, :] & inside[:, None],
                        other=0.0,
                    )
                    S = tl.dot(left, right, S, input_precision=PRECISION)
                S = S * length1[:, None] * length2[None, :]
                # Padding must not beat a negative cosine.
                S = tl.where(real1[:, None] & real2[None, :], S, -float("inf"))
                S = tl.reshape(S, (TEXTS1, ROWS, TEXTS2, COLUMNS))
                most, place = tl.max(S, axis=3, return_indices=True)
                better = most > most1
                most1 = tl.where(better, most, most1)
                place1 = tl.where(better, place + j0, place1)
                if BOTH:
                    # All rows are in this block, so the maxima of its columns are final.
                    most, place = tl.max(S, axis=1, return_indices=True)
                    c = (first2 + tl.arange(0, TEXTS2)).to(tl.int64)[None, :, None]
                    j = j0 + tl.arange(0, COLUMNS)[None, None, :]
                    stored = (c < C) & (j < L2)
                    share = tl.load(mass2 + c * L2 + j, mask=stored, other=0.0)
                    sums += tl.sum(tl.where(most > -float("inf"), most, 0.0) * share, axis=2)
                    tl.store(
                        best2 + b * best2_row + c * best2_column + j,
                        place.to(best2.dtype.element_ty),
                        mask=(b < B) & stored,
                    )
            i = i0 + tl.arange(0, ROWS)[None, :, None]
            c = (first2 + tl.arange(0, TEXTS2)).to(tl.int64)[None, None, :]
            stored = (b < B) & (i < L1)
            share = tl.load(mass1 + b * L1 + i, mask=stored, other=0.0)
            sums += tl.sum(tl.where(most1 > -float("inf"), most1, 0.0) * share, axis=1)
            tl.store(
                best1 + b * best1_row + c * best1_column + i,
                place1.to(best1.dtype.element_ty),
                mask=stored & (c < C),
            )
        b = (first1 + tl.arange(0, TEXTS1)).to(tl.int64)[:, None]
        c = (first2 + tl.arange(0, TEXTS2)).to(tl.int64)[None, :]
        tl.store(
            similarity + b * similarity_row + c * similarity_column, sums, mask=(b < B) & (c < C)
        )

    @triton.jit
    def gradient(
        gradient,
        mass,
        x_other,
        scale_other,
        mask_other,
        mass_other,
        best,
        best_other,
        d,
        gradient_row,
        gradient_column,
        best_row,
        best_column,
        other_row,
        other_column,
        height,
        length,
        L,
        L_other,
        h,
        across,
        ROWS: tl.constexpr,
        COLUMNS: tl.constexpr,
        WIDTH: tl.constexpr,
        PRECISION: tl.constexpr,
    ):
        program = tl.program_id(0)
        m = program // across * ROWS + tl.arange(0, ROWS)
        k = program % across * WIDTH + tl.arange(0, WIDTH)
        t, i = (m // L).to(tl.int64)[:, None], (m % L)[:, None]
        here = (m < height)[:, None]
        share = tl.load(mass + m[:, None], mask=here, other=0.0)
        total = tl.zeros((ROWS, WIDTH), tl.float32)
        for n0 in range(0, length, COLUMNS):
            n = n0 + tl.arange(0, COLUMNS)
            s, j = (n // L_other).to(tl.int64)[None, :], (n % L_other)[None, :]
            there = (n < length)[None, :]
            both = here & there
            weight = tl.load(
                gradient + t * gradient_row + s * gradient_column, mask=both, other=0.0
            )
            to = tl.load(best + t * best_row + s * best_column + i, mask=both, other=0)
            back = tl.load(best_other + t * other_row + s * other_column + j, mask=both, other=0)
            share_other = tl.load(mass_other + n[None, :], mask=there, other=0.0)
            length_other = tl.load(scale_other + n, mask=n < length, other=0.0)
            plan = tl.where(to.to(tl.int32) == j, share, 0.0)
            plan += tl.where(back.to(tl.int32) == i, share_other, 0.0)
            x = tl.load(
                x_other + n.to(tl.int64)[:, None] * h + k[None, :],
                # Rows without a direction may hold anything.
                mask=(length_other != 0)[:, None] & (k < h)[None, :],
                other=0.0,
            )
            total = tl.dot(
                weight * plan * length_other[None, :],
                x.to(tl.float32),
                total,
                input_precision=PRECISION,
            )
        tl.store(d + m.to(tl.int64)[:, None] * h + k[None, :], total, mask=here & (k < h)[None, :])

    return Kernels(maxima, gradient)

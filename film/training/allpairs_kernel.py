"""Row and column maxima of the cosines of all text pairs in one fused Triton kernel.

`film.training.allpairs` has the definition, the torch implementation and the gradient.
"""

# Triton uses constants as types.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from functools import cache
from typing import Any

from film.training.rowpairs import Operand, place_type

TOKENS = 128
"""Tokens per side in a block of the product; a power of 2."""
FEWEST = 16
"""Minimum tokens per side of a Triton product."""
WIDTH = 32
"""Vector components per block of the product."""
WARPS, STAGES = 8, 4

# Triton looks up its language module among a kernel's globals; it is imported on first use.
tl: Any = None


def fused_maxima(side1: Operand, side2: Operand) -> tuple[Any, Any, Any]:
    """Compute weighted maxima of the cosines of all text pairs in both directions.

    Each block of cosines stays on chip until the maxima of both directions are found; only their
    positions are written to memory.

    Parameters
    ----------
    side1 : Operand
        Tokens in bfloat16 or float16, shape (B, L1, h), contiguous; scale in float32, bool mask
        and mass in float32, each (B, L1). Each text has a token, and padding has no mass.
    side2 : Operand
        The same for C texts of L2 tokens.

    Returns
    -------
    similarity : tensor of float32, shape (B, C)
        Products are summed in float32.
    best1 : tensor of int, shape (B, L1, C)
        Position of each token's largest cosine, the first on ties.
    best2 : tensor of int, shape (B, C, L2)
        The same for the other side.
    """
    import torch

    side1, side2 = (side._replace(mask=side.mask.byte()) for side in (side1, side2))
    (B, L1, _), (C, L2, _) = side1.x.shape, side2.x.shape
    similarity = side1.scale.new_empty(B, C)
    best1 = side1.x.new_empty(B, C, L1, dtype=place_type(L2))
    best2 = side1.x.new_empty(B, C, L2, dtype=place_type(L1))
    if L1 <= TOKENS:
        _launch(side1, side2, similarity, best1, best2, both=True)
    elif L2 <= TOKENS:
        _launch(side2, side1, similarity.T, best2.transpose(0, 1), best1.transpose(0, 1), both=True)
    else:
        # For long texts a maximum is found block by block, so each direction needs its own pass.
        backwards = torch.empty_like(similarity)
        _launch(side1, side2, similarity, best1, best2, both=False)
        _launch(side2, side1, backwards.T, best2.transpose(0, 1), best1.transpose(0, 1), both=False)
        similarity += backwards
    return similarity, best1.transpose(1, 2), best2


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
        _kernel()[(-(-B // texts1) * wide,)](
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
            WIDTH=WIDTH,
            BOTH=both,
            num_warps=WARPS,
            num_stages=STAGES,
        )


def _block(length: int) -> int:
    """Tokens of one text in a block: a power of 2."""
    return min(TOKENS, max(FEWEST, 1 << (length - 1).bit_length()))


@cache
def _kernel() -> Any:
    """Create the kernel on first use, because it needs Triton."""
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
    ):
        program = tl.program_id(0)
        first1, first2 = program // wide * TEXTS1, program % wide * TEXTS2
        m, n, k = tl.arange(0, TEXTS1 * ROWS), tl.arange(0, TEXTS2 * COLUMNS), tl.arange(0, WIDTH)
        text1, text2 = first1 + m // ROWS, first2 + n // COLUMNS
        # Token counts fit in 32 bits, but element offsets need 64: a batch may exceed 2**31.
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
                    S = tl.dot(left, right, S)
                S = S * length1[:, None] * length2[None, :]
                # Padding must not beat a negative cosine.
                S = tl.where(real1[:, None] & real2[None, :], S, -float("inf"))
                S = tl.reshape(S, (TEXTS1, ROWS, TEXTS2, COLUMNS))
                most, place = tl.max(S, axis=3, return_indices=True)
                better = most > most1
                most1 = tl.where(better, most, most1)
                place1 = tl.where(better, place + j0, place1)
                if BOTH:
                    # All rows are in this block, so the column maxima are final.
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

    return maxima

"""Unit rows, cosines and directions, exact or with proven error bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]

# Numbers in one float64 chunk of rows: 4 MiB, so that the few arrays at work stay in cache.
_CHUNK_NUMBERS = 2**19


def product_bound(d: int) -> float:
    """Return the largest error of a float32 product of two unit rows of length d."""
    share = (d + 4) * float(np.finfo(np.float32).eps) / 2
    return share / (1 - share)


def tie_width(d: int) -> float:
    """Return the largest float64 rounding difference of two equal cosines of length d."""
    return 2 * (float(np.ceil(np.log2(d))) + 3) * float(np.finfo(np.float64).eps)


def tree_sums(terms: Floats) -> Floats:
    """Sum each row by halves, in place; the order depends only on the row's length."""
    width = terms.shape[1]
    while width > 1:
        half = width // 2
        terms[:, :half] += terms[:, width - half : width]
        width -= half
    return terms[:, 0]


def exact_units(points: Floats, rows: Integers) -> NDArray[np.float64]:
    """Return rows as float64 unit vectors, each computed on its own; zero rows stay zero."""
    units = points[rows].astype(np.float64, copy=False)
    largest = np.maximum(units.max(axis=1), -units.min(axis=1))
    extreme = np.flatnonzero((largest > 2.0**400) | ((largest < 2.0**-400) & (largest > 0)))
    if len(extreme):
        # Squares would overflow or vanish; a power of two takes nothing from the other rows.
        units[extreme] = np.ldexp(units[extreme], -np.frexp(largest[extreme])[1][:, None])
    length = np.sqrt(tree_sums(units * units))
    units /= np.where(length > 0, length, 1.0)[:, None]
    return units


def exact_cosines(points: Floats, left: Integers, right: Integers) -> NDArray[np.float64]:
    """Return cosines of listed rows in float64; left may be one row for all."""
    cosines = np.empty(len(right))
    for part in chunks(len(right), points.shape[1]):
        terms = exact_units(points, right[part])
        terms *= exact_units(points, left if len(left) == 1 else left[part])
        cosines[part] = tree_sums(terms)
    return cosines


def directions(points: Floats, rows: Integers) -> Integers:
    """Map rows to the first row with the same float64 direction; zero rows and others to -1.

    After a collision of hashes, two copies are searched separately; this only costs time.
    """
    d = points.shape[1]
    odd = np.random.default_rng(0).integers(2**63, size=d, dtype=np.uint64) * 2 + 1
    hashes = np.empty(len(rows), dtype=np.uint64)
    zero = np.empty(len(rows), dtype=bool)
    for part in chunks(len(rows), d):
        units = exact_units(points, rows[part])
        units += 0.0  # makes −0 and 0 one
        zero[part] = ~units.any(axis=1)
        bits = units.view(np.uint64)
        # Few-bit floats such as 1.0 differ in high bits only, which a product would not spread.
        bits ^= bits >> np.uint64(32)
        bits *= odd
        hashes[part] = bits.sum(axis=1)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    model = rows[first[group]]
    later = np.flatnonzero(model != rows)
    for part in chunks(len(later), d):
        at = later[part]
        same = (exact_units(points, rows[at]) == exact_units(points, model[at])).all(axis=1)
        model[at[~same]] = rows[at[~same]]
    direction = np.full(len(points), -1)
    direction[rows] = np.where(zero, -1, model)
    return direction


def chunk_rows(d: int) -> int:
    """Return the number of rows of d numbers per chunk."""
    return max(1, _CHUNK_NUMBERS // max(1, d))


def chunks(n: int, d: int) -> Iterator[slice]:
    """Divide n rows of d numbers into slices of bounded size."""
    size = chunk_rows(d)
    return (slice(start, start + size) for start in range(0, n, size))

"""Upper bounds of many cosines from a few leading coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from film.pairs.neighbours.cosines import Floats, Integers, chunks, exact_units, product_bound

# Rows that the axes are taken from, and the part of the coordinates that leads: one in so many.
_AXES_ROWS = 20_000
_LEADING = 4


def principal_axes(points: Floats, rows: Integers) -> NDArray[np.float64]:
    """Principal axes of some of the rows as columns, by decreasing variance."""
    size = min(len(rows), _AXES_ROWS)
    sample = exact_units(points, rows[np.linspace(0, len(rows) - 1, size).astype(int)])
    return np.linalg.eigh(sample.T @ sample)[1][:, ::-1]


def turned_units(points: Floats, rows: Integers, axes: Floats) -> NDArray[np.float32]:
    """Rotate unit vectors of rows to the axes, in float32.

    They are rotated in float64, so they lose less than the two rounding units that `product_bound`
    allows.
    """
    turned = np.empty((len(rows), points.shape[1]), dtype=np.float32)
    for chunk in chunks(len(rows), points.shape[1]):
        turned[chunk] = exact_units(points, rows[chunk]) @ axes
    return turned


class Leads:
    """Bounds of the cosines with rows of known cells, from their first p coordinates.

    Let x = (x₁, x₂) and z = (z₁, z₂), with the first p coordinates and the others, and let c₂ be
    the direction of the centre's other coordinates. The components of x₂ and z₂ along c₂ are known;
    the Cauchy-Schwarz inequality bounds the product of the rest:

        x·z ≤ x₁·z₁ + (x₂·c₂)(z₂·c₂) + ‖x₂ − (x₂·c₂)c₂‖ ‖z₂ − (z₂·c₂)c₂‖,

    a product of rows of p + 2 numbers.
    """

    def __init__(self, rows: Floats, labels: Integers, centres: Floats) -> None:
        d = rows.shape[1]
        self.width = max(1, d // _LEADING)
        # Off by one bound: each cosine of parts, and what the bound multiplies; one is spared.
        self.slack = np.float32(5 * product_bound(d + 2))
        tails = centres[:, self.width :].astype(np.float64)
        lengths = np.linalg.norm(tails, axis=1, keepdims=True)
        self.tails = (tails / np.maximum(lengths, np.finfo(float).tiny)).astype(np.float32)
        self.leads = np.empty((len(rows), self.width + 2), dtype=np.float32)
        for chunk in chunks(len(rows), d):
            leads, others = self.leads[chunk], rows[chunk, self.width :]
            leads[:, : self.width] = rows[chunk, : self.width]
            along = np.einsum("ij,ij->i", others, self.tails[labels[chunk]])
            leads[:, self.width] = along
            leads[:, self.width + 1] = self.across(np.einsum("ij,ij->i", others, others), along)

    def across(self, squares: Floats, along: Floats) -> Floats:
        """Length of the component across the centre, rounded up enough for both."""
        return np.sqrt(np.maximum(squares - along * along, 0) + self.slack)

    def bounds_of(self, rows: Floats) -> LeadBounds:
        """Prepare unit rows as queries."""
        return LeadBounds(self, rows)


class LeadBounds:
    """Queries for the rows of `Leads`."""

    def __init__(self, leads: Leads, rows: Floats) -> None:
        self.parent = leads
        self.others = np.ascontiguousarray(rows[:, leads.width :])
        self.squares = np.einsum("ij,ij->i", self.others, self.others)
        self.leads = np.empty((len(rows), leads.width + 2), dtype=np.float32)
        self.leads[:, : leads.width] = rows[:, : leads.width]

    def along(self, cells: slice) -> Floats:
        """Coordinate of each query along the other coordinates of some centres."""
        return self.parent.tails[cells] @ self.others.T

    def most(self, places: slice, queries: Integers, along: Floats) -> Floats:
        """Bound the largest cosine of each query with some rows of one cell.

        ``along`` is the cell's row of `along`.
        """
        parent = self.parent
        taken, part = self.leads[queries], along[queries]
        taken[:, parent.width] = part
        taken[:, parent.width + 1] = parent.across(self.squares[queries], part)
        return (parent.leads[places] @ taken.T).max(axis=0) + parent.slack

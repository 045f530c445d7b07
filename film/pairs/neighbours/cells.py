"""Divide a corpus of directions into cells; bounds show when a whole cell is far from a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from film.corpus import learn_centres
from film.pairs.neighbours.cosines import Floats, exact_units, product_bound
from film.threads import one_blas_thread, usable_cores

_ROWS_PER_CELL = 128
_QUERIES_PER_CELL = 16
# Rows whose cosines with all centres are at work at once.
_BLOCK_ROWS = 1024

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Cells:
    """A partition of rows by their nearest centre.

    Attributes
    ----------
    centres : ndarray of float32, shape (K, d)
        Rows of unit length.
    label : ndarray of int64, shape (m,)
        The cell of each row.
    reach : ndarray of float64, shape (K,)
        A lower bound of the cosine between a centre and each row of its cell.
    """

    centres: NDArray[np.float32]
    label: NDArray[np.int64]
    reach: NDArray[np.float64]

    def queries(self, rows: Floats, thresholds: Floats) -> NDArray[np.float32]:
        """Join unit rows and their threshold cosines for `may_hold`."""
        width = rows.shape[1]
        queries = np.empty((len(rows), width + 2), dtype=np.float32)
        cosine = np.clip(thresholds, 0.0, 1.0)
        queries[:, :width] = rows
        # Past a right angle the cosine of ρ + α no longer orders them.
        queries[:, width] = np.where(thresholds < 0, -9.0, cosine)
        queries[:, width + 1] = np.where(thresholds < 0, 9.0, np.sqrt(1 - cosine**2))
        return queries

    def may_hold(self, queries: Floats, cells: slice) -> NDArray[np.bool_]:
        """Return which cells may contain a point closer to a row than its threshold.

        Let θ be the angle between x and a centre c, ρ the largest angle between c and a point z of
        its cell, and t = cos α the threshold. By the triangle inequality of angles, z is closer to
        x than t only if θ < ρ + α, that is, x·c > t cos ρ − sin α sin ρ. One product of rows of
        d + 2 numbers computes both sides.
        """
        width = queries.shape[1]
        reach = self.reach[cells]
        left = np.empty((len(reach), width), dtype=np.float32)
        left[:, : width - 2] = self.centres[cells]
        left[:, width - 2] = -np.clip(reach, 0.0, 1.0)
        left[:, width - 1] = np.sqrt(1 - np.clip(reach, 0.0, 1.0) ** 2)
        # Terms of the product sum to 3 at most, so that it is off by at most three bounds; the
        # cosine with the centre by one; one is left for what float64 rounds.
        held = left @ queries.T >= np.float32(-5 * product_bound(width))
        held[reach < 0] = True
        return held


def part(rows: Floats, n_queries: int) -> Cells:
    """Divide rows of unit length into cells; more queries make more cells worthwhile.

    The centres decide only how much of the corpus can be skipped.
    """
    n_cells = min(len(rows) // _ROWS_PER_CELL, n_queries // _QUERIES_PER_CELL)
    if n_cells < 2:
        return Cells(
            np.eye(1, rows.shape[1], dtype=np.float32),
            np.zeros(len(rows), dtype=np.int64),
            np.full(1, -1.0),
        )
    learned = learn_centres(np.asarray(rows, dtype=np.float32), n_cells, seed=0)
    centres = exact_units(learned, np.arange(n_cells)).astype(np.float32)
    label, cosine = nearest(rows, centres)
    reach = np.full(n_cells, np.inf)
    np.minimum.at(reach, label, cosine)
    return Cells(centres, label, reach - product_bound(rows.shape[1]))


def nearest(rows: Floats, centres: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return each row's nearest centre, and the float32 cosine with it."""
    label = np.empty(len(rows), dtype=np.int64)
    cosine = np.empty(len(rows), dtype=np.float32)

    def place(start: int) -> None:
        block = slice(start, start + _BLOCK_ROWS)
        products = rows[block] @ centres.T
        label[block] = products.argmax(axis=1)
        cosine[block] = np.take_along_axis(products, label[block, None], axis=1)[:, 0]

    threaded(place, range(0, len(rows), _BLOCK_ROWS))
    return label, cosine


def threaded(work: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """Map over items with one thread per core, each with single-threaded BLAS."""
    with one_blas_thread(), ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(work, items))

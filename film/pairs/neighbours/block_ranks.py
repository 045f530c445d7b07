"""Exact neighbour ranks in a corpus of row blocks on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.checks import check_at_least_one, checked_integers
from film.corpus import RowBlocks, sum_blocks
from film.pairs.ranks import INFINITE_RANK, neighbour_ranks

# Counts are small, and the search takes long.
_MOST_PARTS = 256


def block_ranks(
    points: RowBlocks,
    pairs: ArrayLike,
    *,
    k_max: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> NDArray[np.int64]:
    """Count the ranks of `neighbour_ranks` in a corpus of blocks on disk.

    A rank is a number of points, so it is the sum of the numbers in all blocks. Each comparison
    depends only on three rows, not on their blocks, so the ranks equal those in memory exactly.

    Parameters
    ----------
    points : RowBlocks
        Blocks of dense rows.
    pairs : array-like of int, shape (n_pairs, 2)
        Row numbers of x and x′.
    k_max : int, optional
        Higher ranks are returned as k_max.
    n_jobs, progress
        As for `film.corpus.sum_blocks`.

    Returns
    -------
    ranks : ndarray of int64, shape (n_pairs, 2)
        Equal to ``neighbour_ranks(points.to_memory(), pairs)``.

    Raises
    ------
    TypeError, ValueError
        As in `neighbour_ranks`.

    Notes
    -----
    Each process needs memory for the different rows of the pairs and for one block.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from film.corpus import write_blocks
    >>> from film.pairs import block_ranks
    >>> angles = np.deg2rad([0, 10, 30, 35, 90])
    >>> points = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     block_ranks(write_blocks(folder, [points[:3], points[3:]]), [[0, 2], [2, 3]])
    array([[1, 2],
           [0, 0]])
    """
    listed = checked_integers("pairs", pairs, width=2, below=points.shape[0])
    if k_max is not None:
        check_at_least_one("k_max", k_max)
    if len(listed) == 0:
        return np.zeros((0, 2), dtype=np.int64)
    asked, position = np.unique(listed, return_inverse=True)
    position = position.reshape(listed.shape)
    rows = points.rows(asked)
    work = partial(_ranks_in_block, rows, asked, position, k_max)
    ranks = sum_blocks(work, points, n_parts=_MOST_PARTS, n_jobs=n_jobs, progress=progress)
    known = np.any(rows != 0, axis=1)[position].all(axis=1)
    ranks[~known & (listed[:, 0] != listed[:, 1])] = INFINITE_RANK
    return ranks if k_max is None else np.minimum(ranks, k_max)


def _ranks_in_block(
    rows: NDArray[np.floating[Any]],
    asked: NDArray[np.int64],
    position: NDArray[np.intp],
    k_max: int | None,
    block: np.ndarray,
    start: int,
) -> NDArray[np.int64]:
    n = len(block)
    inside = (asked >= start) & (asked < start + n)
    # A row of the block is left out by its index there, so it must not come a second time.
    place = np.where(inside, asked - start, n + np.cumsum(~inside) - 1)
    points = np.concatenate([block, rows[~inside]])
    if not block.any():
        return np.zeros(position.shape, dtype=np.int64)
    ranks = neighbour_ranks(points, place[position], corpus=np.arange(n), k_max=k_max)
    ranks[ranks == INFINITE_RANK] = 0
    return ranks

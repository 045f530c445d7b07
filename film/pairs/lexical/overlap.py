"""Words that two texts share, and how rare they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

_BLOCK_PAIRS = 2**14
"""Pairs whose rows are in memory at once: some 100 MB."""

OVERLAP_NAMES = (
    "words shared",
    "words in the shorter",
    "words in the longer",
    "share of all words",
    "share of the shorter's words",
    "rarity shared",
    "rarity unshared, lesser side",
    "rarity unshared, greater side",
    "share of all rarity",
    "rarest shared word",
    "rarest unshared word, lesser side",
    "rarest unshared word, greater side",
)


def row_cosines(first: Any, second: Any) -> np.ndarray:
    """Return the cosine of each row of one matrix with the same row of another.

    Parameters
    ----------
    first, second : sparse matrix or ndarray of shape (n, D)
        Rows of any length.

    Returns
    -------
    cosines : ndarray of float64, shape (n,)
        0 if a row is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import row_cosines
    >>> row_cosines(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([1., 0.])
    """
    return _cosines(_row_sums(first, second), _row_sums(first, first), _row_sums(second, second))


def pair_cosines(rows: Any, pairs: np.ndarray) -> np.ndarray:
    """Return the cosine of the two rows of each pair, to the bit equal to `row_cosines`.

    Parameters
    ----------
    rows : sparse matrix or ndarray of shape (n, D)
        Rows of any length.
    pairs : ndarray of int, shape (m, 2)
        Numbers of rows.

    Returns
    -------
    cosines : ndarray of float64, shape (m,)
        0 where a row is zero.

    Notes
    -----
    The norm of each row is computed once. The time is O(nnz) of the rows of a pair.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import pair_cosines
    >>> pair_cosines(np.array([[3.0, 4.0], [0.0, 0.0], [4.0, 3.0]]), np.array([[0, 1], [0, 2]]))
    array([0.  , 0.96])
    """
    squares = _row_sums(rows, rows)
    dot = np.empty(len(pairs))
    for block, first, second in _beside(rows, pairs):
        dot[block] = _row_sums(first, second)
    return _cosines(dot, squares[pairs[:, 0]], squares[pairs[:, 1]])


def _beside(rows: Any, pairs: np.ndarray) -> Iterator[tuple[slice, Any, Any]]:
    """Yield block after block of pairs, with the rows of each side."""
    for start in range(0, len(pairs), _BLOCK_PAIRS):
        block = slice(start, start + _BLOCK_PAIRS)
        first, second = pairs[block].T
        yield block, rows[first], rows[second]


def _cosines(dot: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    length = np.sqrt(first * second)
    return np.divide(dot, length, out=np.zeros(len(dot)), where=length > 0)


def _row_sums(first: Any, second: Any) -> np.ndarray:
    if sp.issparse(first):
        return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("nd,nd->n", first, second, dtype=np.float64)


def overlap_features(rows: Any, pairs: np.ndarray, rarity: np.ndarray) -> np.ndarray:
    """Count shared and unshared words of the two texts of each pair, with and without rarity.

    Parameters
    ----------
    rows : sparse matrix of shape (n, D)
        Which words occur in each text: entries that are not 0.
    pairs : ndarray of int, shape (m, 2)
        Numbers of rows.
    rarity : ndarray of shape (D,)
        Weight of each word, such as its inverse document frequency.

    Returns
    -------
    features : ndarray of float64, shape (m, 12)
        Columns `OVERLAP_NAMES`. Swapping the texts changes nothing. Shares of nothing are 0.

    Notes
    -----
    The time is O(nnz) of the rows of a pair.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.pairs import OVERLAP_NAMES, overlap_features
    >>> rows = sp.csr_array([[1, 1, 0], [0, 1, 1]])
    >>> found = overlap_features(rows, np.array([[0, 1]]), np.array([1.0, 2.0, 5.0]))
    >>> dict(zip(OVERLAP_NAMES, found[0].tolist()))["rarest unshared word, greater side"]
    5.0
    """
    occurs = _occurs(rows)
    weight = sp.diags_array(np.asarray(rarity, dtype=np.float64), format="csr")
    features = np.empty((len(pairs), len(OVERLAP_NAMES)))
    for block, x, z in _beside(occurs, pairs):
        features[block] = _overlaps(x, z, weight)
    return features


def _overlaps(x: sp.csr_array, z: sp.csr_array, weight: Any) -> np.ndarray:
    both = x.multiply(z).tocsr()
    only_x, only_z, shared = (x - both) @ weight, (z - both) @ weight, both @ weight
    n_x, n_z, n_both = (np.asarray(m.sum(axis=1)).ravel() for m in (x, z, both))
    w_x, w_z, w_both = (np.asarray(m.sum(axis=1)).ravel() for m in (only_x, only_z, shared))
    rare_x, rare_z, rare_both = (_row_max(m) for m in (only_x, only_z, shared))
    shorter, longer = np.minimum(n_x, n_z), np.maximum(n_x, n_z)
    return np.column_stack(
        [
            n_both,
            shorter,
            longer,
            _share(n_both, n_x + n_z - n_both),
            _share(n_both, shorter),
            w_both,
            np.minimum(w_x, w_z),
            np.maximum(w_x, w_z),
            _share(w_both, w_x + w_z + w_both),
            rare_both,
            np.minimum(rare_x, rare_z),
            np.maximum(rare_x, rare_z),
        ]
    )


def _occurs(matrix: Any) -> sp.csr_array:
    found = sp.csr_array(matrix, dtype=np.float64, copy=True)
    found.eliminate_zeros()
    found.data[:] = 1.0
    return found


def _row_max(matrix: Any) -> np.ndarray:
    if 0 in matrix.shape:
        return np.zeros(matrix.shape[0])
    return matrix.max(axis=1).toarray().ravel()


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)

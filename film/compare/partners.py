"""Whether a record is the best partner of another among all known records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["partner_features"]

_BLOCK_CELLS = 2**22
"""Similarities that are computed at once."""


def partner_features(
    points: Any,
    pairs: NDArray[np.intp],
    known: Any,
    names: NDArray[np.int64],
    known_names: NDArray[np.int64],
    *,
    one_table: bool = False,
) -> NDArray[np.float64]:
    """Compare a pair with all pairs of its first record and a known second record.

    Parameters
    ----------
    points : sparse matrix, shape (n_records, n_terms)
        Unit vectors of the records.
    pairs : ndarray of int, shape (n_pairs, 2)
        Rows of ``points``.
    known : sparse matrix, shape (n_known, n_terms)
        Unit vectors of the known records that could be the second one.
    names : ndarray of int, shape (n_records,)
        Number that equal records share, also with ``known_names``, (n_known,).
    one_table : bool, default=False
        Whether the first record may be a known one too, which is then none of the others.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 2)
        log(1 + number of other known records closer to the first than the second is), and the
        margin: the cosine of the pair minus that of the closest other known record.

    Notes
    -----
    O(distinct first records · n_known) products of sparse vectors. No label is used.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from film.compare import partner_features
    >>> points = sp.csr_array([[1.0, 0.0], [0.8, 0.6], [1.0, 0.0]])
    >>> names = np.array([0, 1, 2])
    >>> pairs = np.array([[0, 1], [0, 2]])
    >>> partner_features(points, pairs, points[[1, 2]], names, names[1:]).round(2).tolist()
    [[0.69, -0.2], [0.0, 0.2]]
    """
    found = np.empty((len(pairs), 2))
    cosines = np.asarray(points[pairs[:, 0]].multiply(points[pairs[:, 1]]).sum(axis=1)).ravel()
    place = {name: row for row, name in enumerate(known_names.tolist())}
    own = np.array([place.get(name, -1) for name in names[pairs].ravel().tolist()], dtype=np.intp)
    own = own.reshape(pairs.shape)[:, 0 if one_table else 1 :]
    asked, query = np.unique(pairs[:, 0], return_inverse=True)
    order = np.argsort(query, kind="stable")
    step = max(1, _BLOCK_CELLS // max(1, known.shape[0]))
    transposed = known.T.tocsc()
    for start in range(0, len(asked), step):
        rows = order[slice(*np.searchsorted(query[order], [start, start + step]))]
        near = (points[asked[start : start + step]] @ transposed).toarray()
        for some in np.array_split(rows, max(1, len(rows) // max(1, step))):
            others = near[query[some] - start]
            for side in own[some].T:
                is_known = np.flatnonzero(side >= 0)
                others[is_known, side[is_known]] = -1.0
            closer = (others > cosines[some, None] + 1e-9).sum(axis=1)
            found[some, 0] = np.log1p(closer)
            found[some, 1] = cosines[some] - others.max(axis=1, initial=0.0)
    return found

"""One chunk that stands for two: what mutual maxima leave over joins another chunk's partner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.tokens.chunks import checked_tokens, unit_rows


def joined_chunks(
    x1: ArrayLike,
    x2: ArrayLike,
    membership1: ArrayLike,
    membership2: ArrayLike,
    scores: ArrayLike,
    aligned: Sequence[tuple[int, int]],
    above: float = 0.0,
    gain: float = 0.5,
) -> list[tuple[int, int]]:
    """Align what is left over with a chunk that says it and more: one chunk for two.

    "Terminals 1 and 6" stands for "terminal 1" and for "to terminal 6", but `mutual_maxima` gives
    it one partner. With s_kl the cosine of tokens k and l, a chunk j without partner joins the
    chunk i that scores highest with it, where i has a partner p, ``C_ij > above`` and j says some
    of i better than p does: ``Σ_{k∈i} max(0, max_{l∈j} s_kl − max_{l∈p} s_kl) > gain``. Both
    texts are treated alike.

    Parameters
    ----------
    x1, x2 : array-like of float, shapes (n_tokens1, h) and (n_tokens2, h)
        Contextual token vectors of both texts.
    membership1, membership2 : array-like of bool, shapes (c1, n_tokens1) and (c2, n_tokens2)
        From `chunk_membership`.
    scores : array-like of float, shape (c1, c2)
        Such as those of `chunk_cosines` or `with_neighbours`.
    aligned : sequence of (int, int)
        Partners, no chunk twice, such as those of `mutual_maxima`.
    above : float, default=0.0
        Limit of scores; a score at it joins nothing.
    gain : float, default=0.5
        How much has to be said better, in tokens: 1 is a token that the partner says nothing of
        (cosine 0) and the chunk left over repeats (cosine 1).

    Returns
    -------
    joined : list of (int, int)
        Pairs of a row and a column, none of them in `aligned`, in order. A chunk left over is in
        at most one of them. Of equal scores the first counts.

    Raises
    ------
    ValueError
        If shapes do not fit, a vector or a score is not finite, or `aligned` names a chunk that is
        not there or one chunk twice.

    Notes
    -----
    Ours. O(h n_tokens1 n_tokens2) beside the chunks.

    Examples
    --------
    The first chunk has two tokens; each of the second text says one of them.

    >>> import numpy as np
    >>> from film.tokens import chunk_cosines, mutual_maxima
    >>> x1, x2 = np.eye(2), np.eye(2)
    >>> whole, parts = [[True, True]], [[True, False], [False, True]]
    >>> scores = chunk_cosines(x1, x2, whole, parts)
    >>> joined_chunks(x1, x2, whole, parts, scores, mutual_maxima(scores))
    [(0, 1)]
    """
    vectors1, members1 = checked_tokens("1", x1, membership1)
    vectors2, members2 = checked_tokens("2", x2, membership2)
    if vectors1.shape[1] != vectors2.shape[1]:
        raise ValueError(
            f"x1 and x2 must be of one width, got {vectors1.shape[1]} and {vectors2.shape[1]}"
        )
    table, shape = np.asarray(scores, dtype=np.float64), (len(members1), len(members2))
    if table.shape != shape or not np.isfinite(table).all():
        raise ValueError(
            f"scores must be finite and of shape {shape}, the chunks of membership1 by those of "
            f"membership2, got shape {table.shape}"
        )
    rows, columns = [i for i, _ in aligned], [j for _, j in aligned]
    for places, size in ((rows, shape[0]), (columns, shape[1])):
        if len(set(places)) < len(places) or any(not 0 <= place < size for place in places):
            raise ValueError(
                f"aligned must name chunks of {shape[0]} and {shape[1]}, none twice, got "
                f"{list(aligned)}"
            )
    cosines = unit_rows(vectors1) @ unit_rows(vectors2).T
    partners = dict(aligned)
    turned = {j: i for i, j in partners.items()}
    found = _joins(cosines, members1, members2, table, partners, above, gain)
    found_turned = _joins(cosines.T, members2, members1, table.T, turned, above, gain)
    return sorted([*found, *((i, j) for j, i in found_turned)])


def _joins(
    cosines: NDArray[np.float64],
    members1: NDArray[np.bool_],
    members2: NDArray[np.bool_],
    scores: NDArray[np.float64],
    partners: dict[int, int],
    above: float,
    gain: float,
) -> list[tuple[int, int]]:
    """Pairs of an aligned row and a column left over that says some of the row better."""
    joined = []
    for column in sorted(set(range(len(members2))) - set(partners.values())):
        row = int(scores[:, column].argmax()) if len(scores) else -1
        if row not in partners or not scores[row, column] > above:
            continue
        # A chunk without tokens says as little of any token as can be.
        said, said_by_partner = (
            cosines[np.ix_(members1[row], members2[chunk])].max(axis=1, initial=-1.0)
            for chunk in (column, partners[row])
        )
        if np.maximum(said - said_by_partner, 0.0).sum() > gain:
            joined.append((row, column))
    return joined

"""Many-to-one alignment: unaligned chunks join the partner of another chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.tokens.chunks import unit_rows


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
    """Align unaligned chunks with a chunk that already has a partner.

    "Terminals 1 and 6" corresponds to "terminal 1" and to "to terminal 6", but `mutual_maxima`
    allows only one partner. With s_kl the cosine of tokens k and l, an unaligned chunk j joins the
    chunk i that scores highest with it if i has a partner p, ``C_ij > above`` and j covers part of
    i better than p does: ``Σ_{k∈i} max(0, max_{l∈j} s_kl − max_{l∈p} s_kl) > gain``. The rule is
    symmetric in the two texts.

    Parameters
    ----------
    x1, x2 : array-like of float, shapes (n_tokens1, h) and (n_tokens2, h)
        Contextual token vectors of both texts.
    membership1, membership2 : array-like of bool, shapes (c1, n_tokens1) and (c2, n_tokens2)
        From `chunk_membership`.
    scores : array-like of float, shape (c1, c2)
        Chunk scores, such as those of `chunk_cosines` or `with_neighbours`.
    aligned : sequence of (int, int)
        Partners, each chunk at most once, such as those of `mutual_maxima`.
    above : float, default=0.0
        Scores must exceed this limit.
    gain : float, default=0.5
        Minimum improvement, in tokens: a token that the partner does not cover (cosine 0) and the
        unaligned chunk repeats (cosine 1) counts 1.

    Returns
    -------
    joined : list of (int, int)
        New pairs of a row and a column, in order. Each unaligned chunk is in at most one pair. Ties
        go to the first chunk.

    Notes
    -----
    This rule is not from a paper. O(h n_tokens1 n_tokens2), plus the chunks.

    Examples
    --------
    The first chunk has two tokens; each chunk of the second text covers one.

    >>> import numpy as np
    >>> from film.tokens import chunk_cosines, mutual_maxima
    >>> x1, x2 = np.eye(2), np.eye(2)
    >>> whole, parts = [[True, True]], [[True, False], [False, True]]
    >>> scores = chunk_cosines(x1, x2, whole, parts)
    >>> joined_chunks(x1, x2, whole, parts, scores, mutual_maxima(scores))
    [(0, 1)]
    """
    vectors1, vectors2, table = (np.asarray(each, dtype=np.float64) for each in (x1, x2, scores))
    members1, members2 = np.asarray(membership1, dtype=bool), np.asarray(membership2, dtype=bool)
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
    """Pair aligned rows with unaligned columns that cover part of the row better."""
    joined = []
    for column in sorted(set(range(len(members2))) - set(partners.values())):
        row = int(scores[:, column].argmax()) if len(scores) else -1
        if row not in partners or not scores[row, column] > above:
            continue
        # A chunk without tokens has the lowest possible cosines.
        said, said_by_partner = (
            cosines[np.ix_(members1[row], members2[chunk])].max(axis=1, initial=-1.0)
            for chunk in (column, partners[row])
        )
        if np.maximum(said - said_by_partner, 0.0).sum() > gain:
            joined.append((row, column))
    return joined

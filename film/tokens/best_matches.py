"""Token triplets derived from text triplets by best matches."""

from __future__ import annotations

from typing import Any

import numpy as np

from film.tokens.ragged import Ragged


def token_triplets(tokens: Ragged, triplets: Any) -> np.ndarray:
    """Derive triplets of tokens from triplets of texts.

    Each token i of the anchor text is combined with its best match by cosine in the similar text,
    j = argmax_j cos(x_i, x_j), and its best match k in the dissimilar text, the matches that RCMD
    uses. Ties go to the first token.

    Parameters
    ----------
    tokens : Ragged
        Token vectors of all texts, N in total. A zero vector has cosine 0 with every other.
    triplets : array-like of int, shape (T, 3)
        Text numbers (anchor, similar, dissimilar), as returned by
        `film.metric.triplets_from_pairs`.

    Returns
    -------
    found : ndarray of intp, shape (M, 3)
        Rows of ``tokens.values``, one triplet per token of each anchor, in order. The best match in
        a text without tokens, such as the null text of `triplets_from_pairs`, is N: the caller
        appends a row of zeros to the token vectors. Triplets whose similar and dissimilar texts
        are both empty are skipped.

    Notes
    -----
    Each pair of texts is compared once: O(L² h) for texts of L tokens and width h.

    Examples
    --------
    >>> import numpy as np
    >>> from film.tokens import Ragged, token_triplets
    >>> x, y = np.eye(2)
    >>> token_triplets(Ragged.from_rows([[x, y], [y], [y, x]]), [[0, 1, 2]])
    array([[0, 2, 4],
           [1, 2, 3]])
    """
    rows = np.asarray(triplets, dtype=np.intp).reshape(-1, 3)
    lengths = tokens.lengths
    rows = rows[(lengths[rows[:, 1]] > 0) | (lengths[rows[:, 2]] > 0)]
    met, which = np.unique(
        np.vstack([rows[:, [0, 1]], rows[:, [0, 2]]]), axis=0, return_inverse=True
    )
    matches, begins = _best_matches(tokens, met)
    counts = lengths[rows[:, 0]]
    first = np.repeat(np.cumsum(counts) - counts, counts)
    offset = np.arange(counts.sum()) - first
    anchors = np.repeat(tokens.starts[rows[:, 0]], counts) + offset
    similar, dissimilar = (
        matches[np.repeat(begins[side], counts) + offset] for side in which.reshape(2, -1)
    )
    return np.column_stack([anchors, similar, dissimilar]).astype(np.intp)


def _best_matches(tokens: Ragged, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of each token's best match, and the offset of each pair."""
    values, starts = tokens.values, tokens.starts
    lengths = np.sqrt(np.einsum("nh,nh->n", values, values, dtype=np.float64))
    # The anchor token's length does not change the argmax, so only the other side is normalised.
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    counts = tokens.lengths[pairs[:, 0]]
    begins = np.cumsum(counts) - counts
    found = np.full(counts.sum(), len(values), dtype=np.intp)
    for (one, other), begin in zip(pairs.tolist(), begins.tolist(), strict=True):
        start, stop = starts[one], starts[one + 1]
        low, high = starts[other], starts[other + 1]
        if low == high:
            continue
        scores = (values[start:stop] @ values[low:high].T) * inverse[low:high]
        found[begin : begin + stop - start] = low + scores.argmax(axis=1)
    return found, begins

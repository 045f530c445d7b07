"""Triplets of tokens from triplets of texts, by what each token matches best."""

from __future__ import annotations

from typing import Any

import numpy as np

from film.tokens.ragged import Ragged


def token_triplets(tokens: Ragged, triplets: Any) -> np.ndarray:
    """Triplets of tokens that follow from triplets of texts.

    Each token i of an anchor text meets its best match by cosine in the similar text,
    j = argmax_j cos(x_i, x_j), and its best match k in the dissimilar one: what RCMD matches it
    with. Of equal cosines the first counts.

    Parameters
    ----------
    tokens : Ragged
        Vectors of the N tokens of all texts. A zero vector has cosine 0 with all others.
    triplets : array-like of int, shape (T, 3)
        Numbers of texts: (anchor, similar, dissimilar), as `film.metric.triplets_from_pairs` mines
        them.

    Returns
    -------
    found : ndarray of intp, shape (M, 3)
        Rows of ``tokens.values``: for each triplet of texts as many as its anchor has tokens, in
        their order. N, a row of zeros that the caller puts after all tokens, stands for the best
        match in a text without any token, such as the null text of `triplets_from_pairs`. Triplets
        whose similar and dissimilar texts are both empty are left out.

    Raises
    ------
    ValueError
        If a number is none of a text.

    Notes
    -----
    Each pair of texts is compared once: O(L² h) for texts of L tokens of width h.

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
    if rows.size and not 0 <= rows.min() <= rows.max() < len(tokens):
        raise ValueError(
            f"triplets name texts {rows.min()} … {rows.max()}, of {len(tokens)}; numbers must lie "
            f"between 0 and {len(tokens) - 1}"
        )
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
    """Row of the best match of each token of first texts in second ones, and where each begins."""
    values, starts = tokens.values, tokens.starts
    lengths = np.sqrt(np.einsum("nh,nh->n", values, values, dtype=np.float64))
    # The scale of the anchor's token moves no argmax, so that only the other side needs a length.
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

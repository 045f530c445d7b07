"""Words of two texts that can be pointed at, and what they contribute to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def shown_words(explanation: Any) -> dict[str, Any]:
    """Give what is shown of an `Explanation`, by stretches of its texts instead of tokens.

    Parameters
    ----------
    explanation : Explanation
        What is shown.

    Returns
    -------
    shown : dict
        ``words1`` and ``words2``, first character of each stretch and the one after its last, in
        order and without overlap; ``sums1`` and ``sums2``, what each adds, contributions that are
        not kept included; ``links``, the contributions that are kept as k, l, value, k, l, value
        and so on; ``hidden``, what tokens that stand for no characters add, or None if there is
        none; and the texts, title, similarity and truncation. Numbers have six decimals.
    """
    spans1, of_token1 = _stretches(explanation.offsets1, explanation.special1)
    spans2, of_token2 = _stretches(explanation.offsets2, explanation.special2)
    entries = sp.coo_array(explanation.contributions)
    rows, columns = of_token1[entries.row], of_token2[entries.col]
    shown = (rows >= 0) & (columns >= 0) & (entries.data != 0)
    places = (rows[shown], columns[shown])
    matrix = sp.coo_array((entries.data[shown], places), shape=(len(spans1), len(spans2))).tocsr()
    if explanation.n_rest:
        sums1 = np.bincount(of_token1 + 1, explanation.totals1, len(spans1) + 1)[1:]
        sums2 = np.bincount(of_token2 + 1, explanation.totals2, len(spans2) + 1)[1:]
    else:
        sums1, sums2 = (np.asarray(matrix.sum(axis=axis), np.float64).ravel() for axis in (1, 0))
    kept = matrix.tocoo()
    links = zip(kept.row.tolist(), kept.col.tolist(), np.round(kept.data, 6).tolist(), strict=True)
    hides = (of_token1 < 0).any() or (of_token2 < 0).any()
    return {
        "text1": explanation.text1,
        "text2": explanation.text2,
        "title": explanation.title,
        "similarity": explanation.similarity,
        "words1": spans1,
        "words2": spans2,
        "sums1": np.round(sums1, 6).tolist(),
        "sums2": np.round(sums2, 6).tolist(),
        "links": [number for link in links if link[2] for number in link],
        "hidden": explanation.similarity - float(sums1.sum()) if hides else None,
        "truncation": explanation.truncation,
    }


def _stretches(
    offsets: NDArray[np.int64], special: NDArray[np.bool_]
) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Stretches of text, and the one of each token, -1 for tokens without characters.

    Byte-level tokenisers cut one character into several tokens with the same offsets; tokens that
    overlap share a stretch.
    """
    of_token = np.full(len(offsets), -1, dtype=np.int64)
    spans: list[tuple[int, int]] = []
    visible = np.flatnonzero(~special & (offsets[:, 0] < offsets[:, 1]))
    for token in visible[np.lexsort(offsets[visible].T[::-1])].tolist():
        start, end = offsets[token].tolist()
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
        of_token[token] = len(spans) - 1
    return spans, of_token

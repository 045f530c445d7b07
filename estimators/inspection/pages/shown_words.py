"""Words of two texts and their contributions, as data for the displays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def shown_words(explanation: Any) -> dict[str, Any]:
    """Return the display data of an `Explanation`, by spans of text instead of tokens.

    Parameters
    ----------
    explanation : Explanation
        The explanation.

    Returns
    -------
    shown : dict
        ``words1`` and ``words2``: positions of the first character of each span and of the
        character after the last, in order, without overlap. ``sums1`` and ``sums2``: contribution
        of each span, including contributions that are left out. ``links``: the contributions that
        are kept, as k, l, value, k, l, value and so on. ``hidden``: contribution of the tokens
        without characters, or None without such tokens. Also the texts, title, similarity and
        truncation. Numbers are rounded to six decimals.
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
    """Return spans of text, and the span of each token (-1 for tokens without characters).

    Byte-level tokenisers split one character into several tokens with the same offsets;
    overlapping tokens share a span.
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

"""Stretches of both texts that can be pointed at, and what they contribute to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True)
class ShownWords:
    """An `Explanation` by stretches of text instead of tokens.

    Attributes
    ----------
    spans1, spans2 : list of (int, int)
        First character of each stretch and the one after its last, in order, without overlap.
    entries : coo_array of float, shape (len(spans1), len(spans2))
        Contributions other than 0 that are kept.
    sums1, sums2 : ndarray of float
        What each stretch adds over all stretches of the other text, contributions that are not kept
        included.
    hidden : float
        What tokens that stand for no characters add.
    n_hidden : int
        Number of such tokens.
    """

    spans1: list[tuple[int, int]]
    spans2: list[tuple[int, int]]
    entries: Any
    sums1: NDArray[np.float64]
    sums2: NDArray[np.float64]
    hidden: float
    n_hidden: int


def shown_words(explanation: Any) -> ShownWords:
    """Gather the tokens of an `Explanation` into stretches of its texts."""
    spans1, of_token1 = _stretches(explanation.offsets1, explanation.special1)
    spans2, of_token2 = _stretches(explanation.offsets2, explanation.special2)
    entries = sp.coo_array(explanation.contributions)
    rows, columns = of_token1[entries.row], of_token2[entries.col]
    shown = (rows >= 0) & (columns >= 0) & (entries.data != 0)
    matrix = sp.coo_array(
        (entries.data[shown], (rows[shown], columns[shown])), shape=(len(spans1), len(spans2))
    ).tocsr()
    if explanation.n_rest:
        sums1 = _sums(explanation.totals1, of_token1, len(spans1))
        sums2 = _sums(explanation.totals2, of_token2, len(spans2))
    else:
        sums1, sums2 = (np.asarray(matrix.sum(axis=axis), np.float64).ravel() for axis in (1, 0))
    return ShownWords(
        spans1=spans1,
        spans2=spans2,
        entries=matrix.tocoo(),
        sums1=sums1,
        sums2=sums2,
        hidden=explanation.similarity - float(sums1.sum()),
        n_hidden=int((of_token1 < 0).sum() + (of_token2 < 0).sum()),
    )


def _sums(totals: NDArray[np.float64], of_token: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    sums = np.zeros(n)
    np.add.at(sums, of_token[of_token >= 0], totals[of_token >= 0])
    return sums


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

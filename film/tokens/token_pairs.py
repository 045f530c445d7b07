"""Pairs of texts as weighted token vectors: normalised and iterated pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.threads import one_blas_thread
from film.tokens.ragged import Ragged

Floats = NDArray[Any]
Advance = Callable[[int], Any]

ROWS = 1024
"""Token vectors converted to float64 at a time while computing norms."""
TOLD = 1024
"""Pairs between two calls of ``advance``."""
NOT_FINITE = "holds NaN, infinity or numbers whose squares overflow: encode that text again."


class Rows(NamedTuple):
    """Token vectors of one pair, and optional weights.

    Weights are scaled to a maximum of 1 per text, so equal weights are ones and sums do not
    overflow.
    """

    x1: Floats
    x2: Floats
    weights1: NDArray[np.float64] | None
    weights2: NDArray[np.float64] | None


def checked_rows(
    x1: ArrayLike, x2: ArrayLike, weights1: ArrayLike | None, weights2: ArrayLike | None
) -> Rows:
    """Convert one pair to float64; missing weights become ones."""
    sides = []
    for name, x in (("x1", np.asarray(x1)), ("x2", np.asarray(x2))):
        x = x.astype(np.float64, copy=False)
        if not np.isfinite(row_norms(x)).all():
            raise ValueError(f"{name} {NOT_FINITE}")
        sides.append(x)
    w1, w2 = _scaled_weights(weights1, len(sides[0])), _scaled_weights(weights2, len(sides[1]))
    return Rows(sides[0], sides[1], w1, w2)


def _scaled_weights(weights: ArrayLike | None, length: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(length)
    w = np.asarray(weights, dtype=np.float64)
    return w / w.max()


def unit_tokens(x: Floats) -> Floats:
    """Scale rows to unit length; zero rows stay zero, so their cosines are 0."""
    return x * _reciprocal(row_norms(x), x.dtype)[..., np.newaxis]


def row_norms(x: Floats) -> NDArray[np.float64]:
    """Euclidean norms along the last axis, summed in float64."""
    return np.sqrt(np.einsum("...i,...i->...", x, x, dtype=np.float64))


def _reciprocal(norms: NDArray[np.float64], dtype: Any) -> Floats:
    # Below the smallest normal number the reciprocal overflows.
    long = norms >= np.finfo(dtype).tiny
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=long).astype(dtype)


def masses(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide the weights of a text by their sum."""
    return weights / weights.sum()


def average(scores: Floats, weights: NDArray[np.float64] | None) -> float:
    """Weighted mean of one text's token scores; the plain mean if weights is None."""
    if weights is None:
        return scores.sum(dtype=np.float64) / len(scores)
    # Not a dot product, so weights of one give exactly the plain mean.
    return (weights * scores).sum() / weights.sum()


class TokenPairs:
    """Pairs of texts.

    Iterating returns `Rows`: unit vectors if ``unit``, otherwise the vectors passed in, in float64
    if either side is float64 and in float32 otherwise. Missing weights are None. It stores one
    number per token, and one more if there are weights.
    """

    def __init__(
        self,
        tokens1: Ragged,
        tokens2: Ragged,
        pairs: ArrayLike | None,
        weights1: ArrayLike | None,
        weights2: ArrayLike | None,
        *,
        unit: bool,
    ) -> None:
        numbers = np.arange(len(tokens1))
        listed = np.column_stack([numbers, numbers]) if pairs is None else np.asarray(pairs)
        first, second = listed.reshape(-1, 2).T
        self.weights1 = _flat_weights(weights1, tokens1)
        self.weights2 = _flat_weights(weights2, tokens2)
        self.tokens1, self.tokens2 = tokens1, tokens2
        self.first, self.second = first.tolist(), second.tolist()
        self.dtype = np.result_type(tokens1.values, tokens2.values, np.float32)
        # Compute norms in any case, to detect NaN and infinity before the work starts.
        scale1 = self._scales("tokens1", tokens1)
        scale2 = scale1 if tokens2 is tokens1 else self._scales("tokens2", tokens2)
        self.scales = (scale1, scale2) if unit else None

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Rows]:
        starts1, starts2 = self.tokens1.starts.tolist(), self.tokens2.starts.tolist()
        values1, values2 = self.tokens1.values, self.tokens2.values
        flat1, flat2 = self.weights1, self.weights2
        for i, j in zip(self.first, self.second, strict=True):
            at1 = slice(starts1[i], starts1[i + 1])
            at2 = slice(starts2[j], starts2[j + 1])
            if self.scales is None:
                x1 = values1[at1].astype(self.dtype, copy=False)
                x2 = values2[at2].astype(self.dtype, copy=False)
            else:
                x1 = values1[at1] * self.scales[0][at1]
                x2 = values2[at2] * self.scales[1][at2]
            yield Rows(
                x1,
                x2,
                None if flat1 is None else flat1[at1],
                None if flat2 is None else flat2[at2],
            )

    def map(self, score: Callable[[Rows], float], advance: Advance | None) -> NDArray[np.float64]:
        """Score the pairs in order."""
        scores = np.empty(len(self))
        # Products of a few dozen rows are slower on several threads.
        with one_blas_thread():
            for k, rows in enumerate(self):
                scores[k] = score(rows)
                if advance and (k + 1) % TOLD == 0:
                    advance(TOLD)
        if advance and len(self) % TOLD:
            advance(len(self) % TOLD)
        return scores

    def _scales(self, name: str, tokens: Ragged) -> Floats:
        norms = np.empty(len(tokens.values))
        for start in range(0, len(norms), ROWS):
            block = tokens.values[start : start + ROWS].astype(np.float64)
            norms[start : start + ROWS] = row_norms(block)
        bad = ~np.isfinite(norms)
        if bad.any():
            text = int(np.searchsorted(tokens.starts, bad.argmax(), side="right")) - 1
            raise ValueError(f"{name}[{text}] {NOT_FINITE}")
        return _reciprocal(norms, self.dtype)[:, np.newaxis]


def _flat_weights(weights: ArrayLike | None, tokens: Ragged) -> NDArray[np.float64] | None:
    """Scale the weights of each text to a maximum of 1."""
    if weights is None:
        return None
    flat = np.asarray(weights, dtype=np.float64)
    # reduceat cannot handle texts without tokens.
    filled = tokens.lengths > 0
    greatest = np.ones(len(tokens))
    greatest[filled] = np.maximum.reduceat(flat, tokens.starts[:-1][filled])
    greatest[greatest == 0] = 1
    return flat / np.repeat(greatest, tokens.lengths)

"""Pairs of texts as weighted token vectors: validated, normalised and iterated pair by pair."""

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
REMEDY = "a mean needs a weight above zero, so smooth the weights or leave that text out."


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
    """Validate one pair and convert it to float64; missing weights become ones."""
    sides = []
    for name, x in (("x1", np.asarray(x1)), ("x2", np.asarray(x2))):
        if x.ndim != 2 or x.dtype.kind not in "fiu":
            raise ValueError(
                f"{name} must be real numbers of shape (L, h), one row per token, got "
                f"{x.dtype} of shape {x.shape}."
            )
        if not len(x):
            raise ValueError(f"{name} has no tokens: leave that pair out.")
        x = x.astype(np.float64, copy=False)
        if not np.isfinite(row_norms(x)).all():
            raise ValueError(f"{name} {NOT_FINITE}")
        sides.append(x)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(
            f"x1 of shape {sides[0].shape} and x2 of shape {sides[1].shape} must have the same "
            "width."
        )
    w1 = _checked_weights("weights1", weights1, len(sides[0]))
    w2 = _checked_weights("weights2", weights2, len(sides[1]))
    return Rows(sides[0], sides[1], w1, w2)


def _checked_weights(name: str, weights: ArrayLike | None, length: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(length)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), one per token, got {w.shape}.")
    _check_not_negative(name, w)
    if not w.max():
        raise ValueError(f"{name} are all zero: {REMEDY}")
    return w / w.max()


def _check_not_negative(name: str, weights: NDArray[np.float64]) -> None:
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise ValueError(f"{name} must be finite and not negative, got {weights[bad][0]}.")


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
    """Validated pairs of texts.

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
        for name, tokens in (("tokens1", tokens1), ("tokens2", tokens2)):
            if not isinstance(tokens, Ragged):
                raise TypeError(
                    f"{name} must be a film.tokens.Ragged, got {type(tokens).__name__}: "
                    "Ragged.from_rows converts a list of arrays."
                )
        width1, width2 = tokens1.values.shape[1], tokens2.values.shape[1]
        if width1 != width2 and len(tokens1) and len(tokens2):
            raise ValueError(
                f"tokens1 has width {width1} and tokens2 {width2}: use the same encoder for both."
            )
        first, second = _checked_pairs(pairs, len(tokens1), len(tokens2))
        for name, tokens, index in (("tokens1", tokens1, first), ("tokens2", tokens2, second)):
            empty = tokens.lengths[index] == 0
            if empty.any():
                text = int(index[empty.argmax()])
                raise ValueError(f"{name}[{text}] has no tokens: leave its pairs out.")
        self.weights1 = _flat_weights("weights1", weights1, tokens1, first)
        self.weights2 = _flat_weights("weights2", weights2, tokens2, second)
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


def _checked_pairs(
    pairs: ArrayLike | None, n1: int, n2: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if pairs is None:
        if n1 != n2:
            raise ValueError(
                f"tokens1 has {n1} texts and tokens2 {n2}: without pairs, text i is compared with "
                "text i, so their numbers must agree; pass pairs, shape (n, 2), for other pairs."
            )
        return np.arange(n1), np.arange(n2)
    index = np.asarray(pairs)
    if index.size == 0:
        index = np.zeros((0, 2), dtype=np.int64)
    if index.ndim != 2 or index.shape[1] != 2 or index.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be integers of shape (n, 2), each row a text of tokens1 and one of "
            f"tokens2, got {index.dtype} of shape {index.shape}."
        )
    out = (index < 0) | (index >= [n1, n2])
    if out.any():
        row = int(out.any(axis=1).argmax())
        raise ValueError(
            f"pairs row {row} is {index[row].tolist()}, but tokens1 has {n1} texts and tokens2 "
            f"{n2}."
        )
    return index[:, 0].astype(np.int64), index[:, 1].astype(np.int64)


def _flat_weights(
    name: str, weights: ArrayLike | None, tokens: Ragged, texts: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    flat = np.asarray(weights, dtype=np.float64)
    if flat.shape != (len(tokens.values),):
        raise ValueError(
            f"{name} must have shape ({len(tokens.values)},), one per row of the token values, got "
            f"{flat.shape}."
        )
    _check_not_negative(name, flat)
    # reduceat cannot handle texts without tokens.
    filled = tokens.lengths > 0
    greatest = np.zeros(len(tokens))
    greatest[filled] = np.maximum.reduceat(flat, tokens.starts[:-1][filled])
    zero = greatest[texts] == 0
    if zero.any():
        text = int(texts[zero.argmax()])
        raise ValueError(f"{name} of text {text} are all zero: {REMEDY}")
    greatest[greatest == 0] = 1
    return flat / np.repeat(greatest, tokens.lengths)

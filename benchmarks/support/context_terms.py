"""The terms of Eq. 3 of all pairs of a sample, scored once and recombined for every table.

Sizes of C, terms left out, weights and centring are sums over the same numbers, so that each costs
a second once the terms lie on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.contexts import PairTerms, whitened_terms
from film.datasets import atomic_writer

ONES = (1.0, 1.0, 1.0, 1.0)
BLOCK = 20
"""Pairs of a block."""


@dataclass(frozen=True, eq=False)
class SampleTerms:
    """Terms of Eq. 3 of both texts of every pair in the contexts of both.

    Parameters
    ----------
    model : ContextModel
        That scored them.
    terms : ndarray of float32, shape (n_pairs, 2, 2 size, 4)
        The first `size` columns are the contexts of the first text, best first, the others those
        of the second; NaN where a text has fewer.
    centre : ndarray of float32, shape (n_pairs, 2 size, 4), or None
        Mean terms of the reference texts in the same contexts.
    contexts : ndarray of int64, shape (n_pairs, 2 size)
        Rows of the contexts; -1 where a text has fewer.
    levels : ndarray of float64, shape (n_pairs, 2)
        Mean first terms of both texts over the fixed set of the model.
    seconds : float
        What choosing and scoring took.
    """

    model: Any
    terms: NDArray[np.float32]
    centre: NDArray[np.float32] | None
    contexts: NDArray[np.int64]
    levels: NDArray[np.float64]
    seconds: float
    known: dict[Any, NDArray[np.float64]] = field(default_factory=dict, init=False)

    @property
    def size(self) -> int:
        """Largest |C_s| that can be asked for."""
        return self.terms.shape[2] // 2

    def similarity(
        self,
        weights: Sequence[float] = ONES,
        *,
        centre: str = "whitened",
        size: int | None = None,
    ) -> NDArray[np.float64]:
        """Eq. 4 of every pair: 0 where a text has no scores.

        Parameters
        ----------
        weights : sequence of 4 floats
            λ of Eq. 3.
        centre : {"raw", "contexts", "reference", "whitened"}
            What is taken from the scores before the cosine, as in `ContextRegressor`.
        size : int, default=None
            The first so many contexts of each text; None is all.
        """
        factors = np.asarray(weights, dtype=np.float64)
        products = np.einsum("i,nkij,j->kn", factors, self._grams(centre, size), factors)
        lengths = np.sqrt(np.maximum(products[0] * products[1], 0))
        return np.divide(products[2], lengths, out=np.zeros(len(lengths)), where=lengths > 0)

    def _grams(self, centre: str, size: int | None) -> NDArray[np.float64]:
        """Products of the centred terms over contexts, (n_pairs, 3, 4, 4).

        They are those of the first text, of the second, and of both: all that a cosine needs.
        """
        key = centre, size
        if key not in self.known:
            found = self.known[key] = np.zeros((len(self.terms), 3, 4, 4))
            kept = np.arange(self.terms.shape[2]) % self.size
            kept = kept < (self.size if size is None else size)
            for row in range(len(self.terms)):
                there = kept & (self.contexts[row] >= 0)
                if there.any():
                    first, second = self._centred(row, there, centre)
                    found[row] = first.T @ first, second.T @ second, first.T @ second
        return self.known[key]

    def _centred(self, row: int, there: NDArray[np.bool_], centre: str) -> NDArray[np.float64]:
        both = self.terms[row][:, there].astype(np.float64)
        mean = None if self.centre is None else self.centre[row][there].astype(np.float64)
        if centre == "whitened":
            if mean is None and both[..., 1:].any():
                raise ValueError(f"centre={centre!r} needs terms of reference texts")
            contexts, levels = self.contexts[row][there], self.levels[row]
            return whitened_terms(
                self.model, PairTerms(contexts, 0, both[0], both[1], mean, levels)
            )
        return both - both.mean(axis=1, keepdims=True) if centre == "contexts" else both


def score_pairs(
    model: Any,
    pairs: NDArray[np.object_],
    size: int,
    path: Path,
    *,
    reference: Sequence[str] = (),
    advance: Callable[[int], Any] = lambda n: None,
) -> SampleTerms:
    """Choose contexts for all texts and score them, or read what is scored already.

    Parameters
    ----------
    model : ContextModel
        Or anything with its ``terms``, ``levels`` and ``reference_terms``.
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    size : int
        |C_s|.
    path : Path
        File of the terms, for this model, sample and choice of contexts alone.
    reference : sequence of str
        Texts whose mean terms are wanted too.
    advance : callable
        Called with the number of pairs of each block that is done.
    """
    if not path.exists():
        blocks = []
        for start in range(0, len(pairs), BLOCK):
            blocks.append(_scored(model, pairs[start : start + BLOCK], size, reference))
            advance(len(pairs[start : start + BLOCK]))
        whole = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_writer(path, "wb") as file:
            np.savez(file, **whole)
    with np.load(path) as found:
        terms, contexts, levels = (found[name] for name in ("terms", "contexts", "levels"))
        centre = found["centre"] if reference else None
        return SampleTerms(model, terms, centre, contexts, levels, float(found["seconds"].sum()))


def _scored(
    model: Any,
    pairs: NDArray[np.object_],
    size: int,
    reference: Sequence[str],
) -> dict[str, NDArray[Any]]:
    started = time.perf_counter()
    texts = [str(text) for text in pairs.ravel()]
    sets = [np.asarray(rows)[:size] for rows in model.contexts_of(texts, size)]
    terms = np.full((len(pairs), 2, 2 * size, 4), np.nan, dtype=np.float32)
    centre = np.full((len(pairs), 2 * size, 4), np.nan, dtype=np.float32)
    contexts = np.full((len(pairs), 2 * size), -1, dtype=np.int64)
    for row, pair in enumerate(pairs.tolist()):
        first, second = sets[2 * row], sets[2 * row + 1]
        columns = np.r_[np.arange(len(first)), size + np.arange(len(second))]
        if len(columns):
            asked = [*pair, *reference]
            found = np.asarray(model.terms(asked, np.concatenate([first, second])))
            terms[row][:, columns] = found[:2]
            contexts[row, columns] = np.concatenate([first, second])
            if reference:
                centre[row, columns] = found[2:].mean(axis=0)
    seconds = np.array([time.perf_counter() - started])
    levels = np.asarray(model.levels(texts), dtype=np.float64)
    block = {
        **{"terms": terms, "contexts": contexts, "levels": levels.reshape(-1, 2)},
        "seconds": seconds,
    }
    return block | {"centre": centre} if reference else block

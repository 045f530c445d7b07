"""Pairs of sentences with scores, and pairs without the sentences of test sets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from benchmarks.data.excluded import text_hash
from film.datasets import QuestionPairs


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Sentence pairs with graded similarity.

    Parameters
    ----------
    pairs : ndarray of str objects, shape (n, 2)
        The two sentences of each pair.
    scores : ndarray of float64, shape (n,)
        Similarity from 0 to 5, in SICK from 1.
    genres : ndarray of str objects, shape (n,)
        Genre or subset of each pair.
    """

    pairs: np.ndarray
    scores: np.ndarray
    genres: np.ndarray

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)


_Pairs = TypeVar("_Pairs", QuestionPairs, ScoredPairs)


def drop_excluded(data: _Pairs, excluded: Collection[str]) -> tuple[_Pairs, int]:
    """Remove the pairs of an excluded sentence, by hashes from `read_excluded`, and count them."""
    keep = np.array([not any(text_hash(t) in excluded for t in pair) for pair in data.pairs], bool)
    columns = {field.name: getattr(data, field.name) for field in fields(data)}
    kept = {name: None if each is None else each[keep] for name, each in columns.items()}
    return replace(data, **kept), int((~keep).sum())

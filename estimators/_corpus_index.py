"""Unique texts of a growing corpus, their vectors and their nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from estimators._neighbour_table import NeighbourTable
from estimators._text_space import TextSpace, row_products
from film.text import normalize_text

EXACT_LIMIT = 200_000
"""Unique texts up to which neighbours are exact by default: some minutes on two cores."""

BLOCK_PAIRS = 65_536


class CorpusIndex:
    """Number texts by what they read after normalisation, and find those near each other.

    Parameters
    ----------
    embedder : callable, fitted transformer or None
        As in `TextSpace`.
    n_neighbors : int
        Candidates a text.
    index : {"auto", "exact", "approximate"}
        How neighbours are searched.
    seed : int
        Seeds all that is random.

    Attributes
    ----------
    texts : list of str
        First spelling of each unique text.
    """

    def __init__(self, embedder: Any, n_neighbors: int, index: str, seed: int) -> None:
        self.texts: list[str] = []
        self._embedder = embedder
        self._n_neighbors = n_neighbors
        self._index = index
        self._seed = seed
        self._number: dict[str, int] = {}
        self._space: Any = None
        self._vectors: Any = None
        self._table = NeighbourTable(n_neighbors, False, seed)
        self._recall: float | None = None

    @property
    def name(self) -> str:
        """Name of the search."""
        return "faiss" if self._table.approximate else "exact"

    @property
    def n_without_vector(self) -> int:
        """Number of unique texts with the zero vector."""
        return int((~self._table.points.any(axis=1)).sum())

    def grow(self, rows: list[str]) -> np.ndarray:
        """Take rows in and give the number of each one's text, −1 where it has no words."""
        fresh: dict[str, int] = {}
        texts: list[str] = []
        codes = np.full(len(rows), -1, dtype=np.intp)
        for row, text in enumerate(rows):
            name = normalize_text(text)
            if name:
                code = self._number.get(name)
                if code is None:
                    code = fresh.setdefault(name, len(self._number) + len(texts))
                    if code == len(self._number) + len(texts):
                        texts.append(text)
                codes[row] = code
        if texts:
            # What may fail comes first, so that a failure leaves everything as it was.
            self._take(texts)
            self._number.update(fresh)
        return codes

    def candidates(self, progress: Callable[[str], None] | None = None) -> np.ndarray:
        """Pairs of unique texts of which one is among the other's nearest, (m, 2)."""
        self._table.complete(progress)
        return self._table.pairs()

    def similarities(self, pairs: np.ndarray) -> np.ndarray:
        """Cosine of each pair, 0 where it is negative."""
        parts = [
            row_products(self._vectors, self._vectors, pairs[first : first + BLOCK_PAIRS])
            for first in range(0, len(pairs), BLOCK_PAIRS)
        ]
        return np.concatenate([np.empty(0), *parts])

    def near(self, text: str, k: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Numbers of the texts nearest to a text, their similarities, and the number it has.

        A text that is not in the corpus has the number −1.
        """
        name = normalize_text(text)
        same = self._number.get(name, -1)
        if not (name and self.texts):
            return np.empty(0, dtype=np.intp), np.empty(0), same
        vector, point = self._space.transform([text])
        found = np.append(self._table.nearest(point, k)[0], same)
        found = np.unique(found[found >= 0])
        pairs = np.column_stack([np.zeros_like(found), found])
        return found, row_products(vector, self._vectors, pairs), same

    def recall(self) -> float:
        """Share of the exact nearest neighbours that were found, measured on a sample."""
        if self._recall is None:
            self._recall = self._table.recall()
        return self._recall

    def _take(self, texts: list[str]) -> None:
        every = self.texts + texts
        approximate = self._index == "approximate" or (
            self._index == "auto" and len(every) > EXACT_LIMIT
        )
        if approximate and find_spec("faiss") is None:
            raise ImportError(
                f"index={self._index!r} with {len(every)} unique texts asks for an approximate "
                f"index (auto does above {EXACT_LIMIT}), and faiss is not installed: pip install "
                '"film-metric[ann]", or give index="exact" and time, which grows as the square'
            )
        space, table = self._space, self._table
        if space is None or len(every) > 2 * space.n_fitted:
            space = TextSpace(self._embedder, self._seed).fit(every)
            table = NeighbourTable(self._n_neighbors, approximate, self._seed)
            vectors, points = space.transform(every)
        else:
            vectors, points = space.transform(texts)
            stack: Any = sp.vstack if sp.issparse(vectors) else np.concatenate
            vectors = stack([self._vectors, vectors])
        vectors = sp.csr_array(vectors) if sp.issparse(vectors) else vectors
        table.append(points)
        table.approximate = approximate
        self.texts, self._space, self._vectors, self._table = every, space, vectors, table
        self._recall = None

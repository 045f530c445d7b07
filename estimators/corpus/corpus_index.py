"""Index of the unique texts of a growing corpus, their vectors and nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

from estimators.corpus.neighbour_table import (
    EASY_PRODUCTS,
    NeighbourTable,
    n_products,
    table_width,
)
from estimators.corpus.text_space import TextSpace, nonzero_rows, row_products
from estimators.encoders import AnyEncoder
from estimators.inputs import CELL_END, pack, unpack
from estimators.persistence import savable
from film.judge import UNRELATED_TEXTS, base_cosine, centred_cosines
from film.text import copy_key
from film.threads import usable_cores

EXACT_LIMIT = 20_000
"""Number of unique texts with dense vectors up to which neighbours are exact by default.

Up to here exact search takes little longer than search in cells, which misses some neighbours.
"""

BLOCK_PAIRS = 65_536

HIGHEST_SIMILARITY = 0.999
"""Highest similarity of two texts that are not copies: 1 would claim that they are equal."""

_SAME_VECTOR = 1 - 1e-6
"""Products of equal float32 unit rows reach this despite rounding."""


@savable
class CorpusIndex:
    """Number unique texts, and find similar ones.

    Texts of different blocks are neither copies nor neighbours.

    Parameters
    ----------
    embedder : callable, fitted transformer or None
        As in `TextSpace`.
    n_neighbors : int
        Candidates per text.
    index : {"auto", "exact", "approximate"}
        How to search neighbours.
    seed : int
        Random seed.
    encoder : AnyEncoder or None
        Its nearest texts are candidates too.

    Attributes
    ----------
    both_ways : bool
        Whether the nearest queries of each unique text are candidates too.
    meaning : CorpusIndex or None
        Index of the same unique texts by the encoder.
    base : float
        The encoder's usual cosine of unrelated texts.
    """

    both_ways = False
    meaning: CorpusIndex | None = None
    base = 0.0
    encoder: AnyEncoder | None = None

    def __init__(
        self,
        embedder: Any,
        n_neighbors: int,
        index: str,
        seed: int,
        encoder: AnyEncoder | None = None,
    ) -> None:
        self._texts: list[str] | None = []
        self._packed: Any = None
        self.embedder = embedder
        self._n_neighbors = n_neighbors
        self._index = index
        self._seed = seed
        self._number: dict[tuple[int, str], int] | None = {}
        self._space: Any = None
        self._table = NeighbourTable(n_neighbors, False, seed)
        self._recall: float | None = None
        self.encoder = encoder

    def __getstate__(self) -> dict[str, Any]:
        """Store texts as arrays, which files hold and read much faster."""
        packed = pack(self.texts)
        return {**self.__dict__, "_texts": None, "_number": None, "_packed": packed}

    @property
    def texts(self) -> list[str]:
        """First spelling of each unique text."""
        if self._texts is None:
            self._texts, self._packed = unpack(self._packed), None
            if len(self._texts) != self._table.points.shape[0]:
                raise ValueError("numbers of saved texts and vectors differ")
        return self._texts

    @property
    def _numbers(self) -> dict[tuple[int, str], int]:
        """Number of each unique text, by its block and key."""
        if self._number is None:
            keys = map(copy_key, self.texts)
            units = zip(self._table.blocks.tolist(), keys, strict=True)
            self._number = {unit: code for code, unit in enumerate(units)}
        return self._number

    @property
    def name(self) -> str:
        """Name of the search."""
        if not self._table.approximate:
            return "exact"
        return "rare terms" if sp.issparse(self._table.points) else "cells"

    @property
    def space(self) -> TextSpace:
        """The vectors of texts."""
        return self._space

    @property
    def without_vector(self) -> np.ndarray:
        """Whether each unique text has the zero vector, also by the encoder."""
        zero = ~nonzero_rows(self._table.points)
        return zero if self.meaning is None else zero & self.meaning.without_vector

    def grow(self, rows: list[str], blocks: list[int], beside: list[str]) -> np.ndarray:
        """Add rows and return the number of each row's text, −1 for empty texts.

        If a space is learned, the texts of ``beside`` count like those of the rows.
        """
        fresh: dict[tuple[int, str], int] = {}
        texts: list[str] = []
        codes = np.full(len(rows), -1, dtype=np.intp)
        for row, (text, block) in enumerate(zip(rows, blocks, strict=True)):
            unit = (block, copy_key(text))
            if unit[1]:
                code = self._numbers.get(unit)
                if code is None:
                    code = fresh.setdefault(unit, len(self._numbers) + len(texts))
                    if code == len(self._numbers) + len(texts):
                        texts.append(text)
                codes[row] = code
        if texts:
            # Steps that can fail come first, so that a failure changes nothing.
            inside = np.array([block for block, _ in fresh], dtype=np.intp)
            if self.encoder is not None:
                self._encode(self.encoder, texts, inside, beside)
            self._take(texts, inside, beside)
            self._numbers.update(fresh)
        self.both_ways = self.both_ways or bool(beside)
        if self.meaning is not None:
            self.meaning.both_ways = self.both_ways
        return codes

    def candidates(self, progress: Callable[[str], None] | None = None) -> np.ndarray:
        """Pairs of unique texts in which one is among the other's nearest, (m, 2)."""
        self._table.complete(progress)
        pairs = self._table.pairs()
        if self.meaning is None:
            return pairs
        return np.unique(np.concatenate([pairs, self.meaning.candidates(progress)]), axis=0)

    def similarities(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarity of each pair, and whether its texts have the same vector.

        The similarity is the cosine, limited to [0, `HIGHEST_SIMILARITY`].
        """
        return _similarities(self._table.points, self._table.points, pairs)

    def meanings(self, pairs: np.ndarray) -> np.ndarray | None:
        """Return the centred cosine of each pair by the encoder; None without encoder."""
        if self.meaning is None:
            return None
        return centred_cosines(self.meaning.similarities(pairs)[0], self.base)

    def others(self, rows: np.ndarray | None = None, k: int = 0) -> np.ndarray:
        """Return the nearest unique texts of each, as in `NeighbourTable.neighbours`.

        With an encoder, every second one is the encoder's.
        """
        if self.meaning is None:
            return self._table.neighbours(rows, k)
        near = self._table.neighbours(rows, k // 2)
        return _alternating(near, self.meaning.others(rows, k // 2))

    def asked(self, texts: list[str], blocks: list[int] | None) -> AskedTexts:
        """Prepare texts for a search among the unique texts; see `AskedTexts`."""
        return AskedTexts(self, texts, blocks)

    def recall(self) -> float:
        """Estimate the share of the exact nearest neighbours that were found, on a sample."""
        if self._recall is None:
            found = self._table.recall()
            self._recall = found if self.meaning is None else min(found, self.meaning.recall())
        return self._recall

    def _encode(
        self, encoder: AnyEncoder, texts: list[str], blocks: np.ndarray, beside: list[str]
    ) -> None:
        """Add unique texts to the index by the encoder."""
        meaning = self.meaning
        if meaning is None:
            every = {text.replace(CELL_END, " ") for text in (*texts, *beside)}
            encoder.fit(sorted(every))
            self.base = base_cosine(encoder.transform(UNRELATED_TEXTS))
        if meaning is None or len(meaning.texts) != len(self.texts):
            # The second happens after an interruption.
            meaning = CorpusIndex(encoder, self._n_neighbors, self._index, self._seed)
            texts, blocks = self.texts + texts, np.concatenate([self._table.blocks, blocks])
        meaning.grow([text.replace(CELL_END, " ") for text in texts], blocks.tolist(), [])
        self.meaning = meaning

    def _take(self, texts: list[str], blocks: np.ndarray, beside: list[str]) -> None:
        every = self.texts + texts
        all_blocks = np.concatenate([self._table.blocks, blocks])
        table_width(self._n_neighbors, all_blocks)
        space, table = self._space, self._table
        if space is None or len(every) > 2 * space.n_fitted:
            space = TextSpace(self.embedder)
            table = NeighbourTable(self._n_neighbors, False, self._seed)
            points = space.fit_transform(every, beside)
            blocks = all_blocks
        else:
            space = space.extended(texts)
            points = space.transform(texts)
            stack: Any = sp.vstack if sp.issparse(points) else np.concatenate
            points = stack([space.widened(table.points, self._space), points])
        points = sp.csr_array(points) if sp.issparse(points) else points
        approximate = self._is_approximate(points, all_blocks)
        table.append(points, blocks)
        table.approximate = approximate
        self._texts, self._space, self._table = every, space, table
        self._recall = None

    def _is_approximate(self, points: Any, blocks: np.ndarray) -> bool:
        if self._index != "auto":
            return self._index == "approximate"
        if sp.issparse(points):
            return n_products(points) > EASY_PRODUCTS
        return int(np.unique(blocks, return_counts=True)[1].max()) > EXACT_LIMIT


class AskedTexts:
    """Non-empty texts to compare with the unique texts of a corpus.

    Parameters
    ----------
    index : CorpusIndex
        Index of the corpus, which must not be empty.
    texts : list of str
        At least one text.
    blocks : list of int or None
        Block to search for each text, −1 for an unknown block; None for all blocks.

    Attributes
    ----------
    copies : ndarray of int, shape (n, n_blocks)
        Unique texts that are copies of each text, −1 for none.
    points : ndarray of int
        Points that need candidates: the texts and, if the index searches both ways, all unique
        texts, numbered after them.
    """

    def __init__(self, index: CorpusIndex, texts: list[str], blocks: list[int] | None) -> None:
        self._index = index
        self._meaning = None if index.meaning is None else index.meaning.asked(texts, blocks)
        self._points = index._space.transform(texts)
        self._blocks = None if blocks is None else np.array(blocks, dtype=np.intp)
        n_points = len(texts)
        if index.both_ways and self._blocks is not None:
            n_points += len(index.texts)
            self._own = NeighbourTable(0, False, index._seed)
            self._own.append(self._points, self._blocks)
            self._own.approximate = index._is_approximate(self._points, self._blocks)
        self.points = np.arange(n_points)
        places = np.unique(index._table.blocks).tolist()
        every = [places] * len(texts) if blocks is None else [[block] for block in blocks]
        self.copies = np.array(
            [
                [index._numbers.get((block, key), -1) for block in inside]
                for key, inside in zip(map(copy_key, texts), every, strict=True)
            ],
            dtype=np.intp,
        )

    def candidates(self, k: int) -> np.ndarray:
        """Return the nearest points of the other side for all points, (n, k), padded with −1.

        If the index searches both ways, the larger side keeps only its most similar pairs, as many
        as the smaller side has: a few texts cost as little against a large corpus as one way. An
        encoder adds as many columns.
        """
        near, similarities = self._search(self.points, k)
        n = self._points.shape[0]
        m = len(self.points) - n
        if m not in (0, n):
            larger = (self.points >= n) == (m > n)
            found, most = similarities[larger], k * min(n, m)
            if found.size > most:
                lowest = -np.partition(-found, most - 1, axis=None)[most - 1]
                near[larger] = np.where(found >= lowest, near[larger], -1)
        return near if self._meaning is None else _alternating(near, self._meaning.candidates(k))

    def nearest(self, points: np.ndarray, k: int) -> np.ndarray:
        """Return the nearest points of the other side, (n, k), padded with −1.

        With an encoder, every second one is the encoder's.
        """
        if self._meaning is None:
            return self._search(points, k)[0]
        near = self._search(points, k // 2)[0]
        return _alternating(near, self._meaning.nearest(points, k // 2))

    def _search(self, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        table, n_texts = self._index._table, self._points.shape[0]
        near = np.full((len(points), k), -1, dtype=np.intp)
        similarities = np.full(near.shape, -np.inf, dtype=np.float32)
        is_text = points < n_texts
        texts, others = points[is_text], points[~is_text] - n_texts
        if len(texts):
            inside = None if self._blocks is None else self._blocks[texts]
            found, similarities[is_text] = table.nearest(self._points[texts], k, inside)
            near[is_text] = np.where(found < 0, -1, found + n_texts)
        if len(others):
            near[~is_text], similarities[~is_text] = self._own.nearest(
                table.points[others], k, table.blocks[others]
            )
        return near, similarities

    def similarities(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `CorpusIndex.similarities`, for pairs of a text and a unique text."""
        return _similarities(self._points, self._index._table.points, pairs)

    def meanings(self, pairs: np.ndarray) -> np.ndarray | None:
        """As `CorpusIndex.meanings`, for pairs of a text and a unique text."""
        if self._meaning is None:
            return None
        return centred_cosines(self._meaning.similarities(pairs)[0], self._index.base)

    def are_copies(self, pairs: np.ndarray) -> np.ndarray:
        """Whether the texts of each pair are copies."""
        return (self.copies[pairs[:, 0]] == pairs[:, 1:]).any(axis=1)


def _alternating(near: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Put each column of neighbours before the same column of others, (n, 2 k)."""
    others = np.where(others < 0, near, others)
    return np.stack([np.where(near < 0, others, near), others], axis=2).reshape(len(near), -1)


def _similarities(rows: Any, others: Any, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    def part(first: int) -> np.ndarray:
        return row_products(rows, others, pairs[first : first + BLOCK_PAIRS])

    with ThreadPoolExecutor(usable_cores()) as pool:
        parts = list(pool.map(part, range(0, len(pairs), BLOCK_PAIRS)))
    cosines = np.concatenate([np.empty(0), *parts])
    return np.minimum(cosines, HIGHEST_SIMILARITY), cosines >= _SAME_VECTOR

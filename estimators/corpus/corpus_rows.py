"""Rows of a corpus: ids, texts, blocks and copies."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from estimators.corpus.corpus_index import CorpusIndex
from estimators.inputs import (
    as_texts,
    joined_cells,
    pack,
    pack_names,
    unpack,
    unpack_names,
)
from estimators.persistence import savable


@savable
class CorpusRows:
    """Immutable rows that belong to an index of their texts.

    Parameters
    ----------
    ids, records : ndarray of object, shape (n_rows,)
        Ids of the rows, and their texts or records, whose cells are separated by U+001F.
    codes, blocks : ndarray of int, shape (n_rows,)
        Number of each row's unique text, −1 for an empty text, and of its block.
    places : dict or None
        Number of each block; None if all rows are compared with each other.
    """

    def __init__(
        self,
        ids: np.ndarray,
        records: np.ndarray,
        codes: np.ndarray,
        blocks: np.ndarray,
        places: dict[Hashable, int] | None,
    ) -> None:
        self._unpacked: Any = (ids, records, places)
        self._packed: Any = None
        self._joined: Any = None
        self.codes, self.blocks = codes, blocks
        self.has_blocks = places is not None

    def __getstate__(self) -> dict[str, Any]:
        """Store texts as arrays, which files hold and read much faster."""
        names = None if self.places is None else pack_names(list(self.places))
        packed = {
            "ids": pack_names(self.ids.tolist()),
            "texts": pack(self.records.tolist()),
            "places": names,
        }
        return {**self.__dict__, "_unpacked": None, "_packed": packed, "_joined": None}

    @classmethod
    def empty(cls, has_blocks: bool) -> CorpusRows:
        """Return a corpus without rows."""
        none, nothing = np.empty(0, dtype=object), np.empty(0, dtype=np.intp)
        return cls(none, none, nothing, nothing, {} if has_blocks else None)

    ids = property(lambda self: self._content()[0], doc="Ids of the rows.")
    records = property(lambda self: self._content()[1], doc="Texts or records of the rows.")
    places = property(lambda self: self._content()[2], doc="Number of each block.")

    @property
    def texts(self) -> np.ndarray:
        """Texts of the rows; the cells of records are joined."""
        if vars(self).get("_joined") is None:
            self._joined = as_texts(list(map(joined_cells, self.records.tolist())))
        return self._joined

    def keep_cells(self, records: np.ndarray) -> None:
        """Take records whose cells are separated; the texts stay as they are."""
        self._joined = self.records.copy()
        self.records[:] = records

    def block_numbers(self, blocks: list[Any] | None, n_rows: int) -> list[int]:
        """Return the number of each block, −1 for new ones; without blocks, all rows share one."""
        if (blocks is None) == self.has_blocks:
            raise ValueError(
                "blocks are required, because fit() had them"
                if blocks is None
                else "blocks are given, but fit() had none; leave them out, or pass them to fit too"
            )
        if blocks is None or self.places is None:
            return [0] * n_rows
        return [self.places.get(block, -1) for block in blocks]

    def grown(
        self,
        ids: np.ndarray,
        texts: list[str],
        blocks: list[Any] | None,
        index: CorpusIndex,
        beside: list[str],
    ) -> CorpusRows:
        """Return these rows and more, whose texts the index adds; see `CorpusIndex.grow`.

        A failure changes nothing.
        """
        numbers = self.block_numbers(blocks, len(texts))
        places = self.places
        if blocks is not None and places is not None:
            places = dict(places)
            numbers = [places.setdefault(block, len(places)) for block in blocks]
        codes = index.grow(texts, numbers, beside)
        return CorpusRows(
            np.concatenate([self.ids, ids]),
            np.concatenate([self.records, as_texts(texts)]),
            np.concatenate([self.codes, codes]),
            np.concatenate([self.blocks, np.array(numbers, dtype=np.intp)]),
            places,
        )

    def first_and_copies(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first row of each unique text, and the rows that repeat one."""
        told = np.flatnonzero(self.codes >= 0)
        _, first = np.unique(self.codes[told], return_index=True)
        first_rows = told[first]
        return first_rows, np.setdiff1d(told, first_rows)

    def _content(self) -> tuple[np.ndarray, np.ndarray, dict[Hashable, int] | None]:
        if self._unpacked is None:
            ids, texts = unpack_names(self._packed["ids"]), unpack(self._packed["texts"])
            names = self._packed["places"]
            if not len(ids) == len(texts) == len(self.codes) == len(self.blocks):
                raise ValueError("ids, texts and blocks of a saved corpus do not match")
            places = None
            if names is not None:
                places = {name: number for number, name in enumerate(unpack_names(names))}
            self._unpacked, self._packed = (as_texts(ids), as_texts(texts), places), None
        return self._unpacked

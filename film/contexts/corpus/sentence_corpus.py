"""A corpus of sentences on disk, memory-mapped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.contexts.corpus.layout import (
    CHUNKS,
    DOCUMENTS,
    FILES,
    FORMAT,
    HASHES,
    JOURNAL,
    RECORD,
    ROWS,
    STARTS,
    TEXTS,
    file_hash,
    read_journal,
    record_digest,
    sentence_hashes,
)
from film.text import normalize_text

_REBUILD = "build it again with write_corpus in an empty folder, or give the folder of a whole one"


class SentenceCorpus:
    """Sentences of documents, in order, read from a folder without loading it.

    A sentence is named by its row, from 0. Rows of a document follow one another, and so do those
    of a chunk, which is `chunk_length` consecutive sentences of one document (its last chunk may
    be shorter). A context is named by the row of its centre: with one sentence a side, row i has
    the left sentence i − 1 and the right sentence i + 1, where all three are of one document.

    Parameters
    ----------
    folder : path
        What `write_corpus` made.
    verify : bool, default=True
        Whether to compare every byte with the digest. Sizes are always compared.

    Attributes
    ----------
    n_sentences, n_documents, n_chunks : int
        Counts; documents without a sentence count too.
    chunk_length : int
        Sentences of a whole chunk.
    digest : str
        64 hexadecimal digits that name the content: equal for equal documents and settings,
        however often the building was interrupted.
    documents, chunks : ndarray of int32, shape (n_sentences,)
        The document and the chunk of each row, both ascending from 0; memory-mapped, read-only.
    names : list of str
        Name of each document.
    folder : Path
        Where it lies, absolute.

    Raises
    ------
    FileNotFoundError
        When the folder or one of its files is not there, or its building was not finished.
    ValueError
        When a file has another size or content than when it was written, or the folder is of
        another format.

    See Also
    --------
    write_corpus : builds the folder.

    Notes
    -----
    A corpus is pickled as its path. Unpickling compares sizes and digest with those it had.

    Examples
    --------
    >>> import tempfile
    >>> from film.contexts import write_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tales = [("tale", "It was cold. He slept. It grew dark.")]
    ...     corpus = write_corpus(folder, tales, chunk_length=2)
    ...     corpus.texts([1]), corpus.centres().tolist(), corpus.chunks.tolist()
    (['He slept.'], [1], [0, 0, 1])
    """

    def __init__(self, folder: str | os.PathLike[str], *, verify: bool = True) -> None:
        self.folder = Path(folder).absolute()
        record = _checked_record(self.folder, verify)
        self.n_sentences: int = record["n_sentences"]
        self.n_documents: int = record["n_documents"]
        self.n_chunks: int = record["n_chunks"]
        self.chunk_length: int = record["chunk_length"]
        self.digest: str = record["digest"]
        self._texts = np.memmap(self.folder / TEXTS, dtype=np.uint8, mode="r").data
        self._starts = self._mapped(STARTS)
        self._hashes = self._mapped(HASHES)
        self.documents = self._mapped(DOCUMENTS)
        self.chunks = self._mapped(CHUNKS)
        self._by_hash: tuple[NDArray[np.int64], NDArray[np.uint64]] | None = None
        self._names: list[str] | None = None

    def __len__(self) -> int:
        return self.n_sentences

    def __repr__(self) -> str:
        return (
            f"SentenceCorpus({os.fspath(self.folder)!r}): {self.n_sentences:,} sentences, "
            f"{self.n_documents:,} documents, {self.n_chunks:,} chunks"
        )

    def __reduce__(self) -> tuple:
        return _reopened, (os.fspath(self.folder), self.digest)

    @property
    def names(self) -> list[str]:
        """Name of each document."""
        if self._names is None:
            self._names = [entry.name for entry in read_journal(self.folder / JOURNAL)]
        return self._names

    def texts(self, rows: ArrayLike) -> list[str]:
        """Return sentences.

        Parameters
        ----------
        rows : array-like of int, shape (m,)
            Rows, in any order.

        Returns
        -------
        texts : list of str
            One per row.

        Raises
        ------
        IndexError
            When a row is not in the corpus.
        """
        wanted = self._checked(rows, self.n_sentences, "rows")
        return [
            self._slice(start, end)
            for start, end in zip(
                self._starts[wanted].tolist(), self._starts[wanted + 1].tolist(), strict=True
            )
        ]

    def iterate_texts(self, block: int = 65_536) -> Iterator[str]:
        """Yield all sentences in order, holding a block of them in memory.

        Parameters
        ----------
        block : int, default=65536
            Sentences that are decoded at once.

        Yields
        ------
        text : str
            A sentence.
        """
        for first in range(0, self.n_sentences, block):
            last = min(first + block, self.n_sentences)
            yield from self._slice(int(self._starts[first]), int(self._starts[last])).split("\n")

    def chunk_starts(self) -> NDArray[np.int64]:
        """Return the first row of each chunk, and n_sentences at the end.

        Returns
        -------
        starts : ndarray of int64, shape (n_chunks + 1,)
            Chunk j holds the rows from ``starts[j]`` to before ``starts[j + 1]``.
        """
        first = np.flatnonzero(np.diff(self.chunks, prepend=-1))
        return np.append(first, self.n_sentences)

    def chunk_texts(self) -> Iterator[str]:
        """Yield the text of each chunk, its sentences joined by spaces.

        Yields
        ------
        text : str
            A chunk, in the order of `chunks`.
        """
        ends = self._starts[self.chunk_starts()].tolist()
        for start, end in pairwise(ends):
            yield self._slice(start, end).replace("\n", " ")

    def centres(self, sides: int = 1) -> NDArray[np.int64]:
        """Return the rows that are centres of a context.

        Parameters
        ----------
        sides : int, default=1
            Sentences on each side, at least 1.

        Returns
        -------
        rows : ndarray of int64
            Ascending rows with at least `sides` sentences of their document before and after
            them. Documents of fewer than 2 `sides` + 1 sentences have none.

        Raises
        ------
        ValueError
            When `sides` is below 1.
        """
        if sides < 1:
            raise ValueError(f"sides must be at least 1, got {sides!r}")
        same = self.documents[2 * sides :] == self.documents[: max(0, len(self) - 2 * sides)]
        return np.flatnonzero(same) + sides

    def rows_of(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return where each text stands in the corpus as a sentence of its own.

        Letter case, punctuation and white space make no difference (`film.text.normalize_text`).

        Parameters
        ----------
        texts : sequence of str
            Sentences.

        Returns
        -------
        rows : list of ndarray of int64
            Ascending rows per text, often none. A text without letters and numbers has none.

        Notes
        -----
        The first call sorts the hashes of all sentences, O(n log n); others are binary searches.
        """
        if self._by_hash is None:
            order = np.argsort(self._hashes, kind="stable")
            self._by_hash = order, np.asarray(self._hashes[order])
        order, ordered = self._by_hash
        hashes = sentence_hashes(texts)
        first = np.searchsorted(ordered, hashes, side="left")
        last = np.searchsorted(ordered, hashes, side="right")
        found = []
        for text, start, end in zip(texts, first.tolist(), last.tolist(), strict=True):
            rows, key = order[start:end], normalize_text(text) if end > start else ""
            same = [normalize_text(other) == key != "" for other in self.texts(rows)]
            found.append(rows[np.asarray(same, dtype=bool)])
        return found

    def _mapped(self, name: str) -> NDArray:
        # Indexing a plain view costs a fraction of indexing a memmap.
        return np.memmap(self.folder / name, dtype=ROWS[name], mode="r").view(np.ndarray)

    def _slice(self, start: int, end: int) -> str:
        # Every sentence ends with a line feed.
        return str(self._texts[start : max(start, end - 1)], "utf-8")

    def _checked(self, rows: ArrayLike, n: int, name: str) -> NDArray[np.int64]:
        wanted = np.asarray(rows)
        if wanted.size == 0:
            return np.zeros(0, dtype=np.int64)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise ValueError(
                f"{name} must be a list of integers, got {wanted.dtype} of shape {wanted.shape}"
            )
        if wanted.min() < 0 or wanted.max() >= n:
            wrong = wanted[(wanted < 0) | (wanted >= n)][0]
            raise IndexError(f"{name} must be from 0 to {n - 1}, got {wrong}")
        return wanted.astype(np.int64)


def _reopened(folder: str, digest: str) -> SentenceCorpus:
    corpus = SentenceCorpus(folder, verify=False)
    if corpus.digest != digest:
        raise ValueError(
            f"the corpus in {folder} has the digest {corpus.digest[:16]}…, not {digest[:16]}… as "
            "when it was pickled: it was built again from other documents or settings"
        )
    return corpus


def _checked_record(folder: Path, verify: bool) -> dict:
    """Read the record and compare the files with it."""
    if not (folder / RECORD).is_file():
        if not folder.exists():
            raise FileNotFoundError(
                f"folder: there is no corpus at {folder}; if it was moved, give its new place, "
                "else build it with write_corpus"
            )
        if (folder / JOURNAL).is_file():
            raise FileNotFoundError(
                f"folder: the corpus in {folder} was not finished; call write_corpus with the "
                "same documents and settings, which goes on where it stopped"
            )
        raise FileNotFoundError(
            f"folder: {folder} holds no corpus (no file {RECORD}); give a folder that "
            "write_corpus made"
        )
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise ValueError(
                f"folder: the corpus in {folder} has format {record['format']!r}, this version "
                f"reads format {FORMAT}; build it again with write_corpus"
            )
        expected = {name: record["files"][name] for name in FILES}
        right = record["digest"] == record_digest(record)
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"folder: {folder / RECORD} is damaged; {_REBUILD}") from error
    if not right:
        raise ValueError(f"folder: {folder / RECORD} was changed after it was made; {_REBUILD}")
    for name, kept in expected.items():
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"folder: {name} is missing from {folder}; {_REBUILD}")
        if path.stat().st_size != kept["size"]:
            raise ValueError(
                f"folder: {path} has {path.stat().st_size} bytes instead of {kept['size']}: it "
                f"was cut or changed; {_REBUILD}"
            )
        if verify and file_hash(path) != kept["sha256"]:
            raise ValueError(f"folder: the content of {path} was changed; {_REBUILD}")
    return record

"""A corpus of sentences on disk, memory-mapped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.text import normalize_text

FORMAT = 1
RECORD = "corpus.json"
"""Written last: a folder without it holds an unfinished corpus."""
JOURNAL = "documents.jsonl"
"""One line per document: name, hash of its text, and where its rows, bytes and chunks end."""
TEXTS = "sentences.txt"
"""One sentence per line, UTF-8."""
STARTS = "starts.bin"
"""Byte at which each sentence starts in `TEXTS`, and the end: n + 1 little-endian int64."""
DOCUMENTS = "documents.bin"
CHUNKS = "chunks.bin"
HASHES = "hashes.bin"
ROWS = {STARTS: "<i8", DOCUMENTS: "<i4", CHUNKS: "<i4", HASHES: "<i8"}
"""Arrays with an entry per sentence."""
FILES = (JOURNAL, TEXTS, *ROWS)


class SentenceCorpus:
    """Sentences of documents, in order, read from a folder without loading all of it.

    A sentence is identified by its row, from 0. The rows of a document are consecutive, and so are
    those of a chunk. A chunk has `chunk_length` sentences of one document (its last chunk may be
    shorter). A context is identified by the row of its centre: with one sentence on each side, the
    context of row i has the left sentence i − 1 and the right sentence i + 1, if all three belong
    to one document.

    Parameters
    ----------
    folder : path
        Folder written by `write_corpus`.
    verify : bool, default=True
        Whether to compare every byte with the digest. Sizes are always checked.

    Attributes
    ----------
    n_sentences, n_documents, n_chunks : int
        Counts; documents without a sentence count too.
    chunk_length : int
        Sentences of a full chunk.
    digest : str
        64 hexadecimal digits that identify the content: equal for equal documents and settings.
    codes : ndarray of int64, shape (n_sentences,)
        Hashes of the sentences, equal if the sentences are equal after `film.text.normalize_text`.
    documents, chunks : ndarray of int32, shape (n_sentences,)
        The document and the chunk of each row, both ascending from 0; memory-mapped, read-only.
    names : list of str
        Name of each document.
    folder : Path
        Its absolute path.

    Raises
    ------
    FileNotFoundError
        If the folder or one of its files is missing, or was not finished.
    ValueError
        If a file has changed since it was written, or the folder has another format.

    See Also
    --------
    write_corpus : builds the folder.

    Notes
    -----
    A corpus is pickled as its path. Unpickling checks that sizes and digest are unchanged.

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
        record = read_record(self.folder, verify)
        self.n_sentences: int = record["n_sentences"]
        self.n_documents: int = record["n_documents"]
        self.n_chunks: int = record["n_chunks"]
        self.chunk_length: int = record["chunk_length"]
        self.digest: str = record["digest"]
        self._texts = np.memmap(self.folder / TEXTS, dtype=np.uint8, mode="r").data
        # Indexing a plain view costs a fraction of indexing a memmap.
        self._starts, self.documents, self.chunks, self.codes = (
            np.memmap(self.folder / name, dtype=kind, mode="r").view(np.ndarray)
            for name, kind in ROWS.items()
        )
        self._by_code: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

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
        return [entry[0] for entry in read_journal(self.folder)]

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
            If a row is not in the corpus.
        """
        wanted = np.asarray(rows, dtype=np.int64 if np.size(rows) == 0 else None)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise ValueError(
                f"rows must be a list of integers, got {wanted.dtype} of shape {wanted.shape}"
            )
        wrong = wanted[(wanted < 0) | (wanted >= self.n_sentences)]
        if len(wrong):
            raise IndexError(f"rows must be from 0 to {self.n_sentences - 1}, got {wrong[0]}")
        ends = self._starts[wanted + 1].tolist()
        return list(map(self._slice, self._starts[wanted].tolist(), ends))

    def iterate_texts(self, block: int = 65_536) -> Iterator[str]:
        """Yield all sentences in order, with one block of them in memory.

        Parameters
        ----------
        block : int, default=65536
            Sentences decoded at once.

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
            Chunk j holds the rows from ``starts[j]`` to ``starts[j + 1] - 1``.
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
        for start, end in pairwise(self._starts[self.chunk_starts()].tolist()):
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
            them. Documents with fewer than 2 `sides` + 1 sentences have no centre.

        Raises
        ------
        ValueError
            If `sides` is below 1.
        """
        if sides < 1:
            raise ValueError(f"sides must be at least 1, got {sides!r}")
        same = self.documents[2 * sides :] == self.documents[: max(0, len(self) - 2 * sides)]
        return np.flatnonzero(same) + sides

    def rows_of(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return the rows of the sentences that are equal to each text.

        Letter case, punctuation and white space are ignored (`film.text.normalize_text`).

        Parameters
        ----------
        texts : sequence of str
            Sentences.

        Returns
        -------
        rows : list of ndarray of int64
            Ascending rows per text, often empty; always empty without letters and numbers.

        Notes
        -----
        The first call sorts the hashes of all sentences, O(n log n); later calls use binary search.
        """
        if self._by_code is None:
            order = np.argsort(self.codes, kind="stable")
            self._by_code = order, self.codes[order]
        order, ordered = self._by_code
        codes = sentence_codes(texts)
        first = np.searchsorted(ordered, codes, side="left").tolist()
        last = np.searchsorted(ordered, codes, side="right").tolist()
        return [order[start:end] for start, end in zip(first, last, strict=True)]

    def _slice(self, start: int, end: int) -> str:
        # Every sentence ends with a line feed.
        return str(self._texts[start : max(start, end - 1)], "utf-8")


def _reopened(folder: str, digest: str) -> SentenceCorpus:
    corpus = SentenceCorpus(folder, verify=False)
    if corpus.digest != digest:
        raise ValueError(
            f"the corpus in {folder} has the digest {corpus.digest[:16]}…, not {digest[:16]}… as "
            "when it was pickled: it was built again from other documents or settings"
        )
    return corpus


def read_journal(folder: Path) -> list[list[Any]]:
    """Return name, hash and ends of each document."""
    with open(folder / JOURNAL, encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def sentence_codes(texts: Iterable[str]) -> NDArray[np.int64]:
    """Return a 64-bit hash of each normalised text; 0 for one without a letter or number."""
    keys = [normalize_text(text).encode("utf-8", "replace") for text in texts]
    digests = [hashlib.blake2b(key, digest_size=8).digest() if key else bytes(8) for key in keys]
    return np.frombuffer(b"".join(digests), dtype=ROWS[HASHES])


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def record_digest(content: dict) -> str:
    """Return the digest of a corpus: of its settings, counts, and the hashes of its files."""
    kept = {key: value for key, value in content.items() if key != "digest"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def read_record(folder: Path, verify: bool) -> dict:
    """Read the record of a corpus, and compare the files with it."""
    if not (folder / RECORD).is_file():
        raise FileNotFoundError(
            f"folder: {folder} holds no corpus, or an unfinished one (no file {RECORD}); if it was "
            "moved, give its new place, else build it with write_corpus"
        )
    remedy = "build it again with write_corpus in an empty folder"
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["digest"] != record_digest(record):
            raise ValueError("it was changed")
        files = {name: record["files"][name] for name in FILES}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"folder: {folder / RECORD} is damaged ({error}); {remedy}") from error
    if record["format"] != FORMAT:
        raise ValueError(
            f"folder: the corpus in {folder} has format {record['format']!r}, this version reads "
            f"format {FORMAT}; {remedy}"
        )
    for name, kept in files.items():
        path = folder / name
        if path.stat().st_size != kept["size"] or (verify and file_hash(path) != kept["sha256"]):
            raise ValueError(f"folder: {path} was cut or changed; {remedy}")
    return record

"""A corpus of sentences: documents, split, in memory."""

from __future__ import annotations

import codecs
import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.contexts.sentences import MAX_CHARACTERS, plain_text, split_sentences
from film.text import normalize_text

_PLAIN = (".txt", ".text")
_MARKDOWN = (".md", ".markdown")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_documents(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[tuple[str, str]]:
    """Yield documents from Markdown and text files, one at a time.

    Parameters
    ----------
    paths : path or iterable of paths
        Files and folders; each file is a document. From a folder and its subfolders, files are read
        in the order of their names if the names end in ``.md``, ``.markdown``, ``.txt`` or
        ``.text``; hidden files are skipped. A file that you pass yourself may have any name.
    encoding : str, default="utf-8"
        Encoding of files without a byte order mark.
    errors : {"strict", "replace"}, default="strict"
        Whether bytes that are invalid in `encoding` raise an error, or are replaced by U+FFFD.

    Yields
    ------
    name : str
        The path inside the given folder, with ``/`` as separator; the name of a given file.
    text : str
        The whole document, decoded.

    Raises
    ------
    FileNotFoundError
        If a path does not exist; raised before the first document is read.
    ValueError
        If there is no file to read, bytes are invalid in `encoding`, or `encoding` is unknown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "tale.txt").write_text("It was cold. He slept.")
    ...     list(read_documents(folder))
    [('tale.txt', 'It was cold. He slept.')]
    """
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(
            f"encoding must be the name of an encoding, such as 'latin-1', got {encoding!r}"
        ) from error
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = _files([Path(path) for path in given])
    return ((name, _read(path, encoding, errors)) for name, path in files)


def is_plain(name: str) -> bool:
    """Return whether a name is that of a plain text, which is never read as Markdown."""
    return name.lower().endswith(_PLAIN)


def _files(paths: list[Path]) -> list[tuple[str, Path]]:
    files: list[tuple[str, Path]] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"paths: there is no file or folder {os.fspath(path)!r}; give the folder of the "
                "documents or the files themselves"
            )
        if not path.is_dir():
            files.append((path.name, path))
            continue
        inside = [(file.relative_to(path), file) for file in path.rglob("*") if file.is_file()]
        files += [
            (name.as_posix(), file)
            for name, file in sorted(inside)
            if file.name.lower().endswith(_PLAIN + _MARKDOWN)
            and not any(part.startswith(".") for part in name.parts)
        ]
    if not files:
        shown = ", ".join(repr(os.fspath(path)) for path in paths[:5]) or "an empty list"
        raise ValueError(
            f"paths: there is no document in {shown}; documents of a folder end in "
            f"{', '.join(_MARKDOWN + _PLAIN)}"
        )
    return files


def _read(path: Path, encoding: str, errors: str) -> str:
    content = path.read_bytes()
    marked = [name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)]
    used = marked[0] if marked else encoding
    try:
        return content.decode(used, errors)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start + 1} is 0x{content[error.start]:02x}, which "
            f"is not {used}; save the file as UTF-8, or name its encoding (encoding='latin-1'); "
            "errors='replace' of read_documents puts U+FFFD there"
        ) from error


class SentenceCorpus:
    """Sentences of documents, in order.

    A sentence is identified by its row, from 0. The rows of a document are consecutive, and so are
    those of a chunk. A chunk has `chunk_length` sentences of one document (its last chunk may be
    shorter). A context is identified by the row of its centre: with one sentence on each side, the
    context of row i has the left sentence i − 1 and the right sentence i + 1, if all three belong
    to one document.

    Parameters
    ----------
    sentences : sequence of str
        At least one.
    documents : array-like of int, shape (n_sentences,)
        Number of the document of each sentence, ascending from 0.
    names : sequence of str
        Name of each document; a document may have no sentence.
    chunk_length : int, default=10
        Sentences of a full chunk.
    codes : array-like of int64, shape (n_sentences,), default=None
        Hashes of the sentences; None: computed.

    Attributes
    ----------
    n_sentences, n_documents, n_chunks : int
        Counts; documents without a sentence count too.
    codes : ndarray of int64, shape (n_sentences,)
        Hashes of the sentences, equal if the sentences are equal after `film.text.normalize_text`.
    documents, chunks : ndarray of int64, shape (n_sentences,)
        The document and the chunk of each row, both ascending.

    Raises
    ------
    ValueError
        If the numbers of documents do not fit the sentences and names.

    See Also
    --------
    make_corpus : Splits documents into sentences.

    Examples
    --------
    >>> from film.contexts import SentenceCorpus
    >>> sentences = ["It was cold.", "He slept.", "It grew dark."]
    >>> corpus = SentenceCorpus(sentences, [0, 0, 0], ["tale"], chunk_length=2)
    >>> corpus.texts([1]), corpus.centres().tolist(), corpus.chunks.tolist()
    (['He slept.'], [1], [0, 0, 1])
    """

    def __init__(
        self,
        sentences: Sequence[str],
        documents: ArrayLike,
        names: Sequence[str],
        *,
        chunk_length: int = 10,
        codes: Any = None,
    ) -> None:
        self.sentences, self.names = list(sentences), list(names)
        self.documents = np.asarray(documents, dtype=np.int64)
        self.chunk_length = int(chunk_length)
        self.codes = np.asarray(sentence_codes(self.sentences) if codes is None else codes)
        self.n_sentences, self.n_documents = len(self.sentences), len(self.names)
        is_first = np.diff(self.documents, prepend=-1) > 0
        ends = self.documents[:1].tolist() + self.documents[-1:].tolist()
        if (
            not self.n_sentences
            or not len(self.documents) == len(self.codes) == self.n_sentences
            or not 0 <= ends[0] <= ends[1] < self.n_documents
            or (np.diff(self.documents) < 0).any()
        ):
            raise ValueError(
                f"documents must be {self.n_sentences} ascending numbers of {self.n_documents} "
                "documents, one for each of the sentences"
            )
        starts = np.flatnonzero(is_first)
        place = np.arange(self.n_sentences) - starts[np.cumsum(is_first) - 1]
        self.chunks = np.cumsum(place % self.chunk_length == 0) - 1
        self.n_chunks = int(self.chunks[-1]) + 1

    def __repr__(self) -> str:
        return (
            f"SentenceCorpus: {self.n_sentences:,} sentences, {self.n_documents:,} documents, "
            f"{self.n_chunks:,} chunks"
        )

    def texts(self, rows: ArrayLike) -> list[str]:
        """Return the sentences of rows, in any order; raise IndexError if a row does not exist."""
        wanted = np.asarray(rows, dtype=np.int64)
        wrong = wanted[(wanted < 0) | (wanted >= self.n_sentences)]
        if len(wrong):
            raise IndexError(f"rows must be from 0 to {self.n_sentences - 1}, got {wrong[0]}")
        return [self.sentences[row] for row in wanted.tolist()]

    def chunk_texts(self) -> Iterator[str]:
        """Yield the text of each chunk, its sentences joined by spaces."""
        starts = np.flatnonzero(np.diff(self.chunks, prepend=-1)).tolist()
        for start, end in pairwise([*starts, self.n_sentences]):
            yield " ".join(self.sentences[start:end])

    def centres(self) -> NDArray[np.int64]:
        """Return the ascending rows with a sentence of their document before and after them."""
        return np.flatnonzero(self.documents[2:] == self.documents[:-2]) + 1

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
        codes, order = sentence_codes(texts), self._by_code
        first = np.searchsorted(self.codes, codes, side="left", sorter=order).tolist()
        last = np.searchsorted(self.codes, codes, side="right", sorter=order).tolist()
        return [order[start:end] for start, end in zip(first, last, strict=True)]

    @functools.cached_property
    def _by_code(self) -> NDArray[np.int64]:
        return np.argsort(self.codes, kind="stable")


def make_corpus(
    documents: Iterable[tuple[str, str] | str],
    *,
    chunk_length: int = 10,
    markdown: bool = True,
    language: str = "en",
    max_characters: int = MAX_CHARACTERS,
    advance: Callable[[int], Any] | None = None,
) -> SentenceCorpus:
    """Split documents into sentences and chunks.

    Parameters
    ----------
    documents : iterable of (name, text) or of str
        Documents, such as `read_documents` yields; a text without a name gets its number.
    chunk_length : int, default=10
        Sentences per chunk, at least 1.
    markdown : bool, default=True
        Whether documents are Markdown. Names that end in ``.txt`` or ``.text`` are plain text.
    language : str, default="en"
        Language of the rules that find the ends of sentences.
    max_characters : int, default=500
        Longer sentences are cut, as in `split_sentences`.
    advance : callable, optional
        Called with 1 after each document.

    Returns
    -------
    corpus : SentenceCorpus
        The sentences. A document of one sentence has a row but no context.

    Raises
    ------
    TypeError, ValueError
        If a document is neither a text nor a pair of name and text, a parameter is invalid, or no
        document contains a sentence.

    See Also
    --------
    read_documents : documents from files.

    Examples
    --------
    >>> from film.contexts import make_corpus
    >>> corpus = make_corpus(["It was cold. He slept.", "", "Nobody came."])
    >>> corpus.n_sentences, corpus.n_documents, corpus.documents.tolist(), corpus.names[0]
    (3, 3, [0, 0, 2], 'document 1')
    """
    if isinstance(documents, str | bytes | os.PathLike):
        raise TypeError(
            f"documents must be an iterable of texts or of (name, text), got {documents!r}; for "
            "files give read_documents(path)"
        )
    if chunk_length < 1:
        raise ValueError(f"chunk_length must be at least 1, got {chunk_length!r}")
    sentences: list[str] = []
    numbers: list[int] = []
    names: list[str] = []
    for k, document in enumerate(documents, start=1):
        pair: Any = (f"document {k}", document) if isinstance(document, str) else document
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not all(isinstance(part, str) for part in pair):
            raise TypeError(
                f"documents must be texts or pairs (name, text) of str, got {document!r:.80} at "
                f"place {k}"
            )
        prose = plain_text(pair[1], markdown and not is_plain(pair[0]))
        found = split_sentences(prose, language, max_characters=max_characters)
        sentences += found
        numbers += [len(names)] * len(found)
        names.append(pair[0])
        if advance is not None:
            advance(1)
    if not sentences:
        raise ValueError(
            f"documents must contain at least one sentence; {len(names)} documents contain none"
        )
    return SentenceCorpus(sentences, numbers, names, chunk_length=chunk_length)


def sentence_codes(texts: Iterable[str]) -> NDArray[np.int64]:
    """Return a 64-bit hash of each normalised text; 0 for one without a letter or number."""
    keys = [normalize_text(text).encode("utf-8", "replace") for text in texts]
    digests = [hashlib.blake2b(key, digest_size=8).digest() if key else bytes(8) for key in keys]
    return np.frombuffer(b"".join(digests), dtype="<i8")

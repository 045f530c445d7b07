"""Building a corpus folder, document by document."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from film.contexts.corpus.reading import is_plain
from film.contexts.corpus.sentence_corpus import (
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
    SentenceCorpus,
    file_hash,
    read_journal,
    read_record,
    record_digest,
    sentence_codes,
)
from film.contexts.corpus.sentences import MAX_CHARACTERS, plain_text, split_sentences


def write_corpus(
    folder: str | os.PathLike[str],
    documents: Iterable[tuple[str, str] | str],
    *,
    chunk_length: int = 10,
    markdown: bool = True,
    language: str = "en",
    max_characters: int = MAX_CHARACTERS,
    advance: Callable[[int], Any] | None = None,
) -> SentenceCorpus:
    """Split documents into sentences and chunks, and write them to a folder.

    One document is in memory at a time. After an interruption, the next call starts again. A
    finished corpus is compared with the documents and opened.

    Parameters
    ----------
    folder : path
        Created if it does not exist; otherwise it must be empty or hold a corpus.
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
        The corpus, open.

    Raises
    ------
    FileExistsError
        If the folder holds other files, or a finished corpus of other documents or settings.
    OSError
        If writing fails, for example on a full disk.
    TypeError, ValueError
        If a document is neither a text nor a pair of name and text, a parameter is invalid, or no
        document contains a sentence.

    See Also
    --------
    read_documents : documents from files.

    Notes
    -----
    A document of one sentence has a row but no context.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     corpus = write_corpus(folder, ["It was cold. He slept.", "", "Nobody came."])
    ...     corpus.n_sentences, corpus.n_documents, corpus.documents.tolist(), corpus.names[0]
    (3, 3, [0, 0, 2], 'document 1')
    """
    if isinstance(documents, str | bytes | os.PathLike):
        raise TypeError(
            f"documents must be an iterable of texts or of (name, text), got {documents!r}; for "
            "files give read_documents(path)"
        )
    if chunk_length < 1:
        raise ValueError(f"chunk_length must be at least 1, got {chunk_length!r}")
    settings = {
        "chunk_length": int(chunk_length),
        "markdown": bool(markdown),
        "language": str(language),
        "max_characters": int(max_characters),
    }
    target = Path(folder).absolute()
    target.mkdir(parents=True, exist_ok=True)
    others = {path.name for path in target.iterdir()} - {*FILES, RECORD, f".{RECORD}"}
    if others:
        raise FileExistsError(
            f"folder: {target} holds other files, such as {min(others)!r}; give an empty folder, "
            "one that does not exist, or that of a corpus"
        )
    named = _named(documents)
    if (target / RECORD).exists():
        _compare(target, named, settings, advance)
    else:
        _build(target, named, settings, advance)
    return SentenceCorpus(target, verify=False)


def _build(
    folder: Path,
    documents: Iterator[tuple[str, str]],
    settings: dict[str, Any],
    advance: Callable[[int], Any] | None,
) -> None:
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ROWS}
    n_sentences, n_bytes, n_chunks, n_documents = 0, 0, 0, 0
    with open(folder / TEXTS, "wb") as texts, open(folder / JOURNAL, "wb") as journal:
        for name, text in documents:
            prose = plain_text(text, settings["markdown"] and not is_plain(name))
            sentences = split_sentences(
                prose, settings["language"], max_characters=settings["max_characters"]
            )
            lines = [sentence.encode() + b"\n" for sentence in sentences]
            texts.write(b"".join(lines))
            n = len(lines)
            rows[STARTS].append(n_bytes + np.cumsum([0, *map(len, lines)])[:-1])
            rows[DOCUMENTS].append(np.full(n, n_documents))
            rows[CHUNKS].append(n_chunks + np.arange(n) // settings["chunk_length"])
            rows[HASHES].append(sentence_codes(sentences))
            n_sentences += n
            n_bytes += sum(map(len, lines))
            n_chunks += -(-n // settings["chunk_length"])
            n_documents += 1
            entry = [name, document_hash(name, text), n_sentences, n_bytes, n_chunks]
            journal.write(json.dumps(entry).encode() + b"\n")
            if advance is not None:
                advance(1)
    if not n_sentences:
        raise ValueError(
            f"documents must contain at least one sentence; {n_documents} documents contain none"
        )
    rows[STARTS].append(np.array([n_bytes]))
    for name, kind in ROWS.items():
        np.concatenate(rows[name]).astype(kind).tofile(folder / name)
    counts = {"n_sentences": n_sentences, "n_documents": n_documents, "n_chunks": n_chunks}
    files = {
        name: {"size": (folder / name).stat().st_size, "sha256": file_hash(folder / name)}
        for name in FILES
    }
    content = {"format": FORMAT, **settings, **counts, "files": files}
    partial = folder / f".{RECORD}"
    partial.write_text(json.dumps({**content, "digest": record_digest(content)}, indent=1))
    partial.replace(folder / RECORD)


def _compare(
    folder: Path,
    documents: Iterator[tuple[str, str]],
    settings: dict[str, Any],
    advance: Callable[[int], Any] | None,
) -> None:
    """Raise an error if a finished corpus has other documents or settings."""
    record, remedy = read_record(folder, verify=True), "remove the folder or give another one"
    for key, value in settings.items():
        if record[key] != value:
            raise FileExistsError(
                f"folder: {folder} holds a corpus with {key}={record[key]!r}, not {value!r}; "
                f"{remedy}"
            )
    kept, n = [entry[:2] for entry in read_journal(folder)], 0
    for name, text in documents:
        if kept[n : n + 1] != [[name, document_hash(name, text)]]:
            raise FileExistsError(
                f"folder: {folder} holds a corpus of other documents: {name!r}, number {n + 1}, "
                f"is not the same there; {remedy}"
            )
        n += 1
        if advance is not None:
            advance(1)
    if n < len(kept):
        raise FileExistsError(
            f"folder: {folder} holds a corpus of {len(kept)} documents, not {n}; {remedy}"
        )


def document_hash(name: str, text: str) -> str:
    """Return the SHA-256 of a document's name and text."""
    return hashlib.sha256(json.dumps(name).encode() + text.encode()).hexdigest()


def _named(documents: Iterable[tuple[str, str] | str]) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each document."""
    for k, document in enumerate(documents, start=1):
        pair: Any = (f"document {k}", document) if isinstance(document, str) else document
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not all(isinstance(part, str) for part in pair):
            raise TypeError(
                f"documents must be texts or pairs (name, text) of str, got {document!r:.80} at "
                f"place {k}"
            )
        yield pair[0], pair[1]

"""Building a corpus folder, document by document."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from filelock import FileLock, Timeout

from film.contexts.corpus.layout import (
    CHUNKS,
    DOCUMENTS,
    FILES,
    HASHES,
    JOURNAL,
    RECORD,
    ROWS,
    STARTS,
    TEXTS,
    Ends,
    Entry,
    document_hash,
    read_journal,
    sentence_hashes,
    write_record,
)
from film.contexts.corpus.reading import is_plain
from film.contexts.corpus.sentence_corpus import SentenceCorpus
from film.contexts.corpus.sentences import MAX_CHARACTERS, plain_text, split_sentences

_SETTINGS = ".settings.json"
_LOCK = ".lock"


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

    One document is in memory at a time. A build that was interrupted, killed or stopped by a full
    disk goes on when it is called again with the same documents and settings: documents that are
    whole are kept, as far as the new ones agree with them, and the digest is the same as that of
    a build in one go. A corpus that is finished is compared with the documents and opened.

    Parameters
    ----------
    folder : path
        Made when it does not exist; else it must be empty or hold a corpus.
    documents : iterable of (name, text) or of str
        Documents, such as `read_documents` yields; a text alone is named by its place.
    chunk_length : int, default=10
        Sentences of a chunk, at least 1.
    markdown : bool, default=True
        Whether documents are Markdown. Those whose names end in ``.txt`` or ``.text`` never are.
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
        When the folder holds other files, or a finished corpus of other documents or settings.
    BlockingIOError
        When another process builds in the folder.
    OSError
        When writing fails, as on a full disk; what is whole stays.
    TypeError, ValueError
        When a document is neither a text nor a pair of name and text, or a parameter is wrong.
        When no document holds a sentence.

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
    settings = {
        "chunk_length": _at_least(chunk_length, 1, "chunk_length"),
        "markdown": bool(markdown),
        "language": str(language),
        "max_characters": _at_least(max_characters, 20, "max_characters"),
    }
    pairs = _named(documents)
    target = Path(folder).absolute()
    _check_place(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with FileLock(target / _LOCK, timeout=0):
            if (target / RECORD).exists():
                _compare(SentenceCorpus(target), pairs, settings, advance)
            else:
                _build(target, pairs, settings, advance)
    except Timeout as error:
        raise BlockingIOError(
            f"folder: another process builds a corpus in {target}; wait for it or give another "
            "folder"
        ) from error
    except OSError as error:
        inside = error.filename is None or Path(error.filename).is_relative_to(target)
        if isinstance(error, FileExistsError) or not error.errno or not inside:
            raise
        raise OSError(
            error.errno,
            f"could not write the corpus in {target}: {error.strerror}; whole documents are "
            "kept: free some space and call write_corpus again, or remove the folder",
        ) from error
    (target / _LOCK).unlink(missing_ok=True)
    return SentenceCorpus(target, verify=False)


def _build(
    folder: Path,
    documents: Iterator[tuple[str, str]],
    settings: dict,
    advance: Callable[[int], Any] | None,
) -> None:
    kept = _resumed(folder, settings)
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {
            name: stack.enter_context(open(folder / name, "r+b")) for name in FILES
        }
        ends, n_documents = Ends(), 0
        for name, text in documents:
            digits = document_hash(name, text)
            if n_documents < len(kept) and kept[n_documents][:2] == (name, digits):
                ends = kept[n_documents].ends
            else:
                if n_documents <= len(kept):
                    _truncate(files, kept[:n_documents], ends)
                    kept = []
                prose = plain_text(text, settings["markdown"] and not is_plain(name))
                sentences = split_sentences(
                    prose, settings["language"], max_characters=settings["max_characters"]
                )
                ends = _append(files, n_documents, sentences, settings["chunk_length"], ends)
                files[JOURNAL].write(Entry(name, digits, ends).line())
                files[JOURNAL].flush()
            n_documents += 1
            if advance is not None:
                advance(1)
        if n_documents <= len(kept):
            _truncate(files, kept[:n_documents], ends)
        if ends.rows == 0:
            raise ValueError(
                f"documents must hold at least one sentence; {n_documents} documents hold none"
            )
        for handle in files.values():
            handle.flush()
            os.fsync(handle.fileno())
    counts = {"n_sentences": ends.rows, "n_documents": n_documents, "n_chunks": ends.chunks}
    write_record(folder, settings, counts)
    (folder / _SETTINGS).unlink(missing_ok=True)


def _append(
    files: dict[str, IO[bytes]], document: int, sentences: list[str], chunk_length: int, ends: Ends
) -> Ends:
    """Write the rows of a document and return where they end."""
    lines = [sentence.encode("utf-8") + b"\n" for sentence in sentences]
    n = len(lines)
    starts = ends.bytes + np.cumsum([len(line) for line in lines], dtype=np.int64)
    chunks = ends.chunks + np.arange(n) // chunk_length
    rows = {
        STARTS: starts,
        DOCUMENTS: np.full(n, document),
        CHUNKS: chunks,
        HASHES: sentence_hashes(sentences),
    }
    files[TEXTS].write(b"".join(lines))
    files[TEXTS].flush()
    for name, values in rows.items():
        files[name].write(values.astype(ROWS[name]).tobytes())
        files[name].flush()
    return Ends(
        ends.rows + n,
        int(starts[-1]) if n else ends.bytes,
        int(chunks[-1]) + 1 if n else ends.chunks,
    )


def _resumed(folder: Path, settings: dict) -> list[Entry]:
    """Make the files where they are missing, and return the documents that are whole in them."""
    record = folder / _SETTINGS
    same = False
    if record.exists():
        try:
            same = json.loads(record.read_text(encoding="utf-8")) == settings
        except ValueError:
            same = False
    if not same:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
    for name in FILES:
        (folder / name).touch()
    if not same:
        record.write_text(json.dumps(settings), encoding="utf-8")
    sizes = {name: (folder / name).stat().st_size for name in FILES}
    entries = read_journal(folder / JOURNAL)
    while entries and any(_size(name, entries[-1].ends) > sizes[name] for name in (TEXTS, *ROWS)):
        entries.pop()
    return entries


def _size(name: str, ends: Ends) -> int:
    """Return the bytes of a file that hold the documents up to `ends`."""
    if name == TEXTS:
        return ends.bytes
    return (ends.rows + (name == STARTS)) * ROWS[name].itemsize


def _truncate(files: dict[str, IO[bytes]], entries: list[Entry], ends: Ends) -> None:
    """Cut all files to the given documents, and stand at their ends."""
    for name, handle in files.items():
        size = sum(len(entry.line()) for entry in entries) if name == JOURNAL else _size(name, ends)
        if name == STARTS and ends.rows == 0:
            handle.write(bytes(ROWS[STARTS].itemsize))
            handle.flush()
        handle.truncate(size)
        handle.seek(size)


def _compare(
    corpus: SentenceCorpus,
    documents: Iterator[tuple[str, str]],
    settings: dict,
    advance: Callable[[int], Any] | None,
) -> None:
    """Raise unless a finished corpus is that of these documents and settings."""
    record = json.loads((corpus.folder / RECORD).read_text(encoding="utf-8"))
    remedy = "remove the folder or give another one"
    for key, value in settings.items():
        if record[key] != value:
            raise FileExistsError(
                f"folder: {corpus.folder} holds a corpus with {key}={record[key]!r}, not "
                f"{value!r}; {remedy}"
            )
    entries = read_journal(corpus.folder / JOURNAL)
    n = 0
    for name, text in documents:
        if n >= len(entries) or entries[n][:2] != (name, document_hash(name, text)):
            raise FileExistsError(
                f"folder: {corpus.folder} holds a corpus of other documents: {name!r}, number "
                f"{n + 1}, is not the same there; {remedy}"
            )
        n += 1
        if advance is not None:
            advance(1)
    if n < len(entries):
        raise FileExistsError(
            f"folder: {corpus.folder} holds a corpus of {len(entries)} documents, not {n}; {remedy}"
        )


def _check_place(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"folder: {folder} is a file; give a folder")
    ours = {*FILES, RECORD, f".{RECORD}.part", _SETTINGS, _LOCK}
    others = (
        sorted(p.name for p in folder.iterdir() if p.name not in ours) if folder.exists() else []
    )
    if others:
        raise FileExistsError(
            f"folder: {folder} holds other files, {others[0]!r} among them; give an empty folder, "
            "one that does not exist, or that of a corpus"
        )


def _named(documents: Iterable[tuple[str, str] | str]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for what was given."""
    for k, document in enumerate(documents, start=1):
        pair = (f"document {k}", document) if isinstance(document, str) else document
        if not (isinstance(pair, tuple | list) and len(pair) == 2) or not all(
            isinstance(part, str) for part in pair
        ):
            raise TypeError(
                f"documents must be texts or pairs (name, text) of str, got {document!r:.80} at "
                f"place {k}"
            )
        yield pair[0], pair[1]


def _at_least(value: int, least: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)

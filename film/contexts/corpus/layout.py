"""Files of a corpus folder: what each holds, per sentence, and the record that makes it whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

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
ROWS: dict[str, np.dtype] = {
    STARTS: np.dtype("<i8"),
    DOCUMENTS: np.dtype("<i4"),
    CHUNKS: np.dtype("<i4"),
    HASHES: np.dtype("<u8"),
}
"""Arrays with an entry per sentence."""
FILES = (JOURNAL, TEXTS, *ROWS)


class Ends(NamedTuple):
    """What documents up to one have in all: its sentences, bytes and chunks, and theirs."""

    rows: int = 0
    bytes: int = 0
    chunks: int = 0


class Entry(NamedTuple):
    """A document in the journal.

    Parameters
    ----------
    name : str
        Its name.
    hash : str
        SHA-256 of its name and text, in hexadecimal digits.
    ends : Ends
        Sentences, bytes and chunks up to its end.
    """

    name: str
    hash: str
    ends: Ends

    def line(self) -> bytes:
        """Return the line of the journal."""
        return json.dumps([self.name, self.hash, *self.ends]).encode() + b"\n"


def read_journal(path: Path) -> list[Entry]:
    """Read the whole lines of a journal; a torn last line and what follows it count for nothing."""
    entries = []
    with open(path, "rb") as handle:
        for line in handle:
            try:
                name, digits, *ends = json.loads(line)
                entry = Entry(name, digits, Ends(*map(int, ends)))
            except (ValueError, TypeError):
                break
            if not line.endswith(b"\n"):
                break
            entries.append(entry)
    return entries


def document_hash(name: str, text: str) -> str:
    """Return the SHA-256 of a document's name and text.

    Raises
    ------
    ValueError
        When either holds lone surrogates, which are no text.
    """
    try:
        content = json.dumps(name).encode() + text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"document {name!r} holds U+{ord(text[error.start]):04X} at character {error.start}, "
            "half of a surrogate pair, which is no text; decode the file again with "
            "errors='replace'"
        ) from error
    return hashlib.sha256(content).hexdigest()


def sentence_hashes(texts: Iterable[str]) -> np.ndarray:
    """Return a 64-bit hash of each normalised text, little-endian uint64."""
    digests = [
        hashlib.blake2b(normalize_text(text).encode("utf-8", "replace"), digest_size=8).digest()
        for text in texts
    ]
    return np.frombuffer(b"".join(digests), dtype=ROWS[HASHES])


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def write_record(folder: Path, settings: dict, counts: dict) -> None:
    """Hash all files and write the record beside them, whole or not at all."""
    files = {
        name: {"size": (folder / name).stat().st_size, "sha256": file_hash(folder / name)}
        for name in FILES
    }
    content = {"format": FORMAT, **settings, **counts, "files": files}
    record = {**content, "digest": record_digest(content)}
    temporary = folder / f".{RECORD}.part"
    with open(temporary, "w", encoding="utf-8") as handle:
        json.dump(record, handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, folder / RECORD)


def record_digest(content: dict) -> str:
    """Return the digest of a corpus: of its settings, counts, and the hashes of its files."""
    kept = {key: value for key, value in content.items() if key != "digest"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()

"""Files of row blocks: the bytes of a block, written whole or not at all and read with a hash."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Entry:
    """A block as the manifest lists it: its file, what it holds, and the hash of its bytes."""

    file: str
    n_rows: int
    n_columns: int
    dtype: str
    size: int
    hash: str


def encode(rows: Any) -> tuple[str, bytes, tuple[int, int], str]:
    """Suffix, bytes, shape and dtype of a block of texts, sparse or dense rows."""
    buffer = io.BytesIO()
    if sp.issparse(rows):
        matrix: Any = sp.csr_array(rows)
        n, d = matrix.shape
        np.savez(
            buffer,
            data=matrix.data,
            indices=matrix.indices,
            indptr=matrix.indptr,
            shape=np.array([n, d]),
        )
        return "npz", buffer.getvalue(), (n, d), matrix.dtype.str
    if isinstance(rows, np.ndarray) and rows.dtype != object:
        if rows.ndim != 2:
            raise ValueError(f"a block has shape {rows.shape}; it must be (n_rows, n_columns)")
        np.save(buffer, np.ascontiguousarray(rows), allow_pickle=False)
        return "npy", buffer.getvalue(), (rows.shape[0], rows.shape[1]), rows.dtype.str
    texts = list(rows)
    wrong = next((place for place, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(
            f"row {wrong} of a block is {type(texts[wrong]).__name__}, not a text; blocks are "
            "lists of str, sparse matrices or arrays of numbers"
        )
    return "json", json.dumps(texts).encode(), (len(texts), 1), "|O"


def decode(entry: Entry, content: bytes) -> Any:
    """Rows of a block from its bytes."""
    if entry.file.endswith(".json"):
        return json.loads(content)
    parts: Any = np.load(io.BytesIO(content), allow_pickle=False)
    if entry.file.endswith(".npy"):
        return parts
    shape = tuple(parts["shape"].tolist())
    return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)


def read_block(folder: Path, entry: Entry) -> bytes:
    """Bytes of a block, or OSError where they are not those that were written."""
    path = folder / entry.file
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{path} is missing; call the function that wrote the blocks again: it makes this one"
        ) from error
    if len(content) != entry.size or content_hash(content) != entry.hash:
        raise OSError(
            f"{path} is torn or was changed: its {len(content)} bytes are not the {entry.size} "
            "that were written; call the function that wrote the blocks again: it makes this one"
        )
    return content


def replace_file(path: Path, content: bytes, durable: bool = False) -> None:
    """Write a file under another name and rename it when it is whole."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with open(temporary, "xb") as handle:
            handle.write(content)
            if durable:
                handle.flush()
                os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Say of an error of writing what is kept, and what to do."""
    try:
        yield
    except OSError as error:
        if not error.errno:
            raise
        raise OSError(
            error.errno,
            f"could not write row blocks in {folder}: {error.strerror}; finished blocks are kept: "
            "free some space or mend the folder, and call again",
        ) from error


def content_hash(content: bytes) -> str:
    """Hash of bytes, in hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()

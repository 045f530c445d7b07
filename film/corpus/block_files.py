"""Files of row blocks: encoded, written atomically and verified by hash."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from film.unpacking import check_array, check_sparse

NAME = re.compile(r"block-\d{6}\.(json|npz|npy)", re.ASCII)
"""File names of blocks, in the folder of the manifest."""


@dataclass(frozen=True)
class Entry:
    """A block's entry in the manifest: file name, contents, and hash."""

    file: str
    n_rows: int
    n_columns: int
    dtype: str
    size: int
    hash: str

    def __post_init__(self) -> None:
        """Reject file names outside the folder and impossible values."""
        counts = self.n_rows, self.n_columns, self.size
        possible = all(type(n) is int and n >= 0 for n in counts)
        # A row takes at least a byte: a larger number would only claim memory.
        if not NAME.fullmatch(self.file) or not possible or self.n_rows > self.size:
            raise ValueError(f"{self.file!r} with {counts} is not a block")


def encode(rows: Any) -> tuple[str, bytes, tuple[int, int], str]:
    """Encode a block; return its suffix, bytes, shape and dtype."""
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
        if rows.ndim != 2 or not rows.shape[1]:
            raise ValueError(
                f"a block has shape {rows.shape}; it must be (n_rows, n_columns), with one column "
                "or more"
            )
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
    """Decode the rows of a block.

    Raises
    ------
    ValueError
        If the contents do not match the entry, or would decompress to more than the entry allows.
    """
    try:
        rows = _decoded(entry.file, content)
        is_text = isinstance(rows, list)
        shape = (len(rows), 1) if is_text else rows.shape
        dtype = "|O" if is_text else rows.dtype.str
        if (*shape, dtype) != (entry.n_rows, entry.n_columns, entry.dtype):
            raise ValueError(f"it holds {shape} of {dtype}")
    except (ValueError, TypeError, KeyError, RecursionError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{entry.file} is not the block that blocks.json names ({error}); remove the folder "
            "and create it again"
        ) from error
    return rows


def _decoded(name: str, content: bytes) -> Any:
    if name.endswith(".json"):
        texts = json.loads(content)
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError("it holds values that are not texts")
        return texts
    if name.endswith(".npy"):
        stream = io.BytesIO(content)
        check_array(stream, len(content), name)
        return np.load(io.BytesIO(content), allow_pickle=False)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            # NumPy stores arrays uncompressed, so no entry can expand.
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{info.filename!r} is compressed")
            with archive.open(info) as stream:
                check_array(stream, info.file_size, info.filename)
    parts: Any = np.load(io.BytesIO(content), allow_pickle=False)
    shape = tuple(parts["shape"].tolist())
    return check_sparse(
        sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    )


def read_block(folder: Path, entry: Entry) -> bytes:
    """Read a block, or raise OSError if its file changed."""
    path = folder / entry.file
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing; call the function that wrote the blocks again to restore it"
        )
    # Check the size before reading, in case the path is a device.
    size = path.stat().st_size
    content = path.read_bytes() if path.is_file() and size == entry.size else b""
    if len(content) != entry.size or content_hash(content) != entry.hash:
        raise OSError(
            f"{path} is torn or was changed: its {size} bytes are not the {entry.size} that were "
            "written; call the function that wrote the blocks again to restore it"
        )
    return content


def replace_file(path: Path, content: bytes, durable: bool = False) -> None:
    """Write to a temporary file, then rename it."""
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
    """Add what is kept and what to do to a write error."""
    try:
        yield
    except OSError as error:
        if not error.errno:
            raise
        raise OSError(
            error.errno,
            f"could not write row blocks in {folder}: {error.strerror}; finished blocks are kept: "
            "free some space or repair the folder, and call again",
        ) from error


def content_hash(content: bytes) -> str:
    """Return the hash of bytes in hexadecimal."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()

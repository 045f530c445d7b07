"""Row blocks on disk: the rows of a corpus, as texts or numbers, in files of one folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from filelock import FileLock, Timeout
from numpy.typing import ArrayLike

from film.unpacking import check_array, check_sparse

__all__ = ["BLOCK_ROWS", "RowBlocks", "cut_rows"]

BLOCK_ROWS = 65_536
"""Default number of rows per block; a block of 300 float32 columns then has 79 MB."""
MANIFEST = "blocks.json"
"""Written last: a folder without it holds unfinished blocks."""
_FORMAT = 1
_LOCK = ".lock"
NAME = re.compile(r"block-\d{6}\.(json|npz|npy)", re.ASCII)
"""File names of blocks, in the folder of the manifest."""
_FILES = re.compile(rf"{NAME.pattern}|block-\d{{6}}\.entry")
_LEFT = re.compile(r"\.block.*\.[0-9a-f]{12}\.part")


class RowBlocks:
    """The blocks of a finished folder, read one at a time.

    Blocks are texts, sparse rows or dense rows. Only the manifest stays in memory: file names,
    sizes and hashes. Every block is checked against its hash when read. The object can be sent to
    other processes that see the same folder.

    Parameters
    ----------
    folder : path
        A folder written by `write_blocks` or `map_blocks`.

    Attributes
    ----------
    folder : Path
        Absolute path.
    made_by : dict
        How the blocks were made: the stage, its settings, and the digest of its source.
    digest : str
        Hash of the manifest: equal if contents, block boundaries and ``made_by`` are equal.
    edges : ndarray of int64, shape (n_blocks + 1,)
        First row of each block, followed by the number of rows.
    shape : tuple of int
        Rows and columns; texts have one column.
    dtype : dtype
        Dtype of the entries; object for texts.

    Raises
    ------
    FileNotFoundError
        If the folder has no finished blocks.
    ValueError
        If the manifest is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from film.corpus import write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blocks = write_blocks(folder, [["a", "b"], ["c"]])
    ...     blocks.n_blocks, blocks.shape, blocks.block(1)
    (2, (3, 1), ['c'])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        path = self.folder / MANIFEST
        if not path.is_file():
            raise FileNotFoundError(
                f"folder: {self.folder} holds no finished row blocks; call the function that "
                "writes them again: it continues where it stopped"
            )
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            self.digest: str = record.pop("digest")
            self.made_by: dict[str, Any] = record["made_by"]
            self.entries = [Entry(**entry) for entry in record["blocks"]]
            known = record["format"] == _FORMAT and self.digest == _digest(record)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is not a row-block manifest; remove the folder") from error
        if not known:
            raise ValueError(
                f"{path} was changed or has another version; remove the folder and create it again"
            )
        counts = [entry.n_rows for entry in self.entries]
        self.edges = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        kinds = {(entry.n_columns, entry.dtype) for entry in self.entries}
        if len(kinds) != 1:
            raise ValueError(f"{path} lists blocks of different kinds: {sorted(kinds)}")
        ((n_columns, dtype),) = kinds
        self.shape = int(self.edges[-1]), n_columns
        self.dtype = np.dtype(dtype)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.entries)

    @property
    def has_texts(self) -> bool:
        """Whether rows are texts."""
        return self.dtype == object

    def block(self, number: int) -> Any:
        """Read one block.

        Parameters
        ----------
        number : int
            From 0 to n_blocks − 1.

        Returns
        -------
        rows : list of str, csr_array or ndarray of shape (n_rows_of_it, n_columns)
            The rows of the block.

        Raises
        ------
        OSError
            If the file is missing, torn or was changed; the message says what to do.
        ValueError
            If it does not match the manifest, or has indices out of range.
        """
        entry = self.entries[number]
        return decode(entry, read_block(self.folder, entry))

    def __iter__(self) -> Iterator[Any]:
        """Read the blocks in order."""
        return (self.block(number) for number in range(self.n_blocks))

    def rows(self, numbers: ArrayLike) -> Any:
        """Read selected rows; each block is read at most once.

        Parameters
        ----------
        numbers : array-like of int, shape (m,)
            Row numbers in any order, possibly repeated.

        Returns
        -------
        rows : list of str, csr_array or ndarray of shape (m, n_columns)
            The rows in the order of ``numbers``.
        """
        asked = np.asarray(numbers, dtype=np.int64)
        if asked.size and not 0 <= asked.min() <= asked.max() < self.shape[0]:
            raise IndexError(f"rows {asked.min()} … {asked.max()} are not all among {self.shape}")
        order = np.argsort(asked, kind="stable")
        ends = np.searchsorted(asked[order], self.edges)
        parts: list[Any] = []
        for number in range(self.n_blocks):
            some = order[ends[number] : ends[number + 1]]
            if len(some):
                local = asked[some] - self.edges[number]
                rows = self.block(number)
                parts.append([rows[i] for i in local] if self.has_texts else rows[local])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        stacked = _stacked(parts or [self.block(0)[:0]])
        return [stacked[i] for i in back] if self.has_texts else stacked[back]

    def to_memory(self) -> Any:
        """Read all blocks into one list, sparse matrix or array."""
        return _stacked([self.block(number) for number in range(self.n_blocks)])


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


def cut_rows(rows: Iterable[Any], size: int = BLOCK_ROWS) -> Iterator[list[Any]]:
    """Cut a stream of rows into lists of ``size`` rows; the last may be shorter.

    Examples
    --------
    >>> from film.corpus import cut_rows
    >>> list(cut_rows(iter("abcde"), 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    if size < 1:
        raise ValueError(f"size={size!r} must be 1 or more")
    stream = iter(rows)
    while block := list(islice(stream, size)):
        yield block


def save_block(folder: Path, number: int, rows: Any, made_by: dict[str, Any]) -> Entry:
    """Write one block and its entry, each atomically."""
    suffix, content, shape, dtype = encode(rows)
    name = f"block-{number:06d}.{suffix}"
    entry = Entry(name, *shape, dtype, len(content), content_hash(content))
    with explained(folder):
        replace_file(folder / name, content)
        line = json.dumps({"made_by": made_by, **asdict(entry)}).encode()
        replace_file(folder / _entry_name(number), line)
    return entry


def whole_entries(folder: Path, made_by: dict[str, Any]) -> dict[int, Entry]:
    """Return the intact entries that a run with the same ``made_by`` left, by block number."""
    found: dict[int, Entry] = {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        blocks = RowBlocks(folder)
        if blocks.made_by == made_by:
            found = dict(enumerate(blocks.entries))
    for path in folder.glob("block-*.entry"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads(path.read_text(encoding="utf-8"))
            if record.pop("made_by") == made_by:
                found[int(path.stem.removeprefix("block-"))] = Entry(**record)
    whole = {}
    for number, entry in found.items():
        with suppress(OSError):
            read_block(folder, entry)
            whole[number] = entry
    return whole


def finish(folder: Path, entries: list[Entry], made_by: dict[str, Any]) -> RowBlocks:
    """Write the manifest and remove files that it does not list."""
    record: dict[str, Any] = {
        "format": _FORMAT,
        "made_by": made_by,
        "blocks": [asdict(entry) for entry in entries],
    }
    with explained(folder):
        content = json.dumps({**record, "digest": _digest(record)}, indent=1).encode()
        replace_file(folder / MANIFEST, content, durable=True)
    drop(folder, {entry.file for entry in entries})
    return RowBlocks(folder)


def drop(folder: Path, kept: Iterable[str] = ()) -> None:
    """Remove block files except ``kept``."""
    for path in list(folder.iterdir()):
        if _FILES.fullmatch(path.name) and path.name not in kept:
            path.unlink(missing_ok=True)


@contextmanager
def held_folder(folder: str | os.PathLike[str], made_by: dict[str, Any]) -> Iterator[Path]:
    """Create the folder if needed, and lock it against other runs.

    Raises
    ------
    FileExistsError
        If the folder contains other files or finished blocks with another ``made_by``.
    BlockingIOError
        If another process is writing there.
    """
    target = Path(folder).absolute()
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"folder: {target} is a file; give the path of a folder")
    with explained(target):
        target.mkdir(parents=True, exist_ok=True)
    others = [
        path.name
        for path in target.iterdir()
        if path.name not in (MANIFEST, _LOCK)
        and not _FILES.fullmatch(path.name)
        and not _LEFT.fullmatch(path.name)
    ]
    if others:
        raise FileExistsError(
            f"folder: {target} holds other files, such as {sorted(others)[0]!r}; give an empty one"
        )
    try:
        with FileLock(target / _LOCK, timeout=0):
            _check_making(target, made_by)
            for path in target.glob(".block-*.part"):
                path.unlink(missing_ok=True)
            yield target
    except Timeout as error:
        raise BlockingIOError(
            f"folder: another process writes blocks in {target}; wait for it or give another folder"
        ) from error
    with suppress(OSError):
        (target / _LOCK).unlink()


def _check_making(folder: Path, made_by: dict[str, Any]) -> None:
    if not (folder / MANIFEST).exists():
        return
    there = RowBlocks(folder).made_by
    if there != made_by:
        differs = sorted(key for key in {*there, *made_by} if there.get(key) != made_by.get(key))
        raise FileExistsError(
            f"folder: {folder} holds blocks of another run, with other {', '.join(differs)}: "
            f"{ {key: there.get(key) for key in differs} } there, "
            f"{ {key: made_by.get(key) for key in differs} } here; remove it or give another folder"
        )


def _entry_name(number: int) -> str:
    return f"block-{number:06d}.entry"


def _digest(record: dict[str, Any]) -> str:
    return content_hash(json.dumps(record, sort_keys=True).encode())


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

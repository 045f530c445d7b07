"""Values that all tasks of a stage read from a file next to the blocks."""

from __future__ import annotations

import pickle
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from film.corpus.block_files import content_hash, explained, replace_file
from film.corpus.row_blocks import RowBlocks

__all__ = ["shared_with"]

SHARED = re.compile(r"\.shared-[0-9a-f]{12}(\.npy)?")
_STALE = 7 * 24 * 3600
"""Age in seconds after which a file counts as left by a killed process."""


@contextmanager
def shared_with(blocks: RowBlocks, value: Any) -> Iterator[Callable[[], Any]]:
    """Keep a value in the folder of the blocks while a stage runs.

    Tasks stay small however large the value is, and a worker that dies cannot damage the value.

    Parameters
    ----------
    blocks : RowBlocks
        The blocks of the stage; every process that reads them can read the value.
    value : object
        Arrays are memory-mapped; anything else must be picklable. A file is unpickled only if its
        hash matches.

    Yields
    ------
    read : callable
        Picklable and small; returns the value in any process.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from film.corpus import shared_with, write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_blocks(folder, [np.eye(2)])
    ...     with shared_with(X, {"weight": 3}) as read:
    ...         read()["weight"]
    3
    """
    for path in blocks.folder.glob(".shared-*"):
        with suppress(OSError):
            if SHARED.fullmatch(path.name) and time.time() - path.stat().st_mtime > _STALE:
                path.unlink()
    path = blocks.folder / f".shared-{secrets.token_hex(6)}"
    digest = None
    try:
        with explained(blocks.folder):
            if isinstance(value, np.ndarray) and value.dtype != object:
                path = path.with_name(f"{path.name}.npy")
                np.save(path, value, allow_pickle=False)
            else:
                content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
                digest = content_hash(content)
                replace_file(path, content)
        yield _Reader(path, digest)
    finally:
        _loaded.cache_clear()
        with suppress(OSError):
            path.unlink()


class _Reader:
    """Reads a shared value once per process."""

    def __init__(self, path: Path, digest: str | None) -> None:
        self.path, self.digest = path, digest

    def __call__(self) -> Any:
        return _loaded(self.path, self.digest)


@lru_cache(maxsize=2)
def _loaded(path: Path, digest: str | None) -> Any:
    if digest is None:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    content = path.read_bytes()
    if content_hash(content) != digest:
        raise OSError(f"{path} is torn or was changed; call the function again")
    return pickle.loads(content)

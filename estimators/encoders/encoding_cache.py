"""Cache of text encodings on disk, with one SQLite file per model and settings."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = 1
BYTES_TO_COMMIT = 32 << 20
KEYS_PER_QUERY = 500
# SQLITE_ERROR: our statements are correct, so the file has other tables.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
TABLE = "CREATE TABLE IF NOT EXISTS encodings (key BLOB PRIMARY KEY, bytes BLOB, checksum BLOB)"


def text_key(text: str) -> bytes:
    """Return the hash of a text."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


class EncodingCache:
    """Float32 arrays by text in a file; use it as a context manager.

    New arrays are written every 32 MB and when the context ends, also after an error or an
    interrupt. Transactions keep the file consistent and let several processes share it.

    Parameters
    ----------
    folder : str or path-like
        The user's own folder; created if missing.
    settings : list
        Settings that encodings depend on, ready for JSON. Each combination has its own file.

    Raises
    ------
    OSError
        If the file cannot be created, read or written.
    """

    def __init__(self, folder: Any, settings: list[Any]) -> None:
        name = hashlib.blake2b(json.dumps([FORMAT, *settings]).encode(), digest_size=12).hexdigest()
        place = Path(folder).expanduser()
        place.mkdir(parents=True, exist_ok=True)
        self.path = place / f"{name}.sqlite"
        self._connection: sqlite3.Connection | None = None
        self._added: list[tuple[bytes, bytes, bytes]] = []
        self._n_bytes = 0

    def __enter__(self) -> EncodingCache:
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self._commit()
        finally:
            self._close()

    def read(self, keys: list[bytes]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield positions in ``keys`` and flat arrays of the cached texts, each key once."""
        position = {key: i for i, key in enumerate(keys)}
        for first in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[first : first + KEYS_PER_QUERY]
            query = f"SELECT * FROM encodings WHERE key IN ({','.join('?' * len(some))})"
            rows = self._run(lambda base, q=query, s=some: base.execute(q, s).fetchall())
            for key, content, checksum in rows:
                # SQLite notices a truncated file, but not changed bytes inside a row.
                whole = isinstance(key, bytes) and isinstance(content, bytes) and key in position
                if whole and checksum == _checksum(key, content):
                    yield position[key], np.frombuffer(content, dtype="<f4")

    def add(self, key: bytes, values: np.ndarray) -> None:
        """Store the values of a text."""
        content = np.ascontiguousarray(values, dtype="<f4").tobytes()
        self._added.append((key, content, _checksum(key, content)))
        self._n_bytes += len(content)
        if self._n_bytes >= BYTES_TO_COMMIT:
            self._commit()

    def _commit(self) -> None:
        if not self._added:
            return

        def insert(base: sqlite3.Connection) -> None:
            with base:
                base.executemany("INSERT OR REPLACE INTO encodings VALUES (?, ?, ?)", self._added)

        self._run(insert)
        self._added, self._n_bytes = [], 0

    def _run(self, action: Callable[[sqlite3.Connection], Any]) -> Any:
        """Run an action on the file; start a new file if it is damaged."""
        try:
            try:
                return action(self._connected())
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                # Python's own errors about the statement have no SQLite error code.
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if isinstance(error, sqlite3.Error) and code not in DAMAGED:
                    raise
                self._begin_again(error)
                return action(self._connected())
        except sqlite3.Error as error:
            raise OSError(
                f"cache file {self.path} cannot be used ({error}); check the folder's permissions "
                "and free space, give another folder, or cache=None"
            ) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self.path, timeout=60)
            self._connection.text_factory = bytes
            self._connection.execute(TABLE)
        return self._connection

    def _begin_again(self, error: Exception) -> None:
        warnings.warn(
            f"cache file {self.path} is damaged ({error}); starting a new one and encoding its "
            "texts again",
            UserWarning,
            stacklevel=2,
        )
        self._close()
        self.path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _checksum(key: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(key + content, digest_size=8).digest()

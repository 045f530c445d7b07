"""Scored pairs on disk: a growing CSV file, and a JSON note of its progress."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from filelock import Timeout
from numpy.typing import NDArray

from film.datasets import atomic_writer, lock_beside, unlock

COLUMNS = ("text1", "text2", "score", "split")
FORMAT = 1
_HEADER = (",".join(COLUMNS) + "\n").encode()


class HarvestedPairs(NamedTuple):
    """Pairs with their scores, as `harvest` wrote them.

    Attributes
    ----------
    pairs : ndarray of str objects, shape (n, 2)
        Texts.
    scores : ndarray of float64, shape (n,)
        Similarities.
    splits : ndarray of str objects, shape (n,)
        "train", "dev" or "test".
    """

    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]
    splits: NDArray[np.object_]


class ScoreFile:
    """A file of scored pairs, open for appending; a context manager.

    Rows of an `append` that a kill or a full disk interrupted are removed.

    Parameters
    ----------
    path : str or path-like
        The CSV file.
    settings : dict
        Settings of the harvest, as JSON; a file is continued only with the same settings.

    Raises
    ------
    FileExistsError, ValueError, OSError
        If the file is not of a harvest, has other settings, is damaged, or is being written.
    """

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path, self.settings = Path(path).expanduser(), settings
        self._lock = lock_beside(self.path)

    def __enter__(self) -> Self:
        if not self.path.parent.is_dir() or self.path.is_char_device():
            raise FileNotFoundError(f"path={str(self.path)!r} must be a file in an existing folder")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise OSError(
                f"{self.path} is being written by another process; wait for it, or give another "
                "path"
            ) from None
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _open(self) -> None:
        note = read_note(self.path)
        if note is None:
            if self.path.exists() and not _HEADER.startswith(self.path.read_bytes()):
                raise FileExistsError(
                    f"path={str(self.path)!r} is there already, without {_note_of(self.path).name} "
                    "of a harvest; give another path"
                )
            self.path.write_bytes(_HEADER)
            self.n_rows, self._size = 0, len(_HEADER)
            self._write_note()
            return
        for name, value in self.settings.items():
            if note["settings"].get(name) != value:
                raise ValueError(
                    f"{self.path} was begun with {name}={note['settings'].get(name)!r}, now "
                    f"{value!r}: continue it with the same, or give another path"
                )
        self.n_rows, self._size = note["rows"], note["bytes"]
        if not self.path.is_file() or self.path.stat().st_size < self._size:
            raise ValueError(
                f"{self.path} is shorter than {_note_of(self.path).name} says: restore it, or "
                "delete both and start again"
            )
        os.truncate(self.path, self._size)

    def __exit__(self, *_: object) -> None:
        unlock(self._lock)

    def append(self, rows: Iterable[tuple[str, str, float, str]]) -> None:
        """Write rows so that no later failure loses them.

        Raises
        ------
        OSError
            If they cannot be written; earlier rows are kept.
        """
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        n = 0
        for text1, text2, score, split in rows:
            writer.writerow([text1, text2, f"{score:.6f}", split])
            n += 1
        try:
            with open(self.path, "ab") as handle:
                self._size += handle.write(buffer.getvalue().encode())
                handle.flush()
                os.fsync(handle.fileno())
            self.n_rows += n
            self._write_note()
        except OSError as error:
            raise OSError(
                f"{self.path} cannot be written: {error.strerror or error}. Its {self.n_rows} "
                "pairs are kept; make room and harvest again with the same arguments to continue"
            ) from error

    def _write_note(self) -> None:
        note = {"format": FORMAT, "settings": self.settings}
        with atomic_writer(_note_of(self.path)) as handle:
            json.dump({**note, "rows": self.n_rows, "bytes": self._size}, handle, indent=1)


def read_note(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the note of a file of scored pairs; None if there is no note."""
    note = _note_of(Path(path).expanduser())
    if not note.is_file():
        return None
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
        numbers = said["rows"], said["bytes"]
        if said["format"] != FORMAT or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError("it holds other values than harvest writes")
        said["settings"].get("seed")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{note} is damaged ({error!r}): remove it and {note.stem}, and harvest again"
        ) from error
    return said


def read_harvest(path: str | os.PathLike[str]) -> HarvestedPairs:
    r"""Read the scored pairs of a finished or unfinished `harvest`.

    Parameters
    ----------
    path : str or path-like
        The CSV file. Rows that an interrupted harvest did not finish are left out.

    Returns
    -------
    harvested : HarvestedPairs
        ``pairs``, ``scores`` and ``splits``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not from `harvest`, or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from estimators.contexts import read_harvest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.csv"
    ...     _ = path.write_text("text1,text2,score,split\nHi,Hello,0.7,train\nA,cut o")
    ...     harvested = read_harvest(path)
    >>> harvested.pairs.tolist(), harvested.scores, harvested.splits
    ([['Hi', 'Hello']], array([0.7]), array(['train'], dtype=object))
    """
    place = Path(path).expanduser()
    note = read_note(place)
    if not place.is_file():
        raise FileNotFoundError(f"path: there is no file {os.fspath(path)!r}; harvest writes one")
    data = place.read_bytes()[: None if note is None else note["bytes"]]
    text = data[: data.rfind(b"\n") + 1]
    try:
        reader = csv.reader(io.StringIO(text.decode("utf-8"), newline=""), strict=True)
        if tuple(next(reader, ())) != COLUMNS:
            raise ValueError(f"its first line is not {','.join(COLUMNS)}")
        rows = list(reader)
        if any(len(row) != len(COLUMNS) for row in rows):
            raise ValueError("a line has another number of cells")
        scores = np.array([row[2] for row in rows], dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ValueError("a score is not finite")
    except (ValueError, csv.Error) as error:
        raise ValueError(
            f"{place} is not a file of harvested pairs, or is damaged: {error}; harvest again"
        ) from error
    table = np.empty((len(rows), len(COLUMNS)), dtype=object)
    table[:] = rows or table
    return HarvestedPairs(table[:, :2], scores, table[:, 3])


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")

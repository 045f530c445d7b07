"""Scored pairs on disk: a CSV file that grows by whole chunks, and a note of how far it is."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from film.datasets import atomic_writer

COLUMNS = ("text1", "text2", "score", "split")
FORMAT = 1
_HEADER = (",".join(COLUMNS) + "\n").encode()


class HarvestedPairs(NamedTuple):
    """Pairs with their scores, as `harvest` wrote them.

    Attributes
    ----------
    pairs : ndarray of object, shape (n, 2)
        The sentences.
    scores : ndarray of float64, shape (n,)
        Similarity of each pair.
    splits : ndarray of object, shape (n,)
        "train", "dev" or "test". No sentence is in two of them.
    """

    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]
    splits: NDArray[np.object_]


class ScoreFile:
    """A file of scored pairs that is open for more; a context manager.

    Parameters
    ----------
    path : path-like
        The CSV file. Beside it stands ``path`` + ".json", which says what it was made of and how
        many of its bytes are whole.
    settings : dict
        What the pairs depend on, as JSON. Those of a file that is there must be the same.

    Raises
    ------
    FileExistsError
        If there is a file that no harvest has written.
    ValueError
        If it was written with other settings, or is damaged.
    OSError
        If it cannot be written, or another process writes it.
    """

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path = Path(os.fspath(path)).expanduser()
        self.settings = json.loads(json.dumps(settings))
        self.n_rows = self.chunk = self.n_rows_before_chunk = 0
        self._size = len(_HEADER)
        self._handle: Any = None
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))

    def __enter__(self) -> Self:
        if not self.path.parent.is_dir() or self.path.is_char_device():
            raise FileNotFoundError(
                f"path={os.fspath(self.path)!r} must be a file in a folder that is there"
            )
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
        """Open the file where its whole chunks end, which none but who holds the lock knows."""
        state = read_state(self.path)
        if state is None:
            # A run that was killed before its first note leaves the header alone.
            if self.path.exists() and not _HEADER.startswith(_start_of(self.path)):
                raise FileExistsError(
                    f"path={os.fspath(self.path)!r} is there already, without "
                    f"{_note_of(self.path).name} of a harvest beside it; give another path"
                )
            with atomic_writer(self.path, "wb") as handle:
                handle.write(_HEADER)
            self._write_note()
        else:
            self._continue(state)
        self._handle = open(self.path, "r+b")
        # What a killed process, or a full disk, has left of a chunk.
        self._handle.truncate(self._size)

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.close()
        # Others find a new file, since `filelock` tells one that is gone.
        with suppress(OSError):
            os.unlink(self._lock.lock_file)
        self._lock.release()

    def append(self, rows: Iterable[tuple[str, str, float, str]], is_whole_chunk: bool) -> None:
        """Write the rows of a chunk, or of its beginning, so that they stay whatever comes.

        Raises
        ------
        OSError
            If they cannot be written, as on a full disk; none of them is kept then, and all
            before are.
        """
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        n = 0
        for text1, text2, score, split in rows:
            writer.writerow([text1, text2, f"{score:.6f}", split])
            n += 1
        data = buffer.getvalue().encode()
        before = dict(vars(self))
        try:
            self._handle.seek(self._size)
            self._handle.write(data)
            self._handle.flush()
            os.fsync(self._handle.fileno())
            self._size += len(data)
            self.n_rows += n
            if is_whole_chunk:
                self.chunk += 1
                self.n_rows_before_chunk = self.n_rows
            self._write_note()
        except OSError as error:
            vars(self).update(before)
            with suppress(OSError):
                self._handle.close()
            with suppress(OSError):
                os.truncate(self.path, self._size)
            reason = error.strerror or str(error)
            raise OSError(
                f"{self.path} cannot be written: {reason}. Its {self.n_rows} pairs are kept; make "
                "room and harvest again with the same arguments to continue"
            ) from error

    def _continue(self, state: dict[str, Any]) -> None:
        changed = [
            f"{name}={state['settings'].get(name)!r}, now {value!r}"
            for name, value in self.settings.items()
            if state["settings"].get(name) != value
        ]
        if changed:
            raise ValueError(
                f"{self.path} was begun with {'; '.join(changed)}: continue it with the same, or "
                "give another path"
            )
        if not self.path.is_file() or self.path.stat().st_size < state["bytes"]:
            raise ValueError(
                f"{self.path} is shorter than {_note_of(self.path).name} says: bring it back, or "
                "remove both and begin again"
            )
        self.n_rows, self._size = state["rows"], state["bytes"]
        self.chunk, self.n_rows_before_chunk = state["chunk"], state["rows_before_chunk"]

    def _write_note(self) -> None:
        note = {
            "format": FORMAT,
            "settings": self.settings,
            "rows": self.n_rows,
            "bytes": self._size,
            "chunk": self.chunk,
            "rows_before_chunk": self.n_rows_before_chunk,
        }
        with atomic_writer(_note_of(self.path)) as handle:
            json.dump(note, handle, indent=1)


def read_state(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read what stands beside a file of scored pairs; None where nothing does."""
    note = _note_of(Path(os.fspath(path)).expanduser())
    if not note.is_file():
        return None
    try:
        state = json.loads(note.read_text(encoding="utf-8"))
        numbers = [state[name] for name in ("rows", "bytes", "chunk", "rows_before_chunk")]
        sound = isinstance(state["settings"], dict) and state["format"] == FORMAT
        if not sound or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError("it holds other values than harvest writes")
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{note} is damaged ({error!r}): remove it and {note.stem}, and harvest again"
        ) from error
    return state


def read_harvest(path: str | os.PathLike[str]) -> HarvestedPairs:
    r"""Read scored pairs that `harvest` has written, whether it is done or not.

    Parameters
    ----------
    path : str or path-like
        The CSV file. Rows of a chunk that is not whole, and a last line that was cut, are left out.

    Returns
    -------
    harvested : HarvestedPairs
        ``pairs``, ``scores`` and ``splits``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no such file, or damaged.

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
    place = Path(os.fspath(path)).expanduser()
    state = read_state(place)
    if not place.is_file():
        raise FileNotFoundError(f"path: there is no file {os.fspath(path)!r}; harvest writes one")
    with place.open("rb") as handle:
        data = handle.read() if state is None else handle.read(state["bytes"])
    rows = list(_rows(data[: data.rfind(b"\n") + 1], place))
    pairs = np.empty((len(rows), 2), dtype=object)
    splits = np.empty(len(rows), dtype=object)
    scores = np.empty(len(rows))
    for number, (text1, text2, score, split) in enumerate(rows):
        pairs[number], scores[number], splits[number] = (text1, text2), score, split
    return HarvestedPairs(pairs, scores, splits)


def _rows(data: bytes, path: Path) -> Iterable[tuple[str, str, float, str]]:
    try:
        lines: IO[str] = io.StringIO(data.decode("utf-8"), newline="")
        reader = csv.reader(lines, strict=True)
        if tuple(next(reader, ())) != COLUMNS:
            raise ValueError(f"its first line is not {','.join(COLUMNS)}")
        for row in reader:
            if len(row) != len(COLUMNS):
                raise ValueError(f"line {reader.line_num} has {len(row)} cells")
            score = float(row[2])
            if not np.isfinite(score):
                raise ValueError(f"line {reader.line_num} has the score {row[2]}")
            yield row[0], row[1], score, row[3]
    except (ValueError, csv.Error) as error:
        raise ValueError(
            f"{path} is no file of harvested pairs, or is damaged: {error}; harvest again"
        ) from error


def _start_of(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(len(_HEADER) + 1)


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")

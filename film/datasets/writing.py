"""Atomic file writing."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows has none, but does not allow open files to be removed.
    fcntl = None

_STALE = 60
"""Age in seconds after which an unlocked temporary file counts as left by a killed process."""


@contextmanager
def atomic_writer(
    path: str | os.PathLike[str],
    mode: str = "w",
    newline: str | None = None,
) -> Iterator[IO[Any]]:
    """Open a file for writing that replaces `path` only once it is complete.

    The text goes to a temporary file next to the target, which is flushed to disk and then renamed.
    On any error inside the ``with`` block, including a full disk or a keyboard interrupt, the
    temporary file is removed and `path` is unchanged. A killed process leaves its temporary file;
    the next writer of the same target removes it if it is older than a minute and not locked.

    Parameters
    ----------
    path : str or path-like
        The file to create or replace; its folder must exist. A symbolic link is followed.
    mode : {"w", "wb"}, default="w"
        UTF-8 text or bytes.
    newline : str or None, default=None
        As in `open`; use ``""`` with the `csv` module.

    Yields
    ------
    handle : file object
        The temporary file, open for writing.

    Raises
    ------
    ValueError
        If `mode` is neither "w" nor "wb".
    FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError
        If the folder is missing, is not a folder or is not writable, or `path` is a folder
        (`FileExistsError` for a device). Raised before anything is written.
    OSError
        If writing fails, for example on a full disk. The message has `path` and a remedy; the
        original error is the cause.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "report.txt"
    >>> with atomic_writer(path) as handle:
    ...     _ = handle.write("done")
    >>> path.read_text(encoding="utf-8")
    'done'
    >>> folder.cleanup()
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode must be 'w' or 'wb', got {mode!r}; other modes cannot be atomic")
    # The real path of /dev/stdout on a pipe is not a file, but its status is that of the pipe.
    # Renaming onto a pipe or device would replace it by a regular file.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise FileExistsError(
            f"path: {os.fspath(path)} is a device or pipe, which no file can replace; give "
            "the path of a file, or none to write to standard output"
        )
    target = Path(os.path.realpath(path))
    _check_place(target)
    _remove_stale(target)
    temporary = target.with_name(f".{target.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}.part")
    text: Any = {} if mode == "wb" else {"newline": newline, "encoding": "utf-8"}
    try:
        handle: IO[Any] = open(temporary, mode.replace("w", "x"), **text)
    except OSError as error:
        raise _failure(target, error) from error
    try:
        if fcntl is not None:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield handle
        handle.flush()
        os.fsync(handle.fileno())
        handle.close()
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        # Closing flushes again and may raise too; keep the first error.
        with suppress(OSError):
            handle.close()
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise _failure(target, error) from error
        raise


def _check_place(target: Path) -> None:
    """Raise unless `target` can be a regular file."""
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"path: {target} is a folder; add a file name to it")
    if not folder.exists():
        raise FileNotFoundError(
            f"path: the folder {folder} of {target.name} does not exist; make it first or "
            "write to another folder"
        )
    if not folder.is_dir():
        raise NotADirectoryError(
            f"path: {folder} is a file, so {target} cannot be in it; use another folder"
        )


def _remove_stale(target: Path) -> None:
    """Remove temporary files of this target that no process is writing."""
    if fcntl is None:
        return
    ours = re.compile(rf"\.{re.escape(target.name[:40])}\.\d+-[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            if not ours.fullmatch(entry.name) or time.time() - entry.stat().st_mtime < _STALE:
                continue
            with suppress(OSError), open(entry.path, "rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(entry.path)


def _failure(target: Path, error: OSError) -> OSError:
    """Return an error that says that `target` was not written, why, and what to do."""
    if isinstance(error, PermissionError):
        remedy = f"change the permissions of the folder {target.parent} or write to another one"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "free some space or write to another folder"
    else:
        remedy = "write to another folder"
    text = f"could not write {target}: {error.strerror or error}; nothing there was changed; "
    # Given an error number, OSError creates the matching subclass.
    return OSError(error.errno, text + remedy) if error.errno else OSError(text + remedy)

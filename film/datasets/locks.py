"""Locks of files that several processes write."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock


def lock_beside(path: str | os.PathLike[str], timeout: float = -1) -> Any:
    """Return the lock of a file, a hidden file in the same folder, not acquired yet.

    Parameters
    ----------
    path : str or path-like
        The file; all its links have one lock.
    timeout : float, default=-1
        Seconds that ``acquire`` waits; -1 is without end.

    Returns
    -------
    lock : filelock.FileLock
    """
    place = Path(os.path.realpath(path))
    return FileLock(place.with_name(f".{place.name}.lock"), timeout=timeout)


def unlock(lock: Any) -> None:
    """Release a lock and remove its file.

    Who waits for it finds a new file, since `filelock` notices that the old one is gone.

    Parameters
    ----------
    lock : filelock.FileLock
        From `lock_beside`, acquired or not.

    Examples
    --------
    >>> import os, tempfile
    >>> from film.datasets import lock_beside, unlock
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = lock_beside(os.path.join(folder, "t.csv"))
    ...     _ = lock.acquire()
    ...     print(os.listdir(folder))
    ...     unlock(lock)
    ...     print(os.listdir(folder))
    ['.t.csv.lock']
    []
    """
    if lock.is_locked:
        # Windows removes no file that is open.
        with suppress(OSError):
            os.unlink(lock.lock_file)
    lock.release()

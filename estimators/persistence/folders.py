"""Create new folders atomically."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def check_new_folder(path: Any) -> Path:
    """Return a path; raise FileExistsError if it is neither missing nor an empty folder."""
    target = Path(path).expanduser()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(
            f"path={os.fspath(target)!r} is already there; give a new folder, or delete it first"
        )
    return target


def write_folder(path: Any, write: Callable[[Path], Any]) -> None:
    """Create a new folder with the files that ``write`` puts into it, atomically.

    Raises
    ------
    FileExistsError, OSError
        If ``path`` exists and is not empty, or cannot be written.
    """
    target = check_new_folder(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        write(partial)
        # mkdtemp and safetensors restrict permissions to the owner.
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o777 & ~mask)
        for place in partial.rglob("*"):
            place.chmod((0o777 if place.is_dir() else 0o666) & ~mask)
        partial.replace(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise

"""Folders of models, written whole or not at all, and self-contained models in them."""

from __future__ import annotations

import copy
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from estimators.persistence.archive import BUNDLE
from estimators.persistence.model_checks import parts_of


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


_INSIDE = re.compile(r"encoders/\d+", re.ASCII)


def is_bundle(path: Any) -> bool:
    """Whether a path is the folder of a self-contained model."""
    return (Path(path) / BUNDLE).is_file()


def moved_into(model: Any, folder: Path) -> Any:
    """Write the transformers models of all parts into a folder; return a copy that uses them.

    A part with a transformers model has ``write_model(folder)``, which returns the digest of the
    written files, and ``move_to(place, digest)``, which makes it read them from there.
    """
    moved = copy.deepcopy(model)
    places: dict[str, tuple[str, str]] = {}
    for part, twin in zip(_on_models(model), _on_models(moved), strict=True):
        name = part.model_digest_
        if name not in places:
            place = f"encoders/{len(places)}"
            (folder / place).mkdir(parents=True)
            places[name] = place, part.write_model(folder / place)
        twin.move_to(*places[name])
    return moved


def adopt_folder(model: Any, parts: Iterable[Any], path: Path) -> None:
    """Point the parts of a loaded model to the transformers models in its folder.

    Raises
    ------
    ValueError
        If one is missing, damaged or has changed since saving; the message names the member that
        needs it. Each is read once.
    """
    users: dict[str, list[Any]] = {}
    for part in parts:
        if hasattr(type(part), "move_to") and hasattr(part, "model_digest_"):
            if isinstance(part.model, str) and _INSIDE.fullmatch(part.model):
                users.setdefault(part.model, []).append(part)
    for place, needing in sorted(users.items()):
        needed = f"{place}, which {_whose(model, needing)}"
        if not path.is_dir():
            raise ValueError(
                f"{path} belongs to a folder that holds {needed}; give load_model the whole "
                f"folder, not only its {BUNDLE}"
            )
        if not (path / place).is_dir():
            raise ValueError(
                f"{path} has no {needed}; give load_model the whole folder that save_model wrote"
            )
        for part in needing:
            part.model = str((path / place).absolute())
        try:
            digest = needing[0].digest_of(path / place)
            for part in needing:
                part.check_digest(digest)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: {needed}, is not what was saved: {error}") from error


def _whose(model: Any, needing: list[Any]) -> str:
    """Name the members of a stack that need something for their parts, or else the classes."""
    ids = {id(part) for part in needing}
    names = [
        repr(name)
        for name, member in getattr(model, "members_", [])
        if any(id(part) in ids for part in parts_of(member))
    ]
    if names:
        return f"member{'s' * (len(names) > 1)} {', '.join(names)} need{'s' * (len(names) == 1)}"
    return f"{', '.join(sorted({type(part).__name__ for part in needing}))} needs"


def _on_models(model: Any) -> list[Any]:
    """Return the fitted parts that use a transformers model."""
    found = [part for part in parts_of(model) if hasattr(type(part), "move_to")]
    return [part for part in found if hasattr(part, "model_digest_")]

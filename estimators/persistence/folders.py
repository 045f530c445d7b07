"""Folders of models, written whole or not at all, and self-contained models in them."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from estimators.persistence.archive import BUNDLE, now, versions
from estimators.persistence.model_checks import parts_of
from estimators.persistence.registry import drop_parameters


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


def plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON holds it, or raise ValueError."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(f"{name}[{key!r}]", each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(f"{name}[{place}]", each) for place, each in enumerate(value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(
        f"{name}={value!r} cannot be saved as JSON; set it to a plain value before saving"
    )


def write_fitted(
    path: Any,
    name: str,
    estimator: Any,
    fitted: dict[str, Any],
    *,
    write: Callable[[Path], Any],
    left_out: Collection[str],
    version: int = 1,
) -> None:
    """Write an estimator to a new folder: its parameters and fitted values as JSON, and files.

    Parameters
    ----------
    path : str or path-like
        The folder.
    name : str
        File of the JSON.
    estimator : estimator
        Its parameters are saved, except those in ``left_out``.
    fitted : dict
        Values for JSON.
    write : callable
        Writes the other files into the folder.
    left_out : collection of str
        Parameters that belong to a machine or to the fit.
    version : int, default=1
        Format of the folder.

    Raises
    ------
    FileExistsError, ValueError, OSError
        If the folder holds files, a value cannot be written as JSON, or the folder cannot be
        written; nothing is left behind.
    """
    params = estimator.get_params(deep=False).items()
    said = {
        "format": version,
        "class": type(estimator).__name__,
        "date": now(),
        "versions": versions(),
        "params": {each: plain(each, value) for each, value in params if each not in left_out},
        **fitted,
    }
    text = json.dumps(said, indent=1, allow_nan=False)

    def write_all(folder: Path) -> None:
        write(folder)
        (folder / name).write_text(text, encoding="utf-8")

    write_folder(path, write_all)


@contextmanager
def read_fitted(kind: type, folder: Path, name: str, version: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the JSON that `write_fitted` wrote, with the parameters of this version.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is damaged, of another class or of another version; also for errors inside the
        ``with`` block, which reads the values.
    """
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {name}: no {kind.__name__} was saved there; give a folder that "
            f"{kind.__name__}.save wrote"
        )
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["class"] != kind.__name__:
            raise ValueError(f"it is a {said['class']}, not a {kind.__name__}")
        if said["format"] != version:
            raise ValueError(f"this version does not read its format, {said['format']!r}")
        drop_parameters(kind.__name__, said["params"])
        yield said
    except (MemoryError, OSError):
        raise
    except Exception as error:  # a damaged file or a wrong parameter can raise many types
        raise ValueError(f"{path} cannot be used ({type(error).__name__}: {error})") from error


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file of a folder; FileNotFoundError says what is missing."""
    from safetensors.numpy import load_file

    if not path.is_file():
        raise FileNotFoundError(
            f"{path.parent} cannot be used: it has no {path.name}; copy the whole folder again"
        )
    return load_file(path)


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

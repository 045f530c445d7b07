"""Models in a folder together with the transformers models of their parts."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from estimators.persistence.archive import BUNDLE
from estimators.persistence.model_checks import parts_of

_INSIDE = re.compile(r"encoders/\d+", re.ASCII)


def is_bundle(path: Any) -> bool:
    """Whether a path is the folder of a self-contained model."""
    return (Path(path) / BUNDLE).is_file()


def moved_into(model: Any, folder: Path) -> Any:
    """Write the transformers models of all parts into a folder; give a copy that names them there.

    A part that stands on one has ``write_model(folder)``, which gives the digest of the files that
    it wrote, and ``move_to(place, digest)``, after which it reads them from there. A part that
    reads a folder of another kind has ``carry_files()``, after which it needs none.
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
    for part in [part for part in parts_of(moved) if hasattr(type(part), "carry_files")]:
        if hasattr(part, "contexts_"):
            part.carry_files()
    return moved


def adopt_folder(model: Any, parts: Iterable[Any], path: Path) -> None:
    """Let the parts of a loaded model find the models in its folder.

    Raises
    ------
    ValueError
        Where one is missing, is not whole or has changed since it was saved, with the member that
        needs it. Each is read once for that, a few tenths of a second for 100 MB.
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
                f"{path} belongs to a folder that holds {needed}; give load_model that whole "
                f"folder, not its {BUNDLE} alone"
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
    """Say which members of a stack need something for parts of theirs, else which classes do."""
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
    """Fitted parts that stand on a transformers model."""
    found = [part for part in parts_of(model) if hasattr(type(part), "move_to")]
    return [part for part in found if hasattr(part, "model_digest_")]

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


def adopt_folder(parts: Iterable[Any], folder: Path) -> None:
    """Let the parts of a loaded model find the models in its folder; raise where one is missing."""
    for part in parts:
        if hasattr(type(part), "move_to") and hasattr(part, "model_digest_"):
            place = part.model
            if isinstance(place, str) and _INSIDE.fullmatch(place):
                if not (folder / place).is_dir():
                    raise ValueError(f"{folder} has no {place}, which {type(part).__name__} needs")
                part.model = str((folder / place).absolute())


def _on_models(model: Any) -> list[Any]:
    """Fitted parts that stand on a transformers model."""
    found = [part for part in parts_of(model) if hasattr(type(part), "move_to")]
    return [part for part in found if hasattr(part, "model_digest_")]

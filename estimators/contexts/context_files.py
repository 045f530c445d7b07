"""A fitted model of contexts as a folder: its parts, and the rest as JSON."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from estimators.contexts.parts.fitting import CORPUS, Fitted
from estimators.contexts.parts.part_folder import new_folder, part_path
from estimators.contexts.parts.pretrained import FOLDER
from estimators.contexts.parts.recipe import SIZES
from estimators.encoders import check_new_folder
from estimators.persistence import now, versions
from film.datasets import atomic_writer

FORMAT = 2
MODEL = "context_model.json"
PRETRAINED = "a pretrained model, which lies in its part"
LEFT_OUT = {"folder", "device", "random_state", "encoder"}
"""Parameters that a folder does not keep: they belong to a machine, to the fit, or are models."""


def write_model(model: Any, path: Any, root: Path, fitted: Fitted) -> None:
    """Write a fitted model into a new folder, whole or not at all; or beside its parts.

    Raises
    ------
    FileExistsError, ValueError, OSError
        If something else is there, a parameter cannot be written as JSON, or the folder cannot be
        written.
    """
    parts = {kind: Path(name).name for kind, name in fitted.parts.items()} | {CORPUS: CORPUS}
    said = {
        "format": FORMAT,
        "class": type(model).__name__,
        "date": now(),
        "versions": versions(),
        "params": {
            name: _plain(name, value)
            for name, value in model.get_params(deep=False).items()
            if name not in LEFT_OUT and not isinstance(value, os.PathLike)
        },
        "has_encoder": fitted.encoder is not None,
        "contexts": fitted.contexts.tolist(),
        **{
            name: value
            for name, value in fitted._asdict().items()
            if name not in ("encoder", "contexts", "parts")
        },
        "parts": parts,
    }
    if isinstance(model.generator, (str, os.PathLike)) and model.generator not in SIZES:
        said["params"]["generator"] = PRETRAINED
    text = json.dumps(said, indent=1, allow_nan=False)
    target = Path(path).expanduser().absolute()
    if target == root and fitted.parts[CORPUS] == CORPUS:
        with atomic_writer(target / MODEL) as handle:
            handle.write(text)
        return

    def write(folder: Path) -> None:
        for kind, name in fitted.parts.items():
            shutil.copytree(root / name, folder / parts[kind])
        (folder / MODEL).write_text(text, encoding="utf-8")

    new_folder(check_new_folder(target), write)


def read_model(kind: type, path: Any, params: dict[str, Any]) -> tuple[Any, Fitted, Path]:
    """Give an unfitted model of what `write_model` wrote, what it had learned, and its folder.

    Raises
    ------
    FileNotFoundError, ValueError
        If nothing was saved there, or it is damaged or of another class or version, or there is no
        such parameter.
    """
    root = Path(path).expanduser().absolute()
    file = root / MODEL
    if not file.is_file():
        raise FileNotFoundError(
            f"path={os.fspath(path)!r} has no {MODEL}: no model was saved there; give a folder "
            f"that {kind.__name__}.save wrote"
        )
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        if said["format"] != FORMAT:
            raise ValueError(f"it has format {said['format']!r}, which this version does not read")
        if said["class"] != kind.__name__:
            raise ValueError(f"it is a {said['class']}, not a {kind.__name__}")
        encoder = params.get("encoder")
        if said["has_encoder"] and encoder is None:
            raise ValueError("it was fitted with an encoder: give that, load(path, encoder=...)")
        for name in said["parts"].values():
            part_path(root, name)
        fitted = Fitted(
            parts=dict(said["parts"]),
            digest=str(said["digest"]),
            seed=int(said["seed"]),
            sides=int(said["sides"]),
            encoder=None,
            contexts=np.asarray(said["contexts"], dtype=np.int64),
            losses=list(said["losses"]),
            scores=[tuple(each) for each in said["scores"]],
            generator_losses=list(said["generator_losses"]),
            generator_scores=[tuple(each) for each in said["generator_scores"]],
            perplexities=dict(said["perplexities"]),
            is_complete=bool(said["is_complete"]),
        )
        given = {**said["params"], **params, "folder": root}
        if given["generator"] == PRETRAINED:
            # Another fit goes on from what was learned.
            given["generator"] = root / fitted.parts["generator"] / FOLDER
        model = kind(**given)
        return model, fitted, root
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} cannot be used: {error}") from error


def _plain(name: str, value: Any) -> Any:
    """Give a parameter as JSON holds it, or raise ValueError where it cannot."""
    value = np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} cannot be saved as JSON; set it to a plain value before saving"
        ) from error

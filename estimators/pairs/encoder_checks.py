"""Whether the encoders of members can be read, on the devices that they name, before any work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from estimators.encoders import check_device, check_lengths, check_model_files, model_digest
from estimators.inputs import check_integer


def check_devices(members: list[tuple[str, Any]]) -> None:
    """Raise ValueError where a member asks for a device that is not here; before any work."""
    asked = {
        (name, parameter): value
        for name, member in members
        for parameter, value in member.get_params(deep=True).items()
        if parameter.rpartition("__")[2] == "device" and value is not None
    }
    if not asked:
        return
    import torch

    for (name, _), device in asked.items():
        try:
            check_device(torch, device)
        except ValueError as error:
            raise ValueError(f"member {name!r}: {error}") from error


def check_encoders(named: list[tuple[str, Any]], memory: Any) -> None:
    """Raise where the transformers model of an estimator cannot be read so, or changed since.

    Parameters
    ----------
    named : list of (str, estimator)
        Embedders and predictors, with what errors call them.
    memory : joblib.Memory
        Keeps fits by parameters, so by the name of a folder and not by what is in it. It keeps the
        digest of each model's files too, from the first fit on.

    Raises
    ------
    FileNotFoundError, ImportError, TypeError, ValueError
        With the name, where a model is not there or damaged, or takes fewer tokens than are to be
        read; before any work.
    """
    first_digest = memory.cache(_first_digest, ignore=["digest"])
    checked = set()
    for name, estimator in named:
        for model, lengths in _models_in(estimator):
            key = str(model), str(lengths)
            if key in checked:
                continue
            checked.add(key)
            try:
                folder, weights = check_model_files(model)
                times = _times(folder, weights)
                for parameter, length in lengths.items():
                    check_integer(parameter, length, 1)
                _check_lengths(folder, times, tuple(lengths.items()))
            except (OSError, ImportError, TypeError, ValueError) as error:
                raise type(error)(f"{name}: {error}") from error
            if memory.location is None:
                continue
            digest = _digest(folder, tuple(weights), times)
            if first_digest(str(model), digest) != digest:
                raise ValueError(
                    f"{name}: the files of model={model!r} are not those of the fits that "
                    f"memory={os.fspath(memory.location)!r} keeps; put those back, or give memory= "
                    "another folder"
                )


def _models_in(member: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield names and folders of the transformers models that a member reads, with token limits.

    What can be fitted, such as a `TokenFILM`, has a model of its own.
    """
    for part in [member, *member.get_params(deep=True).values()]:
        if type(part).__module__.partition(".")[0] != "estimators":
            continue
        params = part.get_params(deep=False)
        if {"model", "max_length"} <= params.keys() and not hasattr(params["model"], "fit"):
            limits = ("max_length", *(("train_max_length",) if params.get("epochs") else ()))
            yield params["model"], {name: params[name] for name in limits if name in params}


@lru_cache(maxsize=16)
def _check_lengths(
    folder: Path, times: tuple[tuple[int, int], ...], lengths: tuple[tuple[str, Any], ...]
) -> None:
    """Check the lengths of texts once, as long as the model's files stay as they are."""
    check_lengths(folder, dict(lengths))


def _times(folder: Path, weights: list[Path]) -> tuple[tuple[int, int], ...]:
    """Give when the files of a model changed, and their sizes."""
    found = [path.stat() for path in (*sorted(folder.iterdir()), *weights)]
    return tuple((of.st_mtime_ns, of.st_size) for of in found)


@lru_cache(maxsize=16)
def _digest(folder: Path, weights: tuple[Path, ...], times: tuple[tuple[int, int], ...]) -> str:
    """Name a model by its content; a search that fits a hundred times reads it once."""
    return model_digest(folder, list(weights))


def _first_digest(model: str, digest: str) -> str:
    """Give the digest, for a cache that knows a model by its name."""
    return digest

"""Check the encoders and devices of members before any work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from estimators.encoders import check_device, check_lengths, check_model_files, model_digest
from estimators.inputs import check_integer


def check_devices(members: list[tuple[str, Any]]) -> None:
    """Raise ValueError if a member needs a device that does not exist."""
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
    """Raise an error if a transformers model of an estimator cannot be read, or has changed.

    Parameters
    ----------
    named : list of (str, estimator)
        Embedders and predictors, with their names in errors.
    memory : joblib.Memory
        Cache of fits by parameters, which include the name of a model's folder but not its content.
        So it also keeps the digest of each model's files, from the first fit on.

    Raises
    ------
    FileNotFoundError, ImportError, TypeError, ValueError
        If a model is missing or damaged, or reads fewer tokens than ``max_length``; the error has
        the name.
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

    A fittable model, such as a `TokenFILM`, has its own transformers model.
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
    """Check the lengths of texts once, as long as the model's files do not change."""
    check_lengths(folder, dict(lengths))


def _times(folder: Path, weights: list[Path]) -> tuple[tuple[int, int], ...]:
    """Return the modification times and sizes of a model's files."""
    found = [path.stat() for path in (*sorted(folder.iterdir()), *weights)]
    return tuple((of.st_mtime_ns, of.st_size) for of in found)


@lru_cache(maxsize=16)
def _digest(folder: Path, weights: tuple[Path, ...], times: tuple[tuple[int, int], ...]) -> str:
    """Return the digest of a model's files; a search that fits many times reads them once."""
    return model_digest(folder, list(weights))


def _first_digest(model: str, digest: str) -> str:
    """Return the digest, for a cache that identifies a model by its name."""
    return digest

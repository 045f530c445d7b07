"""How each member of a stack is fitted: anew for each fold, for a few parts of folds, or once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from estimators.encoders import (
    SentenceEncoder,
    check_device,
    check_lengths,
    check_model_files,
    model_digest,
)
from estimators.inputs import Fold, check_integer

LEAST_FOLDS = 2
"""Folds of the stack in each part, so that a final model may learn from one to judge another."""


@dataclass(frozen=True)
class MemberPlan:
    """A member with the folds that it is fitted for.

    Attributes
    ----------
    name : str
    member : estimator
        Unfitted.
    folds : list of (ndarray, ndarray)
        Rows of training and test.
    is_frozen : bool
        Whether it learns nothing, so that one fit serves every fold.
    has_own_folds : bool
        Whether its folds are parts of several folds of the stack.
    """

    name: str
    member: Any
    folds: list[Fold]
    is_frozen: bool
    has_own_folds: bool


def learns_nothing(member: Any) -> bool:
    """Whether what a member gives depends neither on labels nor on the texts that it is fitted to.

    So it is with what `sklearn.frozen.FrozenEstimator` holds, with a `SentenceEncoder` that does
    not whiten, with token matching and an `RCMDRegressor` without training, unless they count words
    or learn a map of tokens (`TokenFILM`), and with pipelines of such alone.
    """
    # Whoever only scores waits for nothing that explains, which regressors of tokens import.
    from estimators.tokens import RCMDRegressor, TokenMatchingRegressor

    if isinstance(member, Pipeline):
        return all(learns_nothing(step) for _, step in member.steps)
    if isinstance(member, FrozenEstimator):
        return True
    if isinstance(member, SentenceEncoder):
        return member.whiten is False
    if isinstance(member, RCMDRegressor) and member.epochs:
        return False
    if isinstance(member, (RCMDRegressor, TokenMatchingRegressor)):
        if hasattr(member.model, "fit") and not isinstance(member.model, FrozenEstimator):
            return False
        return not (isinstance(member.weights, str) and member.weights == "idf")
    return False


def check_member_cv(member_cv: Any, members: list[tuple[str, Any]]) -> dict[str, int]:
    """Give the number of parts of each member that has one, or raise where it cannot have."""
    if member_cv is None:
        return {}
    if not isinstance(member_cv, Mapping):
        raise TypeError(
            f"member_cv={member_cv!r} must be a dict of the names of members and numbers of folds, "
            "such as {'rcmd': 2}, or None"
        )
    by_name = dict(members)
    for name, n_parts in member_cv.items():
        if name not in by_name:
            raise ValueError(f"member_cv names {name!r}; members are {', '.join(by_name)}")
        check_integer(f"member_cv[{name!r}]", n_parts, 2)
        if learns_nothing(by_name[name]):
            raise ValueError(
                f"member_cv names {name!r}, which learns nothing and is fitted once; leave it out"
            )
    if len(set(member_cv.values())) > 1:
        raise ValueError(
            f"member_cv={dict(member_cv)!r} holds several numbers; give the same to all, since "
            "parts of folds that cut across each other leave nothing to measure the stack on"
        )
    return {name: int(n_parts) for name, n_parts in member_cv.items()}


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


def parts_of_folds(n_folds: int, n_parts: int) -> NDArray[np.intp]:
    """Give the part of each fold: neighbouring folds go together, evenly.

    Raises ValueError unless each part holds `LEAST_FOLDS`.
    """
    if n_folds < LEAST_FOLDS * n_parts:
        raise ValueError(
            f"member_cv={n_parts} needs cv={LEAST_FOLDS * n_parts} or more, as {LEAST_FOLDS} folds "
            f"of the stack or more make one of such a member, and cv gives {n_folds}"
        )
    return np.arange(n_folds) * n_parts // n_folds


def make_plans(
    members: list[tuple[str, Any]], parts: dict[str, int], folds: Sequence[Fold]
) -> list[MemberPlan]:
    """Say of each member for which folds it is fitted.

    Those with a number of parts are fitted to the folds outside of each part and judge its folds,
    so that no judgement is by a model that saw the questions of its pair.
    """
    plans = []
    for name, member in members:
        own = list(folds)
        if name in parts:
            part = parts_of_folds(len(folds), parts[name])
            test = [
                np.sort(
                    np.concatenate(
                        [rows for (_, rows), of in zip(folds, part, strict=True) if of == number]
                    )
                )
                for number in range(parts[name])
            ]
            everything = np.sort(np.concatenate([rows for _, rows in folds]))
            own = [(np.setdiff1d(everything, rows), rows) for rows in test]
        plans.append(MemberPlan(name, member, own, learns_nothing(member), name in parts))
    return plans

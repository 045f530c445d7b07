"""Training data of `RCMDRegressor`: labelled rows, teacher scores and token weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from estimators.encoders import TokenEncoder, Tokens, check_device
from estimators.inputs import check_choice, check_pairs, check_real
from estimators.tokens.vocabulary import training_weights
from film.tokens import METHODS, check_solver

LEARNED = "learned"
"""Value of ``weights`` for weights trained with the model."""


def check_sources(regressor: Any, scored: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Check additional training data and return the scored pairs.

    Raises
    ------
    TypeError, ValueError
        If ``scored`` or ``teacher`` is wrong or conflicts with other parameters.
    """
    teacher = regressor.teacher
    if teacher is not None and not (hasattr(teacher, "fit") and hasattr(teacher, "get_params")):
        raise TypeError(f"teacher={teacher!r} must be a PairTeacher, or None")
    for name, given in (("teacher", teacher), ("scored", scored)):
        if given is not None and not (regressor.objective == "binary" and regressor.epochs):
            raise ValueError(
                f"{name} is given, but only objective='binary' with epochs above 0 learns from "
                f"scores, not objective={regressor.objective!r}, epochs={regressor.epochs}; leave "
                f"{name} out"
            )
    if teacher is not None:
        for parameter, device in teacher.get_params(deep=True).items():
            if parameter.rpartition("__")[2] == "device" and device is not None:
                _check_device_of_teacher(device)
    if learns_weights(regressor) and not regressor.epochs:
        raise ValueError("weights='learned' needs epochs above 0")
    if scored is None:
        return None
    if not isinstance(scored, (tuple, list)) or len(scored) != 2:
        raise TypeError("scored must be a tuple (pairs, probabilities)")
    return check_scored(*scored)


def _check_device_of_teacher(device: Any) -> None:
    import torch

    try:
        check_device(torch, device)
    except ValueError as error:
        raise ValueError(f"teacher: {error}") from error


def check_scored(pairs: Any, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check pairs and their probabilities of being duplicates."""
    rows = check_pairs(pairs, name="scored[0]", encodable=True)
    found = np.asarray(probabilities, dtype=np.float64)
    if found.shape != (len(rows),):
        raise ValueError(
            f"scored[1] has shape {found.shape} for {len(rows)} pairs: give one probability per "
            "pair"
        )
    for row, value in enumerate(found.tolist()):
        check_real(f"scored[1][{row}]", value, 0, 1)
    return rows, found


def with_scored(
    regressor: Any, labelled: tuple[np.ndarray, np.ndarray], scored: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Append scored pairs, including those of the teacher, to labelled ones."""
    parts = [labelled] if scored is None else [labelled, scored]
    if regressor.teacher is not None:
        teacher: Any = clone(regressor.teacher)
        if regressor.checkpoint is not None and getattr(teacher, "checkpoint", "") is None:
            teacher.set_params(checkpoint=Path(regressor.checkpoint) / "teacher")
        teacher.fit(*labelled)
        parts.append(check_scored(teacher.pairs_, teacher.scores_))
    rows, targets = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(targets)


def weighing(
    regressor: Any, encoder: TokenEncoder, table: np.ndarray | None
) -> tuple[Callable[[Tokens], np.ndarray] | None, Any]:
    """Return a function for token weights in training, and the module of learned weights.

    Parameters
    ----------
    regressor : RCMDRegressor
        Validated.
    encoder : TokenEncoder
        Loaded.
    table : ndarray or None
        Weight of each vocabulary entry, if weights are not learned.

    Returns
    -------
    weigh : callable or None
        As in `estimators.training.train`.
    masses : TokenMasses or None
        The weights to learn.
    """
    if learns_weights(regressor):
        from film.networks import TokenMasses

        vocabulary = encoder.loaded().tokenizer.get_vocab()
        return None, TokenMasses(max(vocabulary.values()) + 1)
    if table is None:
        return None, None
    return partial(training_weights, table, special=regressor.special_tokens), None


def learns_weights(regressor: Any) -> bool:
    """Return whether token weights are trained with the model."""
    return isinstance(regressor.weights, str) and regressor.weights == LEARNED


def check_plan(regressor: Any) -> None:
    """Raise if the plan is unknown or conflicts with other parameters."""
    plan = regressor.plan
    check_choice("plan", plan, METHODS)
    if regressor.epochs and plan == "cmd":
        raise ValueError(
            "plan='cmd' cannot be trained; train with plan='rcmd', save the model "
            "and give it to RCMDRegressor(model=..., plan='cmd')"
        )
    if plan == "cls" and regressor.weights is not None:
        raise ValueError("plan='cls' compares one token per text; give weights=None")
    if plan == "cls" and not regressor.special_tokens:
        raise ValueError("plan='cls' compares [CLS] tokens; give special_tokens=True")
    if plan == "cmd":
        check_solver()

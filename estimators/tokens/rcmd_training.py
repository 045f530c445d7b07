"""What `RCMDRegressor` learns from: labelled rows, scores of a teacher, weights of tokens."""

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
"""Value of ``weights`` that asks for weights that train with the model."""


def check_sources(regressor: Any, scored: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Check what is learned from beside labelled rows, and give scored pairs.

    Raises
    ------
    TypeError, ValueError
        If ``scored`` or ``teacher`` is wrong, or does not go with other parameters.
    """
    teacher = regressor.teacher
    if teacher is not None and not (hasattr(teacher, "fit") and hasattr(teacher, "get_params")):
        raise TypeError(f"teacher={teacher!r} must be a PairTeacher, or None")
    for name, given in (("teacher", teacher), ("scored", scored)):
        if given is not None and not (regressor.objective == "binary" and regressor.epochs):
            raise ValueError(
                f"{name} is given, but scores are learned from with objective='binary' and epochs "
                f"above 0 alone, not objective={regressor.objective!r}, epochs={regressor.epochs}; "
                f"leave {name} out"
            )
    if teacher is not None:
        for parameter, device in teacher.get_params(deep=True).items():
            if parameter.rpartition("__")[2] == "device" and device is not None:
                _check_device_of_teacher(device)
    if learns_weights(regressor) and not regressor.epochs:
        raise ValueError("weights='learned' needs epochs above 0 to learn them in")
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
    """Check pairs and the probabilities that they are duplicates."""
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
    """Put scored pairs, those of the teacher among them, under labelled ones."""
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
    """Give the weights of tokens in training, and the module of those that are learned.

    Parameters
    ----------
    regressor : RCMDRegressor
        Checked.
    encoder : TokenEncoder
        Loaded.
    table : ndarray or None
        Weight of each entry of the vocabulary, where these are not learned.

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
    """Whether weights of tokens train with the model."""
    return isinstance(regressor.weights, str) and regressor.weights == LEARNED


def check_plan(regressor: Any) -> None:
    """Raise where the plan is unknown, or does not go with other parameters."""
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

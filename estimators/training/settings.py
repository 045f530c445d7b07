"""Settings of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from estimators.encoders import DTYPES
from estimators.inputs import check_choice, check_integer, check_real, check_seed
from film.training import Trainable

OF_TOKENS = ("regression", "binary", "contrastive")
"""Objectives of `RCMDRegressor`."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run; with the examples they determine the result on CPU."""

    method: Trainable
    objective: str
    temperature: float
    learning_rate: float
    epochs: float
    batch_size: int
    micro_batch_size: int | None
    eval_steps: int
    special_tokens: bool
    dtype: str
    seed: int
    margin: float | None = None  # for triplets only


def check_training_parameters(estimator: Any, objectives: Sequence[str] = OF_TOKENS) -> None:
    """Raise if a training parameter is wrong; the message names it."""
    check_choice("objective", estimator.objective, objectives)
    if estimator.dtype is not None:
        check_choice("dtype", estimator.dtype, DTYPES)
    check_seed(estimator.random_state)
    for name, low in (("epochs", 0), ("temperature", 1e-6), ("learning_rate", 0)):
        check_real(name, getattr(estimator, name), low)
    least = 2 if estimator.objective in ("contrastive", "n_pair") else 1
    check_integer("train_batch_size", estimator.train_batch_size, least)
    for name in ("train_max_length", "eval_steps"):
        check_integer(name, getattr(estimator, name), 1)
    if estimator.micro_batch_size is not None:
        check_integer("micro_batch_size", estimator.micro_batch_size, 1)


def training_settings(estimator: Any) -> Settings:
    """Return the settings of a run."""
    return Settings(
        method=estimator.plan,
        objective=estimator.objective,
        temperature=float(estimator.temperature),
        learning_rate=float(estimator.learning_rate),
        epochs=float(estimator.epochs),
        batch_size=estimator.train_batch_size,
        micro_batch_size=estimator.micro_batch_size,
        eval_steps=estimator.eval_steps,
        special_tokens=bool(estimator.special_tokens),
        dtype=estimator.dtype or "float32",
        seed=int(check_seed(estimator.random_state).randint(2**31 - 1)),
        margin=float(estimator.margin) if estimator.objective == "triplet" else None,
    )

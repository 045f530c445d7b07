"""Checks of constructor parameters, each error naming the parameter and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_integer(name: str, value: Any, low: int) -> int:
    """Give ``value`` as int, or raise unless it is an integer of at least ``low``."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be an integer, {low} or more")
    if value < low:
        raise ValueError(f"{name}={value!r} must be {low} or more")
    return int(value)


def check_real(name: str, value: Any, low: float, high: float = np.inf) -> float:
    """Give ``value`` as float, or raise unless it is a finite number in [low, high]."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be a number from {low} to {high}")
    if not (np.isfinite(float(value)) and low <= float(value) <= high):
        raise ValueError(f"{name}={value!r} must be a finite number from {low} to {high}")
    return float(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Give ``value``, or raise unless it is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}")
    return value

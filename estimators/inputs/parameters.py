"""Checks of constructor parameters, whose errors name the parameter and the remedy.

Two parameters name folders. ``memory`` is joblib's, as in scikit-learn, and holds fitted objects
as pickles. ``cache`` holds encodings of texts by a frozen model, as plain numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_memory

Advance = Callable[..., None]
"""Advances a progress bar: ``advance(text, steps=1)``; with 0 steps, text names the next task."""

_HAS_BAR: ContextVar[bool] = ContextVar("_HAS_BAR", default=False)


def check_integer(name: str, value: Any, low: int) -> int:
    """Return ``value`` as int; raise an error unless it is an integer of at least ``low``."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be an integer, {low} or more")
    if value < low:
        raise ValueError(f"{name}={value!r} must be {low} or more")
    return int(value)


def check_real(name: str, value: Any, low: float, high: float = np.inf) -> float:
    """Return ``value`` as float; raise an error unless it is a finite number in [low, high]."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be a number from {low} to {high}")
    if not (np.isfinite(float(value)) and low <= float(value) <= high):
        raise ValueError(f"{name}={value!r} must be a finite number from {low} to {high}")
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    """Return ``value`` as bool; raise an error unless it is one."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} must be True or False")
    return bool(value)


def check_verbose(value: Any) -> None:
    """Raise an error unless ``value`` is False, True or an integer of at least 0."""
    if not isinstance(value, bool):
        check_integer("verbose", value, 0)


def check_seed(value: Any) -> np.random.RandomState:
    """Return the random generator of ``random_state``: an int, RandomState or None."""
    try:
        return check_random_state(value)
    except ValueError:
        raise ValueError(
            f"random_state={value!r} must be an integer from 0 to 2**32 - 1, a RandomState or None"
        ) from None


def check_folder(name: str, value: Any) -> Path | None:
    """Return ``value`` as a path; raise an error unless it is None or can be a folder."""
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}={value!r} must be the path of a folder of your own, or None")
    path = Path(value).expanduser()
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{name}={os.fspath(value)!r} is a file; give a folder")
    return path


def checked_memory(value: Any) -> Any:
    """Return the joblib.Memory of ``memory``: None, a folder, or a Memory itself."""
    return check_memory(os.fspath(value) if isinstance(value, os.PathLike) else value)


def cloned(name: str, value: Any) -> Any:
    """Return an unfitted copy of an estimator; raise an error if ``value`` is not one."""
    try:
        return clone(value)
    except TypeError as error:
        raise TypeError(f"{name}={value!r} must be an estimator ({error})") from None


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value``; raise an error unless it is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}")
    return value


@contextmanager
def progress_bar(verbose: int, title: str, total: int | None = None) -> Iterator[Advance | None]:
    """Yield a function that advances a bar, or None when not verbose.

    With a ``total`` number of steps, the bar also shows the time left. A nested bar disappears
    when it is done.
    """
    if not verbose:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=title, unit="step", total=total, leave=bars_stay()) as bar:

        def advance(text: str, steps: int = 1) -> None:
            bar.set_postfix_str(text, refresh=not steps)
            bar.update(steps)

        token = _HAS_BAR.set(True)
        try:
            yield advance
        finally:
            _HAS_BAR.reset(token)


def bars_stay() -> bool:
    """Whether a bar stays on the screen when done, as only the outermost bar does."""
    return not _HAS_BAR.get()


@contextmanager
def showing_progress(estimator: Any, verbose: int) -> Iterator[None]:
    """Let an estimator of this package, or those of a pipeline, show progress temporarily.

    Afterwards ``verbose`` is restored, so that stored and cached objects do not contain it.
    """
    parts = [s for _, s in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    parts = [part for part in parts if type(part).__module__.partition(".")[0] == "estimators"]
    # A teacher is fitted before the model that learns from it.
    parts += [part.teacher for part in parts if getattr(part, "teacher", None) is not None]
    quiet = [part for part in parts if verbose and getattr(part, "verbose", None) in (0, False)]
    before = [part.verbose for part in quiet]
    try:
        for part in quiet:
            part.verbose = verbose
        yield
    finally:
        for part, value in zip(quiet, before, strict=True):
            part.verbose = value

"""Handling of Ctrl-C in fits that are part of another fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_PART: ContextVar[bool] = ContextVar("_IS_PART", default=False)


@contextmanager
def finished_fits_only() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in nested fits, instead of keeping unfinished models.

    Estimators that fit others and keep the finished ones need this, so that they do not take an
    interrupted fit for a finished one.

    Examples
    --------
    >>> from estimators.inputs import finished_fits_only, keeps_unfinished
    >>> with finished_fits_only():
    ...     keeps_unfinished()
    False
    >>> keeps_unfinished()
    True
    """
    token = _IS_PART.set(True)
    try:
        yield
    finally:
        _IS_PART.reset(token)


def keeps_unfinished() -> bool:
    """Whether an interrupted fit keeps what it has learned, with a warning."""
    return not _IS_PART.get()

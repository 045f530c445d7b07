"""What Ctrl-C leaves of a fit that is part of another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_PART: ContextVar[bool] = ContextVar("_IS_PART", default=False)


@contextmanager
def finished_fits_only() -> Iterator[None]:
    """Within it, a fit that Ctrl-C stops raises KeyboardInterrupt instead of keeping its best.

    What fits others within its own `fit`, and keeps the finished ones, would take one that was cut
    short as finished.

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
    """Whether a fit that Ctrl-C stops is to keep what it has learned, with a warning."""
    return not _IS_PART.get()

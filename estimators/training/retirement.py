"""Parameters of constructors that are gone, accepted for one more version."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


def retired(*names: str, positional: str | None = None) -> Callable[[Kind], Kind]:
    """Let a class accept parameters that are gone; they have no effect and cause a FutureWarning.

    Parameters
    ----------
    *names : str
        Names of the parameters.
    positional : str, default=None
        The one of them that was the first argument, of a class without positional arguments today.

    Returns
    -------
    decorate : callable
        Decorator of the class.
    """

    def decorate(kind: Kind) -> Kind:
        construct = kind.__init__

        @functools.wraps(construct)
        def accept(self: Any, *args: Any, **params: Any) -> None:
            if positional and args:
                params[positional], args = args[0], args[1:]
            for name in [name for name in names if name in params]:
                warnings.warn(
                    f"{name}={params.pop(name)!r} has no effect: {kind.__name__} no longer has "
                    "this parameter, and the next version refuses it; leave it out",
                    FutureWarning,
                    stacklevel=2,
                )
            construct(self, *args, **params)

        kind.__init__ = accept  # type: ignore[misc]
        return kind

    return decorate

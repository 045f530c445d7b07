"""Parameters that have another name than when models were saved with them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

_RENAMED = {"RCMDRegressor": {"similarity": "plan"}}
"""By class: the name in older files, and the name of today."""
_Init = ParamSpec("_Init")


def rename_parameters(kind: str, params: dict[str, Any]) -> None:
    """Give saved parameters of a class the names of today, in place."""
    for old, new in _RENAMED.get(kind, {}).items():
        if old in params:
            params[new] = params.pop(old)


def refuses_old_names(init: Callable[_Init, None]) -> Callable[_Init, None]:
    """Make a constructor name the parameter that stands for an old one it was given."""

    @functools.wraps(init)
    def checked(*args: _Init.args, **kwargs: _Init.kwargs) -> None:
        kind = type(args[0]).__name__
        for old, new in _RENAMED.get(kind, {}).items():
            if old in kwargs:
                raise TypeError(
                    f"{kind} has no parameter {old!r}: it is called {new!r}; give "
                    f"{new}={kwargs[old]!r}"
                )
        init(*args, **kwargs)

    return checked

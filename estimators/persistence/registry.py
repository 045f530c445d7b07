"""What saved models may name: classes and functions of this package, by their bare names."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import TypeVar

_PACKAGES = ("film", "estimators")
_Named = TypeVar("_Named", bound=Callable)
_NAMED: dict[str, Callable] = {}


def savable(named: _Named) -> _Named:
    """Register a class or function that `load_model` may build or name; a decorator.

    Files name it by where it was defined when they were written, and it is looked up by its bare
    name alone, so that it may move to another module.

    A class must do nothing when it is made, restored or dropped: no ``__new__``, ``__setstate__``
    or ``__del__``. What `save_model` writes is ``__getstate__()``, a dict of plain containers,
    arrays, texts, numbers and other savable objects; leave out what can be built again and build
    it when first used. ``check_state()``, where a class has it, is called once all of a loaded
    model is in place: it raises ValueError where the state is inconsistent, before compiled code
    could follow an index out of range.

    Raises
    ------
    ValueError
        If another class or function has this name.
    """
    other = _NAMED.setdefault(named.__name__, named)
    if _place(other) != _place(named):
        raise ValueError(f"{_place(named)} cannot be savable: {_place(other)} has that name")
    # A module that is loaded again defines it anew.
    _NAMED[named.__name__] = named
    return named


def is_savable(kind: type) -> bool:
    """Whether this very class is registered."""
    return _NAMED.get(kind.__name__) is kind


def find_savable(place: str) -> Callable | None:
    """Give what is registered under the last part of a dotted name of this package, or None.

    A file holds the name, such as "estimators.metric.FILM", of where it was then.
    """
    module, _, name = place.rpartition(".")
    if module.split(".")[0] not in _PACKAGES or "__" in module:
        return None
    if name not in _NAMED:
        _import(module)
    if name not in _NAMED:
        # It has moved since: a room that exports it is asked first, as importing all takes seconds.
        _import_from_a_room(name)
    if name not in _NAMED:
        _import_all()
    return _NAMED.get(name)


def _place(named: Callable) -> str:
    return f"{named.__module__}.{named.__qualname__}"


def _import_from_a_room(name: str) -> None:
    for package in _PACKAGES:
        for each in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if each.ispkg:
                room = importlib.import_module(f"{package}.{each.name}")
                if name in getattr(room, "__all__", ()):
                    getattr(room, name)


@functools.cache
def _import_all() -> None:
    for package in _PACKAGES:
        found = importlib.import_module(package)
        for each in pkgutil.walk_packages(found.__path__, f"{package}."):
            if "__" not in each.name:
                _import(each.name)


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except (ImportError, ValueError):  # gone, of no name, or of an extra that is not installed
        return

"""Registry of the classes and functions that saved models may name, by their bare names."""

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
    """Register a class or function that `load_model` may build or call; a decorator.

    Files contain the module at the time of saving, but only the bare name is looked up, so that
    the object may move to another module.

    A class must have no side effects when it is created, restored or deleted: no ``__new__``,
    ``__setstate__`` or ``__del__``. `save_model` writes ``__getstate__()``, a dict of plain
    containers, arrays, texts, numbers and other savable objects; leave out what can be rebuilt on
    first use. If a class has ``check_state()``, it is called once the whole loaded model is in
    place. It raises ValueError if the state is inconsistent, before compiled code could follow an
    index out of range.

    Raises
    ------
    ValueError
        If another class or function has this name.
    """
    other = _NAMED.setdefault(named.__name__, named)
    if _place(other) != _place(named):
        raise ValueError(f"{_place(named)} cannot be savable: {_place(other)} has that name")
    # Reloading a module defines it again.
    _NAMED[named.__name__] = named
    return named


def is_savable(kind: type) -> bool:
    """Whether this exact class is registered."""
    return _NAMED.get(kind.__name__) is kind


def find_savable(place: str) -> Callable | None:
    """Return the object registered under the last part of a dotted name of this package, or None.

    A file holds the name at the time of saving, such as "estimators.metric.FILM".
    """
    module, _, name = place.rpartition(".")
    if module.split(".")[0] not in _PACKAGES or "__" in module:
        return None
    if name not in _NAMED:
        _import(module)
    if name not in _NAMED:
        # It has moved: first try the packages that export it, as importing all takes seconds.
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
    except (ImportError, ValueError):  # removed, invalid name, or an extra is not installed
        return

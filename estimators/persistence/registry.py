"""Which classes a model file may hold, and how those of older files are read."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

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


_RUN = ("accumulation_steps", "patience", "checkpoint")
_GONE = {
    "RCMDRegressor": _RUN,
    "CrossEncoderRegressor": _RUN,
    "TripletNetwork": (*_RUN, "states", "temperature", "n_nearest"),
    "ContextModel": (
        *("chunk_length", "language", "vocabulary_size", "max_length", "word_vectors"),
        *("batch_size", "discriminator_learning_rate", "generator_batch_size"),
        *("generator_learning_rate", "validation_fraction", "n_retrieved", "n_ranked"),
        *(
            "sides",
            "interaction",
            "lexical",
            "discriminator_seconds",
            "generator_seconds",
            "folder",
            "diverse",
            "reader",
            "width",
            "discriminator_epochs",
        ),
    ),
    "ContextRegressor": ("reference",),
    "PairTeacher": ("checkpoint",),
    "FILM": ("device", "n_nearest"),
    "MiniBatchFILM": ("n_nearest",),
    "DuplicateFinder": ("device",),
    "DuplicateClassifier": (
        *("_domain", "_familiarity", "_training_similarity", "_untrained", "untrained_share_"),
    ),
    "TextSpace": ("_axes", "random_state"),
    "SurrogateRegressor": (*("temperature", "margin", "micro_batch_size", "eval_steps", *_RUN),),
}
"""Parameters and attributes of older files that fitted models do not need, by class."""

_DROPPED = (
    *("Domain", "Familiarity", "LatentCharacters", "TrainingSimilarity", "UntrainedSimilarity"),
)
"""Classes of parts that older files hold and nothing needs."""

for _name in _DROPPED:
    globals()[_name] = savable(type(_name, (), {"__module__": __name__}))

_ADDED = {"DuplicateFinder": {"encoder": None, "compare": None}}
"""Parameters that older files lack, with the value by which a model does what it did then."""


_PARTS: dict[str, dict[str, tuple[str, dict[str, str]]]] = {
    "DuplicateClassifier": {
        "_record": (
            "estimators.pairs.TrainingRecord",
            {
                "_labels": "labels",
                "_same": "same",
                "_fold_of_row": "fold_of_row",
                "_own_folds": "own_folds",
                "_part_of_fold": "part_of_fold",
                "_linked": "linked",
                "_fingerprints": "fingerprints",
                "_training": "training",
                "_out_of_fold_probabilities": "probabilities",
            },
        ),
    }
}
"""By class: parts that hold what were attributes of its own, with the names of then and now."""


def read_as_today(model: Any) -> None:
    """Drop and add parameters, and move attributes to the parts that hold them, in place."""
    state = getattr(model, "__dict__", {})
    drop_parameters(type(model).__name__, state)
    if type(model).__name__ == "CorpusIndex" and "_vectors" in state:
        # Neighbours were searched among dense points in place of the vectors.
        vectors = state.pop("_vectors")
        if vectors is not None:
            state["_table"].points = vectors
    for name, value in _ADDED.get(type(model).__name__, {}).items():
        state.setdefault(name, value)
    for name, (place, moved) in _PARTS.get(type(model).__name__, {}).items():
        found = {new: state.pop(old) for old, new in moved.items() if old in state}
        if found:
            kind: Any = find_savable(place)
            state[name] = part = object.__new__(kind)
            vars(part).update(found)


def drop_parameters(kind: str, params: dict[str, Any]) -> None:
    """Drop the saved parameters of a class that are gone, in place."""
    for name in _GONE.get(kind, ()):
        params.pop(name, None)

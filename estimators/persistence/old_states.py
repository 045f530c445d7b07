"""Convert models that earlier versions saved to the current attributes."""

from __future__ import annotations

from typing import Any

from estimators.persistence.registry import find_savable, savable

_RUN = ("accumulation_steps", "patience")
_GONE = {
    "RCMDRegressor": _RUN,
    "CrossEncoderRegressor": _RUN,
    "TripletNetwork": (*_RUN, "states", "temperature"),
    "ContextModel": (
        *("chunk_length", "language", "vocabulary_size", "max_length", "word_vectors"),
        *("batch_size", "discriminator_learning_rate", "generator_batch_size"),
        *("generator_learning_rate", "validation_fraction", "n_retrieved", "n_ranked"),
        *("sides", "interaction", "discriminator_seconds"),
    ),
    "ContextRegressor": ("reference",),
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

_RENAMED = {"ContextModel": {"folder": "_folder"}}
"""Parameters of older files that a class still reads as attributes."""

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
    for name, new in _RENAMED.get(type(model).__name__, {}).items():
        if name in state:
            state[new] = state.pop(name)
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

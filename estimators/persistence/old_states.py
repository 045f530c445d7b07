"""Models saved by earlier versions, brought to the attributes of today."""

from __future__ import annotations

from typing import Any

_GONE = {
    "ContextModel": (
        *("chunk_length", "language", "vocabulary_size", "max_length", "word_vectors"),
        *("batch_size", "discriminator_learning_rate", "generator_batch_size"),
        *("generator_learning_rate", "validation_fraction", "n_retrieved", "n_ranked"),
    ),
    "SurrogateRegressor": (
        *("temperature", "margin", "micro_batch_size", "accumulation_steps", "eval_steps"),
        "patience",
    ),
}
"""Parameters of older files that fitted models do not need, by class."""


def read_as_today(model: Any) -> None:
    """Bring the attributes of a loaded object up to date, in place."""
    drop_parameters(type(model).__name__, getattr(model, "__dict__", {}))


def drop_parameters(kind: str, params: dict[str, Any]) -> None:
    """Drop the saved parameters of a class that are gone, in place."""
    for name in _GONE.get(kind, ()):
        params.pop(name, None)

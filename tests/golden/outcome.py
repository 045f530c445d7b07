"""What a model gives for the argument that stands beside it in an ``expected.json``."""

from __future__ import annotations

from typing import Any

import numpy as np


def outcome(model: Any, name: str, argument: Any) -> np.ndarray:
    """Give the value of an attribute, or of a method called with ``argument``, as one array.

    Keywords come as a dict; a pair, which JSON keeps as a list, as a tuple.
    """
    found = getattr(model, name)
    if isinstance(argument, dict):
        found = found(**argument)
    elif argument is not None:
        is_pairs = isinstance(argument, list) and isinstance(argument[0], list)
        found = found([tuple(row) for row in argument] if is_pairs else argument)
    if hasattr(found, "scores"):
        rows = found.pairs if hasattr(found, "pairs") else found.members
        found = np.column_stack([rows, found.scores])
    return np.asarray(found.values if hasattr(found, "spans") else found)

"""Least probabilities of texts with nearly or exactly the same spelling."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import as_texts, distinct_texts
from film.pairs import are_spelled_alike
from film.text import copy_key, token_text

COPY = 1 - 1e-6
"""Probability that copies (`film.text.copy_key`) are duplicates, at any prior."""

SAME_TOKENS = 0.99
"""Least probability of pairs with the same tokens (`film.text.token_text`), at any prior."""

SPELLED_ALIKE = 0.95
"""Least probability, before any shift of the prior, of pairs that differ by a spelling mistake.

About this share of them are duplicates in Quora's training set.
"""


class Sameness(Enum):
    """Degree to which two texts have the same spelling."""

    OTHER = ""
    SPELLED_ALIKE = "the texts differ by one slip of the pen (a letter of one word, or a space)"
    SAME_TOKENS = "the texts hold the same words, numbers and symbols in the same order"
    COPY = "the texts are copies: equal but for case, white space and Unicode form"


def samenesses(pairs: NDArray[np.object_]) -> list[Sameness]:
    """Return the closest sameness of the texts of each pair."""
    texts, codes = distinct_texts(pairs)
    keys, spoken = ([read(text) for text in texts] for read in (copy_key, token_text))
    first, second = codes.T
    (_, key), (_, said) = (distinct_texts(as_texts(read)) for read in (keys, spoken))
    tokens: Any = np.fromiter((text.split() for text in spoken), dtype=object, count=len(texts))
    found = np.full(len(pairs), Sameness.OTHER, dtype=object)
    found[are_spelled_alike(tokens[first], tokens[second])] = Sameness.SPELLED_ALIKE
    written = np.array([bool(text) for text in spoken], dtype=bool)
    found[(said[first] == said[second]) & written[first]] = Sameness.SAME_TOKENS
    found[key[first] == key[second]] = Sameness.COPY
    return found.tolist()


def apply_floors(
    p: NDArray[np.float64], same: list[Sameness], shift: Callable[[Any], Any]
) -> NDArray[np.float64]:
    """Raise probabilities to the floors of their pairs, and shift them to another prior."""
    before = {Sameness.SPELLED_ALIKE: SPELLED_ALIKE}
    p = shift(np.maximum(p, [before.get(how, 0.0) for how in same]))
    after = {Sameness.SAME_TOKENS: SAME_TOKENS, Sameness.COPY: COPY}
    return np.maximum(p, [after.get(how, 0.0) for how in same])

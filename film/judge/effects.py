"""What each kind of evidence adds to the general score of a pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from film.compare import DIFFERENCES, PAIR_FEATURES, record_share
from film.judge.general import (
    GENERAL_FEATURES,
    MEANING_FEATURES,
    general_features,
    general_weights,
    meaning_features,
)

__all__ = ["EVIDENCE", "general_effects"]

EVIDENCE = ("wording", "meaning", "numbers and codes", "negation and order", "neighbourhood")
"""Groups of the features of the general formula."""

_NUMBERS, _OPPOSITES = DIFFERENCES[:3], DIFFERENCES[3:]

Floats = NDArray[np.float64]


def general_effects(
    pairs: Floats,
    cosines: Floats,
    near: Floats,
    number_share: float,
    meanings: Floats | None = None,
) -> tuple[float, Floats]:
    """Split the log-odds of pairs by the general formula into groups of evidence.

    Parameters
    ----------
    pairs, cosines, near, number_share, meanings
        As in `general_log_odds`.

    Returns
    -------
    start : float
        The intercept: log-odds of a pair without any evidence.
    effects : ndarray of float64, shape (n, 5)
        What each group of `EVIDENCE` adds: *wording* is what words are shared, replaced and
        misspelt; *numbers and codes* whether they are shared, missing or differ, with units;
        *negation and order* includes opposites and choices; *neighbourhood* is the rank of the pair
        among the pairs of its texts. ``start + effects.sum(axis=1)`` are the log-odds.

    Examples
    --------
    >>> from film.compare import WordRarity, comparable_tokens, pair_features
    >>> from film.judge import EVIDENCE, general_effects
    >>> texts = ["Invoice 10234 is unpaid", "invoice 10243 is unpaid"]
    >>> pairs = pair_features(texts[:1], texts[1:], WordRarity(map(comparable_tokens, texts)))
    >>> start, effects = general_effects(pairs, np.array([0.8]), np.zeros((1, 2)), 0.0)
    >>> dict(zip(EVIDENCE, effects[0].round(1).tolist()))["numbers and codes"]
    -2.6
    """
    differs = pairs[:, [PAIR_FEATURES.index(f"{name} differs") for name in _NUMBERS]]
    share = 1.0 if meanings is None else record_share(number_share)
    parts = [(share, general_features(pairs, cosines, near, number_share), False)]
    # In tables of records a differing number is no such difference.
    is_number = differs[:, 1:].any(axis=1) | (differs[:, 0] * (1 - record_share(number_share)) > 0)
    by_number = [is_number]
    if meanings is not None:
        parts.append((1 - share, meaning_features(pairs, cosines, meanings), True))
        by_number.append(differs.any(axis=1))
    start, effects = 0.0, np.zeros((len(pairs), len(EVIDENCE)))
    for (part, features, is_meaning), numbers in zip(parts, by_number, strict=True):
        weights = general_weights(is_meaning)
        start += part * weights.intercept
        names = MEANING_FEATURES if is_meaning else GENERAL_FEATURES
        for name, each in zip(names, (part * features * weights.weights).T, strict=True):
            if name == "any difference, by coverage":
                effects[:, 2] += np.where(numbers, each, 0)
                effects[:, 3] += np.where(numbers, 0, each)
            else:
                effects[:, _group(name)] += each
    return start, effects


def _group(name: str) -> int:
    if name.startswith(_NUMBERS):
        return 2
    if name.startswith(_OPPOSITES):
        return 3
    if name.startswith(("rank", "margin")):
        return 4
    return int(name.startswith("meaning"))

"""The warning of texts that are of another kind than those of a fit."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

MOST_EXPECTED = 0.25
"""Share of pairs at or below the limit from which on the set is of another kind."""

FEWEST_PAIRS = 20
"""Pairs from which on `DuplicateClassifier.predict_proba` looks at their familiarity."""

MOST_LOOKED_AT = 200
"""Pairs that it looks at, drawn at random."""


class UnfamiliarTextsWarning(UserWarning):
    """Texts are judged that are of another kind than those that the classifier was fitted to."""


def warn_of_unfamiliar(
    familiarity: NDArray[np.float64], limit: float, what: str, stacklevel: int = 3
) -> None:
    """Warn where more than a quarter of pairs or texts are no more familiar than the limit."""
    low = int((familiarity <= limit).sum())
    if low > MOST_EXPECTED * len(familiarity):
        warnings.warn(
            f"{low} of {len(familiarity)} {what} have a familiarity of at most {limit:.2g}: such "
            "texts are unlike those that the model was trained on; adapt(texts), or --adapt at the "
            "command line, lets untrained similarity count the more",
            UnfamiliarTextsWarning,
            stacklevel=stacklevel,
        )


def drawn_rows(n: int, most: int = MOST_LOOKED_AT) -> NDArray[np.intp]:
    """Rows that are looked at, in their order."""
    return np.sort(np.random.default_rng(0).permutation(n)[:most])

"""Cosines of an encoder on a scale that is the same for all encoders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNRELATED_TEXTS", "base_cosine", "centred_cosines"]

UNRELATED_TEXTS = (
    "Where is the nearest train station?",
    "The children are playing football in the park.",
    "How do I reset my password?",
    "Wireless optical mouse, black, USB",
    "A new method for the analysis of protein structures",
    "Two cups of flour and a pinch of salt",
    "The company reported higher profits this year.",
    "What is the capital of Australia?",
    "John Smith, 12 Church Street, Springfield",
    "My card payment was declined.",
    "A dog runs along the beach.",
    "The best of the blues, volume 2",
    "Why is the sky blue?",
    "He has been a member of parliament since 1997.",
    "Please cancel my flight to Berlin.",
    "Stainless steel kitchen knife 20 cm",
    "The patient has a high fever and a cough.",
    "Learning to rank with neural networks",
    "How much does it cost to paint a house?",
    "It will rain tomorrow.",
    "She plays the piano very well.",
    "Invoice for office furniture, March",
    "Can I learn French in three months?",
    "The bridge was closed for repairs.",
)
"""Texts of which no two mean the same: their cosines show the usual level of an encoder."""

_HIGHEST_BASE = 0.99


def base_cosine(vectors: Any) -> float:
    """Return the mean cosine of all pairs of vectors.

    Parameters
    ----------
    vectors : ndarray or sparse array, shape (n, d)
        Unit rows, such as those of `UNRELATED_TEXTS`; zero rows do not count.

    Returns
    -------
    base : float
        At least 0 and below 1; 0 if fewer than two rows are not zero.

    Notes
    -----
    The mean of all pairs is (‖Σᵢ vᵢ‖² − n) / (n (n − 1)), so the cost is O(n d).

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import base_cosine
    >>> round(base_cosine(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.0]])), 6)
    0.6
    """
    total = np.asarray(vectors.sum(axis=0), dtype=np.float64).ravel()
    n = int(np.count_nonzero(np.asarray(abs(vectors).sum(axis=1))))
    if n < 2:
        return 0.0
    return float(np.clip((total @ total - n) / (n * (n - 1)), 0, _HIGHEST_BASE))


def centred_cosines(cosines: NDArray[np.float64], base: float) -> NDArray[np.float64]:
    """Rescale cosines, so that unrelated texts have about 0 and equal texts 1.

    Encoders differ in the cosine of unrelated texts: it is near 0 for some and near 1 for others.
    The result does not change if all cosines c of an encoder become a + (1 − a) c.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import centred_cosines
    >>> centred_cosines(np.array([0.5, 0.7, 0.85, 1.0]), 0.7).round(6).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    return np.maximum(cosines - base, 0) / (1 - base)

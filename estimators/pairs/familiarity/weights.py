"""Weights of the statistics of texts, by how many there are; `benchmarks.familiarity` fits them."""

from __future__ import annotations

WORD_STATISTICS = (
    "rarity of words",
    "rarity of bigrams",
    "length",
    "nearest texts",
    "rarity of patterns",
    "rarity of the first word",
    "rarity of the first three words",
    "rarity of words near each other",
    "nearest by characters",
)
VECTOR_STATISTICS = ("nearest vectors", "cosine to the mean vector")

OTHER_KINDS = ("other questions", "prose", "headlines")
"""Kinds of text that the weights tell from those of a fit."""

_WORDS = (
    (-0.64, 2.01, -1.57, -1.27, 0.08, 0.26, 0.62, -2.24, -1.51),
    (0.79, 2.83, -0.63, -2.88, 0.91, 0.83, 0.90, -3.31, -1.40),
    (0.50, 5.09, -0.75, 1.22, -0.67, 0.49, 0.64, -0.62, -1.22),
)
_VECTORS = (
    (-0.94, 2.02, -1.86, -0.14, 0.18, 0.20, 0.73, -2.14, -1.29, -1.97, -0.85),
    (0.39, 2.66, -0.61, -1.06, 0.90, 0.75, 1.05, -2.96, -1.01, -3.94, -0.21),
    (0.11, 4.89, -1.25, 1.90, -0.55, 0.37, 0.87, -0.65, -0.82, -0.94, -2.48),
)

WEIGHTS = {
    9: (_WORDS, (-3.05, -8.12, -13.35)),
    11: (_VECTORS, (-4.51, -10.96, -14.91)),
}
"""Weights of each kind and their intercepts, by the number of statistics."""

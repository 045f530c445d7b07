"""Scikit-learn estimators for sentence similarity and duplicate detection."""

from estimators.film import FILM
from estimators.model_selection import (
    DisjointPairsKFold,
    Triplets,
    disjoint_pairs_split,
    question_groups,
)

__all__ = [
    "FILM",
    "DisjointPairsKFold",
    "Triplets",
    "disjoint_pairs_split",
    "question_groups",
]

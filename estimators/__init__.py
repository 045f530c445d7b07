"""Scikit-learn estimators for sentence similarity and duplicate detection."""

from estimators.film import FILM
from estimators.model_selection import (
    DisjointPairsKFold,
    Triplets,
    disjoint_pairs_split,
    question_groups,
)
from estimators.pairwise_knn import PairwiseKNNClassifier

__all__ = [
    "FILM",
    "DisjointPairsKFold",
    "PairwiseKNNClassifier",
    "Triplets",
    "disjoint_pairs_split",
    "question_groups",
]

"""Scikit-learn estimators for sentence similarity and duplicate detection."""

from estimators.duplicate_classifier import DuplicateClassifier
from estimators.duplicate_finder import DuplicateFinder
from estimators.fast_duplicates import fast_duplicates
from estimators.few_labels import few_label_duplicates
from estimators.film import FILM
from estimators.lexical import LexicalFeatures
from estimators.model_average import average_models
from estimators.model_selection import (
    AllowSharedQuestions,
    DisjointPairsKFold,
    Triplets,
    disjoint_pairs_split,
    question_groups,
)
from estimators.pairwise_knn import PairwiseKNNClassifier
from estimators.persistence import load_model, save_model
from estimators.rcmd import RCMDRegressor
from estimators.sentence_encoder import SentenceEncoder
from estimators.suggestion import suggest_pairs
from estimators.token_encoder import TokenEncoder
from estimators.token_matching import TokenMatchingRegressor
from estimators.token_weights import TokenWeights
from estimators.word_differences import WordDifferences

__all__ = [
    "FILM",
    "AllowSharedQuestions",
    "DisjointPairsKFold",
    "DuplicateClassifier",
    "DuplicateFinder",
    "LexicalFeatures",
    "PairwiseKNNClassifier",
    "RCMDRegressor",
    "SentenceEncoder",
    "TokenEncoder",
    "TokenMatchingRegressor",
    "TokenWeights",
    "Triplets",
    "WordDifferences",
    "average_models",
    "disjoint_pairs_split",
    "fast_duplicates",
    "few_label_duplicates",
    "load_model",
    "question_groups",
    "save_model",
    "suggest_pairs",
]

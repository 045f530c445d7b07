from ._archive import read_metadata as read_metadata
from .duplicate_classifier import DuplicateClassifier as DuplicateClassifier
from .duplicate_finder import DuplicateFinder as DuplicateFinder
from .fast_duplicates import fast_duplicates as fast_duplicates
from .few_labels import few_label_duplicates as few_label_duplicates
from .film import FILM as FILM
from .lexical import LexicalFeatures as LexicalFeatures
from .model_average import average_models as average_models
from .model_selection import AllowSharedQuestions as AllowSharedQuestions
from .model_selection import DisjointPairsKFold as DisjointPairsKFold
from .model_selection import Triplets as Triplets
from .model_selection import disjoint_pairs_split as disjoint_pairs_split
from .model_selection import question_groups as question_groups
from .pairwise_knn import PairwiseKNNClassifier as PairwiseKNNClassifier
from .persistence import load_model as load_model
from .persistence import save_model as save_model
from .rcmd import RCMDRegressor as RCMDRegressor
from .sentence_encoder import SentenceEncoder as SentenceEncoder
from .suggestion import suggest_pairs as suggest_pairs
from .token_encoder import TokenEncoder as TokenEncoder
from .token_matching import TokenMatchingRegressor as TokenMatchingRegressor
from .token_weights import TokenWeights as TokenWeights
from .word_differences import WordDifferences as WordDifferences

__version__: str

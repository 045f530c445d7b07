from .contexts import ContextModel as ContextModel
from .contexts import SurrogateRegressor as SurrogateRegressor
from .corpus import DuplicateFinder as DuplicateFinder
from .encoders import SentenceEncoder as SentenceEncoder
from .encoders import TokenEncoder as TokenEncoder
from .inputs import AllowSharedQuestions as AllowSharedQuestions
from .inputs import DisjointPairsKFold as DisjointPairsKFold
from .inputs import Triplets as Triplets
from .inputs import disjoint_pairs_split as disjoint_pairs_split
from .inputs import question_groups as question_groups
from .metric import FILM as FILM
from .metric import MiniBatchFILM as MiniBatchFILM
from .pairs import DuplicateClassifier as DuplicateClassifier
from .pairs import LexicalFeatures as LexicalFeatures
from .pairs import PairwiseKNNClassifier as PairwiseKNNClassifier
from .pairs import WordDifferences as WordDifferences
from .pairs import fast_duplicates as fast_duplicates
from .pairs import few_label_duplicates as few_label_duplicates
from .pairs import suggest_pairs as suggest_pairs
from .persistence import load_model as load_model
from .persistence import read_metadata as read_metadata
from .persistence import save_model as save_model
from .tokens import RCMDRegressor as RCMDRegressor
from .tokens import TokenMatchingRegressor as TokenMatchingRegressor
from .tokens import TokenWeights as TokenWeights
from .training import average_models as average_models

__version__: str

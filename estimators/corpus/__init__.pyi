from .corpus_index import EXACT_LIMIT as EXACT_LIMIT
from .corpus_index import CorpusIndex as CorpusIndex
from .duplicate_finder import DuplicateFinder as DuplicateFinder
from .finder_inputs import USUAL_THRESHOLD as USUAL_THRESHOLD
from .found_duplicates import DuplicatePairs as DuplicatePairs
from .general_scores import GeneralScores as GeneralScores
from .growth import distinct_pairs as distinct_pairs

from .corpus_index import EXACT_LIMIT as EXACT_LIMIT
from .duplicate_finder import DuplicateFinder as DuplicateFinder
from .found_duplicates import DuplicatePairs as DuplicatePairs

from .duplicate_finder import DuplicateFinder as DuplicateFinder
from .found_duplicates import DuplicatePairs as DuplicatePairs

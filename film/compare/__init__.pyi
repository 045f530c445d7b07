from .features import DIFFERENCES as DIFFERENCES
from .features import PAIR_FEATURES as PAIR_FEATURES
from .features import pair_features as pair_features
from .normalize import comparable_tokens as comparable_tokens
from .words import WordRarity as WordRarity
from .words import near_words as near_words

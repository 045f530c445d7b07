from .rcmd import RCMDRegressor as RCMDRegressor
from .token_matching import TokenMatchingRegressor as TokenMatchingRegressor
from .token_weights import TokenWeights as TokenWeights
from .vocabulary import weights_of_tokens as weights_of_tokens

from .rcmd import RCMDRegressor as RCMDRegressor
from .saving import check_new_folder as check_new_folder
from .saving import write_folder as write_folder
from .token_matching import TokenMatchingRegressor as TokenMatchingRegressor
from .token_weights import TokenWeights as TokenWeights
from .vocabulary import weights_of_tokens as weights_of_tokens

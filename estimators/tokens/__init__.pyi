from .pair_teacher import PairTeacher as PairTeacher
from .rcmd import RCMDRegressor as RCMDRegressor
from .token_matching import TokenMatchingRegressor as TokenMatchingRegressor
from .token_regressor import TokenRegressor as TokenRegressor
from .token_regressor import check_tokens as check_tokens
from .token_regressor import coded_blocks as coded_blocks
from .token_weights import TokenWeights as TokenWeights
from .token_weights import weights_of_tokens as weights_of_tokens

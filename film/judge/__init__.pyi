from .assignment import one_to_one as one_to_one
from .general import GENERAL_FEATURES as GENERAL_FEATURES
from .general import GeneralWeights as GeneralWeights
from .general import fit_general as fit_general
from .general import general_features as general_features
from .general import general_weights as general_weights
from .general import pair_kinds as pair_kinds
from .neighbours import neighbour_features as neighbour_features

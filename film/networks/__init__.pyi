from .cross_encoder import ScoringHead as ScoringHead
from .token_masses import TokenMasses as TokenMasses
from .triplet_network import AXES as AXES
from .triplet_network import LEAST_LENGTH as LEAST_LENGTH
from .triplet_network import READOUTS as READOUTS
from .triplet_network import TokenConvolutions as TokenConvolutions

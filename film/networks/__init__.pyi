from .devices import checked_device as checked_device
from .layers import AXES as AXES
from .layers import LEAST_LENGTH as LEAST_LENGTH
from .layers import READOUTS as READOUTS
from .layers import ScoringHead as ScoringHead
from .layers import TokenConvolutions as TokenConvolutions

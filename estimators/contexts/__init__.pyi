from .context_model import ContextModel as ContextModel
from .harvesting.harvester import Harvest as Harvest
from .harvesting.harvester import harvest as harvest
from .harvesting.score_file import HarvestedPairs as HarvestedPairs
from .harvesting.score_file import read_harvest as read_harvest
from .origin.context_regressor import ContextRegressor as ContextRegressor
from .surrogate import SurrogateRegressor as SurrogateRegressor

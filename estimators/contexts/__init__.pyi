from .context_model import ContextModel as ContextModel
from .context_regressor import ContextRegressor as ContextRegressor
from .harvesting.harvester import Harvest as Harvest
from .harvesting.harvester import harvest as harvest
from .harvesting.score_file import HarvestedPairs as HarvestedPairs
from .harvesting.score_file import read_harvest as read_harvest
from .surrogate import SurrogateRegressor as SurrogateRegressor

from .checkpoint import Checkpoint as Checkpoint
from .checkpoint import check_checkpoint_folder as check_checkpoint_folder
from .checkpoint import saved_seed as saved_seed
from .loop import Examples as Examples
from .loop import Settings as Settings
from .loop import Training as Training
from .model_average import average_models as average_models

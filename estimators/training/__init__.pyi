from .model_average import average_models as average_models
from .run import train as train
from .settings import check_training_parameters as check_training_parameters

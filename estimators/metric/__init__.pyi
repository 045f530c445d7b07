from .film import FILM as FILM
from .linear_pipeline import LinearPipeline as LinearPipeline
from .linear_pipeline import take_apart as take_apart

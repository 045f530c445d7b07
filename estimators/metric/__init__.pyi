from .film import FILM as FILM
from .linear_pipeline import LinearPipeline as LinearPipeline
from .linear_pipeline import map_of as map_of
from .linear_pipeline import take_apart as take_apart
from .linear_pipeline import words_of_dimension as words_of_dimension
from .minibatch_film import MiniBatchFILM as MiniBatchFILM
from .token_film import TokenFILM as TokenFILM

from .any_encoder import NO_ENCODER as NO_ENCODER
from .any_encoder import AnyEncoder as AnyEncoder
from .any_encoder import EncoderChoice as EncoderChoice
from .any_encoder import as_transformer as as_transformer
from .any_encoder import is_fitted as is_fitted
from .any_encoder import resolve_encoder as resolve_encoder
from .bridges import (
    export_sentence_transformers as export_sentence_transformers,
)
from .frozen_encoder import SentenceEncoder as SentenceEncoder
from .frozen_encoder import TokenEncoder as TokenEncoder
from .frozen_encoder import warn_of_cuts as warn_of_cuts
from .frozen_encoder import warn_of_unknown as warn_of_unknown
from .model_files import PAIR_HEAD as PAIR_HEAD
from .model_files import check_model_files as check_model_files
from .model_files import check_new_folder as check_new_folder
from .model_files import find_model as find_model
from .model_files import model_digest as model_digest
from .model_files import write_folder as write_folder
from .new_encoder import make_encoder as make_encoder
from .static_encoder import StaticEncoder as StaticEncoder
from .transformer import DTYPES as DTYPES
from .transformer import TOKENS_PER_TEXT as TOKENS_PER_TEXT
from .transformer import Tokens as Tokens
from .transformer import Transformer as Transformer
from .transformer import check_device as check_device
from .transformer import check_lengths as check_lengths
from .transformer import quiet as quiet
from .transformer import read_arrays as read_arrays

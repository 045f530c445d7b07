from .any_encoder import AnyEncoder as AnyEncoder
from .any_encoder import as_transformer as as_transformer
from .any_encoder import is_fitted as is_fitted
from .frozen_encoder import warn_of_cuts as warn_of_cuts
from .frozen_encoder import warn_of_unknown as warn_of_unknown
from .loading import check_device as check_device
from .loading import check_lengths as check_lengths
from .loading import quiet as quiet
from .model_files import PAIR_HEAD as PAIR_HEAD
from .model_files import check_model_files as check_model_files
from .model_files import check_new_folder as check_new_folder
from .model_files import find_model as find_model
from .model_files import model_digest as model_digest
from .model_files import write_folder as write_folder
from .mteb_model import MTEBModel as MTEBModel
from .new_encoder import make_encoder as make_encoder
from .pair_scoring import head_arrays as head_arrays
from .pair_scoring import load_with_head as load_with_head
from .pair_scoring import score_pairs as score_pairs
from .resolve import NO_ENCODER as NO_ENCODER
from .resolve import EncoderChoice as EncoderChoice
from .resolve import resolve_encoder as resolve_encoder
from .sentence_encoder import SentenceEncoder as SentenceEncoder
from .sentence_transformers_folder import (
    export_sentence_transformers as export_sentence_transformers,
)
from .static_encoder import StaticEncoder as StaticEncoder
from .token_encoder import TokenEncoder as TokenEncoder
from .transformer import DTYPES as DTYPES
from .transformer import TOKENS_PER_TEXT as TOKENS_PER_TEXT
from .transformer import Tokens as Tokens
from .transformer import Transformer as Transformer

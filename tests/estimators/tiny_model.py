"""A random BERT of 32 dimensions with its tokenizer, for tests without a download."""

from functools import cache
from pathlib import Path
from typing import Any

WIDTH, MAX_TOKENS = 32, 64
WORDS = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] a b the how do i learn chess play well what is best way to old "
    "earth age of cat dog sat on mat run ##s ##ning ##n ? ! . , e שלום"
).split()
PAIRS = [
    ("how do i learn chess", "what is the best way to learn chess"),
    ("the cat sat", "a dog sat on the mat"),
    ("old age", "the age of the earth"),
    ("run", "how well do i run"),
]
SCORES = [5.0, 2.0, 1.0, 3.0]


def make_tiny_model(folder: Path, *, seed: int = 0, **settings: Any) -> Path:
    """Save a model into a folder and give the folder.

    The random weights are large, so that vectors of different tokens differ much. ``settings`` go
    to transformers' BertConfig.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    tokenizer = BertTokenizerFast.from_pretrained(folder, model_max_length=MAX_TOKENS)
    tokenizer.save_pretrained(folder)
    shape = {
        "vocab_size": len(WORDS),
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": MAX_TOKENS,
        "initializer_range": 0.4,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        BertModel(BertConfig(**shape | settings)).save_pretrained(folder)
    return folder


@cache
def plain_model(folder: Path) -> Any:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer, transformers.AutoModel.from_pretrained(folder).eval()


def plain_tokens(folder: Path, texts: Any) -> Any:
    """Token names, vectors and marks of special tokens of each text, alone, by transformers."""
    import torch

    tokenizer, model = plain_model(folder)
    for text in texts:
        batch = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
        special = batch.pop("special_tokens_mask")[0].numpy().astype(bool)
        with torch.no_grad():
            vectors = model(**batch).last_hidden_state[0].double().numpy()
        yield tokenizer.convert_ids_to_tokens(batch.input_ids[0].tolist()), vectors, special


def bare_model(folder: Path) -> Path:
    """Save a model whose tokenizer knows "a" and "b", and adds no special or padding tokens."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    make_tiny_model(folder)
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    return folder

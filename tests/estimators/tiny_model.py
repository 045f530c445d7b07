"""A random BERT of 32 dimensions with its tokenizer, for tests without a download."""

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

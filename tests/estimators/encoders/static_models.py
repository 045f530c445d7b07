"""A small table of random token vectors with its tokenizer, in each layout that is read."""

import json
from pathlib import Path

import numpy as np

WORDS = "[UNK] the cat dog sat on a mat old age of earth how".split()
WIDTH = 6


def make_static_model(folder: Path, layout: str = "model2vec", **config) -> Path:
    """Save a static model into a new folder and return the folder.

    ``layout`` is "model2vec", "weighted" (model2vec with fewer vectors than tokens),
    "sentence-transformers" or "bare" (no config.json).
    """
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    place = folder / "0_StaticEmbedding" if layout == "sentence-transformers" else folder
    place.mkdir(parents=True)
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(place / "tokenizer.json"))
    rng = np.random.default_rng(0)
    table = rng.normal(size=(len(WORDS), WIDTH)).astype(np.float32)
    tensors = {"embeddings" if layout in ("model2vec", "weighted") else "embedding.weight": table}
    if layout == "weighted":
        tensors["embeddings"] = table[:5].copy()
        tensors["mapping"] = rng.integers(0, 5, len(WORDS))
        tensors["weights"] = rng.uniform(0.1, 2, len(WORDS)).astype(np.float32)
    save_file(tensors, place / "model.safetensors")
    if layout in ("model2vec", "weighted"):
        settings = {"model_type": "model2vec", "normalize": True, **config}
        (folder / "config.json").write_text(json.dumps(settings))
    if layout != "bare":
        module = {"idx": 0, "name": "0", "path": "0_StaticEmbedding"}
        module["type"] = "sentence_transformers.models.StaticEmbedding"
        (folder / "modules.json").write_text(json.dumps([module]))
    return folder

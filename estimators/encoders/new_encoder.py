"""Create a random encoder whose vocabulary comes from given texts only."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from estimators.encoders.model_files import check_new_folder, write_folder
from estimators.encoders.transformer import import_torch, quiet
from estimators.inputs import check_integer, check_seed, check_texts

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SPREAD = 0.02
"""Standard deviation of the random weights, as BERT's."""


def make_encoder(
    texts: Iterable[str],
    folder: str | os.PathLike[str],
    *,
    vocabulary_size: int = 16_000,
    width: int = 256,
    layers: int = 4,
    heads: int = 4,
    max_length: int = 128,
    vectors: Mapping[str, Any] | None = None,
    random_state: Any = None,
) -> Path:
    """Write a BERT with random weights and a vocabulary from the given texts only.

    Use it to train from scratch: ``SurrogateRegressor(make_encoder(...))``. It contains nothing
    pretrained, not even a vocabulary.

    Parameters
    ----------
    texts : iterable of str
        Texts whose word pieces (WordPiece, lower-cased, without accents) form the vocabulary.
    folder : str or path-like
        A folder that does not exist or is empty.
    vocabulary_size : int, default=16000
        Maximal number of entries, at least 10. This includes five special entries and the
        characters of the texts, of which the 1,000 most frequent are kept.
    width : int, default=256
        Length h of a token vector, a multiple of ``heads``. Hidden layers have width 4 h.
    layers, heads : int, default=4
        Number of Transformer layers, and of attention heads per layer.
    max_length : int, default=128
        Maximal number of tokens per text, including special tokens.
    vectors : mapping of str to array-like, shape (k,), default=None
        Initial vectors of words, or of pieces such as "##ing", with k <= ``width``. They set the
        first k coordinates of the word embeddings and are rescaled to the size of the random
        ones. All other embeddings, including positions, start at 0, and layer norms start almost
        inactive, so that a text starts near the mean of its words' vectors, weighted by their
        lengths. Words that are not in the vocabulary are ignored.
    random_state : int, RandomState or None, default=None
        Seeds the weights; the vocabulary is deterministic.

    Returns
    -------
    folder : Path
        A standard transformers model with its tokenizer, as safetensors and JSON.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, no text has a word, or a parameter is invalid.
    ImportError
        If torch or transformers is not installed.
    FileExistsError, OSError
        If the folder cannot be written; nothing is left behind then.

    Notes
    -----
    The vocabulary takes some seconds per million words. The model has about
    ``vocabulary_size * width + 12 * layers * width**2`` weights of 4 bytes.

    Examples
    --------
    >>> import tempfile
    >>> from estimators import SurrogateRegressor, make_encoder
    >>> pairs = [("a cat sat", "the cat sat"), ("a cat sat", "it rains")]
    >>> with tempfile.TemporaryDirectory() as scratch:
    ...     folder = make_encoder(sum(pairs, ()), scratch + "/new", width=8, layers=1, heads=2)
    ...     model = SurrogateRegressor(folder, device="cpu").fit(pairs, [0.9, 0.1])
    >>> model.transform(["the cat", "a rat"]).shape
    (2, 8)
    """
    shape = {"vocabulary_size": (vocabulary_size, 10), "width": (width, 1), "layers": (layers, 1)}
    shape |= {"heads": (heads, 1), "max_length": (max_length, 3)}
    for name, (value, low) in shape.items():
        check_integer(name, value, low)
    if width % heads:
        raise ValueError(f"width={width} must be a multiple of heads={heads}")
    seed = int(check_seed(random_state).randint(2**31 - 1))
    words = _checked_vectors(vectors, width)
    torch, target = import_torch(), check_new_folder(folder)
    from transformers import AutoTokenizer, BertConfig, BertModel

    vocabulary = _vocabulary(check_texts(texts, encodable=True), vocabulary_size)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=max_length,
        initializer_range=SPREAD,
        # The variance of small vectors is negligible against it, so their lengths are kept.
        layer_norm_eps=1.0 if words else 1e-12,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: Any = BertModel(config, add_pooling_layer=False)
    table = module.embeddings.word_embeddings.weight
    if words:
        for name in ("word", "position", "token_type"):
            getattr(module.embeddings, f"{name}_embeddings").weight.data.zero_()
    for entry, vector in _scaled(words, vocabulary).items():
        table.data[entry, : len(vector)] = torch.from_numpy(vector)

    def write(partial: Path) -> None:
        (partial / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
        with quiet(0):
            module.save_pretrained(partial)
            tokenizer = AutoTokenizer.from_pretrained(partial, model_max_length=max_length)
            tokenizer.save_pretrained(partial)

    write_folder(target, write)
    return target


def _vocabulary(texts: list[str], size: int) -> list[str]:
    """Return word pieces by WordPiece, in the order of their ids."""
    import tokenizers

    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    # Must match BERT's own tokenizer, which uses the vocabulary.
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    characters, within = _alphabet(tokenizer, texts, min(1000, (size - len(SPECIAL)) // 2))
    if not characters:
        raise ValueError("texts have no word: give texts with letters, digits or signs")
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=int(size),
        show_progress=False,
        # Otherwise the trainer would number pieces within words in an order that changes between
        # runs, and break ties of counts by these numbers.
        special_tokens=[*SPECIAL, *(f"##{each}" for each in within)],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    found = tokenizer.get_vocab()
    return sorted(found, key=lambda piece: found[piece])


def _alphabet(tokenizer: Any, texts: list[str], most: int) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, and those that occur within words, sorted."""
    chunks: Counter[str] = Counter()
    for text in texts:
        chunks.update(tokenizer.normalizer.normalize_str(text).split())
    counts: Counter[str] = Counter()
    within: set[str] = set()
    for chunk, count in chunks.items():
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(chunk):
            within.update(word[1:])
            for character in word:
                counts[character] += count
    characters = sorted(sorted(counts), key=lambda each: -counts[each])[:most]
    return sorted(characters), sorted(within.intersection(characters))


def _checked_vectors(vectors: Any, width: int) -> dict[str, np.ndarray]:
    if vectors is None:
        return {}
    if not isinstance(vectors, Mapping):
        raise TypeError(f"vectors must be a mapping of words to vectors, got {type(vectors)}")
    found = {word: np.asarray(vector, dtype=np.float32) for word, vector in vectors.items()}
    length = next((vector.size for vector in found.values()), 0)
    for word, vector in found.items():
        if vector.shape != (length,) or not 0 < length <= width or not np.isfinite(vector).all():
            raise ValueError(
                f"vectors[{word!r}] has shape {vector.shape}; all must be finite and have one "
                f"length from 1 to width={width}"
            )
    return found


def _scaled(words: dict[str, np.ndarray], vocabulary: list[str]) -> dict[int, np.ndarray]:
    """Return vectors by entry, scaled to the mean size of the random weights."""
    found = {entry: words[piece] for entry, piece in enumerate(vocabulary) if piece in words}
    size = np.sqrt(np.mean([np.square(vector).mean() for vector in found.values()] or [1.0]))
    return {entry: vector * np.float32(SPREAD / (size or 1.0)) for entry, vector in found.items()}

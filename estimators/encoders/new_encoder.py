"""A random encoder of a given size, with a vocabulary from given texts alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from estimators.encoders.loading import import_torch, quiet
from estimators.encoders.model_files import check_new_folder, write_folder
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
    """Write a BERT of random weights, whose vocabulary comes from the texts alone.

    It is the start of a training from scratch: ``SurrogateRegressor(make_encoder(...))``. Nothing
    pretrained is in it, no vocabulary either.

    Parameters
    ----------
    texts : iterable of str
        Texts whose pieces of words (WordPiece, lower-cased, without accents) make the vocabulary.
    folder : str or path-like
        A folder that is not there, or empty.
    vocabulary_size : int, default=16000
        Most entries, five special ones and all characters of the texts among them, of which the
        rarest are left out beyond a thousand; at least 10.
    width : int, default=256
        Length h of a token vector, a multiple of ``heads``. Layers are 4 h wide inside.
    layers, heads : int, default=4
        Layers of the Transformer, and heads of attention in each.
    max_length : int, default=128
        Most tokens of a text, special ones included.
    vectors : mapping of str to array-like, shape (k,), default=None
        Vectors of words, k <= ``width``, or of pieces such as "##ing", at which their word
        embeddings start: in the first k coordinates, brought together to the size of the random
        ones. All other embeddings, of positions too, start at 0, and norms of layers divide by next
        to nothing: a text starts near the mean of its words' vectors, in which long ones count
        more. Words that are no entry of the vocabulary are left out.
    random_state : int, RandomState or None, default=None
        Seeds the weights. The vocabulary does not depend on it.

    Returns
    -------
    folder : Path
        An ordinary model of transformers with its tokenizer: safetensors and JSON.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, no text has a word, or a parameter is wrong.
    ImportError
        If torch or transformers is not installed.
    FileExistsError, OSError
        If the folder cannot be written; nothing stays then.

    Notes
    -----
    The vocabulary takes some seconds per million words, the weights some
    ``vocabulary_size * width + 12 * layers * width**2`` numbers of 4 bytes.

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
        # Beside it the variance of small vectors is nothing, so that their lengths stay.
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
    """Pieces of words by WordPiece, in the order of their ids."""
    import tokenizers

    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    # As BERT's own tokenizer does, which reads the vocabulary.
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    characters, within = _alphabet(tokenizer, texts, min(1000, (size - len(SPECIAL)) // 2))
    if not characters:
        raise ValueError("texts have no word: give texts with letters, digits or signs")
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=int(size),
        show_progress=False,
        # The trainer would number pieces within words in an order that changes between runs, and
        # settle equal counts by these numbers.
        special_tokens=[*SPECIAL, *(f"##{each}" for each in within)],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    found = tokenizer.get_vocab()
    return sorted(found, key=lambda piece: found[piece])


def _alphabet(tokenizer: Any, texts: list[str], most: int) -> tuple[list[str], list[str]]:
    """Most frequent characters, and those of them that stand within words, sorted."""
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
                f"vectors[{word!r}] has shape {vector.shape}; all must be finite, of one length "
                f"from 1 to width={width}"
            )
    return found


def _scaled(words: dict[str, np.ndarray], vocabulary: list[str]) -> dict[int, np.ndarray]:
    """Vectors by entry, in the size of the random weights: words differ, their size stays."""
    found = {entry: words[piece] for entry, piece in enumerate(vocabulary) if piece in words}
    size = np.sqrt(np.mean([np.square(vector).mean() for vector in found.values()] or [1.0]))
    return {entry: vector * np.float32(SPREAD / (size or 1.0)) for entry, vector in found.items()}

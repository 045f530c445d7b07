"""Learn the vocabulary of a corpus, and encode texts with it."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

PAD, BEGIN, END, SEPARATOR = range(4)
"""Special ids, first in every vocabulary."""
_SPECIAL = ("[PAD]", "[BEGIN]", "[END]", "[SEPARATOR]")
_LEAST = len(_SPECIAL) + 256
_BLOCK = 8192


def train_vocabulary(texts: Iterable[str], size: int = 16_000) -> str:
    """Learn a vocabulary of pieces of words from texts, by byte pair encoding.

    Texts are normalised (Unicode NFKC), lower-cased, and split into words, numbers and punctuation;
    no piece spans two words. Every byte is a piece, so no text is unknown.

    Parameters
    ----------
    texts : iterable of str
        Texts, read once.
    size : int, default=16000
        Maximum number of pieces, including 256 bytes and 4 special ids: `PAD` = 0, `BEGIN` = 1,
        `END` = 2, `SEPARATOR` = 3.

    Returns
    -------
    vocabulary : str
        A tokenizer of the library `tokenizers` as JSON. The same texts in the same order give the
        same string.

    Raises
    ------
    ImportError
        When `tokenizers` is not installed.
    ValueError
        When size is below 260, or no text holds a character.

    References
    ----------
    Sennrich, Haddow, Birch. *Neural Machine Translation of Rare Words with Subword Units.*
    ACL 2016.

    Examples
    --------
    >>> vocabulary = train_vocabulary(["the cat sat", "the cats sat", "a cat"] * 9, 300)
    >>> encode_texts(vocabulary, ["The cat", "[PAD]"]).lengths.tolist()
    [2, 6]
    """
    tokenizers = _tokenizers()
    if size < _LEAST:
        raise ValueError(f"size must be at least {_LEAST}, got {size!r}")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), tokenizers.normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=int(size),
        # Two pieces become one only if they occur together at least twice.
        min_frequency=2,
        show_progress=False,
        special_tokens=list(_SPECIAL),
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
    )
    given = iter(texts)
    first = next((text for text in given if text.strip()), None)
    if first is None:
        raise ValueError("texts must hold at least one character, got none")
    tokenizer.train_from_iterator(itertools.chain([first], given), trainer=trainer)
    return tokenizer.to_str()


def vocabulary_size(vocabulary: str) -> int:
    """Return the number n of ids of a vocabulary; ids run from 0 to n - 1.

    Parameters
    ----------
    vocabulary : str
        What `train_vocabulary` returned.

    Returns
    -------
    n : int
        Number of ids, including special ids.

    Examples
    --------
    >>> vocabulary_size(train_vocabulary(["a cat"], 260))
    260
    """
    return len({*json.loads(vocabulary)["model"]["vocab"], *_SPECIAL})


def encode_texts(vocabulary: str, texts: Iterable[str], max_length: int | None = None) -> IdTable:
    """Encode texts as ids of a vocabulary, without special ids.

    Parameters
    ----------
    vocabulary : str
        What `train_vocabulary` returned.
    texts : iterable of str
        Texts, read once, thousands at a time.
    max_length : int, optional
        Maximum number of ids per text; longer texts are cut.

    Returns
    -------
    table : IdTable
        One row per text; empty for an empty text. The name of a special id in a text is an
        ordinary word.

    Raises
    ------
    ImportError
        When `tokenizers` is not installed.
    ValueError
        If the vocabulary is not such a string.

    Examples
    --------
    >>> vocabulary = train_vocabulary(["a cat sat"] * 2, 300)
    >>> encode_texts(vocabulary, ["A cat sat.", ""], max_length=3).lengths.tolist()
    [3, 0]
    """
    tokenizer, given = _loaded(vocabulary), iter(texts)
    ids: list[list[int]] = []
    while block := list(itertools.islice(given, _BLOCK)):
        # In lower case no text holds the name of a special id.
        plain = [" ".join(text.lower().split()) for text in block]
        found = tokenizer.encode_batch_fast(plain, add_special_tokens=False)
        ids += [encoding.ids[:max_length] for encoding in found]
    starts = np.cumsum([0, *map(len, ids)], dtype=np.int64)
    values = np.fromiter(itertools.chain.from_iterable(ids), dtype=np.int32)
    return IdTable(values, starts)


@dataclass(frozen=True)
class IdTable:
    """Ids of many texts in one array.

    Parameters
    ----------
    values : ndarray of int32, shape (N,)
        Ids of all texts.
    starts : ndarray of int64, shape (n + 1,)
        Row k is ``values[starts[k]:starts[k + 1]]``.

    Examples
    --------
    >>> table = IdTable(np.array([5, 6, 7], np.int32), np.array([0, 1, 3]))
    >>> table.padded([1, 0])
    (array([[6, 7],
           [5, 0]]), array([2, 1]))
    """

    values: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of ids of each text."""
        return np.diff(self.starts)

    def padded(self, rows: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return texts as one matrix.

        Parameters
        ----------
        rows : array-like of int, shape (b,)
            Texts, in any order.

        Returns
        -------
        ids : ndarray of int64, shape (b, L)
            L is the length of the longest text; shorter texts end in `PAD` = 0.
        lengths : ndarray of int64, shape (b,)
            Ids of each.

        Raises
        ------
        IndexError
            When a row is not in the table.
        """
        wanted = np.asarray(rows, dtype=np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"rows must be from 0 to {len(self) - 1}, got {rows!r}")
        first = np.asarray(self.starts[wanted])
        lengths = np.asarray(self.starts[wanted + 1]) - first
        ids = np.full((len(wanted), lengths.max(initial=0)), PAD, dtype=np.int64)
        inside = np.arange(ids.shape[1]) < lengths[:, None]
        ids[inside] = self.values[(first[:, None] + np.arange(ids.shape[1]))[inside]]
        return ids, lengths


@functools.lru_cache(maxsize=2)
def _loaded(vocabulary: str) -> Any:
    try:
        return _tokenizers().Tokenizer.from_str(vocabulary)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # tokenizers raises no narrower one
        raise ValueError(
            f"vocabulary must be the JSON of a tokenizer, got {vocabulary!r:.80}"
        ) from error


def _tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError(
            "vocabularies need tokenizers: pip install 'film-metric[contexts]'."
        ) from error
    return tokenizers

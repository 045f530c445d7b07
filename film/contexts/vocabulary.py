"""Vocabulary of a corpus, made from nothing but its texts, and texts as ids in it."""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

PAD, BEGIN, END, SEPARATOR = range(4)
"""Ids that stand for no text, first in every vocabulary."""
_SPECIAL = ("[PAD]", "[BEGIN]", "[END]", "[SEPARATOR]")
_LEAST = len(_SPECIAL) + 256
_BLOCK = 8192
_MOST_KNOWN = 1_000_000
"""Words whose ids are kept while texts are encoded."""


def train_vocabulary(
    texts: Iterable[str],
    size: int = 16_000,
    *,
    min_frequency: int = 2,
) -> str:
    """Learn a vocabulary of pieces of words from texts alone: byte pair encoding of their bytes.

    Texts are normalised (Unicode NFKC) and lower-cased, and parted into words, numbers and marks;
    a piece never reaches over the space between two words. Every byte is a piece, so that no text
    is unknown.

    Parameters
    ----------
    texts : iterable of str
        Texts, read once.
    size : int, default=16000
        Pieces at most, of them 256 bytes and 4 ids that stand for no text: `PAD` = 0,
        `BEGIN` = 1, `END` = 2, `SEPARATOR` = 3.
    min_frequency : int, default=2
        How often two pieces must stand together to become one.

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
        When size is below 260, min_frequency below 1, or no text holds a character.

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
    if not isinstance(size, int | np.integer) or size < _LEAST:
        raise ValueError(
            f"size must be an integer of at least {_LEAST}, 256 bytes and {len(_SPECIAL)} special "
            f"ids, got {size!r}"
        )
    if not isinstance(min_frequency, int | np.integer) or min_frequency < 1:
        raise ValueError(f"min_frequency must be an integer of at least 1, got {min_frequency!r}")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), tokenizers.normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=int(size),
        min_frequency=int(min_frequency),
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
    """Return the number of ids of a vocabulary: they run from 0 to one less.

    Parameters
    ----------
    vocabulary : str
        What `train_vocabulary` returned.

    Returns
    -------
    n : int
        Ids, the special ones among them.

    Examples
    --------
    >>> vocabulary_size(train_vocabulary(["a cat"], 260))
    260
    """
    return len({*json.loads(vocabulary)["model"]["vocab"], *_SPECIAL})


def encode_texts(
    vocabulary: str,
    texts: Iterable[str],
    max_length: int | None = None,
    *,
    advance: Callable[[int], Any] | None = None,
) -> IdTable:
    """Turn texts into ids of a vocabulary, without special ones.

    Each text is parted at white space and its words are encoded one by one.

    Parameters
    ----------
    vocabulary : str
        What `train_vocabulary` returned.
    texts : iterable of str
        Texts, read once, thousands at a time.
    max_length : int, optional
        Ids per text; what follows is dropped.
    advance : callable, optional
        Called with the number of texts after each block of them.

    Returns
    -------
    table : IdTable
        A row per text; empty for an empty text. The name of a special id in a text is a word
        like others.

    Raises
    ------
    ImportError
        When `tokenizers` is not installed.
    ValueError
        When the vocabulary is not such a string or max_length is below 1.

    Examples
    --------
    >>> vocabulary = train_vocabulary(["a cat sat"] * 2, 300)
    >>> encode_texts(vocabulary, ["A cat sat.", ""], max_length=3).lengths.tolist()
    [3, 0]
    """
    if max_length is not None and max_length < 1:
        raise ValueError(f"max_length must be at least 1 or None, got {max_length!r}")
    tokenizer = _loaded(vocabulary)
    known: dict[str, list[int]] = {}
    values, lengths = [np.zeros(0, dtype=np.int32)], []
    given = iter(texts)
    while block := list(itertools.islice(given, _BLOCK)):
        words = [text.lower().split() for text in block]
        # Words come back, and a dictionary is several times as fast as the tokenizer. In lower case
        # none is the name of a special id.
        new = list(set(itertools.chain.from_iterable(words)).difference(known))
        if len(known) > _MOST_KNOWN:
            known, new = {}, list(set(itertools.chain.from_iterable(words)))
        encodings = tokenizer.encode_batch_fast(new, add_special_tokens=False)
        known.update(zip(new, (encoding.ids for encoding in encodings), strict=True))
        ids = [
            list(itertools.chain.from_iterable(map(known.__getitem__, w)))[:max_length]
            for w in words
        ]
        lengths += map(len, ids)
        values.append(np.fromiter(itertools.chain.from_iterable(ids), dtype=np.int32))
        if advance is not None:
            advance(len(block))
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    return IdTable(np.concatenate(values), starts)


def decode_ids(vocabulary: str, ids: ArrayLike) -> str:
    """Return the text of ids, lower-cased as it was encoded; special ids are left out.

    Parameters
    ----------
    vocabulary : str
        What `train_vocabulary` returned.
    ids : array-like of int, shape (L,)
        Ids.

    Returns
    -------
    text : str
        Bytes that are no text show as U+FFFD.

    Examples
    --------
    >>> vocabulary = train_vocabulary(["a cat"], 260)
    >>> decode_ids(vocabulary, encode_texts(vocabulary, ["A Cat!"]).values)
    'a cat!'
    """
    return _loaded(vocabulary).decode(np.asarray(ids).tolist()).strip()


@dataclass(frozen=True)
class IdTable:
    """Ids of many texts, one after another; may lie on disk.

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

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.starts.ndim != 1 or len(self.starts) == 0:
            raise ValueError(
                "values and starts must have one dimension and starts an entry, got shapes "
                f"{self.values.shape} and {self.starts.shape}"
            )
        if self.starts[0] != 0 or self.starts[-1] != len(self.values):
            raise ValueError(
                f"starts must run from 0 to {len(self.values)}, the number of ids, got "
                f"{self.starts[0]} and {self.starts[-1]}; the table was cut or changed"
            )
        if (np.diff(self.starts) < 0).any():
            raise ValueError("starts must not fall; the table was cut or changed")

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
            L is the length of the longest; `PAD` = 0 after the end of others.
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

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the table to two files of a folder, ``ids.npy`` and ``id_starts.npy``.

        Parameters
        ----------
        folder : path
            Made when it does not exist.

        Raises
        ------
        OSError
            When writing fails; a file that stood there before stays whole.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, array in (("ids", self.values), ("id_starts", self.starts)):
            temporary = Path(folder) / f".{name}.part.npy"
            try:
                np.save(temporary, array, allow_pickle=False)
                os.replace(temporary, Path(folder) / f"{name}.npy")
            finally:
                temporary.unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> IdTable:
        """Open a table that `write` made, without loading it.

        Parameters
        ----------
        folder : path
            Where it was written.

        Returns
        -------
        table : IdTable
            Memory-mapped, read-only.

        Raises
        ------
        FileNotFoundError, ValueError
            When a file is missing, or cut or changed.
        """
        values, starts = (
            np.load(Path(folder) / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("ids", "id_starts")
        )
        return cls(values, starts)


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
        import tokenizers.decoders
        import tokenizers.models
        import tokenizers.normalizers
        import tokenizers.pre_tokenizers
        import tokenizers.trainers
    except ImportError as error:
        raise ImportError(
            "vocabularies need tokenizers: pip install 'film-metric[contexts]'."
        ) from error
    return tokenizers

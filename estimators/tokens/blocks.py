"""Pairs of texts in blocks: tokenised, encoded once per text, and weighted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np

from estimators.encoders import warn_of_cuts, warn_of_unknown
from estimators.inputs import bars_stay
from estimators.tokens.vocabulary import vocabulary_weights, weights_of_tokens
from film.tokens import Ragged

BLOCK = 8192
"""Distinct texts whose tokens are in memory at a time: about 250 MB at 20 tokens of width 384."""


class Block(NamedTuple):
    """A block of pairs: their distinct texts, tokens, and optional token weights."""

    texts: list[str]
    tokens: Ragged
    weights: np.ndarray | None
    codes: np.ndarray  # (n, 2), each pair as text numbers
    advance: Callable[[int], Any]


def coded_blocks(
    pairs: np.ndarray, size: int | None = None
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield distinct texts and pairs as text numbers; the number of texts limits a block."""
    size = BLOCK if size is None else size
    numbers: dict[str, int] = {}
    codes: list[tuple[int, int]] = []
    for row, (text1, text2) in enumerate(pairs.tolist(), start=1):
        first = numbers.setdefault(str(text1), len(numbers))
        codes.append((first, numbers.setdefault(str(text2), len(numbers))))
        if len(numbers) >= size or row == len(pairs):
            yield list(numbers), np.array(codes, dtype=np.intp)
            numbers, codes = {}, []


def encoded_blocks(
    encoder: Any,
    table: np.ndarray | None,
    pairs: np.ndarray,
    *,
    special_tokens: bool,
    verbose: int,
    title: str,
) -> Iterator[Block]:
    """Yield all pairs, then warn once about truncated texts and unknown tokens.

    ``table`` has the weight of each vocabulary entry, or is None; ``title`` labels the progress
    bar.
    """
    from tqdm.auto import tqdm

    check_tokens(encoder, pairs, special_tokens)
    transformer = encoder.loaded()
    n_cut, unknown = 0, []
    with tqdm(total=len(pairs), desc=title, disable=not verbose, leave=bars_stay()) as bar:
        for texts, codes in coded_blocks(pairs):
            tokens, is_cut = encoder.encode(texts, warns=False)
            n_cut += int(is_cut[codes].sum())
            unknown.append(transformer.unknown_shares(tokens)[codes].ravel())
            if not special_tokens:
                tokens = tokens.without_special()
            weights = None
            if table is not None:
                weights = weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)
            yield Block(texts, tokens, weights, codes, bar.update)
    warn_of_cuts(n_cut, pairs.size, encoder.max_length, transformer.most_tokens, stacklevel=5)
    warn_of_unknown(np.concatenate(unknown), stacklevel=5)


def each_pair(blocks: Iterator[Block]) -> Iterator[tuple[Block, list[int]]]:
    """Yield each block with each of its pairs as text numbers, and advance the progress bar."""
    for block in blocks:
        for sides in block.codes.tolist():
            yield block, sides
            block.advance(1)


def check_tokens(encoder: Any, rows: np.ndarray, special_tokens: bool) -> None:
    """Raise if a text has no tokens, before any text is encoded."""
    transformer = encoder.loaded()
    has_special = transformer.tokenizer.num_special_tokens_to_add() > 0
    if special_tokens and has_special:
        return
    remedy = ", or give special_tokens=True" if has_special else ""
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        tokens = transformer.tokenize(block.ravel().tolist(), encoder.max_length)
        before = np.concatenate([[0], np.cumsum(~tokens.is_special)])
        empty = np.argwhere(np.diff(before[tokens.starts]).reshape(block.shape) == 0)
        if len(empty):
            row, column = empty[0]
            raise ValueError(
                f"pairs row {first + row}, column {column} is {shortened(block[row, column])}, "
                f"which has no tokens except special ones: drop the pair{remedy}."
            )


def vocabulary_table(encoder: Any, weights: Any, rows: np.ndarray) -> np.ndarray | None:
    """Return the weight of each vocabulary entry; "idf" counts distinct texts."""
    if weights is None:
        return None
    transformer = encoder.loaded()
    texts = sorted(set(rows.ravel().tolist()))

    def documents() -> Iterator[np.ndarray]:
        for first in range(0, len(texts), BLOCK):
            tokens = transformer.tokenize(texts[first : first + BLOCK], encoder.max_length)
            yield from np.split(tokens.ids, tokens.starts[1:-1])

    tokenizer = transformer.tokenizer
    return vocabulary_weights(
        weights, tokenizer.get_vocab(), tokenizer.convert_tokens_to_string, documents()
    )

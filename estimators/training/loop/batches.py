"""Rows to learn from, and how their texts are cut into chunks and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Examples(NamedTuple):
    """Rows to learn from; their different texts are kept once."""

    tokens: Any  # Tokens, or TokenStates of a network over frozen vectors
    codes: np.ndarray  # (n, k) texts of each row: anchor, partner, perhaps a hard negative
    y: np.ndarray | None  # (n,)
    weights: np.ndarray | None  # (N,) one per token of `tokens`


def chunks_of(lengths: np.ndarray, most_texts: int | None, most_tokens: int | None) -> list[slice]:
    """Cut texts, the longest first, into runs of few enough texts and padded tokens."""
    found, start = [], 0
    while start < len(lengths):
        size = len(lengths) - start
        if most_texts is not None:
            size = min(size, most_texts)
        if most_tokens is not None:
            size = min(size, max(1, most_tokens // int(lengths[start])))
        found.append(slice(start, start + size))
        start += size
    return found


def padded(
    examples: Examples,
    flat: Any,
    texts: np.ndarray,
    order: np.ndarray,
    special_tokens: bool,
    masses: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any, Any]:
    """Put tokens that were encoded in ``order`` back to their texts, (b, L, h).

    ``masses`` gives the weights of tokens that are learned, from their entries.

    Returns
    -------
    x, mask, weights : tensors, shapes (b, L, h), (b, L) and (b, L)
        The mask leaves out padding, and special tokens unless they take part; weights are None
        where the examples have none and none are learned.
    """
    import torch

    tokens, device = examples.tokens, flat.device
    lengths = tokens.lengths[texts]
    longest = int(lengths.max())
    sorted_lengths = lengths[order]
    within = np.arange(sorted_lengths.sum()) - np.repeat(
        np.cumsum(sorted_lengths) - sorted_lengths, sorted_lengths
    )
    place = np.repeat(order * longest, sorted_lengths) + within
    source = np.repeat(tokens.starts[texts[order]], sorted_lengths) + within
    kept = np.zeros(len(texts) * longest, dtype=bool)
    kept[place] = special_tokens | ~tokens.is_special[source]
    values = flat.new_zeros(len(kept), flat.shape[1])
    values = values.index_copy(0, torch.from_numpy(place).to(device), flat)
    weights = None
    if examples.weights is not None:
        table = np.zeros(len(kept), dtype=np.float32)
        table[place] = examples.weights[source]
        weights = torch.from_numpy(table).to(device).view(len(texts), longest)
    elif masses is not None:
        entries = np.zeros(len(kept), dtype=np.int64)
        entries[place] = tokens.ids[source]
        weights = masses(torch.from_numpy(entries).to(device)).view(len(texts), longest)
    mask = torch.from_numpy(kept).to(device)
    shape = len(texts), longest
    return values.view(*shape, -1), mask.view(shape), weights


def excluded(own: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """Tell which candidates are left out of a row's loss, where they would be wrong negatives.

    Rows are (anchor, partner, ...); candidates are the partners of all parts, then their
    negatives. Left out are the partners of other rows that share a text with the row, and
    negatives that are a text of the row: to call a known partner wrong would push apart what the
    rows say belongs together. The row's own partner stays.
    """
    rows = np.concatenate(parts)
    mine = own[:, :2, np.newaxis]
    is_linked = (mine == rows[:, 0]).any(axis=1) | (mine == rows[:, 1]).any(axis=1)
    columns = [is_linked, *((mine == rows[:, j]).any(axis=1) for j in range(2, rows.shape[1]))]
    found = np.concatenate(columns, axis=1)
    found[np.arange(len(own)), np.arange(len(own))] = False
    return found

"""Training rows, and how their texts are split into chunks and reassembled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Examples(NamedTuple):
    """Training rows; distinct texts are stored once."""

    tokens: Any  # Tokens, or TokenStates of a network over frozen vectors
    codes: np.ndarray  # (n, k) text numbers of each row: anchor, partner, optional hard negative
    y: np.ndarray | None  # (n,)
    weights: np.ndarray | None  # (N,), one per token of `tokens`


def chunks_of(lengths: np.ndarray, most_texts: int | None, most_tokens: int | None) -> list[slice]:
    """Split texts, sorted by length, into runs within the limits of texts and padded tokens."""
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
    """Reorder encoded tokens from ``order`` to their texts, shape (b, L, h).

    ``masses`` returns learned token weights from vocabulary entries.

    Returns
    -------
    x, mask, weights : tensors, shapes (b, L, h), (b, L) and (b, L)
        The mask excludes padding, and special tokens unless they are used; weights are None if
        there are no given or learned weights.
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
    """Return which candidates to leave out of a row's loss because they may be true partners.

    Rows are (anchor, partner, ...); candidates are the partners of all parts, then their negatives.
    Excluded are partners of other rows that share a text with the row, and negatives that are a
    text of the row. The row's own partner stays.
    """
    rows = np.concatenate(parts)
    mine = own[:, :2, np.newaxis]
    is_linked = (mine == rows[:, 0]).any(axis=1) | (mine == rows[:, 1]).any(axis=1)
    columns = [is_linked, *((mine == rows[:, j]).any(axis=1) for j in range(2, rows.shape[1]))]
    found = np.concatenate(columns, axis=1)
    found[np.arange(len(own)), np.arange(len(own))] = False
    return found

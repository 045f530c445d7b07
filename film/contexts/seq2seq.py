"""Layers of a Transformer that maps sentences to a sentence, on tokens without padding."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["DecoderLayer", "EncoderLayer", "Keys", "Layout", "Size"]


class Size(NamedTuple):
    """Numbers of a Transformer."""

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    inner: int


class Layout:
    """Where the tokens of b sequences, one behind the other, stand in a padded table.

    All layers but attention then work on tokens alone, and padding takes no time.

    Parameters
    ----------
    lengths : tensor of int, shape (b,)
        Tokens of each sequence.
    """

    def __init__(self, lengths: Any) -> None:
        self.lengths = lengths
        self.longest = int(lengths.max()) if len(lengths) else 0
        self.mask = torch.arange(self.longest, device=lengths.device) < lengths[:, None]
        self.places = self.mask.flatten().nonzero()[:, 0]

    def padded(self, values: Any) -> Any:
        """Turn values of tokens, (N, d), into a table (b, longest, d) with zeros elsewhere."""
        table = values.new_zeros(self.mask.numel(), values.shape[1])
        return table.index_copy(0, self.places, values).view(*self.mask.shape, values.shape[1])

    def flat(self, table: Any) -> Any:
        """Leave the padding of a table (b, longest, ...) out, (N, ...)."""
        return table.reshape(self.mask.numel(), *table.shape[2:])[self.places]

    def repeated(self, times: int) -> Layout:
        """Layout of one sequence, ``times`` times."""
        return Layout(self.lengths.repeat(times))


class Keys(NamedTuple):
    """Keys and values of the tokens that are attended to."""

    keys: Any  # (b, heads, L, width / heads)
    values: Any  # (b, heads, L, width / heads)
    mask: Any  # (b, 1, 1, L), 0 at tokens and -inf at padding; None: no padding, and causal


class Attention(torch.nn.Module):
    """Multi-head attention of tokens to those of their own or other sequences."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = torch.nn.Linear(width, width)
        self.key_value = torch.nn.Linear(width, 2 * width)
        self.output = torch.nn.Linear(width, width)

    def split(self, table: Any) -> Any:
        """Turn (b, L, width) into (b, heads, L, width / heads)."""
        return table.view(*table.shape[:2], self.heads, -1).transpose(1, 2)

    def keys(self, table: Any, mask: Any) -> Keys:
        """Keys from projected tokens (b, L, 2 width)."""
        keys, values = table.chunk(2, dim=2)
        return Keys(
            self.split(keys.contiguous()), self.split(values.contiguous()), additive(mask, table)
        )

    def forward(self, x: Any, layout: Layout, keys: Keys) -> Any:
        found = scaled_dot_product_attention(
            self.split(layout.padded(self.query(x))),
            keys.keys,
            keys.values,
            attn_mask=keys.mask,
            is_causal=keys.mask is None,
        )
        return self.output(layout.flat(found.transpose(1, 2).flatten(2)))


def additive(mask: Any, like: Any) -> Any:
    """Turn a mask (b, L), True at tokens, into what is added to the products."""
    if mask is None:
        return None
    zeros = torch.zeros(mask.shape, dtype=like.dtype, device=like.device)
    return zeros.masked_fill(~mask, -torch.inf)[:, None, None, :]


class SelfAttention(torch.nn.Module):
    """Attention within sequences, behind a normalisation and beside a residual connection."""

    def __init__(self, width: int, heads: int, dropout: float, causal: bool) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.dropout = torch.nn.Dropout(dropout)
        self.causal = causal

    def forward(self, x: Any, layout: Layout) -> Any:
        normed = self.norm(x)
        table = layout.padded(self.attention.key_value(normed))
        # Padding comes last, so no token sees it where it sees only those before.
        keys = self.attention.keys(table, None if self.causal else layout.mask)
        return x + self.dropout(self.attention(normed, layout, keys))


def feed_forward(width: int, inner: int, dropout: float) -> torch.nn.Sequential:
    """Two layers behind a normalisation."""
    return torch.nn.Sequential(
        torch.nn.LayerNorm(width),
        torch.nn.Linear(width, inner),
        torch.nn.ReLU(),
        torch.nn.Dropout(dropout),
        torch.nn.Linear(inner, width),
        torch.nn.Dropout(dropout),
    )


class EncoderLayer(torch.nn.Module):
    """Self-attention and a feed-forward part, each normalised first."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.attend = SelfAttention(size.width, size.heads, dropout, causal=False)
        self.feed = feed_forward(size.width, size.inner, dropout)

    def forward(self, x: Any, layout: Layout) -> Any:
        """From states of tokens, (N, width), to states."""
        x = self.attend(x, layout)
        return x + self.feed(x)


class DecoderLayer(torch.nn.Module):
    """Causal self-attention, attention to a memory and a feed-forward part."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.attend = SelfAttention(size.width, size.heads, dropout, causal=True)
        self.norm = torch.nn.LayerNorm(size.width)
        self.cross = Attention(size.width, size.heads)
        self.dropout = torch.nn.Dropout(dropout)
        self.feed = feed_forward(size.width, size.inner, dropout)

    def forward(self, x: Any, layout: Layout, keys: Keys) -> Any:
        """From the output of ``attend`` to that of the layer."""
        x = x + self.dropout(self.cross(self.norm(x), layout, keys))
        return x + self.feed(x)

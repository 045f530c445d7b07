"""Layers of a Transformer that generates a sentence from sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy, embedding, linear, scaled_dot_product_attention

__all__ = ["SIZES", "DecoderLayer", "EncoderLayer", "Size", "TiedEmbedding", "size_of"]

GROUP = 500
"""Rare tokens per group."""


class Size(NamedTuple):
    """Numbers of a Transformer."""

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    inner: int


SIZES = {
    "tiny": Size(width=128, heads=4, encoder_layers=2, decoder_layers=2, inner=512),
    "small": Size(width=256, heads=4, encoder_layers=3, decoder_layers=3, inner=1024),
    "base": Size(width=512, heads=8, encoder_layers=6, decoder_layers=6, inner=2048),
    "large": Size(width=1024, heads=16, encoder_layers=6, decoder_layers=6, inner=4096),
}
"""Sizes of `Generator` by name; ``"large"`` is that of the paper, Transformer-large."""


def size_of(size: str | Size) -> Size:
    """Return the size of a name in `SIZES`, or check five numbers.

    Parameters
    ----------
    size : str or sequence of 5 ints
        The name or the numbers, in the order of `Size`.

    Returns
    -------
    size : Size
        The numbers.

    Raises
    ------
    TypeError, ValueError
        If there is no such name, or the numbers do not make a Transformer.

    Examples
    --------
    >>> from film.contexts import size_of
    >>> size_of("tiny").width
    128
    """
    if isinstance(size, str):
        if size not in SIZES:
            raise ValueError(f"size={size!r} must be one of {', '.join(SIZES)}, or a Size")
        return SIZES[size]
    found = Size(*size)
    if min(found) < 1 or found.width % found.heads:
        raise ValueError(
            f"size={found} must have numbers of at least 1, and a width that its heads divide"
        )
    return found


def attend(queries: Any, memory: Any, heads: int, mask: Any) -> Any:
    """Attention of queries (b, M, width) to keys and values (b, L, 2 width); mask None: causal."""
    parts = queries, *memory.chunk(2, dim=2)
    split = [x.unflatten(2, (heads, -1)).transpose(1, 2) for x in parts]
    seen = None if mask is None else mask[:, None, None]
    found = scaled_dot_product_attention(*split, attn_mask=seen, is_causal=mask is None)
    return found.transpose(1, 2).flatten(2)


class SelfAttention(torch.nn.Module):
    """Attention within sequences, after a normalisation and with a residual connection."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm = torch.nn.LayerNorm(size.width)
        self.projection = torch.nn.Linear(size.width, 3 * size.width)
        self.output = torch.nn.Linear(size.width, size.width)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, x: Any, mask: Any) -> Any:
        """From states (b, L, width) to states; a mask of None is causal."""
        queries, memory = self.projection(self.norm(x)).tensor_split([x.shape[2]], dim=2)
        return x + self.dropout(self.output(attend(queries, memory, self.heads, mask)))


def feed_forward(size: Size, dropout: float) -> torch.nn.Sequential:
    """Two layers after a normalisation."""
    return torch.nn.Sequential(
        torch.nn.LayerNorm(size.width),
        torch.nn.Linear(size.width, size.inner),
        torch.nn.ReLU(),
        torch.nn.Dropout(dropout),
        torch.nn.Linear(size.inner, size.width),
        torch.nn.Dropout(dropout),
    )


class EncoderLayer(torch.nn.Module):
    """Self-attention and a feed-forward part, each normalised first."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(size, dropout)
        self.feed = feed_forward(size, dropout)

    def forward(self, x: Any, mask: Any) -> Any:
        """From states of tokens, (b, L, width), to states."""
        x = self.attention(x, mask)
        return x + self.feed(x)


class DecoderLayer(torch.nn.Module):
    """Causal self-attention, attention to a memory and a feed-forward part."""

    def __init__(self, size: Size, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(size, dropout)
        self.norm = torch.nn.LayerNorm(size.width)
        self.query = torch.nn.Linear(size.width, size.width)
        self.output = torch.nn.Linear(size.width, size.width)
        self.dropout = torch.nn.Dropout(dropout)
        self.feed = feed_forward(size, dropout)

    def forward(self, x: Any, memory: Any, mask: Any) -> Any:
        """From states (b, L, width), keys and values (b, M, 2 width) and their mask to states."""
        x = self.attention(x, None)
        found = attend(self.query(self.norm(x)), memory, self.attention.heads, mask)
        x = x + self.dropout(self.output(found))
        return x + self.feed(x)


class TiedEmbedding(torch.nn.Module):
    """Vectors of tokens that are both input and output: they also score the next token.

    With ``n_frequent``, the probability of a token has two steps, as in the adaptive softmax
    (Grave et al., 2017): first a frequent token or a group of rare tokens, then a token of the
    group. Tokens with the highest ``counts`` are frequent, and each group holds rare tokens of
    similar frequency. The distribution is as exact as with one step, and needs a fraction of the
    products.

    Parameters
    ----------
    n_tokens : int
        Entries V.
    width : int
        Width of vectors and states.
    n_frequent : int or None
        Tokens of the first step. None: one step for all.
    counts : array-like of int, shape (V,), or None
        How often each token occurs in the training text; initial probabilities are these
        frequencies. None: tokens are in order of frequency, or ``ranks`` is loaded with the
        weights.
    """

    def __init__(self, n_tokens: int, width: int, n_frequent: int | None, counts: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n_tokens, width) * width**-0.5)
        self.bias = torch.nn.Parameter(torch.zeros(n_tokens))
        n_frequent = n_tokens if n_frequent is None else min(n_frequent, n_tokens)
        n_groups = -(-(n_tokens - n_frequent) // GROUP)
        self.sizes = [n_frequent, *[GROUP] * n_groups]
        self.sizes[-1] -= sum(self.sizes) - n_tokens
        self.ranks: Any
        ranks = torch.arange(n_tokens)
        if n_groups:
            self.groups = torch.nn.Linear(width, n_groups)
        if counts is not None:
            given = torch.as_tensor(counts)
            if given.shape != (n_tokens,):
                raise ValueError(
                    f"counts has shape {tuple(given.shape)}; it must be ({n_tokens},), a "
                    "number per entry of the vocabulary"
                )
            order = given.argsort(descending=True, stable=True) if n_groups else ranks
            ranks = torch.empty_like(order).index_copy(0, order, ranks)
            self._start_as_unigrams(given[order])
        self.register_buffer("ranks", ranks)

    @torch.no_grad()
    def _start_as_unigrams(self, counts: Any) -> None:
        """Set biases to log frequencies, so that training need not learn them."""
        smoothed = counts.double() + 1
        self.bias.copy_((smoothed / smoothed.sum()).log())
        if len(self.sizes) > 1:
            of_groups = [part.sum() for part in smoothed.split(self.sizes)[1:]]
            self.groups.bias.copy_((torch.stack(of_groups) / smoothed.sum()).log())

    def vectors(self, ids: Any) -> Any:
        """Vectors of tokens (N,), of unit variance at the start, (N, width)."""
        return embedding(self.ranks[ids], self.weight) * self.weight.shape[1] ** 0.5

    def log_probabilities(self, states: Any, ids: Any) -> Any:
        """Log-probability (N,) of each token given the state (N, width) before it, in nats."""
        ranks = self.ranks[ids]
        if len(self.sizes) == 1:
            return _log_probabilities(states, ranks, self.weight, self.bias)
        weights, biases = self.weight.split(self.sizes), self.bias.split(self.sizes)
        n_frequent = self.sizes[0]
        groups = (ranks - n_frequent).div(GROUP, rounding_mode="floor")
        found = _log_probabilities(
            states,
            torch.where(groups < 0, ranks, n_frequent + groups),
            torch.cat([weights[0], self.groups.weight]),
            torch.cat([biases[0], self.groups.bias]),
        )
        for group in groups[groups >= 0].unique().tolist():
            rows = (groups == group).nonzero()[:, 0]
            within = (ranks[rows] - n_frequent) % GROUP
            rare = _log_probabilities(states[rows], within, weights[group + 1], biases[group + 1])
            found = found.index_add(0, rows, rare)
        return found


def _log_probabilities(states: Any, targets: Any, weight: Any, bias: Any) -> Any:
    """Log-probabilities of targets by one step."""
    logits = linear(states, weight, bias)
    # In half precision the sum over the vocabulary would be rounded away.
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return -cross_entropy(logits, targets, reduction="none")

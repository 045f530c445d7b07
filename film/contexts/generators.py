"""Transformer that generates a sentence from those around it (Section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from film.contexts.seq2seq import DecoderLayer, EncoderLayer, Layout, Size

__all__ = ["CENTRE", "LEFT", "RIGHT", "SIZES", "Generator", "Memory", "unigram_log_likelihood"]

LEFT, CENTRE, RIGHT = 0, 1, 2
"""Places of sentences."""

SIZES = {
    "tiny": Size(width=128, heads=4, encoder_layers=2, decoder_layers=2, inner=512),
    "small": Size(width=256, heads=4, encoder_layers=3, decoder_layers=3, inner=1024),
    "base": Size(width=512, heads=8, encoder_layers=6, decoder_layers=6, inner=2048),
    "large": Size(width=1024, heads=16, encoder_layers=6, decoder_layers=6, inner=4096),
}
"""Sizes of `Generator` by name; ``"large"`` is that of the paper, Transformer-large."""

ROWS_AT_ONCE = 512
"""Tokens whose logits of the whole vocabulary are held at once."""


class Memory(NamedTuple):
    """States of the tokens of b sentences, one sentence behind the other."""

    values: Any  # (N, width)
    lengths: Any  # (b,)

    def take(self, rows: Any) -> Memory:
        """Memory of some rows, in their order; rows may repeat.

        Parameters
        ----------
        rows : array-like of int, shape (k,)
            In [0, b).
        """
        rows = torch.as_tensor(rows, device=self.lengths.device)
        layout = Layout(self.lengths[rows])
        starts = (self.lengths.cumsum(0) - self.lengths)[rows]
        source = starts[:, None] + torch.arange(layout.longest, device=rows.device)
        return Memory(self.values[layout.flat(source)], layout.lengths)


class Generator(torch.nn.Module):
    """Probability of a sentence given the sentences around it: a Transformer (Eq. 2).

    The encoder reads each sentence by itself, with an embedding of its place, and the decoder
    attends to the states of all of them at once. So the memory of a sentence at a place is made
    once, however many contexts it meets. A decoder starts from an embedding of the place that it
    writes for, so one network can learn all three tasks, or three networks one task each.

    Parameters
    ----------
    n_tokens : int
        Entries V of the vocabulary. The network has one more, the end of a sentence.
    size : str or Size, default="tiny"
        Name in `SIZES`, or the numbers.
    max_length : int, default=64
        Most tokens of a sentence.
    dropout : float, default=0.1
        Share of entries dropped in training.
    n_places : int, default=3
        Places of sentences: `LEFT`, `CENTRE` and `RIGHT`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With width w, a token costs O(w (w + V)): on a CPU the product with the vocabulary takes most
    of the time of small networks. Input and output embeddings are one table, normalisation comes
    before each part, and layers work on tokens without padding.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import CENTRE, LEFT, RIGHT, Generator
    >>> model = Generator(50).eval()
    >>> ids, lengths = torch.tensor([[7, 8, 9], [4, 5, 0]]), torch.tensor([3, 2])
    >>> memories = [model.memory(ids, lengths, place) for place in (LEFT, RIGHT)]
    >>> model.log_likelihood(memories, ids, lengths, CENTRE).shape
    torch.Size([2])
    """

    def __init__(
        self,
        n_tokens: int,
        size: str | Size = "tiny",
        *,
        max_length: int = 64,
        dropout: float = 0.1,
        n_places: int = 3,
    ) -> None:
        super().__init__()
        for name, value in (
            ("n_tokens", n_tokens),
            ("max_length", max_length),
            ("n_places", n_places),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be an integer of at least 1")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout!r} must be at least 0 and below 1")
        self.size = _size(size)
        self.n_tokens, self.max_length = n_tokens, max_length
        width = self.size.width
        self.embedding = torch.nn.Embedding(n_tokens + 1, width)
        self.bias = torch.nn.Parameter(torch.zeros(n_tokens + 1))
        # A decoder's sequence is one longer than its sentence, and so is an encoder's.
        self.positions = torch.nn.Embedding(max_length + 1, width)
        self.places = torch.nn.Embedding(n_places, width)
        self.starts = torch.nn.Embedding(n_places, width)
        for table in (self.embedding, self.positions, self.places, self.starts):
            torch.nn.init.normal_(table.weight, std=width**-0.5)
        self.dropout = torch.nn.Dropout(dropout)
        self.encoder = torch.nn.ModuleList(
            EncoderLayer(self.size, dropout) for _ in range(self.size.encoder_layers)
        )
        self.decoder = torch.nn.ModuleList(
            DecoderLayer(self.size, dropout) for _ in range(self.size.decoder_layers)
        )
        self.encoder_norm = torch.nn.LayerNorm(width)
        self.decoder_norm = torch.nn.LayerNorm(width)

    def memory(self, ids: Any, lengths: Any, place: Any) -> Memory:
        """Encode sentences, each by itself.

        Parameters
        ----------
        ids : array-like of int, shape (b, L)
            Tokens; behind a sentence's end anything in [0, n_tokens).
        lengths : array-like of int, shape (b,)
            Tokens of each sentence, from 0 to ``max_length``.
        place : int or array-like of int, shape (b,)
            Place of the sentences in their context, in [0, n_places).

        Returns
        -------
        memory : Memory
            Of one token more per sentence, its end.

        Raises
        ------
        ValueError
            If a sentence is too long.
        """
        ids, layout = self._sentences(ids, lengths)
        of_place = self.places(torch.as_tensor(place, device=ids.device)).expand(len(ids), -1)
        x = self.embedding(layout.flat(_with_end(ids, layout.lengths - 1, self.n_tokens)))
        x = x + self._positions(layout) + of_place.repeat_interleave(layout.lengths, dim=0)
        x = self.dropout(x)
        for layer in self.encoder:
            x = layer(x, layout)
        return Memory(self.encoder_norm(x), layout.lengths)

    def token_log_probabilities(
        self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int
    ) -> Memory:
        """Log-probability of each token of sentences, and of their end, given those before.

        Parameters
        ----------
        memories : sequence of Memory
            Of the sentences around, from `memory`: of b rows each, or of 1 row for all.
        ids : array-like of int, shape (b, L)
            Tokens of the sentences that are generated; or of shape (1, L), of one for all.
        lengths : array-like of int, shape (b,) or (1,)
            Tokens of each.
        place : int
            Their place.

        Returns
        -------
        log_probabilities : Memory
            ``values`` of shape (N,), the tokens and the end of each sentence, one sentence behind
            the other, in nats; ``lengths`` (b,), one more than those given.

        Raises
        ------
        ValueError
            If a sentence is too long or numbers of rows do not fit.
        """
        x, layout, following = self._decoded(memories, ids, lengths, place)
        return Memory(self._log_probabilities(x, following), layout.lengths)

    def log_likelihood(self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int) -> Any:
        """Mean log-probability per token of sentences, their end included (Eq. 2, 3).

        Takes what `token_log_probabilities` takes.

        Returns
        -------
        log_likelihood : tensor, shape (b,)
            In nats per token, at most 0.
        """
        values, lengths = self.token_log_probabilities(memories, ids, lengths, place)
        rows = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
        return values.new_zeros(len(lengths)).index_add(0, rows, values) / lengths

    def loss(self, sentences: Sequence[tuple[Any, Any]], place: int) -> Any:
        """Cross-entropy of the sentences at one place, given those at all others.

        Parameters
        ----------
        sentences : sequence of tuple (ids, lengths)
            Tokens (b, L) and lengths (b,) of the b sentences at each place, in the order of
            places.
        place : int
            The one that is generated.

        Returns
        -------
        loss : tensor, shape ()
            In nats per token, ends included; its exponential is the perplexity.
        """
        memories = [self.memory(*given, at) for at, given in enumerate(sentences) if at != place]
        return -self.token_log_probabilities(memories, *sentences[place], place).values.mean()

    def _decoded(
        self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int
    ) -> tuple[Any, Layout, Any]:
        """Last states of the decoder, their layout, and the token that follows each."""
        ids, layout = self._sentences(ids, lengths)
        n_rows = _common_rows([*(len(memory.lengths) for memory in memories), len(ids)])
        following = layout.flat(_with_end(ids, layout.lengths - 1, self.n_tokens))
        before = layout.padded(self.embedding(following)).roll(1, dims=1)
        before[:, 0] = self.starts.weight[place]
        x = self.dropout(layout.flat(before) + self._positions(layout))
        parts = [Layout(memory.lengths) for memory in memories]
        mask = torch.cat([part.mask.expand(n_rows, -1) for part in parts], dim=1)
        layers: Any = self.decoder
        for layer in layers:
            x = layer.attend(x, layout)
            if len(ids) < n_rows and layer is layers[0]:
                # Up to here the one sentence has not met what it is generated from.
                x, following = x.repeat(n_rows, 1), following.repeat(n_rows)
                layout = layout.repeated(n_rows)
            tables = [
                part.padded(layer.cross.key_value(memory.values)).expand(n_rows, -1, -1)
                for part, memory in zip(parts, memories, strict=True)
            ]
            x = layer(x, layout, layer.cross.keys(torch.cat(tables, dim=1), mask))
        return self.decoder_norm(x), layout, following

    def _log_probabilities(self, x: Any, following: Any) -> Any:
        """Log-probabilities (N,) of tokens from states (N, width), a few tokens at a time."""
        found = []
        for states, tokens in zip(
            x.split(ROWS_AT_ONCE), following.split(ROWS_AT_ONCE), strict=True
        ):
            logits = torch.nn.functional.linear(states, self.embedding.weight, self.bias)
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            found.append(-torch.nn.functional.cross_entropy(logits, tokens, reduction="none"))
        return torch.cat(found)

    def _positions(self, layout: Layout) -> Any:
        places = torch.arange(layout.longest, device=layout.lengths.device)
        return self.positions(layout.flat(places.expand(len(layout.lengths), -1)))

    def _sentences(self, ids: Any, lengths: Any) -> tuple[Any, Layout]:
        """Tokens, and the layout of sentences with their ends."""
        device = self.bias.device
        ids = torch.as_tensor(ids, dtype=torch.int64, device=device)
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device=device)
        if ids.ndim != 2 or lengths.shape != ids.shape[:1] or not len(ids):
            raise ValueError(
                f"ids has shape {tuple(ids.shape)} and lengths {tuple(lengths.shape)}; they must "
                "be (b, L) and (b,) with b at least 1"
            )
        longest = int(lengths.max())
        if longest > self.max_length:
            raise ValueError(
                f"a sentence has {longest} tokens, more than max_length={self.max_length}: cut "
                "sentences when they are encoded"
            )
        return ids, Layout(lengths + 1)


def unigram_log_likelihood(
    counts: ArrayLike, ids: ArrayLike, lengths: ArrayLike
) -> NDArray[np.float64]:
    """Mean log-probability per token of sentences under a unigram model, ends included.

    What every `Generator` must beat. Counts are smoothed by 1 (Laplace).

    Parameters
    ----------
    counts : array-like of int, shape (n_tokens + 1,)
        How often each token stands in the training text; last, how many sentences it has.
    ids : array-like of int, shape (b, L)
        Tokens.
    lengths : array-like of int, shape (b,)
        Tokens of each sentence.

    Returns
    -------
    log_likelihood : ndarray of float64, shape (b,)
        In nats per token.

    Examples
    --------
    >>> from film.contexts import unigram_log_likelihood
    >>> unigram_log_likelihood([2, 0, 2], [[0, 0]], [2]).round(3)
    array([-0.847])
    """
    smoothed = np.asarray(counts, dtype=np.float64) + 1
    logs = np.log(smoothed / smoothed.sum())
    ids, lengths = np.asarray(ids), np.asarray(lengths)
    within = np.arange(ids.shape[1]) < lengths[:, None]
    sums = np.where(within, logs[np.where(within, ids, 0)], 0).sum(axis=1)
    return (sums + logs[-1]) / (lengths + 1)


def _size(size: str | Size) -> Size:
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


def _with_end(ids: Any, lengths: Any, end: int) -> Any:
    """Put the end behind each sentence, (b, longest + 1)."""
    longest = int(lengths.max())
    wider = torch.cat([ids[:, :longest], ids.new_full((len(ids), 1), end)], dim=1)
    return wider.scatter(1, lengths[:, None], end)


def _common_rows(numbers: list[int]) -> int:
    """Rows of a batch in which those of 1 row are for all."""
    most = max(numbers)
    if any(number not in (1, most) for number in numbers):
        raise ValueError(
            f"memories and sentences have {numbers} rows; all must have one number, or 1"
        )
    return most

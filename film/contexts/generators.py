"""Transformer that generates a sentence from its neighbours (Section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from numpy.typing import ArrayLike

from film.contexts.seq2seq import DecoderLayer, EncoderLayer, Size, TiedEmbedding, size_of
from film.contexts.vocabulary import END

__all__ = ["CENTRE", "LEFT", "RIGHT", "Generator", "Memory"]

LEFT, CENTRE, RIGHT = 0, 1, 2
"""Places of sentences."""


class Memory(NamedTuple):
    """Keys and values of the tokens of b given sentences.

    Parameters
    ----------
    values : tensor, shape (b, L, 2 width decoder_layers)
        Of each token and the end, padded.
    mask : tensor of bool, shape (b, L)
        True at tokens and the end.
    """

    values: Any
    mask: Any


class Generator(torch.nn.Module):
    """Transformer for the probability of a sentence given the sentences around it (Eq. 2).

    The encoder reads each sentence on its own, with an embedding of its place, and the decoder
    attends to the states of all sentences at once. So the memory of a sentence at a place is
    computed once, however many contexts use it. The decoder starts from an embedding of the place
    to be generated, so one network learns all three tasks.

    Parameters
    ----------
    n_tokens : int
        Entries V of the vocabulary, including `END` of `film.contexts`, which ends every sentence
        and must not occur inside the given sentences.
    size : str or Size, default="tiny"
        Name in `SIZES` of `film.contexts`, or the numbers.
    max_length : int, default=64
        Most tokens of a sentence.
    dropout : float, default=0.1
        Share of entries dropped in training.
    n_frequent : int, default=None
        Number of frequent tokens, which are predicted in one step; rare tokens take two steps, as
        in the adaptive softmax (Grave et al., 2017). The distribution is as exact and needs a
        fraction of the products; 1000 is a good number. None: one step for all tokens.
    counts : array-like of int, shape (n_tokens,), default=None
        How often each token occurs in the training text; the count of `END` is the number of
        sentences. They decide which tokens are frequent, and initial probabilities are their
        frequencies. They become part of the weights, so a loaded network does not need them.

    Notes
    -----
    With width w, a token costs O(w (w + V)). Input and output embeddings are one table, and
    normalisation comes before each part.

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
        n_frequent: int | None = None,
        counts: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        self.size = size_of(size)
        self.n_tokens, self.max_length = n_tokens, max_length
        width = self.size.width
        self.vocabulary = TiedEmbedding(n_tokens, width, n_frequent, counts)
        # Sequences are one longer than sentences, by their end or their start.
        self.positions = torch.nn.Embedding(max_length + 1, width)
        self.read = torch.nn.Embedding(3, width)
        self.written = torch.nn.Embedding(3, width)
        self.dropout = torch.nn.Dropout(dropout)
        self.encoder = torch.nn.ModuleList(
            EncoderLayer(self.size, dropout) for _ in range(self.size.encoder_layers)
        )
        self.decoder = torch.nn.ModuleList(
            DecoderLayer(self.size, dropout) for _ in range(self.size.decoder_layers)
        )
        self.encoder_norm = torch.nn.LayerNorm(width)
        # Keys and values of all layers of the decoder.
        self.remember = torch.nn.Linear(width, 2 * width * self.size.decoder_layers)
        self.decoder_norm = torch.nn.LayerNorm(width)
        # A state still resembles the token that it comes from; in full it would predict that one.
        torch.nn.init.constant_(self.decoder_norm.weight, 0.2)

    def memory(self, ids: Any, lengths: Any, place: int) -> Memory:
        """Encode sentences, each by itself.

        Parameters
        ----------
        ids : array-like of int, shape (b, L)
            Tokens; after a sentence's end, any values in [0, n_tokens).
        lengths : array-like of int, shape (b,)
            Tokens of each sentence, from 0 to ``max_length``.
        place : int
            Place of the sentences in their context.

        Returns
        -------
        memory : Memory
            Input of `log_likelihood`.

        Raises
        ------
        ValueError
            If a sentence is too long.
        """
        ids, mask = self._with_ends(ids, lengths)
        x = self.dropout(self._embedded(ids) + self.read.weight[place])
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(self.remember(self.encoder_norm(x)), mask)

    def log_likelihood(self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int) -> Any:
        """Mean log-probability per token of sentences, their end included (Eq. 2, 3).

        Parameters
        ----------
        memories : sequence of Memory
            Memories of the neighbouring sentences, from `memory`: b rows each, or 1 row for all.
        ids, lengths, place
            The sentences, as in `memory`: b of them, or 1 for all.

        Returns
        -------
        log_likelihood : tensor, shape (b,)
            In nats per token, at most 0.
        """
        values, mask = self._log_probabilities(memories, ids, lengths, place)
        rows = mask.nonzero()[:, 0]
        sums = values.new_zeros(len(mask)).index_add(0, rows, values)
        return sums / mask.sum(dim=1)

    def loss(self, sentences: Sequence[tuple[Any, Any]], places: Any = (0, 1, 2)) -> Any:
        """Cross-entropy of sentences, each given the sentences at the two other places.

        Parameters
        ----------
        sentences : sequence of 3 tuples (ids, lengths)
            Tokens (b, L) and lengths (b,) of the b sentences at each place, in the order of
            places.
        places : int or sequence of int, default=(0, 1, 2)
            Places that are generated; the loss is the mean over them.

        Returns
        -------
        loss : tensor, shape ()
            In nats per token, ends included; its exponential is the perplexity.
        """
        written = [places] if isinstance(places, int) else list(places)
        memories = {
            at: self.memory(*given, at) for at, given in enumerate(sentences) if written != [at]
        }
        losses = []
        for place in written:
            others = [memory for at, memory in memories.items() if at != place]
            values, _ = self._log_probabilities(others, *sentences[place], place)
            losses.append(-values.mean())
        return torch.stack(losses).mean()

    def _log_probabilities(
        self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int
    ) -> tuple[Any, Any]:
        """Log-probability (N,) of each token and end, and a mask (b, L) of their positions."""
        ids, mask = self._with_ends(ids, lengths)
        n_rows = max(len(each) for each in (mask, *(memory.mask for memory in memories)))
        ids, mask = ids.expand(n_rows, -1), mask.expand(n_rows, -1)
        given = torch.cat([memory.values.expand(n_rows, -1, -1) for memory in memories], dim=1)
        seen = torch.cat([memory.mask.expand(n_rows, -1) for memory in memories], dim=1)
        # Before the first token is the end of another sentence.
        before = ids.roll(1, dims=1).index_fill(1, ids.new_zeros(1), END)
        x = self.dropout(self._embedded(before) + self.written.weight[place])
        for layer, remembered in zip(
            self.decoder, given.chunk(len(self.decoder), dim=2), strict=True
        ):
            x = layer(x, remembered, seen)
        return self.vocabulary.log_probabilities(self.decoder_norm(x[mask]), ids[mask]), mask

    def _embedded(self, ids: Any) -> Any:
        return self.vocabulary.vectors(ids) + self.positions.weight[: ids.shape[1]]

    def _with_ends(self, ids: Any, lengths: Any) -> tuple[Any, Any]:
        """Tokens with the end after each sentence, (b, L + 1), and a mask of them."""
        device = self.positions.weight.device
        ids = torch.as_tensor(ids, dtype=torch.int64, device=device)
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device=device)
        longest = int(lengths.max())
        if longest > self.max_length:
            raise ValueError(
                f"a sentence has {longest} tokens, more than max_length={self.max_length}: cut "
                "sentences when they are encoded"
            )
        ends = ids.new_full((len(ids), 1), END)
        ids = torch.cat([ids[:, :longest], ends], dim=1).scatter(1, lengths[:, None], END)
        return ids, torch.arange(longest + 1, device=device) <= lengths[:, None]

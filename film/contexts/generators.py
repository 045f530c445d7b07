"""Transformer that generates a sentence from those around it (Section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from numpy.typing import ArrayLike

from film.contexts.seq2seq import (
    Attended,
    DecoderLayer,
    EncoderLayer,
    Layout,
    Size,
    TiedEmbedding,
    additive,
    gathered,
    size_of,
)
from film.contexts.vocabulary import END

__all__ = [
    "CENTRE",
    "LEFT",
    "RIGHT",
    "Generator",
    "Memory",
    "Target",
]

LEFT, CENTRE, RIGHT = 0, 1, 2
"""Places of sentences."""


class Memory(NamedTuple):
    """What is kept of sentences that are given: values of tokens, and where each sentence starts.

    Rows that are taken share the values.
    """

    values: Any  # (N, ...)
    lengths: Any  # (b,)
    starts: Any  # (b,)

    @classmethod
    def of(cls, values: Any, lengths: Any) -> Memory:
        """Make a memory of values of sentences, one sentence behind the other."""
        return cls(values, lengths, lengths.cumsum(0) - lengths)

    def take(self, rows: Any) -> Memory:
        """Take some rows, in their order; rows may repeat.

        Parameters
        ----------
        rows : array-like of int, shape (k,)
            In [0, b).
        """
        rows = torch.as_tensor(rows, device=self.lengths.device)
        return Memory(self.values, self.lengths[rows], self.starts[rows])

    def padded(self) -> tuple[Any, Any]:
        """Values (b, L, ...), with anything behind a sentence's end, and a mask (b, L)."""
        layout = Layout(self.lengths)
        table = (self.starts[:, None] + layout.within) * layout.mask
        return gathered(self.values, table), layout.mask


class Target(NamedTuple):
    """What is kept of sentences that are generated, one sentence behind the other."""

    values: Any  # (N, ...)
    tokens: Any  # (N,), each sentence with its end
    lengths: Any  # (b,)

    def take(self, rows: Any) -> Target:
        """Take some rows, in their order; rows may repeat.

        Parameters
        ----------
        rows : array-like of int, shape (k,)
            In [0, b).
        """
        rows = torch.as_tensor(rows, device=self.lengths.device)
        layout = Layout(self.lengths[rows])
        starts = (self.lengths.cumsum(0) - self.lengths)[rows]
        source = layout.flat(starts[:, None] + layout.within)
        return Target(self.values[source], self.tokens[source], layout.lengths)


class Generator(torch.nn.Module):
    """Probability of a sentence given the sentences around it: a Transformer (Eq. 2).

    The encoder reads each sentence by itself, with an embedding of its place, and the decoder
    attends to the states of all of them at once. So the memory of a sentence at a place is made
    once, however many contexts it meets. A decoder starts from an embedding of the place that it
    writes for, so one network can learn all three tasks, or three networks one task each.

    Parameters
    ----------
    n_tokens : int
        Entries V of the vocabulary, `END` of `film.contexts` among them: it ends every sentence,
        and no sentence that is given holds it.
    size : str or Size, default="tiny"
        Name in `SIZES` of `film.contexts`, or the numbers.
    max_length : int, default=64
        Most tokens of a sentence.
    dropout : float, default=0.1
        Share of entries dropped in training.
    n_places : int, default=3
        Places of sentences: `LEFT`, `CENTRE` and `RIGHT`.
    n_frequent : int, default=None
        Most frequent tokens, told apart in one step; rare ones are told apart in two, as in the
        adaptive softmax (Grave et al., 2017). It is as exact a distribution for a fraction of the
        products: a good number is 1000. None: all tokens in one step.
    counts : array-like of int, shape (n_tokens,), default=None
        How often each token stands in the training text, that of `END` being the number of
        sentences: which tokens are frequent, and where probabilities start from. They become part
        of the weights, so a network that is loaded needs none.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With width w, a token costs O(w (w + V)): on a CPU the product with the vocabulary takes most
    of the time of small networks, unless ``n_frequent`` is given. Input and output embeddings are
    one table, normalisation comes before each part, and layers work on tokens without padding.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import CENTRE, LEFT, RIGHT, Generator
    >>> model = Generator(50).eval()
    >>> ids, lengths = torch.tensor([[7, 8, 9], [4, 5, 0]]), torch.tensor([3, 2])
    >>> memories = [model.memory(ids, lengths, place) for place in (LEFT, RIGHT)]
    >>> model.log_likelihood(memories, model.target(ids, lengths, CENTRE)).shape
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
        n_frequent: int | None = None,
        counts: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        for name, value, least in (
            ("n_tokens", n_tokens, END + 1),
            ("max_length", max_length, 1),
            ("n_places", n_places, 2),
            ("n_frequent", 1 if n_frequent is None else n_frequent, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r} must be an integer of at least {least}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout!r} must be at least 0 and below 1")
        self.size = size_of(size)
        self.n_tokens, self.max_length = n_tokens, max_length
        width = self.size.width
        self.vocabulary = TiedEmbedding(n_tokens, width, n_frequent, counts)
        # A decoder's sequence is one longer than its sentence, and so is an encoder's.
        self.positions = torch.nn.Embedding(max_length + 1, width)
        self.read = torch.nn.Embedding(n_places, width)
        self.written = torch.nn.Embedding(n_places, width)
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
            Of one token more per sentence, its end: its keys and values in each layer of the
            decoder, 2 width decoder_layers numbers a token.

        Raises
        ------
        ValueError
            If a sentence is too long.
        """
        ids, layout = self._sentences(ids, lengths)
        places = torch.as_tensor(place, device=ids.device).expand(len(ids))
        places = layout.flat(places[:, None].expand(layout.table.shape))
        x = self._embedded(layout.flat(ids), layout) + self.read(places)
        x = self.dropout(x)
        for layer in self.encoder:
            x = layer(x, layout)
        return Memory.of(self.remember(self.encoder_norm(x)), layout.lengths)

    def target(self, ids: Any, lengths: Any, place: int) -> Target:
        """Prepare sentences that are generated, as far as the others have no part in it.

        Parameters
        ----------
        ids : array-like of int, shape (b, L)
            Tokens; behind a sentence's end anything in [0, n_tokens).
        lengths : array-like of int, shape (b,)
            Tokens of each sentence, from 0 to ``max_length``.
        place : int
            Place of the sentences in their context, in [0, n_places).

        Returns
        -------
        target : Target
            Of one token more per sentence, its end: what the decoder's first self-attention makes
            of it.

        Raises
        ------
        ValueError
            If a sentence is too long.
        """
        ids, layout = self._sentences(ids, lengths)
        # What comes before the first token is the end of another sentence.
        before = layout.flat(ids.roll(1, dims=1).index_fill(1, layout.within[:1], END))
        x = self.dropout(self._embedded(before, layout) + self.written.weight[place])
        layers: Any = self.decoder
        return Target(layers[0].attention(x, layout), layout.flat(ids), layout.lengths)

    def token_log_probabilities(self, memories: Sequence[Memory], target: Target) -> Memory:
        """Log-probability of each token of sentences, and of their end, given those before.

        Parameters
        ----------
        memories : sequence of Memory
            Of the sentences around, from `memory`: of b rows each, or of 1 row for all.
        target : Target
            From `target`: of b rows, or of 1 row for all.

        Returns
        -------
        log_probabilities : Memory
            ``values`` of shape (N,), the tokens and the end of each sentence, one sentence behind
            the other, in nats; ``lengths`` (b,), one more than those of the sentences.

        Raises
        ------
        ValueError
            If numbers of rows do not fit.
        """
        n_rows = common_rows([len(each.lengths) for each in (*memories, target)])
        if len(target.lengths) < n_rows:
            target = Target(
                target.values.repeat(n_rows, 1),
                target.tokens.repeat(n_rows),
                target.lengths.repeat(n_rows),
            )
        layout, x = Layout(target.lengths), target.values
        attended = self._attended(memories, n_rows, x.dtype)
        layers: Any = self.decoder
        for number, layer in enumerate(layers):
            x = layer(x if number == 0 else layer.attention(x, layout), layout, attended[number])
        values = self.vocabulary.log_probabilities(self.decoder_norm(x), target.tokens)
        return Memory.of(values, target.lengths)

    def log_likelihood(self, memories: Sequence[Memory], target: Target) -> Any:
        """Mean log-probability per token of sentences, their end included (Eq. 2, 3).

        Takes what `token_log_probabilities` takes.

        Returns
        -------
        log_likelihood : tensor, shape (b,)
            In nats per token, at most 0.
        """
        return row_means(self.token_log_probabilities(memories, target))

    def loss(
        self, sentences: Sequence[tuple[Any, Any]], places: int | Sequence[int] = (0, 1, 2)
    ) -> Any:
        """Cross-entropy of sentences, each given those at all other places.

        Parameters
        ----------
        sentences : sequence of tuple (ids, lengths)
            Tokens (b, L) and lengths (b,) of the b sentences at each place, in the order of
            places.
        places : int or sequence of int, default=(0, 1, 2)
            Place that is generated. Of several, each sentence is encoded once for all, and the
            loss is the mean over places.

        Returns
        -------
        loss : tensor, shape ()
            In nats per token, ends included; its exponential is the perplexity.
        """
        return mean_loss(self, sentences, places)

    def _attended(self, memories: Sequence[Memory], n_rows: int, dtype: Any) -> list[Attended]:
        """Keys and values for each layer, of all memories side by side."""
        found = [memory.padded() for memory in memories]
        values = torch.cat([table.expand(n_rows, -1, -1) for table, _ in found], dim=1)
        mask = additive(torch.cat([part.expand(n_rows, -1) for _, part in found], dim=1), dtype)
        return [Attended(part, mask) for part in values.chunk(len(self.decoder), dim=2)]

    def _embedded(self, tokens: Any, layout: Layout) -> Any:
        places = layout.flat(layout.within.expand(layout.table.shape))
        return self.vocabulary.vectors(tokens) + self.positions(places)

    def _sentences(self, ids: Any, lengths: Any) -> tuple[Any, Layout]:
        """Tokens with the end behind each sentence, and their layout."""
        device = self.vocabulary.weight.device
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
        ends = ids.new_full((len(ids), 1), END)
        ids = torch.cat([ids[:, :longest], ends], dim=1).scatter(1, lengths[:, None], END)
        return ids, Layout(lengths + 1)


def mean_loss(
    generator: Any, sentences: Sequence[tuple[Any, Any]], places: int | Sequence[int]
) -> Any:
    """Cross-entropy per token at each of some places, and the mean of these."""
    written = [places] if isinstance(places, int) else list(places)
    memories = {
        at: generator.memory(*given, at)
        for at, given in enumerate(sentences)
        if set(written) != {at}
    }
    losses = []
    for place in written:
        others = [memory for at, memory in memories.items() if at != place]
        target = generator.target(*sentences[place], place)
        losses.append(-generator.token_log_probabilities(others, target).values.mean())
    return torch.stack(losses).mean()


def row_means(tokens: Memory) -> Any:
    """Mean over the tokens of each sentence, (b,)."""
    values, lengths, _ = tokens
    rows = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
    return values.new_zeros(len(lengths)).index_add(0, rows, values) / lengths


def common_rows(numbers: list[int]) -> int:
    """Rows of a batch in which those of 1 row are for all."""
    most = max(numbers)
    if any(number not in (1, most) for number in numbers):
        raise ValueError(
            f"memories and sentences have {numbers} rows; all must have one number, or 1"
        )
    return most

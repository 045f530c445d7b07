"""Transformer that generates a sentence from its neighbours (Section 3.2.2), and its scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from film.contexts.vocabulary import END

__all__ = [
    "CENTRE",
    "LEFT",
    "RIGHT",
    "SIZES",
    "Generator",
    "Memory",
    "Size",
    "generation_terms",
    "size_of",
]

LEFT, CENTRE, RIGHT = 0, 1, 2
"""Places of sentences."""
FREQUENT = (1000, 3000)
"""Ranks at which the adaptive softmax cuts the tokens, in order of frequency."""
CONTEXTS_AT_ONCE = 64
"""Contexts of similar length that a network reads together."""


class Size(NamedTuple):
    """Size of a Transformer: width, heads, layers of encoder and decoder, and inner width."""

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
    """Return a size by its name in `SIZES`, or from its numbers.

    Raises
    ------
    ValueError
        If there is no such name, a number is below 1, or heads do not divide the width.
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


class Memory(NamedTuple):
    """States of the tokens of given sentences: (b, L, width), and (b, L), True at tokens."""

    states: Any
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
        Entries of the vocabulary, including `END` of `film.contexts`, which ends every sentence
        and must not occur inside the given sentences.
    size : str or Size, default="tiny"
        Name in `SIZES` of `film.contexts`, or the numbers.
    max_length : int, default=64
        Most tokens of a sentence.
    counts : array-like of int, shape (n_tokens,), default=None
        How often each token occurs in the training text. The adaptive softmax (Grave et al., 2017)
        predicts frequent tokens in one step, and rare ones in two. None: ids are in order of
        frequency. The order is saved with the weights.

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
        counts: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        width, heads, n_encoder, n_decoder, inner = self.size = size_of(size)
        self.max_length = max_length
        ranks = np.arange(n_tokens)
        if counts is not None:
            ranks[np.argsort(-np.asarray(counts), kind="stable")] = np.arange(n_tokens)
        self.ranks: Any
        self.register_buffer("ranks", torch.from_numpy(ranks))
        self.tokens = torch.nn.Embedding(n_tokens, width)
        # Sequences are one longer than sentences, by their end or their start.
        self.positions = torch.nn.Embedding(max_length + 1, width)
        self.read = torch.nn.Embedding(3, width)
        self.written = torch.nn.Embedding(3, width)
        # Hardly any sentence is seen twice, so nothing is dropped.
        layer: Any = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.encoder = torch.nn.TransformerEncoder(
            torch.nn.TransformerEncoderLayer(width, heads, inner, **layer), n_encoder,
            torch.nn.LayerNorm(width), enable_nested_tensor=False,
        )  # fmt: skip
        self.decoder = torch.nn.TransformerDecoder(
            torch.nn.TransformerDecoderLayer(width, heads, inner, **layer), n_decoder,
            torch.nn.LayerNorm(width),
        )  # fmt: skip
        # All layers are copies of one; each gets its own initial weights.
        for parameter in (*self.encoder.parameters(), *self.decoder.parameters()):
            if parameter.dim() > 1:
                torch.nn.init.xavier_uniform_(parameter)
        cutoffs = [cut for cut in FREQUENT if 2 * cut < n_tokens] or [max(1, n_tokens // 2)]
        self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(
            width, n_tokens, cutoffs, div_value=1.0, head_bias=True
        )

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
        """
        ids, mask = self._with_ends(ids, lengths)
        x = self._embedded(ids) + self.read.weight[place]
        return Memory(self.encoder(x, src_key_padding_mask=~mask), mask)

    def log_likelihood(self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int) -> Any:
        """Mean log-probability per token of sentences given others, their ends included.

        Parameters
        ----------
        memories : sequence of Memory
            Of the given sentences, each at its place. A single row is used for all sentences.
        ids, lengths
            The sentences to score, as in `memory`; a single row is scored with every memory.
        place : int
            Their place.

        Returns
        -------
        log_likelihood : tensor, shape (b,)
            In nats per token.
        """
        values, mask = self._log_probabilities(memories, ids, lengths, place)
        rows = mask.nonzero()[:, 0]
        sums = values.new_zeros(len(mask)).index_add(0, rows, values)
        return sums / mask.sum(dim=1)

    def loss(self, sentences: Sequence[tuple[Any, Any]], places: Sequence[int] = (0, 1, 2)) -> Any:
        """Mean negative log-probability per token, over places to be generated.

        Parameters
        ----------
        sentences : sequence of 3 pairs of (ids, lengths)
            Left, centre and right sentences.
        places : sequence of int, default=(0, 1, 2)
            Places of sentences to generate from the two others.

        Returns
        -------
        loss : tensor, shape ()
            In nats.
        """
        memories = [self.memory(*given, at) for at, given in enumerate(sentences)]
        losses = []
        for place in places:
            others = [memory for at, memory in enumerate(memories) if at != place]
            losses.append(-self._log_probabilities(others, *sentences[place], place)[0].mean())
        return torch.stack(losses).mean()

    def _log_probabilities(
        self, memories: Sequence[Memory], ids: Any, lengths: Any, place: int
    ) -> tuple[Any, Any]:
        """Log-probabilities of all tokens, one after the other, and where they are."""
        ids, mask = self._with_ends(ids, lengths)
        n_rows = max(len(each) for each in (mask, *(memory.mask for memory in memories)))
        ids, mask = ids.expand(n_rows, -1), mask.expand(n_rows, -1)
        given = torch.cat([memory.states.expand(n_rows, -1, -1) for memory in memories], dim=1)
        seen = torch.cat([memory.mask.expand(n_rows, -1) for memory in memories], dim=1)
        # Before the first token is the end of another sentence.
        before = ids.roll(1, dims=1).index_fill(1, ids.new_zeros(1), END)
        x = self._embedded(before) + self.written.weight[place]
        causal = torch.nn.Transformer.generate_square_subsequent_mask(
            x.shape[1], device=x.device, dtype=x.dtype
        )
        x = self.decoder(
            x, given, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=~seen
        )
        return self.softmax(x[mask], self.ranks[ids[mask]]).output, mask

    def _embedded(self, ids: Any) -> Any:
        return self.tokens(ids) + self.positions.weight[: ids.shape[1]]

    def _with_ends(self, ids: Any, lengths: Any) -> tuple[Any, Any]:
        """Put `END` after each sentence; return the tokens and where they are."""
        device = self.positions.weight.device
        ids = torch.as_tensor(ids, dtype=torch.int64, device=device)
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device=device)
        longest = int(lengths.max())
        ends = ids.new_full((len(ids), 1), END)
        ids = torch.cat([ids[:, :longest], ends], dim=1).scatter(1, lengths[:, None], END)
        return ids, torch.arange(longest + 1, device=device) <= lengths[:, None]


@torch.inference_mode()
def generation_terms(
    generator: Any,
    sentences: tuple[Any, Any],
    lefts: tuple[Any, Any],
    rights: tuple[Any, Any],
) -> NDArray[np.float32]:
    """Score sentences in contexts by a generator.

    For sentence s and context (l, r): the mean log-probability per token of s given l and r, of l
    given s and r, and of r given l and s: the second, third and fourth term of Eq. 3.

    Parameters
    ----------
    generator : Generator
        In evaluation mode.
    sentences : tuple of (ids, lengths)
        Tokens (n_sentences, L) and numbers of tokens (n_sentences,) of the sentences.
    lefts, rights : tuple of (ids, lengths)
        The same of the sentences on both sides of each context.

    Returns
    -------
    terms : ndarray of float32, shape (n_sentences, n_contexts, 3)
        In nats per token.

    Examples
    --------
    >>> from film.contexts import Generator, generation_terms
    >>> sides = [[1, 2], [3, 0]], [2, 1]
    >>> generation_terms(Generator(50).eval(), ([[4, 5, 6]], [3]), sides, sides).shape
    (1, 2, 3)
    """
    ids, lengths = map(np.asarray, sentences)
    both = [tuple(map(np.asarray, side)) for side in (lefts, rights)]
    order = np.argsort(both[0][1] + both[1][1], kind="stable")
    terms = np.empty((len(ids), len(order), 3), dtype=np.float32)
    own = [(ids[row : row + 1], lengths[row : row + 1]) for row in range(len(ids))]
    memories = [generator.memory(*sentence, CENTRE) for sentence in own]
    for start in range(0, len(order), CONTEXTS_AT_ONCE):
        rows = order[start : start + CONTEXTS_AT_ONCE]
        left, right = ((ids[rows], lengths[rows]) for ids, lengths in both)
        of_left, of_right = generator.memory(*left, LEFT), generator.memory(*right, RIGHT)
        for number, (sentence, memory) in enumerate(zip(own, memories, strict=True)):
            found = (
                generator.log_likelihood([of_left, of_right], *sentence, CENTRE),
                generator.log_likelihood([memory, of_right], *left, LEFT),
                generator.log_likelihood([of_left, memory], *right, RIGHT),
            )
            terms[number, rows] = torch.stack(found, dim=1).float().cpu().numpy()
    return terms

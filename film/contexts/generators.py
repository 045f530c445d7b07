"""Transformer that generates a sentence from its neighbours (Section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch.nn.functional import cross_entropy, embedding, linear

from film.contexts.vocabulary import END


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


LEFT, CENTRE, RIGHT = 0, 1, 2
"""Places of sentences."""


class Memory(NamedTuple):
    """States of the tokens of b given sentences.

    Parameters
    ----------
    states : tensor, shape (b, L, width)
        Of each token and the end, padded.
    mask : tensor of bool, shape (b, L)
        True at tokens and the end.
    """

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
        Entries V of the vocabulary, including `END` of `film.contexts`, which ends every sentence
        and must not occur inside the given sentences.
    size : str or Size, default="tiny"
        Name in `SIZES` of `film.contexts`, or the numbers.
    max_length : int, default=64
        Most tokens of a sentence.
    dropout : float, default=0.1
        Share of entries dropped in training.
    counts : array-like of int, shape (n_tokens,), default=None
        How often each token occurs in the training text; the count of `END` is the number of
        sentences. Initial probabilities are their frequencies, so that training need not learn
        them.

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
        counts: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        self.size = size_of(size)
        self.n_tokens, self.max_length = n_tokens, max_length
        width, heads, n_encoder, n_decoder, inner = self.size
        # Of unit variance where they are read, and scores of the next token where they are written.
        self.tokens = torch.nn.Parameter(torch.randn(n_tokens, width) * width**-0.5)
        self.bias = torch.nn.Parameter(_log_frequencies(n_tokens, counts))
        # Sequences are one longer than sentences, by their end or their start.
        self.positions = torch.nn.Embedding(max_length + 1, width)
        self.read = torch.nn.Embedding(3, width)
        self.written = torch.nn.Embedding(3, width)
        self.dropout = torch.nn.Dropout(dropout)
        layer: Any = {"dropout": dropout, "norm_first": True, "batch_first": True}
        self.encoder = torch.nn.TransformerEncoder(
            torch.nn.TransformerEncoderLayer(width, heads, inner, **layer),
            n_encoder, torch.nn.LayerNorm(width), enable_nested_tensor=False,
        )  # fmt: skip
        self.decoder = torch.nn.TransformerDecoder(
            torch.nn.TransformerDecoderLayer(width, heads, inner, **layer),
            n_decoder, torch.nn.LayerNorm(width),
        )  # fmt: skip
        # torch copies one layer; each must start from numbers of its own.
        for parameter in (*self.encoder.parameters(), *self.decoder.parameters()):
            if parameter.dim() > 1:
                torch.nn.init.xavier_uniform_(parameter)
        # A state still resembles the token that it comes from; in full it would predict that one.
        torch.nn.init.constant_(self.decoder.norm.weight, 0.2)  # type: ignore[union-attr]

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
        return Memory(self.encoder(x, src_key_padding_mask=~mask), mask)

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
        given = torch.cat([memory.states.expand(n_rows, -1, -1) for memory in memories], dim=1)
        seen = torch.cat([memory.mask.expand(n_rows, -1) for memory in memories], dim=1)
        # Before the first token is the end of another sentence.
        before = ids.roll(1, dims=1).index_fill(1, ids.new_zeros(1), END)
        x = self.dropout(self._embedded(before) + self.written.weight[place])
        n = x.shape[1]
        later = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        x = self.decoder(
            x, given, tgt_mask=later, memory_key_padding_mask=~seen, tgt_is_causal=True
        )
        logits = linear(x[mask], self.tokens, self.bias)
        # In half precision the sum over the vocabulary would be rounded away.
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return -cross_entropy(logits, ids[mask], reduction="none"), mask

    def _embedded(self, ids: Any) -> Any:
        vectors = embedding(ids, self.tokens) * self.size.width**0.5
        return vectors + self.positions.weight[: ids.shape[1]]

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


def _log_frequencies(n_tokens: int, counts: Any) -> Any:
    """Log-probabilities of tokens by their counts; 0 without counts."""
    if counts is None:
        return torch.zeros(n_tokens)
    given = torch.as_tensor(counts)
    if given.shape != (n_tokens,):
        raise ValueError(
            f"counts has shape {tuple(given.shape)}; it must be ({n_tokens},), a number per "
            "entry of the vocabulary"
        )
    smoothed = given.double() + 1
    return (smoothed / smoothed.sum()).log().float()


CONTEXTS_AT_ONCE = 64
"""Contexts of similar length that a network reads together."""


class EncodedContexts(NamedTuple):
    """Contexts, and the generator's memories of their sentences."""

    rows: NDArray[np.intp]
    """Their numbers among all contexts."""
    left: tuple[Any, Any]
    """Tokens and lengths of the left sentences."""
    right: tuple[Any, Any]
    left_memory: Memory
    right_memory: Memory


@torch.inference_mode()
def encode_contexts(
    generator: Any, lefts: tuple[Any, Any], rights: tuple[Any, Any]
) -> list[EncodedContexts]:
    """Encode the sentences of contexts.

    Parameters
    ----------
    generator : Generator
        In evaluation mode.
    lefts, rights : tuple of (ids, lengths)
        Tokens (n_contexts, L) and numbers of tokens (n_contexts,) of the sentences on both sides.

    Returns
    -------
    contexts : list of EncodedContexts
        Input of `generation_terms`, for any sentences.
    """
    both = [tuple(map(np.asarray, side)) for side in (lefts, rights)]
    order = np.argsort(both[0][1] + both[1][1], kind="stable")
    found = []
    for start in range(0, len(order), CONTEXTS_AT_ONCE):
        rows = order[start : start + CONTEXTS_AT_ONCE]
        left, right = ((ids[rows], lengths[rows]) for ids, lengths in both)
        memories = generator.memory(*left, LEFT), generator.memory(*right, RIGHT)
        found.append(EncodedContexts(rows, left, right, *memories))
    return found


@torch.inference_mode()
def generation_terms(
    generator: Any, sentences: tuple[Any, Any], contexts: list[EncodedContexts]
) -> NDArray[np.float32]:
    """Score sentences in contexts by a generator.

    For sentence s and context (l, r): the mean log-probability per token of s given l and r, of l
    given s and r, and of r given l and s: the second, third and fourth term of Eq. 3.

    Parameters
    ----------
    generator : Generator
        The generator that encoded the contexts.
    sentences : tuple of (ids, lengths)
        Tokens (n_sentences, L) and numbers of tokens (n_sentences,) of the sentences.
    contexts : list of EncodedContexts
        From `encode_contexts`.

    Returns
    -------
    terms : ndarray of float32, shape (n_sentences, n_contexts, 3)
        In nats per token.

    Examples
    --------
    >>> from film.contexts import Generator, encode_contexts, generation_terms
    >>> generator = Generator(50).eval()
    >>> sides = [[1, 2], [3, 0]], [2, 1]
    >>> contexts = encode_contexts(generator, sides, sides)
    >>> generation_terms(generator, ([[4, 5, 6]], [3]), contexts).shape
    (1, 2, 3)
    """
    ids, lengths = map(np.asarray, sentences)
    n_contexts = sum(len(part.rows) for part in contexts)
    terms = np.empty((len(ids), n_contexts, 3), dtype=np.float32)
    for row in range(len(ids)):
        sentence = ids[row : row + 1], lengths[row : row + 1]
        memory = generator.memory(*sentence, CENTRE)
        for rows, left, right, left_memory, right_memory in contexts:
            found = (
                generator.log_likelihood([left_memory, right_memory], *sentence, CENTRE),
                generator.log_likelihood([memory, right_memory], *left, LEFT),
                generator.log_likelihood([left_memory, memory], *right, RIGHT),
            )
            terms[row, rows] = torch.stack(found, dim=1).float().cpu().numpy()
    return terms


def unigram_log_likelihood(
    counts: ArrayLike, ids: ArrayLike, lengths: ArrayLike
) -> NDArray[np.float64]:
    """Mean log-probability per token of sentences, ends included, under a unigram model.

    It is a lower bar for every `Generator`. Counts are smoothed by 1 (Laplace).

    Parameters
    ----------
    counts : array-like of int, shape (n_tokens,)
        How often each token occurs in the training text; that of `END` is the number of sentences.
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
    sums = np.bincount(np.nonzero(within)[0], logs[ids[within]], minlength=len(lengths))
    return (sums + logs[END]) / (lengths + 1)

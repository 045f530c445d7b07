"""The three generation terms of Eq. 3 for all sentences in all contexts, from cached memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from film.contexts.generators import CENTRE, LEFT, RIGHT, Memory
from film.contexts.vocabulary import END

__all__ = ["EncodedContexts", "encode_contexts", "generation_terms", "unigram_log_likelihood"]

TASKS = (CENTRE, LEFT, RIGHT)
"""Place that is generated from the two others, in the order of the terms of Eq. 3."""
TOKENS_AT_ONCE = 2048
"""Tokens that go through a network together."""


class Side(NamedTuple):
    """What generators keep of the sentences at one place."""

    lengths: NDArray[Any]  # (n,)
    memories: dict[int, Any]  # by the generators that are given the sentences
    target: Any  # of the one that writes them

    def take(self, rows: ArrayLike) -> Side:
        """Take some rows, in their order; rows may repeat."""
        rows = np.asarray(rows)
        memories = {key: memory.take(rows) for key, memory in self.memories.items()}
        return Side(self.lengths[rows], memories, self.target.take(rows))


class EncodedContexts(NamedTuple):
    """Contexts and what generators keep of their sentences, made by `encode_contexts`."""

    left: Side
    right: Side

    def take(self, rows: ArrayLike) -> EncodedContexts:
        """Take some contexts, in their order; they may repeat.

        Parameters
        ----------
        rows : array-like of int, shape (k,)
            In [0, n_contexts).
        """
        return EncodedContexts(self.left.take(rows), self.right.take(rows))


def encode_contexts(
    generators: Sequence[Any],
    lefts: tuple[Any, Any],
    rights: tuple[Any, Any],
    *,
    tokens_at_once: int = TOKENS_AT_ONCE,
) -> EncodedContexts:
    """Encode the sentences of contexts for all tasks in which they are given.

    Parameters
    ----------
    generators : sequence of 3 Generator or PretrainedGenerator
        Of centres, lefts and rights, in evaluation mode. One that learned all three may stand in
        all places, and then encodes for all.
    lefts, rights : tuple of (ids, lengths)
        Tokens (n_contexts, L) and numbers of tokens (n_contexts,) of the sentences on both sides.
    tokens_at_once : int, default=2048
        Tokens that are encoded together; it changes memory and speed alone.

    Returns
    -------
    contexts : EncodedContexts
        What `generation_terms` takes, for any sentence.

    Raises
    ------
    ValueError
        If there are not three generators, one is in training mode, or sides differ in number.
    """
    _check(generators)
    numbers = [len(lengths) for _, lengths in (lefts, rights)]
    if numbers[0] != numbers[1] or not numbers[0]:
        raise ValueError(
            f"lefts has {numbers[0]} rows and rights {numbers[1]}; they must be the sides of the "
            "same contexts, at least one"
        )
    left, right = (
        _side(generators, given, place, tokens_at_once)
        for given, place in ((lefts, LEFT), (rights, RIGHT))
    )
    return EncodedContexts(left, right)


def generation_terms(
    generators: Sequence[Any],
    sentences: tuple[Any, Any],
    contexts: EncodedContexts,
    *,
    tokens_at_once: int = TOKENS_AT_ONCE,
) -> NDArray[np.float32]:
    """Score sentences in contexts by the generators.

    For sentence s and context (l, r): the mean log-probability per token of s given l and r, of l
    given s and r, and of r given l and s: the second, third and fourth term of Eq. 3.

    Parameters
    ----------
    generators : sequence of 3 Generator or PretrainedGenerator
        Those that encoded the contexts.
    sentences : tuple of (ids, lengths)
        Tokens (n_sentences, L) and numbers of tokens (n_sentences,) of the sentences.
    contexts : EncodedContexts
        From `encode_contexts`.
    tokens_at_once : int, default=2048
        Tokens that are generated together; it changes memory and speed alone.

    Returns
    -------
    terms : ndarray of float32, shape (n_sentences, n_contexts, 3)
        In nats per token.

    Raises
    ------
    ValueError
        If there are not three generators or one is in training mode.

    Notes
    -----
    No sentence is encoded here but the given ones, each once per place and generator. Contexts of
    like length are scored together.

    Examples
    --------
    >>> from film.contexts import Generator, encode_contexts, generation_terms
    >>> generators = [Generator(50).eval()] * 3
    >>> sides = [[1, 2], [3, 0]], [2, 1]
    >>> contexts = encode_contexts(generators, sides, sides)
    >>> generation_terms(generators, ([[4, 5, 6]], [3]), contexts).shape
    (1, 2, 3)
    """
    _check(generators)
    centre = _side(generators, sentences, CENTRE, tokens_at_once)
    n_sentences, n_contexts = len(centre.lengths), len(contexts.left.lengths)
    terms = np.empty((n_sentences, n_contexts, len(TASKS)), dtype=np.float32)
    for row in range(n_sentences):
        sides = contexts.left, centre.take([row]), contexts.right
        for column, generator in enumerate(generators):
            key, place = _key(generators, column), TASKS[column]
            terms[row, :, column] = _log_likelihoods(generator, key, sides, place, tokens_at_once)
    return terms


def unigram_log_likelihood(
    counts: ArrayLike, ids: ArrayLike, lengths: ArrayLike
) -> NDArray[np.float64]:
    """Mean log-probability per token of sentences under a unigram model, ends included.

    What every `Generator` must beat. Counts are smoothed by 1 (Laplace).

    Parameters
    ----------
    counts : array-like of int, shape (n_tokens,)
        How often each token stands in the training text; that of `END` is the number of sentences.
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


@torch.inference_mode()
def _side(
    generators: Sequence[Any], given: tuple[Any, Any], place: int, tokens_at_once: int
) -> Side:
    """Prepare sentences at a place for the generators that are given them or write them."""
    ids, lengths = map(np.asarray, given)
    order = np.argsort(lengths, kind="stable")
    parts = _parts(order, lengths + 1, tokens_at_once)
    back = np.argsort(order)

    def joined(prepare: Any) -> Any:
        found = [prepare(ids[rows], lengths[rows], place) for rows in parts]
        whole = type(found[0])(*map(torch.cat, zip(*found, strict=True)))
        whole = Memory.of(*whole[:2]) if isinstance(whole, Memory) else whole
        return whole.take(back)

    memories, target = {}, None
    for column, written in enumerate(TASKS):
        key = _key(generators, column)
        if written == place:
            target = joined(generators[column].target)
        elif key not in memories:
            memories[key] = joined(generators[key].memory)
    return Side(lengths, memories, target)


@torch.inference_mode()
def _log_likelihoods(
    generator: Any, key: int, sides: Sequence[Side], place: int, tokens_at_once: int
) -> NDArray[np.float32]:
    """Mean log-probabilities of the sentences at one place; the one centre is for all contexts."""
    n_contexts = len(sides[LEFT].lengths)
    read = sum(side.lengths for at, side in enumerate(sides) if at != place)
    read, written = (np.broadcast_to(each, n_contexts) for each in (read, sides[place].lengths))
    found = np.empty(n_contexts, dtype=np.float32)
    for rows in _parts(np.lexsort((read, written)), written + 1, tokens_at_once):
        parts = [
            side.target if at == place else side.memories[key] for at, side in enumerate(sides)
        ]
        parts = [part if at == CENTRE else part.take(rows) for at, part in enumerate(parts)]
        target = parts.pop(place)
        found[rows] = generator.log_likelihood(parts, target).float().cpu().numpy()
    return found


def _parts(order: NDArray[Any], sizes: NDArray[Any], most: int) -> list[NDArray[Any]]:
    """Cut rows into runs of about ``most`` tokens."""
    runs = np.cumsum(sizes[order]) // max(most, 1)
    return [part for part in np.split(order, np.flatnonzero(np.diff(runs)) + 1) if len(part)]


def _key(generators: Sequence[Any], column: int) -> int:
    """Column of a generator, or the first one in which it stands too."""
    return next(i for i, each in enumerate(generators) if each is generators[column])


def _check(generators: Sequence[Any]) -> None:
    if len(generators) != len(TASKS):
        raise ValueError(f"generators has {len(generators)} entries; it must have {len(TASKS)}")
    if any(generator.training for generator in generators):
        raise ValueError("a generator is in training mode: call its eval() first")

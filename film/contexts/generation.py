"""The three generation terms of Eq. 3; each context is encoded once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from film.contexts.generators import CENTRE, LEFT, RIGHT, Memory
from film.contexts.vocabulary import END

__all__ = ["EncodedContexts", "encode_contexts", "generation_terms", "unigram_log_likelihood"]

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

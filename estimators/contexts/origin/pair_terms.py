"""Terms of Eq. 3 for both sentences of each pair in the contexts of both, in blocks of pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from film.contexts import whiten_scores

BLOCK = 128
"""Pairs whose contexts are chosen, and whose terms are held, together."""


class PairTerms(NamedTuple):
    """Terms of one pair, with its texts in alphabetical order."""

    contexts: NDArray[np.int64]
    """C_s1 + C_s2 as rows of the corpus, shape (m,)."""
    n_first: int
    """How many of them are those of the first text."""
    terms1: NDArray[np.float32]
    """Of the first text in all contexts, shape (m, 4)."""
    terms2: NDArray[np.float32]
    """Of the second."""
    centre: NDArray[np.float64] | None
    """Mean terms of the reference texts in all contexts, shape (m, 4), if there are any."""
    levels: NDArray[np.float64]
    """Mean first terms of both texts over the fixed set, shape (2,)."""


def terms_of_pairs(
    model: Any,
    pairs: NDArray[np.object_],
    n_contexts: int | None,
    reference: list[str],
    advance: Callable[[int], Any],
) -> Iterator[PairTerms]:
    """Yield the terms of each pair.

    Parameters
    ----------
    model : ContextModel
        Or any object with its ``contexts_of``, ``levels`` and ``terms``.
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    n_contexts : int or None
        Number of contexts of each text; None: the model's number.
    reference : list of str
        Texts whose mean terms are also computed; may be empty.
    advance : callable
        Called with 1 for each pair.

    Yields
    ------
    terms : PairTerms
        One per pair, in their order. For a text without words, terms of shape (m, 4) are 0.

    Notes
    -----
    The contexts of a text are chosen once per block of 128 pairs.
    """
    # In alphabetical order, so that the order of a pair changes no sum, not even by its rounding.
    ordered = [sorted(map(str, pair)) for pair in pairs.tolist()]
    warned = False
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        asked = [text for text in dict.fromkeys(chain(*block)) if has_words(text)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = model.contexts_of(asked, n_contexts) if asked else []
        if caught and not warned:
            warnings.warn(caught[0].message, stacklevel=6)
            warned = True
        contexts = dict(zip(asked, found, strict=True))
        levels = dict(zip(asked, model.levels(asked) if asked else [], strict=True))
        own = [[contexts.get(text, np.empty(0, dtype=np.int64)) for text in pair] for pair in block]
        rows = [np.concatenate(both) for both in own]
        scored = _scored(model, block, rows, reference)
        for pair, both, there, (terms1, terms2, *others) in zip(
            block, own, rows, scored, strict=True
        ):
            centre = np.array(others, dtype=np.float64).mean(axis=0) if reference else None
            level = np.array([levels.get(text, 0.0) for text in pair], dtype=np.float64)
            yield PairTerms(there, len(both[0]), terms1, terms2, centre, level)
            advance(1)


def _scored(
    model: Any, pairs: list[list[str]], rows: list[NDArray[np.int64]], reference: list[str]
) -> list[list[NDArray[np.float32]]]:
    """Terms of both texts of each pair and of the reference; 0 for texts without words."""
    asked = [
        (text, there)
        for pair, there in zip(pairs, rows, strict=True)
        for text in (*pair, *reference)
        if has_words(text) and len(there)
    ]
    found = iter(model.terms(*map(list, zip(*asked, strict=True))) if asked else ())
    return [
        [
            np.asarray(next(found), dtype=np.float32)
            if has_words(text) and len(there)
            else np.zeros((len(there), 4), dtype=np.float32)
            for text in (*pair, *reference)
        ]
        for pair, there in zip(pairs, rows, strict=True)
    ]


def whitened_terms(model: Any, terms: PairTerms) -> NDArray[np.float64]:
    """Return the centred and whitened terms of both texts of a pair.

    Parameters
    ----------
    model : ContextModel
        Or any object with its ``reference_terms``.
    terms : PairTerms
        Terms in m contexts.

    Returns
    -------
    whitened : ndarray of float64, shape (2, m, 4)
        To be weighted by λ, like terms. Contexts are compared by the first term of reference
        sentences. Terms of generators are 0 if they have no centre.
    """
    both = np.stack([terms.terms1, terms.terms2]).astype(np.float64)
    reference = np.asarray(model.reference_terms(terms.contexts), dtype=np.float64)
    means = reference.mean(axis=0)
    centred = np.zeros_like(both)
    centred[..., 0] = both[..., 0] - terms.levels[:, np.newaxis] - means
    if terms.centre is not None:
        generated = both[..., 1:] - terms.centre[:, 1:]
        centred[..., 1:] = generated - generated.mean(axis=1, keepdims=True)
    rows = centred.transpose(0, 2, 1).reshape(8, -1)
    found = whiten_scores(rows, reference - means)
    return found.reshape(2, 4, -1).transpose(0, 2, 1)


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a number."""
    return any(character.isalnum() for character in text)


def shared_copy(model: Any) -> Any:
    """Copy a fitted estimator so that parameters can be set; learned and open objects are shared.

    `copy.copy` would copy the files of a model, like a pickle.
    """
    twin = object.__new__(type(model))
    vars(twin).update(vars(model))
    return twin

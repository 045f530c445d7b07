"""Terms of Eq. 3 for both sentences of each pair in the contexts of both, in blocks of pairs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from film.contexts import whiten_scores

BLOCK = 64
"""Pairs of a block."""


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


class _Known(NamedTuple):
    """Contexts of a text, its own terms in them, and the mean terms of the reference."""

    contexts: NDArray[np.int64]
    terms: NDArray[np.float32]
    centre: Any
    level: float


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
    The contexts of a text and its own terms in them are computed once, and kept as long as a pair
    needs them. Each block is scored in one call, in which each text comes with its contexts and all
    texts to be compared with it, so the model can share work.
    """
    # In alphabetical order, so that the order of a pair changes no sum, not even by its rounding.
    ordered = [tuple(sorted(map(str, pair))) for pair in pairs.tolist()]
    left = Counter(text for pair in ordered for text in pair)
    known: dict[str, _Known] = {}
    warned = False
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        texts = list(dict.fromkeys(text for pair in block for text in pair))
        new = [text for text in texts if text not in known]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            known |= _own_terms(model, new, n_contexts, reference)
        if caught and not warned:
            warnings.warn(caught[0].message, stacklevel=6)
            warned = True
        asked = sorted({each for pair in block for each in (pair, pair[::-1])})
        found = _terms(model, [(other, known[text].contexts) for text, other in asked])
        across = dict(zip(asked, found, strict=True))
        for one, other in block:
            mine, theirs = known[one], known[other]
            yield PairTerms(
                np.concatenate([mine.contexts, theirs.contexts]),
                len(mine.contexts),
                np.concatenate([mine.terms, across[other, one]]),
                np.concatenate([across[one, other], theirs.terms]),
                np.concatenate([mine.centre, theirs.centre]) if reference else None,
                np.array([mine.level, theirs.level], dtype=np.float64),
            )
            advance(1)
        left.subtract(text for pair in block for text in pair)
        for text in texts:
            if not left[text]:
                del known[text]


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


def _own_terms(
    model: Any, texts: list[str], n_contexts: int | None, reference: list[str]
) -> dict[str, _Known]:
    """Contexts of each text, and its terms and those of the reference in them."""
    asked = [text for text in texts if has_words(text)]
    found = zip(
        model.contexts_of(asked, n_contexts) if asked else [],
        model.levels(asked) if asked else [],
        strict=True,
    )
    none = np.empty(0, dtype=np.int64), 0.0
    chosen = {text: next(found) if has_words(text) else none for text in texts}
    contexts = {text: np.asarray(each[0], dtype=np.int64) for text, each in chosen.items()}
    terms = _terms(model, [(each, contexts[text]) for text in texts for each in (text, *reference)])
    known = {}
    for number, text in enumerate(texts):
        own, *others = terms[number * (1 + len(reference)) :][: 1 + len(reference)]
        centre = np.mean(others, axis=0, dtype=np.float64) if reference else None
        known[text] = _Known(contexts[text], own, centre, float(chosen[text][1]))
    return known


def _terms(model: Any, asked: list[tuple[str, NDArray[np.int64]]]) -> list[NDArray[np.float32]]:
    """Terms of each text in its contexts, (m, 4) each; 0 for a text without words."""
    scored = [(text, contexts) for text, contexts in asked if has_words(text) and len(contexts)]
    found = iter(model.terms(*map(list, zip(*scored, strict=True))) if scored else [])
    return [
        np.asarray(next(found), dtype=np.float32)
        if has_words(text) and len(contexts)
        else np.zeros((len(contexts), 4), dtype=np.float32)
        for text, contexts in asked
    ]

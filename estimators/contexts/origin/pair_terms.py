"""Terms of Eq. 3 of both sentences of each pair, over the contexts of both, in blocks of pairs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from film.contexts import whiten_scores

BLOCK = 64
"""A block of pairs is full once it holds so many different texts."""

Ordered = tuple[str, str]


class PairTerms(NamedTuple):
    """What is known of one pair, its texts in alphabetical order."""

    contexts: NDArray[np.int64]
    """C_s1 + C_s2 as rows of the corpus, shape (m,)."""
    n_first: int
    """How many of them are those of the first text."""
    terms1: NDArray[np.float32]
    """Of the first text in all contexts, shape (m, 4)."""
    terms2: NDArray[np.float32]
    """Of the second."""
    centre: NDArray[np.float64] | None
    """Mean terms of the reference texts in all contexts, shape (m, 4), where there are such."""
    levels: NDArray[np.float64]
    """Mean first terms of both texts over the fixed set, shape (2,)."""


class _Known(NamedTuple):
    """Contexts of a text, its own terms in them, and the mean of those of the reference."""

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
        Or anything with its ``contexts_of``, ``levels`` and ``terms``.
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    n_contexts : int or None
        How many contexts of each text to use; None is as many as the model chooses.
    reference : list of str
        Texts whose mean terms are wanted too; empty where they are not.
    advance : callable
        Called with 1 for each pair.

    Yields
    ------
    terms : PairTerms
        One per pair, in their order. A text without words has terms of shape (m, 4) that are 0.

    Notes
    -----
    The contexts of a text, and its own terms in them, are computed once, and kept for as long as
    a pair still needs them. A block is scored in one call, in which all texts that are compared
    with a text stand together, so that the model can share what depends on its contexts alone.
    """
    left = Counter(str(text) for text in pairs.ravel())
    warned: list[warnings.WarningMessage] = []
    known: dict[str, _Known] = {}
    for block in _blocks(pairs):
        texts = list(dict.fromkeys(text for pair in block for text in pair))
        partners: dict[str, dict[str, None]] = {text: {} for text in texts}
        for one, other in block:
            if one != other:
                partners[one][other] = partners[other][one] = None
        new = [text for text in texts if text not in known]
        chosen = dict(zip(new, _contexts(model, new, n_contexts, warned), strict=True))
        levels = dict(zip(new, _levels(model, new), strict=True))
        asked: list[tuple[str, NDArray[np.int64]]] = []
        for text in texts:
            contexts = chosen[text] if text in chosen else known[text].contexts
            own = [text, *reference] if text in chosen else []
            asked += [(other, contexts) for other in (*own, *partners[text])]
        found = _terms(model, asked)
        across: dict[Ordered, NDArray[np.float32]] = {}
        for text in texts:
            if text in chosen:
                terms, of_reference = next(found), [next(found) for _ in reference]
                centre: Any = np.mean(of_reference, axis=0, dtype=np.float64) if reference else None
                known[text] = _Known(chosen[text], terms, centre, levels[text])
            across |= {(text, other): next(found) for other in partners[text]}
        for one, other in block:
            mine, theirs = known[one], known[other]
            # In a pair of equal texts both sides are the text's own.
            other_in_mine = mine.terms if one == other else across[one, other]
            one_in_theirs = mine.terms if one == other else across[other, one]
            yield PairTerms(
                np.concatenate([mine.contexts, theirs.contexts]),
                len(mine.contexts),
                np.concatenate([mine.terms, one_in_theirs]),
                np.concatenate([other_in_mine, theirs.terms]),
                np.concatenate([mine.centre, theirs.centre]) if reference else None,
                np.array([mine.level, theirs.level], dtype=np.float64),
            )
            advance(1)
        left.subtract(text for pair in block for text in pair)
        for text in texts:
            if not left[text]:
                del known[text]


def whitened_terms(model: Any, terms: PairTerms) -> NDArray[np.float64]:
    """Terms of both texts of a pair, centred, without what contexts repeat of each other.

    Parameters
    ----------
    model : ContextModel
        Or anything with its ``reference_terms``.
    terms : PairTerms
        In m contexts.

    Returns
    -------
    whitened : ndarray of float64, shape (2, m, 4)
        To be weighed by λ as terms are. Contexts are compared by the first term of reference
        sentences. Terms of generators are 0 where there is no centre for them.
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


def _blocks(pairs: NDArray[np.object_]) -> Iterator[list[Ordered]]:
    """Cut pairs into blocks of some texts, each pair in alphabetical order.

    So the order of a pair changes no sum, not even by its rounding.
    """
    block: list[Ordered] = []
    texts: set[str] = set()
    for one, other in pairs.tolist():
        one, other = sorted((str(one), str(other)))
        block.append((one, other))
        texts |= {one, other}
        if len(texts) >= BLOCK or len(block) >= BLOCK:
            yield block
            block, texts = [], set()
    if block:
        yield block


def has_words(text: str) -> bool:
    """Whether there is anything in a text that a context could hold."""
    return any(character.isalnum() for character in text)


def _contexts(
    model: Any,
    texts: list[str],
    n_contexts: int | None,
    warned: list[warnings.WarningMessage],
) -> list[NDArray[np.int64]]:
    """Contexts of each text, none for a text without words; of all warnings, only the first."""
    asked = [text for text in texts if has_words(text)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = iter(model.contexts_of(asked, n_contexts) if asked else [])
    if caught and not warned:
        warned += caught
        warnings.warn(caught[0].message, stacklevel=6)
    empty = np.empty(0, dtype=np.int64)
    return [np.asarray(next(found), dtype=np.int64) if has_words(text) else empty for text in texts]


def _levels(model: Any, texts: list[str]) -> list[float]:
    """Levels of texts; 0 for a text without words."""
    asked = [text for text in texts if has_words(text)]
    found = iter(model.levels(asked) if asked else [])
    return [float(next(found)) if has_words(text) else 0.0 for text in texts]


def _terms(model: Any, asked: list[tuple[str, NDArray[np.int64]]]) -> Iterator[NDArray[np.float32]]:
    """Terms of each text in its contexts, (m, 4) each; 0 for a text without words."""
    scored = [(text, contexts) for text, contexts in asked if has_words(text) and len(contexts)]
    found = iter(model.terms(*map(list, zip(*scored, strict=True))) if scored else [])
    for text, contexts in asked:
        if has_words(text) and len(contexts):
            yield np.asarray(next(found), dtype=np.float32)
        else:
            yield np.zeros((len(contexts), 4), dtype=np.float32)

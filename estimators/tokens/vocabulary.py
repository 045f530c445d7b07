"""Weights of vocabulary entries: equal, idf, words only, learned, or given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.encoders import Tokens
from estimators.inputs import check_real
from estimators.tokens.token_weights import TokenWeights

WEIGHTS = ("idf", "words")


def check_weights(weights: Any, kinds: Sequence[str] = WEIGHTS) -> None:
    """Raise unless ``weights`` is valid for `vocabulary_weights`.

    ``kinds`` are the names allowed.
    """
    if weights is None or (isinstance(weights, str) and weights in kinds):
        return
    if isinstance(weights, TokenWeights):
        weights.check_usable()
        return
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"weights={weights!r} must be None, {', '.join(map(repr, kinds))}, a fitted "
            "TokenWeights or a mapping from tokens of the vocabulary to numbers"
        )
    for token, weight in weights.items():
        if not isinstance(token, str):
            raise TypeError(f"weights holds {token!r}; give names of tokens, such as '##ing'")
        check_real(f"weights[{token!r}]", weight, 0)


def vocabulary_weights(
    weights: Any,
    vocabulary: Mapping[str, int],
    spell: Callable[[list[str]], str],
    documents: Iterable[NDArray[Any]],
) -> NDArray[np.float64]:
    """Return the weight of every vocabulary entry.

    Parameters
    ----------
    weights : "idf", "words", TokenWeights or mapping
        Validated by `check_weights`.
    vocabulary : mapping of str to int
        Entry of each token; V is the largest entry plus one.
    spell : callable
        Turns tokens into text: some models write "Ġ" for a space, which would count as a letter.
    documents : iterable of ndarray of int
        Entries of each text, for "idf".

    Returns
    -------
    table : ndarray of float64, shape (V,)
        "idf" is ``ln((1 + n) / (1 + df)) + 1`` as in scikit-learn, which is never 0. "words" is 0
        for entries without a letter or digit, such as ",", and 1 for others, including "[CLS]".
        `TokenWeights` and mappings are 1 for entries that they lack.

    Raises
    ------
    ValueError
        If a mapping contains a token that is not in the vocabulary, or weights were learned with
        another vocabulary.
    """
    if isinstance(weights, TokenWeights):
        return weights.table(vocabulary)
    table = np.ones(max(vocabulary.values()) + 1)
    if isinstance(weights, Mapping):
        unknown = sorted(set(weights) - set(vocabulary))
        if unknown:
            raise ValueError(
                f"weights holds {unknown[0]!r}, which is not in the vocabulary of the model "
                f"({len(unknown)} such tokens); spell tokens as the model does, such as '##ing'"
            )
        for token, weight in weights.items():
            table[vocabulary[token]] = weight
    elif weights == "words":
        for token, entry in vocabulary.items():
            table[entry] = any(map(_is_of_word, spell([token])))
    else:
        n, counts = 0, np.zeros(len(table))
        for entries in documents:
            n += 1
            counts[np.unique(entries)] += 1
        table += np.log((1 + n) / (1 + counts))
    return table


def weights_of_tokens(
    table: NDArray[np.float64], ids: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the weight of each token; a text whose weights are all 0 gets equal weights."""
    weights = table[ids]
    lengths = np.diff(starts)
    text = np.repeat(np.arange(len(lengths)), lengths)
    total = np.bincount(text, weights, minlength=len(lengths))
    return np.where(total[text] > 0, weights, 1.0)


def training_weights(table: NDArray[np.float64], tokens: Tokens, special: bool) -> np.ndarray:
    """Return the weight of every token in training, 0 for excluded special tokens."""
    kept = np.full(len(tokens.ids), special) | ~tokens.is_special
    starts = np.concatenate([[0], np.cumsum(kept)])[tokens.starts]
    found = np.zeros(len(kept))
    found[kept] = weights_of_tokens(table, tokens.ids[kept], starts)
    return found


def _is_of_word(character: str) -> bool:
    # The replacement character is part of a multi-byte character, usually a letter.
    return character.isalnum() or character == "\ufffd"

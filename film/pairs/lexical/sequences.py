"""Order, content words, numbers, negation and lengths of two texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from film.pairs.lexical.coded_tokens import CodedTokens, coded, shared
from film.pairs.lexical.signs import NEGATIONS

QUESTION_WORDS = frozenset(
    "what how why who whom whose where when which is are was were can could do does did should "
    "would will has have had".split()
)

SEQUENCE_NAMES = (
    "same first word",
    "same last word",
    "same first words",
    "same last words",
    "content words shared",
    "share of all content words",
    "share of the shorter's content words",
    "content words unshared, lesser side",
    "content words unshared, greater side",
    "numbers shared",
    "numbers unshared",
    "negation on one side",
    "different question words",
    "characters in the longer",
    "difference in characters",
)


def sequence_features(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], stop_words: Collection[str]
) -> np.ndarray:
    """Compare word order, content words, numbers, negation and lengths.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Words of the two texts of each pair, in order, lower case.
    stop_words : collection of str
        Words without content, such as "the".

    Returns
    -------
    features : ndarray of float64, shape (n, 15)
        Columns `SEQUENCE_NAMES`. Swapping the texts changes nothing.

    Notes
    -----
    The time is O(number of words); a sequence object in many pairs is read once. Negation and
    question words are English.

    Examples
    --------
    >>> from film.pairs import SEQUENCE_NAMES, sequence_features
    >>> found = sequence_features(["is it red".split()], ["is it not red".split()], {"it"})
    >>> [name for name, value in zip(SEQUENCE_NAMES, found[0]) if value == 2.0]
    ['same first words', 'content words shared']
    """
    table, left, right = coded(first, second)
    stop = frozenset(stop_words)
    content = table.sets(table.marks(lambda token: token not in stop))
    content_x, content_z = (content.sum(axis=1)[side] for side in (left, right))
    content_both = shared(content, left, right)
    numbers = table.sets(table.marks(_has_digit))
    numbers_both = shared(numbers, left, right)
    numbers_x, numbers_z = (numbers.sum(axis=1)[side] for side in (left, right))
    negated = table.counts(table.marks(NEGATIONS.__contains__)).sum(axis=1) > 0
    prefix, suffix = table.common_starts(left, right), table.common_ends(left, right)
    length = table.letters() + np.maximum(table.sizes - 1, 0)
    asks = _first_among(table, QUESTION_WORDS)
    only_x, only_z = content_x - content_both, content_z - content_both
    fewer = np.minimum(content_x, content_z)
    return np.column_stack(
        [
            prefix > 0,
            suffix > 0,
            prefix,
            suffix,
            content_both,
            content_both / np.maximum(content_x + content_z - content_both, 1),
            content_both / np.maximum(fewer, 1),
            np.minimum(only_x, only_z),
            np.maximum(only_x, only_z),
            numbers_both,
            numbers_x + numbers_z - 2 * numbers_both,
            negated[left] != negated[right],
            (asks[left] != asks[right]) & (asks[left] >= 0) & (asks[right] >= 0),
            np.maximum(length[left], length[right]),
            np.abs(length[left] - length[right]),
        ]
    ).astype(np.float64)


def _has_digit(token: str) -> bool:
    return any(letter.isdigit() for letter in token)


def _first_among(table: CodedTokens, words: Collection[str]) -> np.ndarray:
    """Return each sequence's first token if it is one of some words, else -1."""
    found = np.full(len(table.sizes), -1, dtype=np.int64)
    written = np.flatnonzero(table.sizes)
    first = table.codes[table.edges[written]]
    found[written] = np.where(table.marks(words.__contains__)[first], first, -1)
    return found

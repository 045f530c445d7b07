"""Explain the scores of cross-encoders by leaving out words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inspection import Explanation, split_words
from film.pairs import left_out_contributions

MOST_WORDS = 12
"""Maximum words per text that are left out together with a word of the other text."""

PAIRS_AT_ONCE = 16

TITLE = "words left out"
REST = "[rest]"
"""The special token that gets the part that no word explains."""


def explain_left_out(
    score: Callable[[NDArray[np.object_]], NDArray[np.float64]],
    pairs: NDArray[np.object_],
    scores: NDArray[np.float64],
) -> list[Explanation]:
    """Explain scores of pairs with `film.pairs.left_out_contributions`.

    Parameters
    ----------
    score : callable
        Maps pairs, shape (n, 2), to scores, shape (n,).
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    scores : ndarray of float64, shape (n_pairs,)
        Scores of these pairs.

    Returns
    -------
    explanations : list of Explanation
        One per pair. Tokens are the words, preceded by `REST`.

    Notes
    -----
    Scores t1 + t2 + min(t1, 12) · min(t2, 12) pairs for one of t1 and t2 words: in longer texts
    only the 12 words with the largest single effect are left out in combination.
    """
    found: list[Explanation] = []
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        rows = slice(start, start + PAIRS_AT_ONCE)
        found += _explained(score, pairs[rows], scores[rows])
    return found


def _explained(
    score: Callable[[NDArray[np.object_]], NDArray[np.float64]],
    pairs: NDArray[np.object_],
    scores: NDArray[np.float64],
) -> list[Explanation]:
    words = [[split_words(text) for text in pair] for pair in pairs.tolist()]
    shorter = [
        [[text[: word.whole_start] + text[word.whole_end :] for word in of] for text, of in sides]
        for sides in (zip(pair, both, strict=True) for pair, both in zip(pairs, words, strict=True))
    ]
    alone = _scored(
        score,
        [
            [(less, second) for less in less1] + [(first, less) for less in less2]
            for (first, second), (less1, less2) in zip(pairs.tolist(), shorter, strict=True)
        ],
    )
    split = [np.split(of, [len(less1)]) for of, (less1, _) in zip(alone, shorter, strict=True)]
    chosen = [
        [np.argsort(-np.abs(whole - side), kind="stable")[:MOST_WORDS] for side in sides]
        for whole, sides in zip(scores, split, strict=True)
    ]
    together = _scored(
        score,
        [
            [(less1[i], less2[j]) for i in first for j in second]
            for (less1, less2), (first, second) in zip(shorter, chosen, strict=True)
        ],
    )
    found = []
    for row, (pair, whole) in enumerate(zip(pairs.tolist(), scores.tolist(), strict=True)):
        (f1, f2), (first, second) = split[row], chosen[row]
        both = np.full((len(f1), len(f2)), np.nan)
        both[np.ix_(first, second)] = together[row].reshape(len(first), len(second))
        given: dict[str, Any] = {}
        for side, (text, of) in enumerate(zip(pair, words[row], strict=True), 1):
            given |= {
                f"text{side}": text,
                f"tokens{side}": [REST, *(text[word.start : word.end] for word in of)],
                f"offsets{side}": [(0, 0), *((word.start, word.end) for word in of)],
                f"special{side}": [True] + [False] * len(of),
            }
        contributions = left_out_contributions(whole, f1, f2, both)
        found.append(
            Explanation(**given, contributions=contributions, similarity=whole, title=TITLE)
        )
    return found


def _scored(
    score: Callable[[NDArray[np.object_]], NDArray[np.float64]], asked: list[list[Any]]
) -> list[NDArray[np.float64]]:
    """Score several lists of pairs in one call."""
    flat = [pair for pairs in asked for pair in pairs]
    rows = np.empty((len(flat), 2), dtype=object)
    rows[:] = flat or rows
    found = score(rows) if flat else np.empty(0)
    return np.split(found, np.cumsum([len(pairs) for pairs in asked])[:-1])

"""What each word of a pair adds to the log-odds of its probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inspection.segmentation import Word, split_words
from film.judge import differing_spans

MOST_WORDS = 200
"""Pairs with more words have no effects of words, which would take long."""

EDGE = 1e-9


@dataclass(frozen=True)
class WordEffect:
    """Effect of one word on the probability of a pair.

    Attributes
    ----------
    text : {1, 2}
        The text with the word.
    start, end : int
        Position of the first character of the word, and of the character after its last.
    word : str
        The word, spelled as in the text.
    effect : float
        What the word adds to the log-odds of "duplicate", as in `word_effects`.
    """

    text: int
    start: int
    end: int
    word: str
    effect: float


def word_effects(
    pairs: NDArray[np.object_], predict: Callable[[NDArray[np.object_]], NDArray[np.float64]]
) -> list[list[WordEffect]]:
    """Measure the effect of each word by leaving it out.

    Let u(W) be the log-odds of a pair that keeps only the words W, V all words, and C the words
    that do not differ (`film.judge.without_differences`). The effect of a word w is

        ½ [u(V) − u(V ∖ w)] + ½ [u(C ∪ w) − u(C ∖ w)],

    the mean of what it adds to the whole pair and to what both texts share.

    Parameters
    ----------
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    predict : callable
        (m, 2) texts → (m,) probabilities of a duplicate.

    Returns
    -------
    effects : list of list of WordEffect
        For each pair, its words as by `split_words`, in the order of the texts. Empty for pairs of
        more than `MOST_WORDS` words.

    Notes
    -----
    Predicts 2 w + 2 pairs for a pair of w words. Leaving out one word is not enough: if "India"
    and "Pakistan" differ, the pair without "India" still differs.

    Examples
    --------
    >>> import numpy as np
    >>> from estimators.inspection import word_effects
    >>> def predict(pairs):
    ...     equal = [set(a.split()) == set(b.split()) for a, b in pairs]
    ...     return np.where(equal, 0.9, 0.1)
    >>> (effects,) = word_effects(np.array([["new phone", "phone"]], dtype=object), predict)
    >>> [(one.word, round(one.effect, 1)) for one in effects]
    [('new', -4.4), ('phone', 2.2), ('phone', 2.2)]
    """
    numbers: dict[tuple[str, str], int] = {}
    every, asked = [], []
    for pair in pairs.tolist():
        words = [(side, word) for side in (0, 1) for word in split_words(pair[side])]
        words = words if len(words) <= MOST_WORDS else []
        places = range(len(words))
        whole, shared = set(places), set(places) - _differing(pair, words)
        if len({words[place][0] for place in shared}) < 2:
            shared = whole
        kept = [
            _left(pair, words, left)
            for of in (whole, shared)
            for place in places
            for left in (of | {place}, of - {place})
        ]
        asked.append([numbers.setdefault(given, len(numbers)) for given in kept])
        every.append(words)
    if not numbers:
        return [[] for _ in pairs]
    p = np.clip(predict(np.array([*numbers], dtype=object)), EDGE, 1 - EDGE)
    u = np.log(p) - np.log1p(-p)
    found = []
    for pair, words, rows in zip(pairs.tolist(), every, asked, strict=True):
        with_and_without = u[rows].reshape(2, -1, 2)
        effects = (with_and_without[:, :, 0] - with_and_without[:, :, 1]).mean(axis=0)
        found.append(
            [
                WordEffect(
                    side + 1, word.start, word.end, pair[side][word.start : word.end], effect
                )
                for (side, word), effect in zip(words, effects.tolist(), strict=True)
            ]
        )
    return found


def _differing(pair: Any, words: list[tuple[int, Word]]) -> set[int]:
    spans = differing_spans(*pair)
    return {
        place
        for place, (side, word) in enumerate(words)
        if any(start <= word.whole_start and word.whole_end <= end for start, end in spans[side])
    }


def _left(pair: Any, words: list[tuple[int, Word]], kept: set[int]) -> tuple[str, str]:
    """Return the texts of a pair with only some of their words."""
    texts, end = ["", ""], [0, 0]
    for place, (side, word) in enumerate(words):
        if place in kept:
            # White space before a word goes with it.
            texts[side] += pair[side][end[side] : word.whole_end]
        end[side] = word.whole_end
    return texts[0].strip(), texts[1].strip()

"""A line on what sets two texts apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from film.compare import WordRarity, comparable_tokens, is_stop_word, pair_features
from film.judge.general import pair_kinds

__all__ = ["describe_differences"]

_SHOWN = 5
"""Words of a text that are shown."""


def describe_differences(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Say in which way the texts of each pair differ, and by which words.

    Parameters
    ----------
    first, second : sequence of str
        The texts of each pair.

    Returns
    -------
    lines : list of str
        One per pair. Words are as `comparable_tokens` writes them; frequent ones are left out if
        there are others.

    Examples
    --------
    >>> from film.judge import describe_differences
    >>> describe_differences(["a 128 GB phone", "my acount"], ["a 256gb phone", "my account"])
    ['differs in number: 128 / 256', 'differs in spelling: acount / account']
    """
    kinds = pair_kinds(pair_features(first, second, WordRarity([])))
    lines = []
    for a, b, kind in zip(first, second, kinds.tolist(), strict=True):
        sides = Counter(comparable_tokens(a)), Counter(comparable_tokens(b))
        only = [list((sides[i] - sides[1 - i]).elements()) for i in (0, 1)]
        name = {"similar": "differs in words", "spelling": "differs in spelling"}.get(kind, kind)
        if not any(only):
            lines.append(name if name == kind else "the words are the same")
        else:
            lines.append(f"{name}: {' / '.join(map(_shown, only))}")
    return lines


def _shown(tokens: list[str]) -> str:
    tokens = [token for token in tokens if not is_stop_word(token)] or tokens
    words = [token.lstrip("#@%!") or token for token in tokens[:_SHOWN]]
    return ", ".join(words + ["..."] * (len(tokens) > _SHOWN)) or "nothing"

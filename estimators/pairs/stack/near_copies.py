"""Pairs that are duplicates by construction: copies, near copies, and how models learn of them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import as_texts, distinct_texts
from film.pairs import are_spelled_alike
from film.text import copy_key, token_text

COPY = 1 - 1e-6
"""Probability that copies (`film.text.copy_key`) are duplicates, at any prior."""

SAME_TOKENS = 0.99
"""Least probability of pairs with the same tokens (`film.text.token_text`), at any prior."""

SPELLED_ALIKE = 0.95
"""Least probability, before any shift of the prior, of pairs that differ by one slip of the pen.

About so many of them are duplicates in Quora's training set.
"""

WEIGHT = 0.01
"""Weight of all near copies together, as a share of that of the training pairs."""

FEWEST, MOST = 20, 1000


def near_copies(texts: list[str], random_state: int) -> NDArray[np.object_]:
    """Make pairs of a text and the same with one small edit, in turns of five kinds.

    The kinds are: another end of the sentence, a letter doubled, two letters swapped, a letter
    dropped (each in a word of five letters or more, never in a number), and another end where
    every letter is replaced, so that no word is known.

    ``texts`` are sorted, each once. Of n texts come n / 10 pairs, within `FEWEST` and `MOST`; the
    same texts and seed give the same pairs.
    """
    rng = np.random.default_rng(random_state)
    written = [text for text in texts if token_text(text)]
    n = int(np.clip(len(written) // 10, FEWEST, MOST)) if written else 0
    pairs = []
    for number in range(n):
        text = written[int(rng.integers(len(written)))]
        kind = number % 5
        if kind == 4:
            text = "".join(_next_letter(letter) for letter in text)
        pairs.append((text, _typo(text, kind, rng) if 1 <= kind <= 3 else _other_end(text)))
    return as_texts([cell for pair in pairs for cell in pair]).reshape(-1, 2)


class Sameness(Enum):
    """How far two texts are the same by their spelling."""

    OTHER = ""
    SPELLED_ALIKE = "the texts differ by one slip of the pen (a letter of one word, or a space)"
    SAME_TOKENS = "the texts hold the same words, numbers and symbols in the same order"
    COPY = "the texts are copies: equal but for case, white space and Unicode form"


def samenesses(pairs: NDArray[np.object_]) -> list[Sameness]:
    """Tell of each pair the closest sameness that its texts have."""
    texts, codes = distinct_texts(pairs)
    keys, spoken = ([read(text) for text in texts] for read in (copy_key, token_text))
    first, second = codes.T
    (_, key), (_, said) = (distinct_texts(as_texts(read)) for read in (keys, spoken))
    tokens: Any = np.fromiter((text.split() for text in spoken), dtype=object, count=len(texts))
    found = np.full(len(pairs), Sameness.OTHER, dtype=object)
    found[are_spelled_alike(tokens[first], tokens[second])] = Sameness.SPELLED_ALIKE
    written = np.array([bool(text) for text in spoken], dtype=bool)
    found[(said[first] == said[second]) & written[first]] = Sameness.SAME_TOKENS
    found[key[first] == key[second]] = Sameness.COPY
    return found.tolist()


def raised(
    p: NDArray[np.float64], same: list[Sameness], shift: Callable[[Any], Any]
) -> NDArray[np.float64]:
    """Raise probabilities of the final model to what sameness grants, and shift their prior."""
    grants = {Sameness.SPELLED_ALIKE: SPELLED_ALIKE}
    p = shift(np.maximum(p, [grants.get(how, 0.0) for how in same]))
    grants = {Sameness.SAME_TOKENS: SAME_TOKENS, Sameness.COPY: COPY}
    return np.maximum(p, [grants.get(how, 0.0) for how in same])


def _other_end(text: str) -> str:
    bare = text.rstrip(" ?.!")
    return f"{bare}." if text.endswith("?") else f"{bare} ?"


def _typo(text: str, kind: int, rng: np.random.Generator) -> str:
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if not long:
        return _other_end(text)
    i = int(rng.choice(long))
    word = words[i]
    at = int(rng.integers(1, len(word) - 2))
    words[i] = {
        1: word[: at + 1] + word[at:],
        2: word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        3: word[:at] + word[at + 1 :],
    }[kind]
    return " ".join(words)


def _next_letter(letter: str) -> str:
    if not (letter.isascii() and letter.isalpha()):
        return letter
    start = ord("a" if letter.islower() else "A")
    return chr(start + (ord(letter) - start + 7) % 26)


def with_near_copies(
    inputs: NDArray[np.float64], labels: NDArray[Any], near: NDArray[np.float64], weights: Any
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
    """Add near copies as a few more duplicates to what a final model learns from.

    They stand where training pairs hardly ever are, so that elsewhere probabilities stay as they
    were. All near copies together have `WEIGHT` of the weight of the others, which is 1 each where
    ``weights`` is None.
    """
    rows = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
    extra = np.full(len(near), WEIGHT * rows.sum() / max(len(near), 1))
    duplicates = np.ones(len(near), dtype=labels.dtype)
    return np.vstack([inputs, near]), np.append(labels, duplicates), np.append(rows, extra)

"""Further duplicates to train a final model: pairs of a text and its edited copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import as_texts
from film.text import token_text

WEIGHT = 0.01
"""Total weight of near copies, as a share of the weight of the training pairs."""

FEWEST, MOST = 20, 1000


def near_copies(texts: list[str], random_state: int) -> NDArray[np.object_]:
    """Make pairs of a text and its copy with one small edit, in turns of five kinds.

    The kinds are: another end of the sentence; a letter doubled, two letters swapped, or a letter
    dropped, each in a word of at least five letters and never in a number; and another end of the
    sentence where all letters are replaced, so that no word is known.

    ``texts`` are sorted and unique. From n texts come n / 10 pairs, between `FEWEST` and `MOST`;
    the same texts and seed give the same pairs.
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
    """Add near copies as further duplicates to the training rows of a final model.

    They lie where training pairs are rare, so other probabilities hardly change. All near copies
    together have a share `WEIGHT` of the weight of the other rows, which is 1 each if ``weights``
    is None.
    """
    rows = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
    extra = np.full(len(near), WEIGHT * rows.sum() / max(len(near), 1))
    duplicates = np.ones(len(near), dtype=labels.dtype)
    return np.vstack([inputs, near]), np.append(labels, duplicates), np.append(rows, extra)

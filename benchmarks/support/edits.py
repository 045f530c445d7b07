"""Edited copies of real sentences, by a generator that no training sees."""

from __future__ import annotations

import numpy as np

SYNONYMS = dict(
    pair.split("=")
    for pair in (
        "best=finest buy=purchase start=begin learn=study job=position big=large quickly=fast "
        "difference=distinction people=persons country=nation money=cash movie=film make=create "
        "good=great important=essential happen=occur help=assist get=obtain way=method "
        "company=firm car=automobile phone=smartphone use=utilize think=believe need=require "
        "improve=enhance easy=simple possible=feasible kids=children earn=gain become=turn"
    ).split()
)
FILLERS = ("please", "exactly", "actually", "really", "generally")
CONTRACTIONS = {"what is": "what's", "do not": "don't", "can not": "can't", "is not": "isn't"}
DROPPABLE = {"the", "a", "an", "do", "does", "of", "to", "in", "for", "my"}


def edited(text: str, rng: np.random.Generator) -> str:
    """Apply one to three edits that leave the meaning: always another string, if one is found."""
    changed = text
    for _ in range(int(rng.integers(1, 4))):
        changed = EDITS[rng.integers(len(EDITS))](changed, rng)
    return changed if changed != text else _typo(text, rng)


def mistyped(text: str, rng: np.random.Generator) -> str:
    """Change one in eight characters of one word in three: always another string."""
    changed = text
    while changed == text:
        words = text.split(" ")
        for i in np.flatnonzero(rng.random(len(words)) < 1 / 3).tolist():
            words[i] = "".join(
                _mistyped(character, rng) if rng.random() < 1 / 8 else character
                for character in words[i]
            )
        changed = " ".join(words)
    return changed


def _mistyped(character: str, rng: np.random.Generator) -> str:
    """Leave a character out, double it, replace it, or put another one before it."""
    other = chr(int(rng.integers(ord("a"), ord("z") + 1)))
    return ("", character * 2, other, other + character)[rng.integers(4)]


def _typo(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) > 4]
    if not long:
        return text + "?"
    i = int(rng.choice(long))
    at, word = int(rng.integers(1, len(words[i]) - 2)), words[i]
    kinds = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
    )
    words[i] = kinds[rng.integers(3)]
    return " ".join(words)


def _synonyms(text: str, rng: np.random.Generator) -> str:
    return " ".join(SYNONYMS.get(word, word) for word in text.split())


def _drop(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    found = [i for i, word in enumerate(words) if word.lower() in DROPPABLE]
    if found:
        del words[int(rng.choice(found))]
    return " ".join(words)


def _add(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    words.insert(int(rng.integers(len(words) + 1)), FILLERS[rng.integers(len(FILLERS))])
    return " ".join(words)


def _swap(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    if len(words) > 2:
        i = int(rng.integers(len(words) - 1))
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def _style(text: str, rng: np.random.Generator) -> str:
    plain = text.lower()
    for long, short in CONTRACTIONS.items():
        plain = plain.replace(long, short)
    return plain.rstrip("?. ") + (" ?" if rng.random() < 0.5 else "")


EDITS = (_typo, _synonyms, _drop, _add, _swap, _style)

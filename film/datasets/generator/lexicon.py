"""Vocabulary of the generated question pairs, read from ``words.json``.

Each entry of a table is one meaning with interchangeable wordings. No two entries of a table share
a wording.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

_WORDS = json.loads(
    files("film.datasets.generator").joinpath("words.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Topic:
    """A subject of questions: its things, and the keys of the tables that fit them.

    Parameters
    ----------
    verbs, qualities, aids : tuple of str
        Keys of `VERBS`, `QUALITIES`, `AIDS`.
    exchangeable : bool
        Whether one can switch from one thing to another.
    things : tuple of tuple of str
        Wordings of each thing; countable things include their article.
    """

    verbs: tuple[str, ...]
    qualities: tuple[str, ...]
    aids: tuple[str, ...]
    exchangeable: bool
    things: tuple[tuple[str, ...], ...]


def _table(name: str) -> dict[str, tuple[str, ...]]:
    """Index the wordings of each entry by the first one."""
    return {wordings[0]: tuple(wordings) for wordings in _WORDS[name]}


# "{act}" is verb, thing and circumstances; "{thing}" alone never contains the question.
INTENTS: dict[str, tuple[str, ...]] = {
    key: tuple(wordings) for key, wordings in _WORDS["intents"].items()
}
# From one thing to another; the set of words does not show the direction.
SWITCHES: tuple[str, ...] = tuple(_WORDS["switches"])
OPENINGS: tuple[str, ...] = tuple(_WORDS["openings"])
VERBS = _table("verbs")
QUALITIES = _table("qualities")
PLACES = _table("places")
AUDIENCES = _table("audiences")
AIDS = _table("aids")
NUMBER_WORDS: dict[int, str] = {int(key): word for key, word in _WORDS["number_words"].items()}
# Wordings with a number, and the numbers that fit the unit.
UNITS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    key: (tuple(unit["wordings"]), tuple(unit["numbers"])) for key, unit in _WORDS["units"].items()
}
TOPICS: dict[str, Topic] = {
    key: Topic(
        tuple(topic["verbs"]),
        tuple(topic["qualities"]),
        tuple(topic["aids"]),
        topic["exchangeable"],
        tuple(map(tuple, topic["things"])),
    )
    for key, topic in _WORDS["topics"].items()
}
# Sentences of a story: the steps of a scene in order, sentences between scenes, and people with
# their pronouns (she, her, her).
SCENE: tuple[tuple[str, ...], ...] = tuple(map(tuple, _WORDS["story"]["steps"]))
ASIDES: tuple[str, ...] = tuple(_WORDS["story"]["between"])
PEOPLE: dict[str, tuple[str, ...]] = {row[0]: tuple(row) for row in _WORDS["story"]["people"]}

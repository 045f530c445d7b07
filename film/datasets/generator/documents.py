"""Documents made by grammar: a corpus of consecutive sentences that needs no download."""

from __future__ import annotations

import numpy as np

from film.datasets.generator.draws import Draws, generator_of
from film.datasets.generator.lexicon import (
    AIDS,
    ASIDES,
    NUMBER_WORDS,
    PEOPLE,
    PLACES,
    QUALITIES,
    SCENE,
    TOPICS,
    UNITS,
    VERBS,
)
from film.datasets.generator.wording import qualified

_LIMITS = ("hours", "days", "weeks", "months", "dollars", "people")


def make_documents(
    n_documents: int = 100,
    *,
    n_scenes: int = 6,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> list[str]:
    r"""Make English stories in which neighbouring sentences speak of one thing.

    A document has a person, a friend and a topic. Each paragraph is a scene: someone wants to do
    something with a thing, hears of it, needs an aid, tries, and succeeds or fails; the verb and
    the thing stay the same and are worded anew in each sentence. So synonyms stand in like
    contexts, and a sentence can be told from its neighbours: what a model of contexts learns.
    Words are those of `make_question_pairs`.

    Parameters
    ----------
    n_documents : int, default=100
        Documents, at least 1.
    n_scenes : int, default=6
        Paragraphs of each document, at least 1, with five to seven sentences each.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of randomness; the same seed gives the same documents, and more
        documents begin with those of fewer.

    Returns
    -------
    documents : list of str
        Plain text, paragraphs parted by blank lines.

    Raises
    ------
    ValueError
        When a number is not an integer of at least 1, or `random_state` cannot seed.

    Notes
    -----
    Cost: linear, some 0.1 s per thousand scenes.

    Examples
    --------
    >>> documents = make_documents(3, n_scenes=2, random_state=0)
    >>> len(documents), [len(document.split("\n\n")) for document in documents]
    (3, [2, 2, 2])
    """
    for name, value in (("n_documents", n_documents), ("n_scenes", n_scenes)):
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_integer or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    draws = Draws(generator_of(random_state))
    return [_document(int(n_scenes), draws) for _ in range(n_documents)]


def _document(n_scenes: int, draws: Draws) -> str:
    names = tuple(PEOPLE)
    name = draws.one(names)
    friend = draws.one([other for other in names if other != name])
    topic = draws.one(tuple(TOPICS))
    return "\n\n".join(_scene(name, friend, topic, draws) for _ in range(n_scenes))


def _scene(name: str, friend: str, topic: str, draws: Draws) -> str:
    """Tell how a person dealt with one thing."""
    room = TOPICS[topic]
    verb, wordings = draws.common(room.verbs), draws.common(room.things)
    quality, aid = draws.common(room.qualities), draws.common(room.aids)
    place = draws.common(tuple(PLACES))
    _, they, their, them = PEOPLE[name]

    def told(template: str) -> str:
        thing = draws.one(wordings)
        unit = draws.one(_LIMITS)
        limit = draws.one(UNITS[unit][0]).format(NUMBER_WORDS[draws.one(UNITS[unit][1])])
        good = draws.one(QUALITIES[quality])
        words = {"name": name, "friend": friend, "they": they, "their": their, "them": them}
        words |= {"They": they.capitalize(), "thing": thing, "verb": draws.one(VERBS[verb])}
        words |= {"quality": good, "qualified": qualified(thing, good), "limit": limit}
        words |= {"aid": draws.one(AIDS[aid]), "place": draws.one(PLACES[place])}
        return template.format(**words, number=NUMBER_WORDS[2 + draws.below(9)])

    sentences = []
    for k, step in enumerate(SCENE):
        sentences.append(told(draws.one(step)))
        if len(sentences) - k < 3 and draws.chance(0.15):
            sentences.append(told(draws.one(ASIDES)))
    return " ".join(sentences)

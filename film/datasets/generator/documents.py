"""Documents made by grammar: a corpus of consecutive sentences that needs no download."""

from __future__ import annotations

import numpy as np

from film.datasets.generator.draws import Draws, generator_of
from film.datasets.generator.lexicon import (
    AIDS,
    NUMBER_WORDS,
    PLACES,
    QUALITIES,
    UNITS,
    VERBS,
    table,
)
from film.datasets.generator.topics import TOPICS
from film.datasets.generator.wording import qualified

# In the order in which a scene tells them. {verb} and {thing} are worded anew in each sentence.
_STEPS: tuple[tuple[str, ...], ...] = (
    (
        "In {place} {name} wanted to {verb} {thing}.",
        "For years {name} had hoped to {verb} {thing}.",
        "One day {name} made up {their} mind to {verb} {thing}.",
        '"I would like to {verb} {thing}," said {name}.',
        "{name} asked {friend} how to {verb} {thing}.",
        "It was {friend} who told {name} to {verb} {thing}.",
        "Few people in {place} knew how to {verb} {thing}, but {name} had to.",
        "Was it time to {verb} {thing}?",
    ),
    (
        "{They} had read all about {thing}, above all what was {quality}.",
        "{friend} warned {them} about {thing}.",
        "What {they} had in mind was {qualified}.",
        "{They} talked of nothing but {thing} for {number} days.",
        '"Look for {qualified}," said {friend}.',
        "In {place} {they} had once seen {qualified}.",
        "With {thing} everything would be different.",
        "It had to be {quality}, {they} thought.",
    ),
    (
        "Without {aid} it could not be done.",
        "{They} needed {aid} for it.",
        "With {aid} it seemed easier.",
        "{friend} said that {aid} would help.",
        "Then {they} thought of {aid}.",
        '"Have you tried it with {aid}?" asked {friend}.',
        "There was no hope without {aid}, and {they} knew it.",
        "How was {they} to get {aid}?",
    ),
    (
        "So {they} began to {verb} {thing} {limit}.",
        "It took {name} a long time to {verb} {thing}.",
        "{They} spent {number} days in {place} trying to {verb} {thing}.",
        "To {verb} {thing} was harder than {they} had thought.",
        "{friend} helped {them} to {verb} {thing}.",
        "{name} had promised to {verb} {thing} {limit}.",
        "Again and again {they} tried to {verb} {thing}.",
    ),
    (
        "At last {name} managed to {verb} {thing}.",
        "In the end {they} failed to {verb} {thing}, and that was that.",
        "{name} was happy, and {thing} had made {them} so.",
        '"Who would have thought that I could {verb} {thing}?" said {name}.',
        "When {friend} heard of {thing}, {name} only smiled.",
        "It was {quality} enough for {them}.",
        "{They} never tried to {verb} {thing} again.",
    ),
)
_BETWEEN = (
    "It rained all night.",
    "{friend} laughed.",
    "Nobody said a word.",
    "The next morning was bright and cold.",
    "{They} slept badly.",
    "A letter from {place} came too late.",
)
_PEOPLE = table("""
Anna|she|her|her
Ben|he|his|him
Clara|she|her|her
David|he|his|him
Emma|she|her|her
Felix|he|his|him
Grace|she|her|her
Henry|he|his|him
Irma|she|her|her
Jonas|he|his|him
Laura|she|her|her
Martin|he|his|him
Nora|she|her|her
Oscar|he|his|him
Paula|she|her|her
Robert|he|his|him
Sarah|she|her|her
Thomas|he|his|him
""")
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
    names = tuple(_PEOPLE)
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
    _, they, their, them = _PEOPLE[name]

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
    for k, step in enumerate(_STEPS):
        sentences.append(told(draws.one(step)))
        if len(sentences) - k < 3 and draws.chance(0.15):
            sentences.append(told(draws.one(_BETWEEN)))
    return " ".join(sentences)

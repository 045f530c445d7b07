"""Made documents: short tales whose neighbouring sentences belong together."""

from __future__ import annotations

import numpy as np

from film.datasets.generator.draws import Draws, generator_of
from film.datasets.generator.lexicon import AIDS, PLACES, QUALITIES, VERBS, table
from film.datasets.generator.meanings import draw_meaning
from film.datasets.generator.topics import TOPICS
from film.datasets.generator.wording import sentence

_NAMES = (
    *("Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Henry", "Irene", "Jonas"),
    *("Karin", "Louis", "Maria", "Nadia", "Oscar", "Paula", "Ruben", "Sofia", "Tomas", "Vera"),
)
# A scene goes from a wish to its end; entries of a line may stand for each other.
_STEPS = (
    table("""
{name} wanted to {verb} {thing} in {place}.|{name} had long hoped to {verb} {thing} in {place}.
It was time for {name} to {verb} {thing}.|At last {name} had to {verb} {thing}.
"""),
    table("""
Nobody had said how hard it is to {verb} {thing}.|In {place}, few knew how to {verb} {thing}.
{thing_} like that is seldom {quality} in {place}.|One rarely finds {thing} that is {quality} there.
"""),
    table("""
So {name} asked a friend about it: "{question}"|"{question}" {name} wrote that evening.
A neighbour came by and wondered: "{question}"|"{question}" asked the people next door.
"""),
    table("""
The answer was to use {aid}.|"Take {aid} and be patient," was the reply.
Without {aid}, {name} was told, it would not do.|Everyone said that {aid} would help.
"""),
    table("""
Soon {thing} was {quality}, and {name} was glad.|In the end {name} found {thing} {quality}.
Before long {name} gave up and left {place}.|A week later {name} had had enough of {place}.
"""),
)


def make_documents(
    n_documents: int = 100,
    *,
    n_scenes: int = 6,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> list[str]:
    r"""Make English documents for models that learn which sentences stand together.

    A document is about one topic and one person. It is a row of scenes, each a paragraph of five
    steps about one thing and place: a wish, a remark, a question, an answer, an end. Every
    step has several wordings, and things have synonyms, so that the sentences of a scene share
    some words, and sentences of other scenes can take their place in meaning but not in words.

    Parameters
    ----------
    n_documents : int, default=100
        At least 1.
    n_scenes : int, default=6
        Paragraphs of a document, at least 1; five or six sentences each.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of randomness; the same seed gives the same documents.

    Returns
    -------
    documents : list of str
        Plain text, paragraphs parted by an empty line.

    Raises
    ------
    ValueError
        When a number is not an integer of at least 1, or `random_state` cannot seed.

    Notes
    -----
    Cost: linear, about a second per thousand documents.

    Examples
    --------
    >>> documents = make_documents(3, n_scenes=2, random_state=0)
    >>> len(documents), documents[0].count("\n\n")
    (3, 1)
    """
    for name, value in (("n_documents", n_documents), ("n_scenes", n_scenes)):
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_integer or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    draws = Draws(generator_of(random_state))
    return [_document(draws, int(n_scenes)) for _ in range(n_documents)]


def _document(draws: Draws, n_scenes: int) -> str:
    topic, name = draws.common(tuple(TOPICS)), draws.one(_NAMES)
    return "\n\n".join(_scene(draws, topic, name) for _ in range(n_scenes))


def _scene(draws: Draws, topic: str, name: str) -> str:
    room = TOPICS[topic]
    meaning = draw_meaning(draws, topic)
    quality = meaning.quality or draws.common(room.qualities)
    aid = meaning.aid[1] if meaning.aid else draws.common(room.aids)
    place = meaning.place or draws.common(tuple(PLACES))
    found = []
    for step in _STEPS:
        # Words are drawn anew for each sentence: a synonym may take the place of a word before.
        thing = draws.one(room.things[meaning.thing])
        text = draws.one(draws.one(tuple(step.values()))).format(
            name=name,
            verb=draws.one(VERBS[meaning.verb]),
            thing=thing,
            thing_=thing[0].upper() + thing[1:],
            quality=draws.one(QUALITIES[quality]),
            aid=draws.one(AIDS[aid]),
            place=draws.one(PLACES[place]),
            question=sentence(meaning, {}, draws),
        )
        found.append(text)
    return " ".join(found)

"""Meanings of generated questions: random draws and single changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from film.datasets.generator.draws import Draws
from film.datasets.generator.lexicon import AUDIENCES, INTENTS, PLACES, TOPICS, UNITS

SWITCH = "switch"


@dataclass(frozen=True)
class Meaning:
    """The meaning of a question. Unspecified slots are None."""

    intent: str
    topic: str
    verb: str
    thing: int
    other: int | None = None
    quality: str | None = None
    place: str | None = None
    number: tuple[int, str] | None = None
    aid: tuple[bool, str] | None = None
    audience: str | None = None


def draw_meaning(draws: Draws, topic: str | None = None) -> Meaning:
    """Draw the meaning of a question, about the given topic or any."""
    name = topic or draws.common(tuple(TOPICS))
    room = TOPICS[name]
    thing = draws.common(range(len(room.things)))
    switch = room.exchangeable and draws.chance(0.06)
    meaning = Meaning(
        intent=SWITCH if switch else draws.one(tuple(INTENTS)),
        topic=name,
        verb=draws.common(room.verbs),
        thing=thing,
        other=draws.other(range(len(room.things)), thing) if switch else None,
        quality=draws.common(room.qualities) if not switch and draws.chance(0.4) else None,
    )
    kinds = ["place", "place", "number", "number", "aid", "audience"]
    for _ in range(1 + draws.below(3)):
        meaning = _with_slot(meaning, draws.one(kinds), draws)
    return meaning


def _with_slot(meaning: Meaning, slot: str, draws: Draws) -> Meaning:
    """Fill or change one slot; the result differs from `meaning`."""
    room = TOPICS[meaning.topic]
    if slot == "place":
        return replace(meaning, place=draws.other(tuple(PLACES), meaning.place))
    if slot == "number":
        old = meaning.number
        unit = old[1] if old and draws.chance(0.8) else draws.one(tuple(UNITS))
        value = draws.other(UNITS[unit][1], old[0] if old else 0)
        return replace(meaning, number=(value, unit))
    if slot == "negation" and meaning.aid:
        return replace(meaning, aid=(not meaning.aid[0], meaning.aid[1]))
    if slot == "aid":
        aid = draws.other(room.aids, meaning.aid[1] if meaning.aid else "")
        return replace(meaning, aid=(draws.chance(0.5), aid))
    if slot == "audience":
        return replace(meaning, audience=draws.other(tuple(AUDIENCES), meaning.audience))
    if slot == "quality":
        return replace(meaning, quality=draws.other(room.qualities, meaning.quality))
    if slot == "verb":
        return replace(meaning, verb=draws.other(room.verbs, meaning.verb))
    if slot == "roles" and meaning.other is not None:
        return replace(meaning, thing=meaning.other, other=meaning.thing)
    if slot == "intent":
        return replace(meaning, intent=draws.other(tuple(INTENTS), meaning.intent))
    taken = (meaning.thing, meaning.other)
    free = [i for i in range(len(room.things)) if i not in taken]
    return replace(meaning, thing=draws.common(free))


def near_miss(meaning: Meaning, draws: Draws) -> Meaning:
    """Change one important slot, most often a place or a number."""
    slots = ["thing"]
    if meaning.other is not None:
        slots += ["roles", "roles"]
    else:
        slots += ["verb", "intent"]
    slots += ["quality"] * (meaning.quality is not None)
    slots += ["place"] * 4 * (meaning.place is not None)
    slots += ["number"] * 4 * (meaning.number is not None)
    slots += ["aid", "negation", "negation"] * (meaning.aid is not None)
    slots += ["audience"] * (meaning.audience is not None)
    return _with_slot(meaning, draws.one(slots), draws)

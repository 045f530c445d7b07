"""Word a meaning as people would type it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from film.datasets.generator.draws import Draws
from film.datasets.generator.lexicon import (
    AIDS,
    AUDIENCES,
    INTENTS,
    NUMBER_WORDS,
    OPENINGS,
    PLACES,
    QUALITIES,
    SWITCHES,
    TOPICS,
    UNITS,
    VERBS,
)
from film.datasets.generator.meanings import SWITCH, Meaning

_Pick = Callable[[object, Sequence[str]], str]


def sentence(meaning: Meaning, wording: dict[object, int], draws: Draws) -> str:
    """Word a meaning; choices missing from `wording` are drawn and stored in it."""

    def pick(key: object, options: Sequence[str]) -> str:
        choice = wording.setdefault(key, draws.below(len(options)))
        return options[choice % len(options)]

    def flip(key: str, probability: float) -> bool:
        return bool(wording.setdefault(key, int(draws.chance(probability))))

    room = TOPICS[meaning.topic]
    thing = pick((meaning.topic, meaning.thing), room.things[meaning.thing])
    details = _details(meaning, pick)
    if wording.setdefault("order", draws.below(2)):
        details.reverse()
    front = details.pop() if details and flip("front", 0.25) else ""
    if meaning.other is not None:
        other = pick((meaning.topic, meaning.other), room.things[meaning.other])
        template = pick(SWITCH, SWITCHES)
        text = template.format(old=thing, new=other, rest=" ".join(details)).replace(" ?", "?")
    else:
        if meaning.quality:
            thing = qualified(thing, pick(meaning.quality, QUALITIES[meaning.quality]))
        verb = pick(meaning.verb, VERBS[meaning.verb])
        act = " ".join([verb, thing, *details])
        text = pick(meaning.intent, INTENTS[meaning.intent]).format(act=act)
    if front:
        text = f"{front[0].upper()}{front[1:]}, {text[0].lower()}{text[1:]}"
        text = text.replace(", i ", ", I ")
    if flip("opening", 0.08):
        text = f"{pick('which opening', OPENINGS)} {text}"
    return text


def _details(meaning: Meaning, pick: _Pick) -> list[str]:
    """Word the circumstances."""
    found = []
    if meaning.aid:
        helped, aid = meaning.aid
        link = pick("with", ("with", "using")) if helped else pick("not", ("without", "with no"))
        wording = pick(("aid", aid), AIDS[aid])
        if link == "with no":
            wording = wording.removeprefix("a ").removeprefix("an ").removeprefix("the ")
        found.append(f"{link} {wording}")
    if meaning.number:
        value, unit = meaning.number
        number = pick(("number", value), (str(value), NUMBER_WORDS[value]))
        found.append(pick(("unit", unit), UNITS[unit][0]).format(number))
    if meaning.audience:
        found.append(pick(meaning.audience, AUDIENCES[meaning.audience]))
    if meaning.place:
        found.append(f"in {pick(('place', meaning.place), PLACES[meaning.place])}")
    return found


def qualified(thing: str, quality: str) -> str:
    """Insert an adjective between article and noun."""
    article, _, noun = thing.partition(" ")
    if article in ("a", "an"):
        return f"{'an' if quality[0] in 'aeiou' else 'a'} {quality} {noun}"
    return f"the {quality} {noun}" if article == "the" else f"{quality} {thing}"


def misspell(text: str, draws: Draws) -> str:
    """Add informal spelling: contractions, a typo, no capitals, no question mark."""
    if draws.chance(0.25):
        for long, short in (("What is", "What's"), ("what is", "what's"), ("I am", "I'm")):
            text = text.replace(long, short)
    if draws.chance(0.1):
        words = text.split(" ")
        place = draws.below(len(words))
        word = words[place]
        if len(word) > 4 and word.isalpha() and word.islower():
            cut = 1 + draws.below(len(word) - 2)
            if draws.chance(0.5):
                words[place] = word[:cut] + word[cut + 1 :]
            else:
                words[place] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
        text = " ".join(words)
    if draws.chance(0.12):
        text = text.lower()
    return text.removesuffix("?") if draws.chance(0.1) else text

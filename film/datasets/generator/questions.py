"""Question pairs made by grammar: a training set that needs no download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from film.datasets.generator.draws import Draws, generator_of
from film.datasets.generator.meanings import Meaning, draw_meaning, near_miss
from film.datasets.generator.wording import misspell, sentence
from film.datasets.pairs import QuestionPairs
from film.text import normalize_text

_DUPLICATE_SHARE = 0.37
_MOST_TRIES = 50


def make_question_pairs(
    n_samples: int = 2000,
    *,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> QuestionPairs:
    """Make English question pairs, 37 % of them duplicates, by a grammar of our own.

    A question is drawn as a meaning (what is asked, about which thing, where, in how many
    days, with or without what) and then put into words. Duplicates are two wordings of
    one meaning: other templates, synonyms of one or several words, another order, typing
    errors, contractions. Most other pairs are near misses, one circumstance of the meaning
    changed (the place, a number, with for without, the verb, the thing, which way round a
    switch goes) and worded no less alike than duplicates are; the rest only share a topic,
    or nothing. So word overlap says little, while what can be learned carries over
    to new questions: synonyms are shared among topics, places and numbers decide, and
    wordings of the question frame do not.

    Parameters
    ----------
    n_samples : int, default=2000
        Number n of pairs, at least 1. Exactly round(0.37 n) are duplicates.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of randomness; the same seed gives the same pairs.

    Returns
    -------
    data : QuestionPairs
        `pairs` (n, 2), `y` (n,), `ids` "0" … "n-1". Texts that are equal after
        `film.text.normalize_text` always have one meaning, so no pair is labelled both
        ways and labels follow by transitivity; questions are used again across pairs,
        duplicates form clusters, and pairs connect only within small families. No pair
        holds one question twice.

    Raises
    ------
    ValueError
        When `n_samples` is not an integer of at least 1, or `random_state` cannot seed.

    Notes
    -----
    Cost: linear in n, some 0.1 s per thousand pairs.

    Examples
    --------
    >>> data = make_question_pairs(100, random_state=0)
    >>> data.pairs.shape, int(data.y.sum())
    ((100, 2), 37)
    """
    is_integer = isinstance(n_samples, (int, np.integer)) and not isinstance(n_samples, bool)
    if not is_integer or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1, got {n_samples!r}")
    draws = Draws(generator_of(random_state))
    wanted = {1: round(_DUPLICATE_SHARE * n_samples), 0: 0}
    wanted[0] = int(n_samples) - wanted[1]
    writer = _Writer(draws)
    made: dict[int, list[tuple[str, str]]] = {0: [], 1: []}
    while any(len(made[label]) < wanted[label] for label in made):
        for label, first, second in _family(writer, draws):
            if len(made[label]) < wanted[label]:
                made[label].append((first, second))
    rows = [(pair, label) for label in (1, 0) for pair in made[label]]
    rows = [rows[place] for place in draws.order(len(rows))]
    pairs = [pair if draws.chance(0.5) else pair[::-1] for pair, _ in rows]
    return QuestionPairs(
        pairs=np.array(pairs, dtype=object),
        y=np.array([label for _, label in rows], dtype=np.int64),
        ids=np.array([str(number) for number in range(len(rows))], dtype=object),
    )


@dataclass(frozen=True)
class _Question:
    text: str
    meaning: Meaning
    wording: dict[object, int]


class _Writer:
    """Puts meanings into words, and sees to it that no text has two meanings."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._meaning_of: dict[str, Meaning] = {}
        self._family_of: dict[Meaning, int] = {}
        self.family = 0

    def claim(self, meaning: Meaning) -> bool:
        """Take a meaning for the present family, unless another family has it."""
        return self._family_of.setdefault(meaning, self.family) == self.family

    def fresh(self, topic: str | None = None) -> _Question:
        """Word a meaning that no family has had."""
        while True:
            meaning = draw_meaning(self._draws, topic)
            if meaning not in self._family_of and (question := self.write(meaning)):
                self.claim(meaning)
                return question

    def write(
        self, meaning: Meaning, like: _Question | None = None, keep: float = 0.0
    ) -> _Question | None:
        """Word a meaning, keeping a share of another question's wording; None if taken."""
        wording = {
            key: choice
            for key, choice in (like.wording.items() if like else ())
            if self._draws.chance(keep)
        }
        text = misspell(sentence(meaning, wording, self._draws), self._draws)
        if self._meaning_of.setdefault(normalize_text(text), meaning) != meaning:
            return None
        return _Question(text, meaning, wording)


def _family(writer: _Writer, draws: Draws) -> list[tuple[int, str, str]]:
    """Make some pairs around one meaning, connected to no other family."""
    writer.family += 1
    seed = writer.fresh()
    same = [seed, *_paraphrases(seed, draws.one((0, 1, 1, 2, 3)), writer, draws)]
    made: set[frozenset[str]] = set()
    pairs: list[tuple[int, str, str]] = []

    def add(first: _Question, second: _Question) -> None:
        key = frozenset((normalize_text(first.text), normalize_text(second.text)))
        if key not in made:
            made.add(key)
            pairs.append((int(first.meaning == second.meaning), first.text, second.text))

    _chain(same, add, draws)
    for _ in range(draws.one((1, 2, 3, 3))):
        base = draws.one(same)
        other = _unlike(base, writer, draws)
        if other is None:
            continue
        add(base, other)
        if draws.chance(0.3):
            cluster = [other, *_paraphrases(other, 1, writer, draws)]
            _chain(cluster, add, draws)
            add(draws.one(same), draws.one(cluster))
    return pairs


def _paraphrases(question: _Question, n: int, writer: _Writer, draws: Draws) -> list[_Question]:
    texts = {normalize_text(question.text)}
    found: list[_Question] = []
    for _ in range(_MOST_TRIES):
        if len(found) == n:
            break
        keep = draws.one((0.0, 0.4, 0.7))
        other = writer.write(question.meaning, draws.one([question, *found]), keep)
        if other and normalize_text(other.text) not in texts:
            texts.add(normalize_text(other.text))
            found.append(other)
    return found


def _unlike(base: _Question, writer: _Writer, draws: Draws) -> _Question | None:
    """Word another meaning: a near miss, one of the same topic, or any."""
    kind = draws.uniform()
    if kind > 0.78:
        return writer.fresh()
    if kind > 0.55:
        return writer.fresh(base.meaning.topic)
    meaning = near_miss(base.meaning, draws)
    if meaning == base.meaning or not writer.claim(meaning):
        return None
    return writer.write(meaning, base, draws.one((0.0, 0.4, 0.8)))


def _chain(
    cluster: list[_Question], add: Callable[[_Question, _Question], None], draws: Draws
) -> None:
    """Connect a cluster, with a cross link now and then."""
    for i in range(1, len(cluster)):
        add(cluster[draws.below(i)], cluster[i])
        if draws.chance(0.3):
            add(cluster[draws.below(i)], cluster[i])

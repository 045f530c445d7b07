"""Records of people and products with errors: a table with known duplicates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from film.datasets.generator.draws import Draws, generator_of

_WORDS: dict[str, Any] = json.loads(
    Path(__file__).with_name("records.json").read_text(encoding="utf-8")
)
_FIRST = [names.split() for names in _WORDS["first"]]
_STREETS = dict(names.split() for names in _WORDS["streets"])
_ROWS = (1, 1, 1, 2, 2, 3)
_RELATED = 0.15
"""Share of people who live with another one, and of products that are another model of one."""

Record = dict[str, str]


def make_records(
    kind: str = "people",
    n_entities: int = 300,
    *,
    errors: float = 0.2,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> tuple[Any, np.ndarray]:
    """Generate a table of people or products, some of whom have several rows.

    Of the entities, half have one row, a third two and a sixth three. The first row of each is
    right. In the others, each cell has an error with probability ``errors``, one of its column's
    errors at random:

    - people: a name with a nickname or an initial, with the family name first, or misspelt; a date
      of birth with another digit or with day and month exchanged; an abbreviated or misspelt
      street, or another one; a misspelt town; a phone without separators or with another digit; a
      location elsewhere in town. A date, phone, town or location may be missing too. All locations
      differ by up to 30 m.
    - products: a title with another order of words, with a word less, or misspelt; a model number
      without separator in lower case, or missing; a price that differs by up to a tenth, or
      missing; another word for the colour, or none.

    Every seventh person lives with an earlier one and has the same family name, street, town,
    phone and location. Every seventh product is another model of an earlier one, with the same
    title.

    Parameters
    ----------
    kind : {"people", "products"}, default="people"
        What to generate.
    n_entities : int, default=300
        Number of people or products, at least 1.
    errors : float in [0, 1], default=0.2
        Share of the cells with an error, in all but the first rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed or source of randomness; the same seed gives the same table.

    Returns
    -------
    records : pandas.DataFrame, shape (n_rows, n_columns)
        Cells are texts, "" if missing; rows are in random order. People have the columns name,
        born, street, town, phone and location, products title, model, price and colour.
    entities : ndarray of int, shape (n_rows,)
        Number of each row's person or product. Rows of equal numbers are duplicates.

    Raises
    ------
    ValueError
        If an argument is out of range.
    ImportError
        If pandas is not installed (``pip install film-metric[files]``).

    Examples
    --------
    >>> from film.datasets import make_records
    >>> records, entities = make_records("products", 100, random_state=0)
    >>> list(records), len(records), len(set(entities.tolist()))
    (['title', 'model', 'price', 'colour'], 173, 100)
    """
    import pandas as pd

    if kind not in _MAKERS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, _MAKERS))}")
    if isinstance(n_entities, bool) or not isinstance(n_entities, int | np.integer):
        raise ValueError(f"n_entities={n_entities!r} must be an integer of at least 1")
    if n_entities < 1 or not 0 <= errors <= 1:
        name, value = ("n_entities", n_entities) if n_entities < 1 else ("errors", errors)
        raise ValueError(f"{name}={value!r} is out of range: give 1 or more, and errors in [0, 1]")
    draws = Draws(generator_of(random_state))
    make, wrong = _MAKERS[kind]
    first: list[Record] = []
    rows: list[Record] = []
    entities: list[int] = []
    for entity in range(n_entities):
        related = draws.one(first) if first and draws.chance(_RELATED) else None
        first.append(make(draws, related))
        for number in range(draws.one(_ROWS)):
            row = dict(first[-1])
            if number and kind == "people":
                row["location"] = _moved(row["location"], draws, 3e-4)
            for column in row:
                if number and draws.chance(errors):
                    row[column] = draws.one(wrong[column])(row[column], draws)
            rows.append(row)
            entities.append(entity)
    order = draws.order(len(rows))
    return pd.DataFrame([rows[row] for row in order]), np.array(entities)[order]


def _person(draws: Draws, like: Record | None) -> Record:
    family = like["name"].split()[-1] if like else draws.one(_WORDS["family"])
    town = draws.one(tuple(_WORDS["towns"]))
    latitude, longitude = _WORDS["towns"][town]
    road = f"{draws.one(_WORDS['roads'])} {draws.one(tuple(_STREETS))}"
    number = 1000 + draws.below(9000)
    home = {
        "street": f"{1 + draws.below(150)} {road}",
        "town": town,
        "phone": f"0{1000 + draws.below(9000)} {100 + draws.below(900)}-{number}",
        "location": _moved(f"{latitude}, {longitude}", draws, 0.03),
    }
    born = f"{1930 + draws.below(75)}-{1 + draws.below(12):02}-{1 + draws.below(28):02}"
    shared = home if like is None else {name: like[name] for name in home}
    return {"name": f"{draws.one(_FIRST)[0]} {family}", "born": born, **shared}


def _product(draws: Draws, like: Record | None) -> Record:
    words = [draws.one(_WORDS[name]) for name in ("makers", "qualities", "things")]
    series = f"{draws.one('ABCDEFGHKLMNPRSTVWX')}{draws.one('ABCDEFGHKLMNPRSTVWX')}"
    if like is not None:
        series = like["model"].partition("-")[0]
    return {
        "title": " ".join(words) if like is None else like["title"],
        "model": f"{series}-{100 + draws.below(9900)}",
        "price": f"{20 + 380 * draws.uniform() ** 2:.2f}",
        "colour": draws.one(_WORDS["colours"]),
    }


def _moved(point: str, draws: Draws, most: float) -> str:
    ends = (float(end) + most * (2 * draws.uniform() - 1) for end in point.split(", "))
    return ", ".join(f"{end:.5f}" for end in ends)


def _missing(text: str, draws: Draws) -> str:
    return ""


def _misspelt(text: str, draws: Draws) -> str:
    """Exchange, drop or double a letter."""
    place = draws.below(len(text) - 1)
    a, b = text[place : place + 2]
    return text[:place] + draws.one((b + a, b, a + a + b)) + text[place + 2 :]


def _other_digit(text: str, draws: Draws) -> str:
    place = draws.one([place for place, letter in enumerate(text) if letter.isdigit()])
    return text[:place] + draws.other("123456789", text[place]) + text[place + 1 :]


def _nickname(text: str, draws: Draws) -> str:
    first, _, family = text.partition(" ")
    forms = next(forms for forms in _FIRST if forms[0] == first)
    return f"{draws.one(forms[1:] or [first[0] + '.'])} {family}"


def _fewer_words(text: str, draws: Draws) -> str:
    words = text.split()
    del words[draws.below(len(words))]
    return " ".join(words)


def _shuffled(text: str, draws: Draws) -> str:
    words = text.split()
    return " ".join(words[place] for place in draws.order(len(words)))


_MAKERS: dict[str, tuple[Callable[..., Record], dict[str, tuple[Callable[[str, Draws], str], ...]]]]
_MAKERS = {
    "people": (
        _person,
        {
            "name": (
                _nickname,
                lambda text, _: f"{text[0]}. {text.partition(' ')[2]}",
                lambda text, _: ", ".join(text.split()[::-1]),
                _misspelt,
            ),
            "born": (
                _missing,
                _other_digit,
                lambda text, _: f"{text[:4]}-{text[8:]}-{text[5:7]}",
            ),
            "street": (
                lambda text, _: f"{text.rpartition(' ')[0]} {_STREETS[text.split()[-1]]}",
                _misspelt,
                lambda _, draws: _person(draws, None)["street"],
            ),
            "town": (_missing, _misspelt),
            "phone": (_missing, _other_digit, lambda text, _: "".join(filter(str.isdigit, text))),
            "location": (_missing, lambda text, draws: _moved(text, draws, 0.02)),
        },
    ),
    "products": (
        _product,
        {
            "title": (_shuffled, _fewer_words, _misspelt),
            "model": (_missing, lambda text, _: text.replace("-", "").lower()),
            "price": (
                _missing,
                lambda text, draws: f"{float(text) * (0.9 + 0.2 * draws.uniform()):.2f}",
            ),
            "colour": (_missing, lambda text, _: f"dark {text}"),
        },
    ),
}

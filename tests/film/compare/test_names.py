"""Names and addresses that are written in different ways."""

from __future__ import annotations

import pytest

from film.compare import are_names, comparable_cell, with_usual_words


def usual(cell: str) -> str:
    return with_usual_words(comparable_cell(cell, "text"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bob Smith", "Robert Smith"),
        ("Bill", "William"),
        ("Peggy Miller", "Margaret Miller"),
        ("Johannes Meyer", "Hans Meyer"),
        ("Guillaume Petit", "William Petit"),
        ("Pepe García", "Jose Garcia"),
        ("Acme Ltd.", "ACME Limited"),
        ("Acme S.A.", "Acme SA"),
        ("Acme G.m.b.H.", "Acme g m b h"),
        ("Acme Inc", "Acme, Incorporated"),
        ("Smith and Co", "Smith et Cie"),
        ("12 Main St", "12 Main Street"),
        ("3 Oak Ave.", "3 Oak Avenue"),
        ("9 Elm Rd, Apt 2", "9 Elm Road Flat 2"),
        ("Hauptstr. 5", "Hauptstraße 5"),
        ("Lange Str. 5", "Lange Strasse 5"),
    ],
)
def test_cells_that_mean_the_same_become_equal(one, other):
    assert usual(one) == usual(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Robert Smith", "William Smith"),
        ("Acme Ltd", "Acme GmbH"),
        ("12 Main Street", "14 Main Street"),
        ("12 Main Street", "12 Main Road"),
    ],
)
def test_cells_that_differ_stay_different(one, other):
    assert usual(one) != usual(other)


@pytest.mark.parametrize("text", ["", "s a", "one will of some seven words here"])
def test_texts_that_are_no_names_stay(text):
    assert with_usual_words(text) == text


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["bob roe", "zoe ho", "mike ho"], True),
        (["acme ltd", "globex inc", "initech"], True),
        (["12 main st", "3 oak road", ""], True),
        (["Hauptstraße 5", "Ringstr. 9", "Gartenweg 7"], True),
        (["clip art", "office 97", "will chess ever end", "dos"], False),
        (["bob roe", "zoe ho"], False),
        (["a long story of mike and his bob"], False),
        ([], False),
    ],
)
def test_columns_of_names_have_them_in_most_cells(cells, expected):
    assert are_names([comparable_cell(cell, "text") for cell in cells]) is expected

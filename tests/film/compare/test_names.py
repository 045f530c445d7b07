"""Names and addresses that are written in different ways."""

from __future__ import annotations

import pytest

from film.compare import (
    are_names,
    comparable_cell,
    name_difference,
    name_reason,
    natural_order,
    role_of_names,
    with_usual_words,
)


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
        ("Jürgen Müller", "Juergen Mueller"),
        ("Weiß", "Weiss"),
        ("Søren Ødegård", "Soeren Odegaard"),
        ("Saint John Hotel", "St. John Hotel"),
        ("Doctor Lee", "Dr. Lee"),
        ("Acme AG", "Acme Aktiengesellschaft"),
        ("Acme GmbH", "Acme Gesellschaft mit beschränkter Haftung"),
        ("Acme L.L.C.", "Acme Limited Liability Company"),
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
        ("Bauer", "Baur"),
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
        (["bob roe", "zora ho", "mike ho"], True),
        (["acme ltd", "globex inc", "initech"], True),
        (["12 main st", "3 oak road", ""], True),
        (["Hauptstraße 5", "Ringstr. 9", "Gartenweg 7"], True),
        (["clip art", "office 97", "will chess ever end", "dos"], False),
        (["bob roe", "zora ho"], False),
        (["a long story of mike and his bob"], False),
        (["salt and pepper", "flour 5 kg"], False),
        ([], False),
    ],
)
def test_columns_of_names_have_them_in_most_cells(cells, expected):
    assert are_names([comparable_cell(cell, "text") for cell in cells]) is expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["Bob Roe", "Mike Ho", "Zora Li"], "first"),
        (["Roe, Bob", "Ho, Mike", "Li, Zora"], "last"),
        (["Dr. Bob Roe", "Dr. Mike Ho"], "first"),
        (["Bob", "Mia", "Zora", ""], "all"),
        (["Bob", "Zora"], ""),
        (["Roe", "Ho", "Thomas"], ""),
        (["12 Albert Road", "3 Victoria Street"], "address"),
        (["Albert Road", "Victoria Street"], ""),
        (["Acme Ltd", "Globex Inc"], "company"),
        (["Bob", "Bob", "Mia", "Zroa", "Bbo"], "all"),
        (["Степанов Пётр Сергеевич", "Попова Татьяна", "Зорин Ш. В."], "last"),
        (["Пётр Сергеевич Степанов", "Татьяна Попова"], "first"),
        (["ООО Ромашка", "АО Берёза"], "company"),
        (["", ""], ""),
    ],
)
def test_the_role_of_a_column_is_what_most_cells_have(cells, expected):
    assert role_of_names([comparable_cell(cell, "text") for cell in cells]) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Huber, Max", "Max Huber"),
        ("HUBER,Max", "Max HUBER"),
        ("Huber, M.", "M. Huber"),
        ("van der Berg, Anna Maria", "Anna Maria van der Berg"),
        ("Huber, Max Jr.", "Max Huber Jr."),
        ("García, José", "José García"),
        ("Anna Thomas, Zora", "Anna Thomas, Zora"),
        ("Max Huber", "Max Huber"),
        ("Max Huber, Jr.", "Max Huber, Jr."),
        ("Max Huber, PhD", "Max Huber, PhD"),
        ("Albert Road 12, Ulm", "Albert Road 12, Ulm"),
        ("Smith, John, Doe", "Smith, John, Doe"),
        ("Then Anna went home, Max", "Then Anna went home, Max"),
        ("Max, then Anna and Mia", "Max, then Anna and Mia"),
        (", Max", ", Max"),
        ("Huber,", "Huber,"),
        ("", ""),
    ],
)
def test_a_name_with_a_comma_is_written_in_natural_order(cell, expected):
    assert natural_order(cell) == expected


def difference(one: str, other: str, place: str, elsewhere: tuple[str, str] = ("", "")) -> str:
    a, b = comparable_cell(one, "text"), comparable_cell(other, "text")
    found = name_difference(a, b, place, elsewhere)
    assert name_difference(b, a, place, (elsewhere[1], elsewhere[0])) == found
    return found


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        ("Bob Roe", "Mike Roe", "first"),
        ("Roe, Bob", "Roe, Mike", "last"),
        ("Kevin", "Karen", "all"),
        ("Zora", "Hilal", "all"),
        ("Martin", "Martina", "all"),
        ("Christopher", "Christina", "all"),
        ("Edward", "Theodore", "all"),
        ("Ralf Braun", "Rolf Braun", "first"),
        ("John Thomas", "Mary Thomas", "first"),
        ("John M. Roe", "Anna Roe", "first"),
        ("Irene Roe", "B. Roe", "first"),
        ("Huber Max", "Anna Huber", "first"),
        ("Huber M.", "Anna Huber", "first"),
        ("Huber Zora", "Hilal Huber", "first"),
        ("Martin Max", "Anna Martin", "first"),
        ("Max Huber", "Huber Anna", "last"),
        ("M.", "B.", "all"),
        ("Daniel", "Daniela", "all"),
        ("Carl", "Carla", "all"),
        ("Julian Roe", "Julia Roe", "first"),
        ("John Roe", "John Roe Jr.", "first"),
        ("John Roe II", "John Roe III", "first"),
        ("Roe", "Roe Jr.", "family"),
        ("Степанов Пётр Сергеевич", "Попов Татьяна Сергеевич", "last"),
        ("Иванова Анна Петровна", "Иванова Мария Петровна", "last"),
        ("Анна Иванова", "Ольга Иванова", "first"),
    ],
)
def test_other_people_differ_in_their_name(one, other, place):
    assert difference(one, other, place) == "name"


@pytest.mark.parametrize(
    ("one", "other", "place", "elsewhere", "expected"),
    [
        ("Anna Roe", "Peter Roe", "first", ("", ""), "other first names: Anna / Peter"),
        ("Anna Roe", "Peter Roe", "first", ("", "roe anna"), ""),
        ("Roe", "Roe Jr.", "family", ("", ""), "Jr, II or III: none / ii"),
        (
            "Acme AG",
            "Acme Kommanditgesellschaft",
            "company",
            ("", ""),
            "other legal forms: ag / kg",
        ),
        (
            *("Acme Holding GmbH", "Acme GmbH", "company", ("", "")),
            "only one is a holding or the like: holding / none",
        ),
        ("12 Elm St", "14b Elm Street", "address", ("", ""), "other house numbers: 12 / 14"),
        ("12 Elm St", "12 Elm Street", "address", ("", ""), ""),
        ("12 Elm St", "12 Oak Road", "address", ("", ""), "other streets: Elm / Oak"),
    ],
)
def test_the_reason_names_the_words_that_decide(one, other, place, elsewhere, expected):
    a, b = comparable_cell(one, "text"), comparable_cell(other, "text")
    assert name_reason(a, b, place, elsewhere) == expected
    assert bool(expected) == bool(name_difference(a, b, place, elsewhere))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("12 Main St", "14 Main Street", "number"),
        ("12 Victoria Road", "14 Victoria Road", "number"),
        ("12 Elm St, 34567 Ulm", "12 Elm St, 34568 Ulm", ""),
        ("100 West 34 Street", "100 West 34th Street", ""),
        ("02134 Elm St", "2134 Elm St", ""),
        ("12 Main St Apt 4", "14 Main St Apt 4", "number"),
        ("Hauptstr. 5", "Hauptstraße 7", "number"),
        ("12 Main St Apt 4", "12 Main St", ""),
        ("12a Main St", "12 Main St", ""),
        ("12 Main St", "Main St", ""),
        ("3 Oak Ave", "4 Elm Ave", ""),
        ("1 Oak Ave, Flat 2, North End Dover", "3 Oak Ave, Flat 2, North End Dover", ""),
    ],
)
def test_houses_of_one_street_differ_in_their_number(one, other, expected):
    assert difference(one, other, "address") == expected


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        ("Bob Roe", "Robert Roe", "first"),
        ("Bert Roe", "Albert Roe", "first"),
        ("Bert Roe", "Robert Roe", "first"),
        ("Ted", "Theodore", "all"),
        ("Chris", "Christina", "all"),
        ("B. Roe", "Robert Roe", "first"),
        ("R. Roe", "Bob Roe", "first"),
        ("Torsten", "Thorstenn", "all"),
        ("Robetr Roe", "Bob Roe", "first"),
        ("Zora", "Zroa", "all"),
        ("Roe Robert", "Robert Roe", "first"),
        ("Roe R.", "Bob Roe", "first"),
        ("Roe Zora", "Zora Roe", "first"),
        ("Zora Thomas", "Zora Martin", "first"),
        ("Andrew Roberts", "Roberts Andrew", "first"),
        ("Thomas Martin", "Martin Thomas", "first"),
        ("Robert Roe", "Roe Bob", "last"),
        ("Anna Maria Roe", "Maria Roe", "first"),
        ("Mary Thomas", "Mary Martin", "first"),
        ("Mr. John Roe", "John Roe Sr.", "first"),
        ("Bob", "", "all"),
        ("Dr.", "Bob", "all"),
        ("John Paul Roe", "John Mark Roe", "first"),
        ("Ludwig van Beethoven", "Ludwig M. Beethoven", "first"),
        ("Smithson, Bob", "Robert Smythson", "first"),
        ("Capt. John M. Rowan", "Lt John Rowan", "first"),
        ("Lord Byron", "George Gordon Byron", "first"),
        ("King Edward", "Prince Edward", "first"),
        ("N/A Roe", "Martin Roe", "first"),
        ("N/A", "Martin", "all"),
        ("Unknown", "Martin", "all"),
        ("Tom", "Tmo", "all"),
        ("Roe", "Ho", "family"),
        ("Junior Analyst", "Analyst", "family"),
        ("Bob Roe", "Mike Roe", ""),
        ("12 Main St", "14 Main St", ""),
        ("Степанов Пётр Сергеевич", "Степанов Петр", "last"),
        ("Пётр Сергеевич Степанов", "Степанов П. С.", "last"),
        ("Степанов Пётр", "Степанов Птёр", "last"),
    ],
)
def test_forms_of_one_name_are_no_difference(one, other, place):
    assert difference(one, other, place) == ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Autohaus Schmidt AG", "Autohaus Schmidt KG", "company"),
        ("Nordwind GmbH", "Nordwind Verwaltungs GmbH", "company"),
        ("Best Buy Co. Inc.", "Best Buy Corp", ""),
        ("Meyer & Co KG", "Meyer und Co. KG", ""),
        ("Acme Ltd", "Acme", ""),
        ("Acme PLC", "Acme Public Limited Company", ""),
        ("Acme S.A.", "Acme Sociedad Anónima", ""),
        ("Acme S.A.R.L.", "Acme SARL", ""),
        ("Acme S.A.R.L.", "Acme SAS", "company"),
        ("Acme GmbH", "Acme GmbH & Co. KG", "company"),
        ("Acme GmbH", "Acme e.K.", "company"),
        ("Acme B.V.", "Acme V.O.F.", "company"),
        ("ООО Ромашка", "АО Ромашка", "company"),
        ("ООО Ромашка", "Ромашка", ""),
        ("Acme sp. z o.o.", "Acme S.A.", "company"),
        ("Holding Acme", "Beta", ""),
    ],
)
def test_companies_of_one_owner_differ(one, other, expected):
    assert difference(one, other, "company") == expected


def test_a_given_name_in_another_column_is_no_difference():
    assert difference("Bob", "Roe", "all") == "name"
    assert difference("Bob", "Müller", "all", ("bob müller", "müller bob")) == ""
    assert difference("Jürgen", "Müller", "all", ("jürgen müller", "müller jürgen")) == ""

import numpy as np
import pytest

from film.compare import (
    COLUMN_KINDS,
    column_kind,
    is_day_first,
    kilometres,
    parsed,
    parsed_share,
)

COLUMNS = {
    "number": ["129.95", "$1,299.00", "349", "", "12 kg", "-3", "0.5%", "EUR 12.50"],
    "date": ["2020-01-31", "1999/12/1", "31.12.2019", "19480619", "2020-01-31T10:00:00"],
    "phone": ["404/351 -9533", "(212) 245-5336", "+49 30 1234567", "415-555-0199 ext. 3"],
    "web": ["ann@lee.org", "https://lee.org/ann?x=1", "www.lee.org", "shop.example.com/a"],
    "code": ["dsc-w120", "KDL40V4100", "07227-b", "r85wh1-wide", "B-12/4"],
    "point": ["48.137, 11.575", "-33.8688;151.2093", "(51.507, -0.128)", " 0.00 , 0.00 "],
    "text": ["Ann Lee", "the red lamp 40 w", "iPhone 4 case, silicone", "Vldb", "J. Smith"],
}


@pytest.mark.parametrize(("kind", "values"), COLUMNS.items())
def test_kinds_are_recognised_by_their_values(kind: str, values: list[str]):
    assert kind in COLUMN_KINDS
    assert column_kind(values) == kind
    assert parsed_share(values, kind) == 1


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("size", ["2.5, 3.5", "1.25, 2", "10, 20"], "text"),
        ("size", ["a lamp, 1.50, 2.50", "48.137, 11.575 is near Munich"], "text"),
        ("prices", ["129.95, 139.95", "99.50, 101.50"], "text"),
        ("prices", ["12.99, 13.99", "9.50, 11.00", "0.99, 1.49"], "text"),
        ("prices", ["12,99; 13,99", "9,50; 11,00"], "text"),
        ("span", ["1.250, 3.5", "48.137, 11.575", "2.125, 3.375"], "point"),
        ("span", ["1.25, 3.5", "48.137, 11.575", "2.12, 3.375"], "text"),
        ("span", ["1299.125, 1399.125", "48.137, 11.575"], "text"),
        ("GPS position", ["48.1, 11.5", "51.5, -0.1"], "point"),
        ("position", ["1, 2", "2, 3"], "text"),
        ("pos", ["0.0, 0.0", "0, 0", "48.1, 11.5", "48.1, 11.6"], "point"),
        ("where", ["48,13700; 11,57500", "48,4, 9,98770", "48,29694; 11,43541"], "point"),
        ("lat", ["48,29694", "-33,9", ""], "point"),
        ("lat", ["0.0", "0", "48.13"], "point"),
        ("lat", ["48.137", "-33.9", ""], "point"),
        ("Longitude", ["11.575", "151"], "point"),
        ("long", ["200", "350.5"], "number"),
        ("price", ["48.137", "11.575"], "number"),
        ("lat", ["far", "near"], "text"),
    ],
)
def test_points_are_known_by_range_decimals_and_names_of_coordinates(name, values, kind):
    assert column_kind(values, name) == kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1923.14.7", "1867.5.12", "1929.242.32"], "code"),
        (["404.351.9533", "212.245.5336"], "phone"),
        (["07866275130", "07700900123"], "phone"),
        (["9434765919", "4010232137"], "code"),
        (["00123", "04567", "12"], "code"),
        (["0", "7", "12", "120"], "number"),
        (["12000000", "3500", "120"], "number"),
        (["1299", "2450", "1999"], "number"),
        (["2015-10-07"] * 17 + ["07 October 2015", "Oct 7, 2015", "7-Oct-2015"], "date"),
        (["3", "4", "***", "**"], "number"),
    ],
)
def test_digits_are_phones_codes_or_numbers_and_months_have_names(values, kind):
    assert column_kind(values) == kind


@pytest.mark.parametrize(
    "text",
    [
        "07 October 2015",
        "October 7, 2015",
        "7 Oct 2015",
        "07-Oct-2015",
        "Wed, 7 October 2015",
        "7. October 2015",
        "7th of October 2015",
        "07.10.2015",
        "7 October 2015 10:30",
    ],
)
def test_dates_are_written_in_many_ways(text):
    assert parsed([text], "date") == parsed(["2015-10-07"], "date")


def test_dates_with_points_say_nothing_on_the_order_of_others():
    assert not is_day_first(["25.12.2020", "03/04/2020"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("84,64 EUR", 84.64), ("1,234", 1234.0), ("***", 3.0), ("\u2605\u2605", 2.0)],
)
def test_decimal_commas_and_stars(text, value):
    assert parsed([text], "number").tolist() == [value]


def test_distances_of_points_in_km():
    values = ["0, 1", "0, 91", "90, 0", "10, 179.5", "10, -179.5", "91, 0", "0, 181", "48.1", "x"]
    points = parsed(values, "point")
    assert np.isnan(points).tolist() == [False] * 5 + [True, True, False, True]
    quarter = 6371.0088 * np.pi / 2
    to = [[0, 1, quarter], [1, 2, quarter], [0, 0, 0], [3, 4, 4 * quarter / 360 * np.cos(0.1745)]]
    for a, b, km in to:
        np.testing.assert_allclose(kilometres(points[a], points[b]), km, rtol=1e-3)
    assert np.isnan(kilometres(points[0], points[8]))


@pytest.mark.parametrize(
    ("text", "latitude", "longitude"),
    [
        ("48,29694", 48.29694, 0),
        ("48,137; 11,575", 48.137, 11.575),
        ("(48,137, -11,575)", 48.137, -11.575),
        ("48.137,11.575", 48.137, 11.575),
        ("51.48, 0.00", 51.48, 0),
        ("0, 9.5", 0, 9.5),
    ],
)
def test_decimals_follow_a_point_or_a_comma(text, latitude, longitude):
    assert parsed([text], "point").tolist() == [complex(latitude, longitude)]


def test_zeros_are_placeholders_of_points():
    assert np.isnan(parsed(["0, 0", "0.00;0.00", "(0,0; 0,0)", "0", "0.0"], "point")).all()


def test_a_few_wrong_values_leave_the_kind():
    assert column_kind(["1", "2", "3"] * 10 + ["unknown"]) == "number"
    assert column_kind(["1", "2", "unknown"]) == "text"


def test_no_value_has_no_kind_of_its_own():
    assert column_kind(["", " "]) == "text"
    assert parsed_share(["", " "], "number") == 1


def test_numbers_are_read_with_currency_unit_and_thousands():
    values = ["$1,299.00", "12 kg", ".5", "€ 20", "", "a12b", "1.2.3", "-", "12 or 13"]
    numbers = parsed(values, "number")
    assert numbers[:4].tolist() == [1299, 12, 0.5, 20]
    assert np.isnan(numbers[4:]).all()


def test_ambiguous_dates_begin_with_the_month_unless_the_column_says_otherwise():
    assert not is_day_first(["03/04/2020", "12/31/2020"])
    assert is_day_first(["03/04/2020", "31/12/2020"])
    assert not is_day_first(["13/04/2020", "12/31/2020"])
    march, april = parsed(["2020-03-04", "2020-04-03"], "date")
    assert parsed(["03/04/2020"], "date").tolist() == [march]
    assert parsed(["03/04/2020"], "date", day_first=True).tolist() == [april]
    assert parsed(["31/12/2020"], "date") == parsed(["12/31/2020"], "date", day_first=True)


def test_impossible_dates_are_missing():
    assert np.isnan(parsed(["2020-02-30", "2020-13-01", "soon", ""], "date")).all()

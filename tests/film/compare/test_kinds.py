import numpy as np
import pytest

from film.compare import COLUMN_KINDS, column_kind, is_day_first, parsed, parsed_share

COLUMNS = {
    "number": ["129.95", "$1,299.00", "349", "", "12 kg", "-3", "0.5%", "EUR 12.50"],
    "date": ["2020-01-31", "1999/12/1", "31.12.2019", "19480619", "2020-01-31T10:00:00"],
    "phone": ["404/351 -9533", "(212) 245-5336", "+49 30 1234567", "415-555-0199 ext. 3"],
    "web": ["ann@lee.org", "https://lee.org/ann?x=1", "www.lee.org", "shop.example.com/a"],
    "code": ["dsc-w120", "KDL40V4100", "07227-b", "r85wh1-wide", "B-12/4"],
    "text": ["Ann Lee", "the red lamp 40 w", "iPhone 4 case, silicone", "Vldb", "J. Smith"],
}


@pytest.mark.parametrize(("kind", "values"), COLUMNS.items())
def test_kinds_are_recognised_by_their_values(kind: str, values: list[str]):
    assert kind in COLUMN_KINDS
    assert column_kind(values) == kind
    assert parsed_share(values, kind) == 1


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

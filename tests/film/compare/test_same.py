import numpy as np
import pytest

from film.compare import COLUMN_KINDS, same_values

SAME = [
    ("phone", "01685 934512", "01685934512"),
    ("phone", "+44 1685 934512", "01685-934512"),
    ("phone", "0044 1685 934512", "+44 1685 934512"),
    ("code", "YO108BE", "YO10 8BE"),
    ("code", "DER-149", "der149"),
    ("code", "1923.14.7", "1923.14.7 "),
    ("number", "14", "14.0"),
    ("number", "30.0", "30"),
    ("number", "5.2", "5.22"),
    ("number", "5.25", "5.3"),
    ("number", "57", "56.6"),
    ("number", "$1,299.00", "1299 USD"),
    ("number", "84,64 EUR", "84.64"),
    ("number", "12 kg", "12"),
    ("number", "***", "3"),
    ("date", "2020-03-05", "05.03.2020"),
    ("date", "5 March 2020", "2020-03-05"),
    ("date", "2020-03-05T00:00:00", "2020-03-05"),
    ("web", "https://www.lee.org/", "lee.org"),
]
DIFFERENT = [
    ("phone", "01685 934512", "01685 934513"),
    ("phone", "12", "1-2"),
    ("code", "1.42", "14.2"),
    ("code", "1.4.2", "14.2"),
    ("code", "YO10 8BE", "YO10 8BF"),
    ("number", "128", "256"),
    ("number", "5.2", "5.3"),
    ("number", "5.2", "5.31"),
    ("number", "1998", "1999"),
    ("number", "99.99", "100.00"),
    ("number", "3", "3.2"),
    ("number", "56", "56.6"),
    ("number", "12 kg", "12 g"),
    ("number", "$12", "12 EUR"),
    ("number", "", "0"),
    ("number", "unknown", "none"),
    ("date", "2020-03-05", "2020-03-06"),
    ("date", "2020-03-05 10:00", "2020-03-05 14:00"),
    ("date", "soon", "later"),
    ("web", "lee.org", "lee.com"),
    ("text", "Lee", "LEE"),
    ("point", "48.1, 11.5", "48.1,11.5"),
]


@pytest.mark.parametrize(
    ("kind", "one", "other", "same"),
    [*((*case, True) for case in SAME), *((*case, False) for case in DIFFERENT)],
)
def test_cells_of_one_value(kind, one, other, same):
    pairs = np.array([[0, 1], [1, 0]])
    assert same_values([one, other], pairs, kind).tolist() == [same, same]


def test_the_order_of_day_and_month_is_that_of_the_column():
    pairs = np.array([[0, 1]])
    cells = ["05/03/2020", "2020-03-05"]
    assert same_values(cells, pairs, "date", True).all()
    assert not same_values(cells, pairs, "date").any()


@pytest.mark.parametrize("kind", COLUMN_KINDS)
def test_of_no_cells_none_are_the_same(kind):
    assert same_values([], np.empty((0, 2), dtype=np.intp), kind).shape == (0,)

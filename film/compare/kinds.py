"""What the values of a column are: numbers, dates, points, codes, phones, web addresses, text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from film.compare.normalize import MONTHS

__all__ = [
    "COLUMN_KINDS",
    "MEASURED",
    "RECOGNISED",
    "column_kind",
    "is_day_first",
    "kilometres",
    "parsed",
    "parsed_share",
]

COLUMN_KINDS = ("text", "code", "number", "date", "phone", "web", "point")
"""Kinds of columns. Names and categories are "text"; "web" is e-mail and web addresses.

"point" is a place on Earth, ``48.137, 11.575``, or one of its coordinates.
"""

MEASURED = ("number", "date", "point")
"""Kinds whose values are compared by their difference or distance (`parsed`)."""

RECOGNISED = 0.9
"""Share of values that must parse for a kind to be recognised."""

LOOKED_AT = 5000
"""Number of values that are looked at, evenly spread."""

_NUMBER = re.compile(
    r"([^\d\W]{0,3}[$€£¥]\s*|[^\d\W]{2,3}\s+|)([-+]?(?:\d[\d,]*\.?\d*|\.\d+))"
    r"\s*([^\W\d]{0,4}|%|[€£¥])"
)
_STARS = re.compile(r"\*{1,7}|[★⭐]{1,7}")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d{1,2}")
_DATES = (
    (re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?"), "ymd"),
    (re.compile(r"(\d{4})(\d{2})(\d{2})"), "ymd"),
    (re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ].*)?"), "dmy"),
)
_DOTTED_DATE = re.compile(r"\s*\d{1,2}\.\d{1,2}\.\d{4}")
"""Which begins with the day in all countries."""
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_WEEKDAY = r"(?:[^\W\d]{3,9}\.?,?\s+)?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"(\d{4})(?:[T ,].*)?"
_DAY_MONTH_YEAR = re.compile(
    rf"{_WEEKDAY}{_DAY}(?: of)?[\s-]*({_MONTH})\.?,?[\s-]*{_YEAR}", re.IGNORECASE
)
_MONTH_DAY_YEAR = re.compile(rf"{_WEEKDAY}({_MONTH})\.?\s*{_DAY},?\s+{_YEAR}", re.IGNORECASE)
_PHONE = re.compile(r"[\d\s()+./\-]*(?:(?:ext|x)\.?\s*\d+)?", re.IGNORECASE)
_YEAR_FIRST = re.compile(r"(?:1[5-9]|20)\d\d(?:\.\d{1,3})+")
"""Such as 1923.14.7, by which museums number what they acquired in a year."""
_WEB = re.compile(
    r"(?:https?://|www\.)\S+|\S+@\S+\.\S+|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}(?:/\S*)?", re.I
)
_POINT = re.compile(r"\(?([-+]?\d{1,3}(?:\.\d+)?)(?:\s*[,;]\s*([-+]?\d{1,3}(?:\.\d+)?))?\)?")
_POINT_IN_COMMAS = re.compile(r"\(?([-+]?\d{1,3},\d+)(?:(?:\s*;\s*|,\s+)([-+]?\d{1,3},\d+))?\)?")
_COORDINATES = frozenset("lat latitude lon lng long longitude".split())
_PLACES = _COORDINATES | frozenset(
    "latlon latlng latlong lonlat location geolocation coordinate coordinates coord coords geo "
    "geopoint point pos position gps".split()
)
_DECIMALS = re.compile(r"\d[.,](\d+)\D+\d+[.,](\d+)")
_LEAST_DECIMALS = 3
"""Of points in a column whose name does not say so: prices have two."""
_KEY_DIGITS = 8
"""Digits from which on numbers of the same length are keys, such as those of patients."""
_PHONE_DIGITS = re.compile(r"0\d{8,12}")
_DIAMETER = 2 * 6371.0088
"""Of the Earth, in km."""
_CODE = re.compile(r"(?=\S*\d)[\w./#-]+(?:\s[\w./#-]*\d[\w./#-]*)?")


class WrittenNumber(NamedTuple):
    """A number, its decimals as written, and what stands before and after it."""

    value: float
    decimals: int
    unit: str


def written_number(text: str) -> WrittenNumber | None:
    """Return the number of a text such as "$1,299", "84,64 EUR" or "***", or None."""
    if _STARS.fullmatch(text.strip()):
        return WrittenNumber(float(len(text.strip())), 0, "")
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    digits = found[2]
    if _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    digits = digits.replace(",", "")
    unit = (found[1] + found[3]).strip().casefold()
    return WrittenNumber(float(digits), len(digits.partition(".")[2]), unit)


def number_of(text: str) -> float:
    """Return the number of a text, or NaN."""
    found = written_number(text)
    return np.nan if found is None else found.value


def day_of(text: str, day_first: bool = False) -> float:
    """Return the day number of a date, or NaN.

    Where day and month are ambiguous (03/04/2020), the month comes first unless ``day_first``.
    Dates with points (03.04.2020) begin with the day.
    """
    if found := _DAY_MONTH_YEAR.fullmatch(text.strip()):
        return _day(int(found[3]), MONTHS[found[2].lower()], int(found[1]))
    if found := _MONTH_DAY_YEAR.fullmatch(text.strip()):
        return _day(int(found[3]), MONTHS[found[1].lower()], int(found[2]))
    day_first = day_first or _DOTTED_DATE.match(text) is not None
    for pattern, order in _DATES:
        found = pattern.fullmatch(text.strip())
        if found is None:
            continue
        a, b, c = map(int, found.groups())
        year, month, day = (a, b, c) if order == "ymd" else (c, b, a) if day_first else (c, a, b)
        if month > 12 >= day and order == "dmy":
            month, day = day, month
        return _day(year, month, day)
    return np.nan


def _day(year: int, month: int, day: int) -> float:
    try:
        return float(date(year, month, day).toordinal())
    except ValueError:
        return np.nan


def point_of(text: str) -> complex:
    """Return latitude + i longitude in degrees, or NaN; one coordinate alone is a latitude.

    Decimals follow a point, or a comma without a space. Zeros are placeholders, and NaN.
    """
    place = _place_of(text)
    return place or complex(np.nan, 0)


def _place_of(text: str) -> complex:
    found = _POINT_IN_COMMAS.fullmatch(text.strip()) or _POINT.fullmatch(text.strip())
    if found is None:
        return complex(np.nan, 0)
    latitude, longitude = (float((part or "0").replace(",", ".")) for part in found.groups())
    is_place = abs(latitude) <= (90 if found[2] else 180) and abs(longitude) <= 180
    return complex(latitude, longitude) if is_place else complex(np.nan, 0)


def kilometres(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distances between places on Earth in km, by the haversine formula.

    Parameters
    ----------
    first, second : ndarray of complex, shape (n,)
        Latitude + i longitude, in degrees; NaN if missing.

    Examples
    --------
    >>> from film.compare import kilometres, parsed
    >>> munich, ulm = parsed(["48.137, 11.575", "48.401, 9.988"], "point")
    >>> round(float(kilometres(munich, ulm)))
    121
    """
    a, b = first * (np.pi / 180), second * (np.pi / 180)
    cosines = np.cos(a.real) * np.cos(b.real)
    squared = np.sin((a - b).real / 2) ** 2 + cosines * np.sin((a - b).imag / 2) ** 2
    return _DIAMETER * np.arcsin(np.sqrt(np.minimum(squared, 1)))


def _is_phone(text: str) -> bool:
    n_digits = sum(map(str.isdigit, text))
    is_phone = 6 <= n_digits <= 20 and _PHONE.fullmatch(text.strip()) is not None
    return is_phone and _YEAR_FIRST.fullmatch(text.strip()) is None


def _fits(kind: str, text: str) -> bool:
    if kind == "number":
        return bool(np.isfinite(number_of(text)))
    if kind == "date":
        return bool(np.isfinite(day_of(text)))
    if kind == "point":
        return bool(np.isfinite(_place_of(text)))
    if kind == "phone":
        return _is_phone(text)
    patterns = {"web": _WEB, "code": _CODE}
    return kind not in patterns or patterns[kind].fullmatch(text.strip()) is not None


def parsed(values: Sequence[str], kind: str, day_first: bool = False) -> NDArray[Any]:
    """Return numbers of a column of kind "number", "date" or "point", NaN for what does not parse.

    Parameters
    ----------
    values : sequence of str
        Cells; empty ones are missing.
    kind : {"number", "date", "point"}
        Dates become day numbers, and points latitude + i longitude. The point 0, 0 and the
        coordinate 0 are placeholders, so they are NaN.
    day_first : bool, default=False
        Whether 03/04/2020 is in April (`is_day_first`), and not in March.

    Returns
    -------
    numbers : ndarray of float64, or complex for points, shape (n_values,)

    Examples
    --------
    >>> from film.compare import parsed
    >>> parsed(["$1,299.00", "12 kg", "", "unknown"], "number").tolist()
    [1299.0, 12.0, nan, nan]
    >>> parsed(["03/04/2020"], "date", True) - parsed(["2020-04-01"], "date")
    array([2.])
    """
    if kind == "number":
        return np.array([number_of(value) for value in values], dtype=np.float64)
    if kind == "point":
        return np.array([point_of(value) for value in values], dtype=np.complex128)
    return np.array([day_of(value, day_first) for value in values], dtype=np.float64)


def is_day_first(values: Sequence[str]) -> bool:
    """Whether the dates of a column, such as 25/12/2020, begin with the day.

    They do if a first number is above 12 and no second number is; otherwise the month comes first.

    Examples
    --------
    >>> from film.compare import is_day_first
    >>> is_day_first(["25/12/2020", "03/04/2020"]), is_day_first(["03/04/2020"])
    (True, False)
    """
    parts = [
        found.groups()
        for value in values
        if (found := _DATES[2][0].fullmatch(value.strip())) and not _DOTTED_DATE.match(value)
    ]
    return any(int(a) > 12 for a, _, _ in parts) and not any(int(b) > 12 for _, b, _ in parts)


def parsed_share(values: Sequence[str], kind: str) -> float:
    """Return the share of the values present that fit a kind; 1 if all values are missing."""
    given = [value for value in values if value.strip()]
    return sum(_fits(kind, value) for value in given) / len(given) if given else 1.0


def _are_keys(digits: list[str]) -> bool:
    """Return whether texts of digits name something, and count or measure nothing."""
    lengths = np.array([len(value) for value in digits])
    n_padded = sum(value[0] == "0" and len(value) > 1 for value in digits)
    is_long = len(digits) > 1 and np.median(lengths) >= _KEY_DIGITS
    alike = (lengths == np.median(lengths)).mean() >= RECOGNISED
    return n_padded >= (1 - RECOGNISED) * len(digits) or bool(is_long and alike)


def column_kind(values: Sequence[str], name: str = "") -> str:
    """Recognise what the values of a column are.

    Parameters
    ----------
    values : sequence of str
        Cells of the column, of both sides; empty ones are missing.
    name : str, default=""
        Name of the column. Numbers are points if the name is lat, lon, lng, long, latitude or
        longitude. Pairs of numbers need fewer decimals to be points if the name contains such a
        word, or location, coordinates, geo, point, position or gps.

    Returns
    -------
    kind : str
        One of `COLUMN_KINDS`: the first of date, phone, number, point, web and code that nine of
        ten values fit, else "text". Digits alone are numbers, but phones or codes if a tenth begins
        with 0, or if nine of ten have the same length of eight digits or more. Pairs of numbers are
        points by the name of the column, or if at least half of them have three decimals in both
        numbers: two prices have two. Codes are one or two words with digits.

    Notes
    -----
    Looks at 5,000 values.

    Examples
    --------
    >>> from film.compare import column_kind
    >>> column_kind(["$12.50", "8", "1,000"]), column_kind(["dsc-w120", "kdl40", "07227-b"])
    ('number', 'code')
    >>> column_kind(["404/351-9533", "212-245-5336"]), column_kind(["2020-01-31", "31.12.2019"])
    ('phone', 'date')
    >>> column_kind(["48.137, 11.575"]), column_kind(["48.1"], "lat"), column_kind(["1.5, 2.5"])
    ('point', 'point', 'text')
    """
    given = [value for value in values if value.strip()]
    given = given[:: max(1, len(given) // LOOKED_AT)]
    if not given:
        return "text"

    def mostly(kind: str) -> bool:
        return parsed_share(given, kind) >= RECOGNISED

    digits = [value.strip() for value in given if value.strip().isdigit()]
    separated = len(given) - len(digits) >= len(given) / 2
    if mostly("date"):
        return "date"
    if len(digits) >= RECOGNISED * len(given) and _are_keys(digits):
        is_phone = 2 * sum(_PHONE_DIGITS.fullmatch(value) is not None for value in digits)
        return "phone" if is_phone >= len(digits) else "code"
    if separated and not mostly("number") and mostly("phone"):
        return "phone"
    if mostly("number"):
        return "point" if name.strip().lower() in _COORDINATES and mostly("point") else "number"
    least = 1 if _PLACES & set(re.findall("[a-z]+", name.lower())) else _LEAST_DECIMALS
    pairs = [found.groups() for value in given if (found := _DECIMALS.search(value))]
    n_precise = sum(min(map(len, decimals)) >= least for decimals in pairs)
    if 2 * n_precise >= len(given) and mostly("point"):
        return "point"
    return next((kind for kind in ("web", "code") if mostly(kind)), "text")

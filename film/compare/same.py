"""Which cells of a column hold the same value, however it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from film.compare.columns import comparable_cell
from film.compare.kinds import day_of, written_number

__all__ = ["same_values"]

_NEARLY = 0.05
"""Relative difference up to which a number with fewer decimals may be the other one, rounded."""
_FEWEST_DIGITS, _SUBSCRIBER = 6, 10
"""Fewest digits of a phone, and its last digits, without the prefix of a country."""
_TIME = re.compile(r"\d{1,2}:\d{2}.*")
_CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp"}


class _Value(NamedTuple):
    """What two cells have in common if they hold the same value; a key of None has none.

    Details, such as a unit or the time of a date, may be missing in one cell.
    """

    key: float | str | None
    detail: str = ""
    decimals: int = 0


def same_values(
    cells: Sequence[str], pairs: NDArray[np.intp], kind: str, day_first: bool = False
) -> NDArray[np.bool_]:
    """Return which pairs of cells hold the same value, (n_pairs,).

    Parameters
    ----------
    cells : sequence of str
        Different cells of a column.
    pairs : ndarray of int, shape (n_pairs, 2)
        Numbers of the two cells of each pair.
    kind : str
        One of `film.compare.COLUMN_KINDS`. Numbers are the same if they are equal, or if one has
        fewer decimals, is the other one rounded, and differs by a twentieth of the larger at most;
        their units, if both have one, are equal. Dates have the same day, and the same time if both
        have one; phones the same last ten digits without leading zeros; codes the same letters and
        digits, and if both separate digits from digits, at the same places; web addresses the same
        words. Of text and points, no two are the same.
    day_first : bool, default=False
        As in `film.compare.parsed`.

    Examples
    --------
    >>> import numpy as np
    >>> from film.compare import same_values
    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> same_values(["5.2", "5.22", "5.3"], pairs, "number").tolist()
    [True, False, False]
    >>> same_values(["YO10 8BE", "YO108BE", "YO10 8BF"], pairs, "code").tolist()
    [True, False, False]
    """
    if kind in ("text", "point"):
        return np.zeros(len(pairs), dtype=bool)
    values = [_value(cell, kind, day_first) for cell in cells]
    if kind == "number":
        numbers = np.array([np.nan if v.key is None else v.key for v in values], dtype=np.float64)
        decimals = np.array([value.decimals for value in values], dtype=np.intp)[pairs]
        a, b = numbers[pairs].T
        gap, larger = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
        is_shorter = decimals[:, 0] != decimals[:, 1]
        most = np.minimum(0.5 * 10.0 ** -decimals.min(axis=1), _NEARLY * larger)
        same = gap <= np.where(is_shorter, most * (1 + 1e-9), 0.0)
    else:
        number = {key: n for n, key in enumerate({value.key for value in values} - {None})}
        keys = np.array([number.get(value.key, -1) for value in values], dtype=np.intp)
        a, b = keys[pairs].T
        same = (a == b) & (a >= 0)
    rows = np.flatnonzero(same)
    details = ((values[i].detail, values[j].detail) for i, j in pairs[rows].tolist())
    same[rows] = [not one or not other or one == other for one, other in details]
    return same


def _value(cell: str, kind: str, day_first: bool) -> _Value:
    if kind == "number":
        found = written_number(cell)
        if found is None:
            return _Value(None)
        return _Value(found.value, _CURRENCIES.get(found.unit, found.unit), found.decimals)
    if kind == "date":
        day, time = day_of(cell, day_first), _TIME.search(cell)
        return _Value(None if np.isnan(day) else day, time[0].strip() if time else "")
    key = comparable_cell(cell, kind)
    if kind == "phone":
        is_phone = len(key) >= _FEWEST_DIGITS
        return _Value(key.lstrip("0")[-_SUBSCRIBER:] if is_phone else None)
    parted = re.findall(r"\d+(?:\W+\d+)+", cell) if kind == "code" else ()
    return _Value(key or None, " ".join(" ".join(re.findall(r"\d+", part)) for part in parted))

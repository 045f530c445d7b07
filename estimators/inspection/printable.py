"""Print external texts on one line, and probabilities as percentages."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from textwrap import wrap

from film.text import printable_text as printable_text

_CELL, _LINE = 400, 32
"""Most characters of a cell that are shown, and in one line."""


def side_by_side(cells: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return lines that show both cells of each column next to each other.

    Examples
    --------
    >>> from estimators.inspection import side_by_side
    >>> for line in side_by_side({"name": ("Ann Lee", "Lee, Ann"), "town": ("Ulm", "Ulm")}):
    ...     print(line)
    name  Ann Lee | Lee, Ann
    town  Ulm     = Ulm
    """
    lines = []
    for name, pair in cells.items():
        name, sign = printable_text(name, _LINE), "=" if pair[0] == pair[1] else "|"
        for two in zip_longest(
            *(wrap(printable_text(cell, _CELL), _LINE) or [""] for cell in pair)
        ):
            lines.append((name, two[0] or "", sign, two[1] or ""))
            name, sign = "", "|"
    wide = [max((len(line[place]) for line in lines), default=0) for place in (0, 1)]
    return [
        f"{name:<{wide[0]}}  {one:<{wide[1]}} {sign} {other}".rstrip()
        for name, one, sign, other in lines
    ]


def percent(probability: float) -> str:
    """Format a probability as a percentage; only 0 and 1 print as 0% and 100%.

    Examples
    --------
    >>> from estimators.inspection import percent
    >>> percent(0.0768), percent(0.9999), percent(0.00001), percent(1.0)
    ('7.7%', '>99.9%', '<0.1%', '100%')
    """
    if probability in (0, 1):
        return f"{probability:.0%}"
    if probability < 0.001:
        return "<0.1%"
    return ">99.9%" if probability > 0.999 else f"{probability:.1%}"

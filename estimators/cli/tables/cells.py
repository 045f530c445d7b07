"""Convert cells of tables to text and JSON."""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from typing import Any

_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


def cell_text(value: Any) -> str:
    """Return a cell as text: "" for None, texts unchanged, dates in ISO 8601, else JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bool | int | float | list | dict):
        return to_json(value) if isinstance(value, list | dict) else json.dumps(value)
    return str(value)


def to_json(value: Any) -> str:
    """Return a value as JSON; numbers that are not finite become null.

    Examples
    --------
    >>> to_json({"a": [1, float("inf")]})
    '{"a": [1, null]}'
    """
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=cell_text)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return list(map(_finite, value)) if isinstance(value, list | tuple) else value


def escape_formula(text: str) -> str:
    r"""Put an apostrophe before a text that a spreadsheet would run as a formula.

    Parameters
    ----------
    text : str
        A cell of CSV or TSV.

    Returns
    -------
    text : str
        With ``'`` in front if it starts with ``=``, ``+``, ``-``, ``@`` (also in wide forms), a tab
        or a line break, and is not a plain number; otherwise unchanged.

    Notes
    -----
    Excel and LibreOffice run such cells when they open the file: a text from someone else could
    call programs or send the table away. The apostrophe is part of the cell for every other reader.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "-5.2", "- so", "a=b")]
    ["'=1+1", '-5.2', "'- so", 'a=b']
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text

"""Every table and figure of the four papers, and the results of ours that stand beside it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Ours(NamedTuple):
    """A result of ours, and what it is called."""

    name: str
    bench: str
    case: str
    metric: str
    times: float = 1.0


class Piece(NamedTuple):
    """A table or figure: what the paper has, what we have or why not, and how to make ours."""

    name: str
    paper: str
    ours: tuple[Ours, ...] = ()
    why: str = ""
    how: str = ""


_FILE = Path(__file__).with_suffix(".toml")
PAPERS = {
    paper: tuple(
        Piece(**row | {"ours": tuple(Ours(*ours) for ours in row.get("ours", ()))}) for row in rows
    )
    for paper, rows in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}

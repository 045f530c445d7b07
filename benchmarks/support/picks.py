"""Which results stand in the tables that compare what was measured in several benchmarks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Pick(NamedTuple):
    """One row: how it is called here, where it stands, and which of its metrics are shown."""

    name: str
    bench: str
    case: str
    metrics: dict[str, str]
    """By heading of the table, the metric of the result file."""


TRAINED = (
    "start + 0.3 here-rcmd-0 + 0.3 here-avg-0 + 0.16 further-by-mpnet-labels-rcmd+avg-0"
    " + 0.16 further-by-mpnet-labels-rcmd+avg-1"
    " + 0.16 further-150000-near-by-mpnet-labels-rcmd+avg-0"
    " + 0.16 further-rcmd+avg-0 + 0.16 collection-rcmd+avg-0, bfloat16, weights of words: rcmd+avg"
)
"""The average of trained models whose shares and plan were chosen outside of the test sets."""
PICKS = {
    name: tuple(Pick(**row) for row in rows)
    for name, rows in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}

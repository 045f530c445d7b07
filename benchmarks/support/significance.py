"""Which rows of a table differ from its reference row: intervals beside the other results."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchmarks.support.bootstrap import N_DRAWS, Interval, compare_parts, compare_rows
from benchmarks.support.pair_rows import PairRow, parts_of_rows, read_pair_rows
from benchmarks.support.records import record

FIGURE = "roc_auc"
AHEAD, LOW, HIGH = "auc_ahead", "auc_ahead_low", "auc_ahead_high"
"""Metrics: how much the AUC of a row is ahead of that of its reference, and the 95 % interval."""
MEAN_FIGURE = "spearman"
MEAN_AHEAD, MEAN_LOW, MEAN_HIGH = "mean_ahead", "mean_ahead_low", "mean_ahead_high"
"""The same of the mean rank correlation × 100 of a row that was measured on several sets."""
F1_AHEAD = "f1_ahead"
F1_DIFFERENCE = (F1_AHEAD, "f1_ahead_low", "f1_ahead_high")
"""The same of the F1 of alignments, which `benchmarks.ists` records itself."""
DIFFERENCES = ((AHEAD, LOW, HIGH), (MEAN_AHEAD, MEAN_LOW, MEAN_HIGH), F1_DIFFERENCE)
"""A difference and the ends of its interval, which tables show in one column."""

REFERENCES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""By benchmark: how the names of rows begin, and the row that they are compared with."""


def reference_of(bench: str, case: str) -> str | None:
    """Name the reference row of a row, None where it has none or is one itself."""
    for start, reference in REFERENCES.get(bench, ()):
        if case.startswith(start):
            return None if case == reference else reference
    return None


def record_differences(
    bench: str, folder: str | Path | None = None, n_draws: int = N_DRAWS
) -> list[str]:
    """Compare every row whose pairs are kept with its reference, and record what it is ahead by.

    Parameters
    ----------
    bench : str
        Name of a benchmark.
    folder : path, default=None
        In the place of `benchmarks/results`.
    n_draws : int
        Paired bootstrap draws, as in `compare_rows`; the same ones every time.

    Returns
    -------
    cases : list of str
        The rows that have a reference on the same pairs.

    Notes
    -----
    About a second per row of 5,000 pairs.
    """
    rows = parts_of_rows(read_pair_rows(bench, folder))
    found = []
    for case, parts in rows.items():
        reference = reference_of(bench, case) or ""
        others = rows.get(reference, {})
        gaps = _gaps({p: (row, others[p]) for p, row in parts.items() if p in others}, n_draws)
        for metrics, (against, gap) in gaps.items():
            told: dict[str, Any] = {"rival": reference, "rival_value": against, "folder": folder}
            for metric, value in zip(metrics, gap, strict=True):
                record(bench, case, metric, round(value, 6), **told)
        if gaps:
            found.append(case)
    return found


def _gaps(
    rows: dict[str, tuple[PairRow, PairRow]], n_draws: int
) -> dict[tuple[str, str, str], tuple[float, Interval]]:
    """Value of the reference, and the difference, by the metrics under which these are recorded."""
    same = {part: both for part, both in rows.items() if both[0].on.name == both[1].on.name}
    if len(same) > 1:
        sides = [{part: both[i] for part, both in same.items()} for i in range(2)]
        compared = compare_parts(*sides, n_draws=n_draws)
        figure, metrics = MEAN_FIGURE, DIFFERENCES[1]
    elif same:
        compared = compare_rows(*next(iter(same.values())), n_draws=n_draws, only=FIGURE)
        figure, metrics = FIGURE, DIFFERENCES[0]
    else:
        return {}
    _, against, gap = compared[figure]
    return {metrics: (against, gap)}

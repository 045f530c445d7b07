"""Which rows of a table differ from its reference row: intervals beside the other results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.support.bootstrap import N_DRAWS, compare_rows
from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.records import record

FIGURE = "roc_auc"
AHEAD, LOW, HIGH = "auc_ahead", "auc_ahead_low", "auc_ahead_high"
"""Metrics: how much the AUC of a row is ahead of that of its reference, and the 95 % interval."""

REFERENCES = {
    "duplicates": (
        (
            "quora: fast_duplicates, a held-out fold",
            "quora: fast_duplicates, a held-out fold of train, collection",
        ),
        ("quora: ", "quora: fast_duplicates, collection"),
    ),
    "accurate": tuple(
        (f"{start}{mode}: ", f"{start}{mode}: all")
        for start in ("quora, MiniLM saw Quora: ", "quora: ")
        for mode in ("collection", "inductive", "collection, inside train")
    ),
    "frozen_film": (("cosine: quora: ", "cosine: quora: MiniLM cosine"),),
    "intents": (
        ("clinc150: ", "clinc150: MiniLM cosine"),
        ("banking77: ", "banking77: MiniLM cosine"),
    ),
    "triplet_network": (
        ("quora: 2000 triplets: along", "quora: 2000 triplets: FILM of means"),
        ("quora: ", "quora: 20000 triplets: FILM of means"),
        ("quora, inside train: ", "quora, inside train: 20000 triplets: FILM of means"),
    ),
}
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
    rows = read_pair_rows(bench, folder)
    found = []
    for case, row in rows.items():
        reference = rows.get(reference_of(bench, case) or "")
        if reference is None or reference.on.name != row.on.name:
            continue
        _, against, gap = compare_rows(row, reference, n_draws=n_draws, only=FIGURE)[FIGURE]
        told: dict[str, Any] = {"rival": reference.case, "rival_value": against, "folder": folder}
        for metric, value in zip((AHEAD, LOW, HIGH), gap, strict=True):
            record(bench, case, metric, round(value, 6), **told)
        found.append(case)
    return found


def shown_difference(row: dict[str, dict[str, Any]]) -> str:
    """Show what a row is ahead of its reference by, with the interval; level where it holds 0."""
    value, low, high = (row[metric]["value"] for metric in (AHEAD, LOW, HIGH))
    level = "level, " if low <= 0 <= high else ""
    return f"{level}{value:+.4f} [{low:+.4f}, {high:+.4f}]"

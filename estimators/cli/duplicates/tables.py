"""Tables that ``film duplicates`` writes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from estimators.cli.console import Failure, counted
from estimators.cli.tables import Table
from film.judge import ExpectedPrecision

GROUP_COLUMNS = ["group", "id", "score", "weakest"]
PAIR_COLUMNS = ["id1", "id2", "score", "kind", "text1", "text2"]
MAPPING_COLUMNS = ["id", "kept", "group", "score"]
SOURCES = "sources"
_SHOWN = (0.2, 0.4, 0.6, 0.8, 0.9)
"""Thresholds whose estimates are printed."""
Result = tuple[list[str], Any]


def check_carried(table: Table, carried: list[str]) -> None:
    """Raise if the table has a column with the name of a group column."""
    taken = [column for column in carried if column in GROUP_COLUMNS]
    if taken:
        raise Failure(
            f"{table.source} has a column {taken[0]!r}, which is also a column of the table of "
            "groups; rename it, or give --pairs"
        )


def pair_table(found: Any) -> Result:
    """Return one row per pair."""
    ids, scores, kinds = found.ids.tolist(), found.scores.tolist(), found.kind.tolist()
    rows = (
        [*both, score, kind, *sides]
        for both, score, kind, sides in zip(ids, scores, kinds, found.sides(), strict=True)
    )
    return [*PAIR_COLUMNS[:4], *found.names_of_sides()], rows


def group_table(groups: Any, table: Table, carried: list[str]) -> Result:
    """Return one row per member of a group, with the other columns of the table."""
    places = [table.columns.index(column) for column in carried]
    rows = (
        [
            number,
            name,
            float(group.score),
            float(group.weakest_score),
            *(table.rows[row][place] for place in places),
        ]
        for number, group in zip((groups.numbers + 1).tolist(), groups, strict=True)
        for row, name in zip(group.members.tolist(), group.ids.tolist(), strict=True)
    )
    return [*GROUP_COLUMNS, *carried], rows


def kept_tables(
    groups: Any, kept: np.ndarray, ids: list[Any], table: Table
) -> tuple[Result, Result]:
    """Return the table without its duplicates, and the table of removed rows.

    ``kept``, shape (n_rows,), is the row that replaces each row. Columns and order stay.
    """
    stays = kept == np.arange(len(kept))
    rows = (table.rows[row] for row in np.flatnonzero(stays).tolist())
    gone = (
        [
            ids[row],
            ids[kept[row]],
            int(groups.numbers[groups.labels[row]]) + 1,
            float(groups[groups.labels[row]].score),
        ]
        for row in np.flatnonzero(~stays).tolist()
    )
    return (table.columns, rows), (MAPPING_COLUMNS, gone)


def golden_table(groups: Any, ids: list[Any], named: str | None, table: Table) -> Result:
    """Return one row per group, and all other rows, with the ids of the rows it comes from.

    The ids in the column ``named`` are those of first rows.
    """
    cells = zip(*table.rows, strict=True)
    columns, sources = groups.golden(dict(zip(table.columns, cells, strict=True)))
    if named is not None:
        columns[named] = [ids[rows[0]] for rows in sources]
    columns[SOURCES] = ["; ".join(str(ids[row]) for row in rows) for rows in sources]
    return list(columns), zip(*columns.values(), strict=True)


def sort_values(table: Table, column: str) -> list[Any]:
    """Return sortable values of a column; the row with the largest value in a group is kept.

    All are numbers, or all are dates of ISO 8601; an empty cell is less than any. Anything else
    has no order that could be relied on: as texts, 9 would be more than 10.
    """
    cells = [cell.strip() for cell in table.column(column)]
    for kind in (float, _moment):
        try:
            values = [None if not cell else kind(cell) for cell in cells]
        except (ValueError, OverflowError):
            continue
        if all(value is None or value == value for value in values):
            ordered = sorted({value for value in values if value is not None})
            place = {value: number for number, value in enumerate(ordered)}
            return [-1 if value is None else place[value] for value in values]
    wrong = next(row for row, cell in enumerate(cells) if cell and not _is_number(cell))
    raise Failure(
        f"--keep {column}: its cells must be all numbers or all dates such as 2026-01-31, but line "
        f"{table.lines[wrong]} has {cells[wrong][:60]!r}; name another column, first or longest"
    )


def _is_number(cell: str) -> bool:
    try:
        return float(cell) == float(cell)
    except ValueError:
        return False


def _moment(cell: str) -> float:
    """Seconds of a date; one without a zone counts as UTC."""
    moment = datetime.fromisoformat(cell)
    return (moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)).total_seconds()


def expected_lines(
    expected: ExpectedPrecision | None, chosen: float, is_by_group: bool = False
) -> list[str]:
    """Describe the chosen threshold and some others; nothing if there is no estimate.

    ``is_by_group`` says that the result lists groups, whose pairs may have lower scores.
    """
    if expected is None:
        return []
    every = [(threshold, expected.at(threshold)) for threshold in sorted({chosen, *_SHOWN})]
    n_chosen = expected.at(chosen)["pairs"]
    # Thresholds of different numbers of pairs; the chosen one among equal ones.
    shown = {at["pairs"]: (threshold, at) for threshold, at in every if at["pairs"] != n_chosen}
    shown[n_chosen] = chosen, expected.at(chosen)
    shown.pop(0, None)
    if not shown:
        return []
    of = ", for pairs and not for groups" if is_by_group else ""
    lines = [f"estimates from the scores alone{of}, with 90 % intervals; copies do not count:"]
    for threshold, at in sorted(shown.values(), key=lambda pair: pair[0]):
        lines.append(
            f"from {threshold:.2f}{' (chosen)' if threshold == chosen else ''}: "
            f"{counted(at['pairs'], 'pair')}, precision "
            f"{percent(at['precision'], at['precision_interval'])}, recall "
            f"{percent(at['recall'], at['recall_interval'])}"
        )
    return lines


def percent(value: float, interval: tuple[float, float]) -> str:
    """Return a share and its interval as text."""
    low, high = (f"{100 * end:.0f}" for end in interval)
    return f"{100 * value:.0f} % ({low}–{high} %)"

"""Rows of ``film duplicates``: texts, or records of several columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import click

from estimators.cli import reading
from estimators.cli.console import Failure, note
from estimators.cli.options import TEXT_COLUMNS
from estimators.cli.tables import Table


class Rows(NamedTuple):
    """Rows of a table: their texts, and the columns of records by the names that they get."""

    texts: list[str]
    cells: dict[str, list[str]] | None

    @property
    def given(self) -> Any:
        """What a `DuplicateFinder` takes: texts, or columns of records."""
        return self.texts if self.cells is None else self.cells


class Compared(NamedTuple):
    """Columns that are compared, in TABLE and in the table of ``--against``, and their kinds."""

    ours: dict[str, str]
    theirs: dict[str, str]
    kinds: dict[str, str]


def compared_columns(
    compare: Sequence[str],
    text: Sequence[str] | None,
    fixed: Sequence[str] | None,
    table: Table,
    other: Table | None,
    hidden: Iterable[str | None],
) -> Compared | None:
    """Return the columns to compare; None if the rows are texts.

    Parameters
    ----------
    compare : sequence of str
        ``--compare``: COLUMN, COLUMN:KIND, or COLUMN=OTHER if the table of ``--against`` names it
        differently. Without it, all columns but ids if no column has a usual name of texts.
    text : sequence of str or None
        ``--text``.
    fixed : sequence of str or None
        Columns of the records of a model or a collection: empty if it compares texts, None if
        there is neither.
    table, other : Table
        TABLE, and the table of ``--against`` if there is one.
    hidden : iterable of str
        Columns that are not compared unless they are named.
    """
    if compare and text is not None:
        raise click.UsageError("--text joins columns, --compare compares each; give one of them")
    if fixed is not None and not fixed:
        if compare:
            raise click.UsageError(
                "--compare: this model or collection compares texts; give --text instead"
            )
        return None
    if fixed is not None:
        if compare or text is not None:
            option = "--compare" if compare else "--text"
            raise click.UsageError(
                f"{option}: the model or collection compares its own columns, {', '.join(fixed)}; "
                f"leave out {option}"
            )
        same = {name: name for name in fixed}
        return Compared(same, same, dict.fromkeys(fixed, ""))
    if compare:
        kinds = reading.compared_kinds(compare)
        split = {
            name: (name, name) if name in table.columns else (name.partition("=")[::2])
            for name in kinds
        }
        ours = {own: own for own, _ in split.values()}
        theirs = {own: theirs or own for own, theirs in split.values()}
        if len(ours) < len(split):
            raise click.UsageError("--compare names a column of TABLE twice")
        if other is None and ours != theirs:
            raise click.UsageError("--compare COLUMN=OTHER compares two tables; give --against too")
        return Compared(ours, theirs, {split[name][0]: kind for name, kind in kinds.items()})
    # Products and publications have titles among other columns that tell them apart.
    usual = {name.strip().lower() for name in table.columns} & {*TEXT_COLUMNS} - {"title"}
    left_out = {
        *hidden,
        *(name for name in table.columns if name.strip().lower() in reading.ID_COLUMNS),
    }
    others = [name for name in table.columns if name not in left_out]
    if text is not None or usual or len(others) < 2:
        return None
    common = others if other is None else [name for name in others if name in other.columns]
    if not common:
        raise Failure(
            f"{table.source} and {other and other.source} have no column in common; name the "
            "columns by --compare COLUMN=OTHER"
        )
    if alone := [name for name in others if name not in common]:
        note(f"not compared, because only {table.source} has them: {', '.join(alone)}")
    same = {name: name for name in common}
    return Compared(same, same, dict.fromkeys(common, ""))


def rows_of(table: Table, text: Any, columns: dict[str, str] | None) -> Rows:
    """Return the texts of a table's rows, or their records."""
    if columns is None:
        return Rows(reading.texts_of(table, text), None)
    cells = {name: table.column(own) for name, own in columns.items()}
    return Rows(reading.joined_texts(table, list(columns.values()), "--compare"), cells)

"""Rows of ``film duplicates``: texts, or records of several columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import click

from estimators.cli import options, reading
from estimators.cli.console import Failure, note
from estimators.cli.options import TEXT_COLUMNS
from estimators.cli.tables import Table
from estimators.inputs import numbers_rows
from film.compare import column_kind


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

    @classmethod
    def alike(cls, names: Sequence[str]) -> Compared:
        """Return columns of the same names in both tables, whose kinds are to be recognised."""
        same = {name: name for name in names}
        return cls(same, same, dict.fromkeys(names, ""))


def compared_columns(
    given: Any,
    fixed: Sequence[str] | None,
    table: Table,
    other: Table | None,
    hidden: Iterable[str | None],
) -> Compared | None:
    """Return the columns to compare; None if the rows are texts.

    Parameters
    ----------
    given : namespace
        Options. ``--compare`` is COLUMN, COLUMN:KIND, or COLUMN=OTHER if the table of
        ``--against`` names it differently. Without it, all columns but ids and numbers of rows are
        compared if no column has a usual name of texts. A single column of texts becomes
        ``--text``.
    fixed : sequence of str or None
        Columns of the records of a model or a collection: empty if it compares texts, None if
        there is neither.
    table, other : Table
        TABLE, and the table of ``--against`` if there is one.
    hidden : iterable of str
        Columns that are not compared unless they are named.
    """
    compare, text = given.compare, given.text
    if compare and text is not None:
        raise click.UsageError("--text joins columns, --compare compares each; give one of them")
    if fixed is not None:
        if not fixed:
            options.refuse(compare="is for columns, and this model compares texts; give --text")
            return None
        own = f"is not for this model, which compares its own columns: {', '.join(fixed)}"
        options.refuse(compare=own, text=own)
        return Compared.alike(fixed)
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
    if text is not None or usual:
        return None
    numbers = [name for name in others if _numbers_rows(name, table, other)]
    others = [name for name in others if name not in numbers]
    if not others:
        return None
    if numbers:
        note(
            f"not compared, because they number the rows: {', '.join(numbers)}; to compare one, "
            "name all columns to compare by --compare"
        )
    common = others if other is None else [name for name in others if name in other.columns]
    if not common:
        raise Failure(
            f"{table.source} and {other and other.source} have no column in common; name the "
            "columns by --compare COLUMN=OTHER"
        )
    if alone := [name for name in others if name not in common]:
        note(f"not compared, because only {table.source} has them: {', '.join(alone)}")
    if len(common) == 1 and column_kind(table.column(common[0])) == "text":
        given.text = common[0]
        return None
    return Compared.alike(common)


def _numbers_rows(name: str, *tables: Table | None) -> bool:
    return any(
        numbers_rows(name, table.column(name))
        for table in tables
        if table is not None and name in table.columns
    )


def rows_of(table: Table, text: Any, columns: dict[str, str] | None) -> Rows:
    """Return the texts of a table's rows, or their records."""
    if columns is None:
        return Rows(reading.texts_of(table, text), None)
    cells = {name: table.column(own) for name, own in columns.items()}
    return Rows(reading.joined_texts(table, list(columns.values()), "--compare"), cells)

"""The general score of pairs, which needs no model, at the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from estimators.cli import reading
from estimators.cli.console import note, verbosity
from estimators.cli.options import chosen_encoder
from estimators.cli.tables import Table
from estimators.encoders import NO_ENCODER
from estimators.inputs import CELL_END


def check_without_model(
    model: str | None, contexts: int | None, encoder: str, compare: Sequence[str] = ()
) -> None:
    """Raise if an option needs a model that is not given, or excludes the given one."""
    if model is None and contexts is not None:
        raise click.UsageError("--contexts needs the folder of a ContextModel; give --model too")
    if model is not None and encoder != NO_ENCODER:
        raise click.UsageError("--encoder adds to the general score; leave out --model")
    if model is not None and compare:
        raise click.UsageError(
            "--compare needs the general score; leave it out with --model, "
            "which has its own columns"
        )


def compared_pairs(
    table: Table, text1: str | None, text2: str | None, sides: Any, compare: Sequence[str]
) -> tuple[Any, dict[str, str] | None]:
    """Return the pairs of a table, shape (n, 2), and the kinds of the columns of records.

    They are pairs of texts if columns of two texts are named, or have usual names; otherwise of
    records, as for ``film train``.
    """
    kinds = reading.compared_kinds(compare)
    records = reading.records_of(table, text1, text2, sides, list(kinds) or None)
    if records is None:
        return reading.pairs_of(table, text1, text2), None
    return records.texts(), {name: kinds.get(name, "") for name in records.columns}


def finder_of_pairs(
    texts: Any, encoder: str, device: str | None, kinds: dict[str, str] | None = None
) -> Any:
    """Fit a `DuplicateFinder` to the texts or records of all pairs; they are their own ids."""
    from estimators.corpus import DuplicateFinder

    every = list(dict.fromkeys(texts.ravel().tolist()))
    rows: Any = every
    if kinds is not None:
        cells = zip(*(record.split(CELL_END) for record in every), strict=True)
        rows = dict(zip(kinds, cells, strict=True))
    finder = DuplicateFinder(
        encoder=chosen_encoder(encoder, len(every)),
        compare=kinds,
        device=device,
        verbose=verbosity(),
    )
    finder.fit(rows, ids=every)
    note_kinds(finder)
    return finder


def note_kinds(finder: Any) -> None:
    """Print the kinds of the columns that are compared."""
    if finder.kinds_:
        kinds = ", ".join(f"{name} ({kind})" for name, kind in finder.kinds_.items())
        note(f"columns compared: {kinds}")
    if finder.left_out_:
        note(
            "left out, because they say nothing about duplicates: "
            f"{', '.join(finder.left_out_)}; to compare one, name all columns to compare, and its "
            f"kind, such as --compare '{finder.left_out_[0]}:text'"
        )

"""Places and forms of what the commands write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeGuard

import click

from film.datasets import Table, atomic_writer, write_table

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_TABLES = ("--out", "--labels")
_NOT_WRITTEN = (".gz", ".xls", ".xlsx", ".parquet")

out_option = click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Where the result goes. Without, or with -: standard output.",
)
format_option = click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["csv", "tsv", "jsonl"]),
    help="Form of the result. Without, it comes from the name of --out, else from the input.",
)


class _OnlyLooked(Exception):
    pass


def check_places(outputs: Mapping[str, str | None], inputs: Sequence[str | None]) -> None:
    """Raise unless each output, by its option, can be written and overwrites nothing that is read.

    Parameters
    ----------
    outputs : dict of str to str or None
        Path by option; None is none, and "--out" may be "-".
    inputs : sequence of str or None
        Paths that are read.
    """
    read = [path for path in inputs if path is not None and path != "-"]
    taken = {os.path.realpath(path): f"the input {path}" for path in read}
    if sum(path == "-" for path in inputs) > 1:
        raise click.UsageError("only one input can be -, standard input")
    for option, path in outputs.items():
        if path is None or (path == "-" and option == "--out"):
            continue
        if option in _TABLES and PurePath(path).suffix.lower() in _NOT_WRITTEN:
            raise click.UsageError(
                f"{option} {path}: such files are not written; end it in .csv, .tsv or .jsonl"
            )
        place = os.path.realpath(path)
        if place in taken:
            raise click.UsageError(
                f"{option} {path} would overwrite {taken[place]}; give another name"
            )
        taken[place] = f"what {option} writes"
        try:
            with atomic_writer(path):
                raise _OnlyLooked
        except _OnlyLooked:
            pass


def is_file(out: str | None) -> TypeGuard[str]:
    """Whether a result goes to a file rather than to standard output."""
    return out is not None and out != "-"


def form_of(path: str | None, otherwise: Any = "csv") -> Any:
    """Give the form of a table that its name asks for."""
    return _FORMATS.get(PurePath(path or "").suffix.lower(), otherwise)


def write_result(
    out: str | None,
    form: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    like: Table,
) -> None:
    """Write a table, in the form asked for or else that of the input."""
    chosen: Any = form or form_of(out, like.format)
    write_table(out if is_file(out) else sys.stdout, columns, rows, format=chosen)


def write_text(out: str | None, text: str) -> None:
    """Write lines of text to a file or to standard output."""
    if not is_file(out):
        sys.stdout.write(text)
        return
    with atomic_writer(out, newline="\n") as handle:
        handle.write(text)

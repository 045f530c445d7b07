"""Output files and formats of the commands."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeGuard

import click

from estimators.cli import options
from estimators.cli.console import Failure, counted, leaves, note, uses_output, wrote
from estimators.cli.tables import (
    FORMATS,
    LIBRARIES,
    Table,
    check_library,
    format_of,
    write_table,
)
from film.datasets import atomic_writer

_TABLES = ("--out", "--labels")
_NOT_WRITTEN = frozenset(
    ".xls .xlsm .ods .numbers .doc .docx .odt .pdf .xz .zst .7z .rar .feather .pkl .db".split()
)
_META = "estimators.cli.escape"


def _check_form(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Raise if --out and --format contradict each other."""
    seen = ctx.params | {param.name: value}
    out, form = seen.get("out"), seen.get("form")
    if "out" not in seen or "form" not in seen:
        return value
    by_name = format_of(out) if is_file(out) else None
    if by_name is not None and form is not None and form != by_name:
        raise click.UsageError(
            f"--out {out} ends in {by_name}, but --format is {form}; give --format {by_name}, or "
            "a name with another ending"
        )
    chosen = by_name or form
    if chosen in LIBRARIES:
        check_library(chosen, "--out" if by_name else "--format")
        if not is_file(out) and sys.stdout is not None and sys.stdout.isatty():
            raise click.UsageError(
                f"--format {chosen} cannot be shown in a terminal; give --out, or pipe it"
            )
    return value


def _keep_escape(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_META] = value


out_option = options.file(
    "-o",
    "--out",
    callback=_check_form,
    help="Where the result goes. Default, or with -: standard output.",
)
format_option = options.several(
    click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(FORMATS),
        callback=_check_form,
        help="Format of the result. Default: by the name of --out, else as the input.",
    ),
    click.option(
        "--escape-formulas",
        is_flag=True,
        expose_value=False,
        callback=_keep_escape,
        help=(
            "In CSV and TSV, put ' before texts that a spreadsheet would run as formulas (= + - "
            "@). Use it if you open texts from others in a spreadsheet. Off by default, because "
            "it changes the texts for other programs. Excel files do not need it."
        ),
    ),
)


class _OnlyLooked(Exception):
    pass


def check_places(outputs: Mapping[str, str | None], inputs: Sequence[str | None]) -> None:
    """Raise if an output cannot be written or would overwrite an input.

    Standard input and output are inputs and outputs too, and may be closed.

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
    if "-" in inputs and sys.stdin is None:
        raise click.UsageError("standard input is closed; give the name of a file instead of -")
    for option, path in outputs.items():
        if option == "--out" and not is_file(path) and outputs.get("--html") is None:
            _check_standard_output()
        if path is None or (path == "-" and option == "--out"):
            continue
        if path == "-":
            raise click.UsageError(
                f"{option} - cannot be standard output; give the name of a file (a file "
                f"named - is {os.path.join('.', '-')})"
            )
        if not path:
            raise click.UsageError(f"{option} is an empty name; give the name of a file")
        suffix = PurePath(path).suffix.lower()
        if option in _TABLES and suffix in _NOT_WRITTEN:
            raise click.UsageError(
                f"{option} {path}: {suffix} is not a format that can be written; end the name in "
                ".csv, .tsv, .jsonl, .json, .xlsx or .parquet; .gz, .bz2 or .zip may follow"
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
    """Return whether a result goes to a file instead of standard output."""
    return out is not None and out != "-"


def write_result(
    out: str | None,
    form: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    like: Table,
) -> None:
    """Write a table in the format of the name, else as requested, else like the input."""
    chosen: Any = format_of(out or "") or form or like.format
    if not is_file(out) and form is None and chosen in LIBRARIES:
        chosen = "csv"
    escape = bool(click.get_current_context().meta.get(_META))
    kept = list(rows) if chosen == "xlsx" else rows
    target = out if is_file(out) else standard_output()
    try:
        number = write_table(target, columns, kept, format=chosen, escape_formulas=escape)
    except ValueError as error:
        # A sheet of Excel holds fewer rows and characters than other tables.
        if chosen != "xlsx":
            raise
        folder = os.path.dirname(out) or "." if is_file(out) else None
        handle, instead = tempfile.mkstemp(".csv", "film-", folder)
        os.close(handle)
        write_table(instead, columns, kept, escape_formulas=escape)
        raise Failure(f"{error}; the result is in {instead}") from error
    if is_file(out):
        note_written(out, counted(number, "row"))


def standard_output() -> Any:
    """Return standard output, which an interruption may cut short."""
    _check_standard_output()
    leaves("standard output may be cut short")
    uses_output()
    return sys.stdout


def _check_standard_output() -> None:
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; give --out FILE")


def write_text(out: str | None, text: str) -> None:
    """Write lines of text to a file or to standard output."""
    if not is_file(out):
        standard_output().write(text)
        return
    with atomic_writer(out, newline="\n") as handle:
        handle.write(text)
    note_written(out)


def write_report(out: str | None, form: str, record: Any, text: str) -> None:
    """Write a record as JSON if `form` is "json", else as text."""
    write_text(out, json.dumps(record, indent=1) + "\n" if form == "json" else text)


def size_of(path: str) -> int:
    """Return the size in bytes of a file, or of all files in a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def digest_of(path: str) -> str:
    """Return a hash of a file, or of all files in a folder."""
    files = [Path(path)] if not os.path.isdir(path) else sorted(Path(path).rglob("*"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            with open(file, "rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()


def note_written(path: str, what: str | None = None) -> None:
    """Print a note that names a written file, its content and size."""
    wrote(path)
    size: float = size_of(path)
    unit = "B"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    shown = f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
    note(f"wrote {path} ({what}, {shown})" if what else f"wrote {path} ({shown})")

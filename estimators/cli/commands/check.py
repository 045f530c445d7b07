"""``film check``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from estimators.cli import reading
from estimators.cli.console import examples, note, quiet_option
from estimators.cli.options import (
    FILE,
    html_option,
    label_option,
    pair_options,
    seed_option,
)
from estimators.cli.writing import (
    check_places,
    format_option,
    note_written,
    out_option,
    write_result,
)
from estimators.inspection import suspicious_page, write_page
from estimators.pairs import SuspiciousLabels, suspicious_labels

COLUMNS = ["line", "label", "probability", "suspicion", "contradicted_by", "text1", "text2"]


@click.command(
    epilog=examples(
        "film check pairs.csv --html suspicious.html",
        "film check pairs.csv --label is_duplicate -n 50 --out suspicious.csv",
    ),
)
@click.argument("pairs", type=FILE, metavar="PAIRS")
@pair_options
@label_option
@click.option(
    "-n",
    "n",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help=("Maximum number of labels to list."),
)
@html_option("Write the list as a page. Add --out to write the table too.")
@out_option
@format_option
@seed_option
@quiet_option
def check(
    pairs: str,
    text1: str | None,
    text2: str | None,
    label: str | None,
    n: int,
    html: str | None,
    out: str | None,
    form: str | None,
    seed: int,
    encoding: str | None,
) -> None:
    """List the labels of a table of PAIRS that are probably wrong, the most suspicious first.

    A label is suspicious if a confident prediction contradicts it, by a model that was trained
    without both texts. It is also suspicious if other labels contradict it: a = b and b = c, but a
    is not c. The most doubtful of the labels involved is listed, with the lines of the others.
    """
    if html == "-":
        raise click.UsageError("--html - : a page cannot be written to standard output")
    check_places({"--out": out, "--html": html}, [pairs])
    labelled = reading.read_labelled_pairs(pairs, text1, text2, label, encoding)
    labelled.check_labels("film check")
    found = suspicious_labels(labelled.pairs, labelled.y, random_state=seed)
    note(f"{len(found)} of {len(labelled.y)} labels are suspicious")
    found = replace(
        found,
        rows=found.rows[:n],
        suspicions=found.suspicions[:n],
        probabilities=found.probabilities[:n],
        chains=found.chains[:n],
    )
    rows, _ = reading.labels_of(labelled.table, labelled.column)
    lines = [labelled.table.lines[row] for row in rows.tolist()]
    if html is not None:
        names = [f"line {line}" for line in lines]
        write_page(suspicious_page(found, labelled.pairs, labelled.y.tolist(), names), html)
        note_written(html, f"{len(found)} labels")
        if out is None:
            return
    write_result(out, form, COLUMNS, _table(found, labelled, lines), like=labelled.table)


def _table(found: SuspiciousLabels, labelled: Any, lines: list[int]) -> Iterator[list[Any]]:
    for row, suspicion, probability, chain in zip(
        found.rows.tolist(),
        found.suspicions.tolist(),
        found.probabilities.tolist(),
        found.chains,
        strict=True,
    ):
        others = " ".join(str(lines[other]) for other in chain)
        told = [lines[row], int(labelled.y[row]), probability, suspicion, others]
        yield [*told, *labelled.pairs[row].tolist()]

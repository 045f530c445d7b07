"""``film check``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from estimators.cli import options, reading, writing
from estimators.cli.console import counted, note
from estimators.inspection import suspicious_page, write_page
from estimators.pairs import SuspiciousLabels, suspicious_labels

COLUMNS = ["line", "label", "probability", "suspicion", "contradicted_by", "text1", "text2"]


@options.command(
    "film check pairs.csv --html suspicious.html",
    "film check pairs.csv --label is_duplicate -n 50 --out suspicious.csv",
)
@click.argument("pairs", type=options.FILE, metavar="PAIRS")
@options.pairs
@options.records
@options.label
@click.option(
    "-n", "n", type=click.IntRange(1), default=200, help="Maximum number of labels to list."
)
@options.file("--html", help="Write the list as a page. Add --out to write the table too.")
@writing.out_option
@writing.format_option
@options.seed
def check(given: Any) -> None:
    """List the labels of a table of PAIRS that are probably wrong, the most suspicious first.

    A label is suspicious if a confident prediction contradicts it, by a model that was trained
    without both texts. It is also suspicious if other labels contradict it: a = b and b = c, but a
    is not c. The most doubtful of the labels involved is listed, with the lines of the others.
    """
    writing.check_places({"--out": given.out, "--html": given.html}, [given.pairs])
    labelled = reading.read_labelled_pairs(given)
    labelled.check_labels("film check")
    found = suspicious_labels(labelled.pairs, labelled.y, random_state=given.seed)
    note(
        f"{len(found)} of {len(labelled.y)} labels {'is' if len(found) == 1 else 'are'} suspicious"
    )
    listed = slice(given.n)
    found = replace(
        found,
        rows=found.rows[listed],
        suspicions=found.suspicions[listed],
        probabilities=found.probabilities[listed],
        chains=found.chains[listed],
    )
    rows, _ = reading.labels_of(labelled.table, labelled.column)
    lines = [labelled.table.lines[row] for row in rows.tolist()]
    if given.html is not None:
        names = [f"line {line}" for line in lines]
        write_page(suspicious_page(found, labelled.pairs, labelled.y.tolist(), names), given.html)
        writing.note_written(given.html, counted(len(found), "label"))
        if given.out is None:
            return
    rows = _table(found, labelled, lines)
    writing.write_result(given.out, given.form, COLUMNS, rows, like=labelled.table)


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

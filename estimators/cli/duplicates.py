"""``film duplicates``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from estimators.cli import _reading as reading
from estimators.cli._console import Failure, examples, leaves, note, quiet_option, verbosity
from estimators.cli._duplicates_page import page_data
from estimators.cli._options import POSITIVE_SHARE, PRIOR
from estimators.cli._writing import (
    check_places,
    format_option,
    note_written,
    out_option,
    write_result,
)
from estimators.duplicate_finder import DuplicateFinder
from estimators.inspection.page import duplicates_page, write_page
from film.datasets import Table

PROBABILITY, SIMILARITY = 0.5, 0.8
LEAST = 0.01


class _ShareOrEstimate(click.ParamType):
    name = "SHARE|estimate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "estimate" else PRIOR.convert(value, param, ctx)


@click.command(
    epilog=examples(
        "film duplicates tickets.csv --text subject --id ticket --out pairs.csv",
        "film duplicates tickets.csv -t subject --groups --html duplicates.html --out groups.csv",
        "film duplicates questions.csv --model duplicates.skops --threshold 0.9 | head",
    ),
    short_help="Find the duplicates of a table.",
)
@click.argument("table", metavar="TABLE")
@reading.text_option
@click.option(
    "--id",
    "name",
    metavar="COLUMN",
    help="Ids of the rows. Without: id where it is there, else the numbers of the rows from 1.",
)
@click.option("-m", "--model", metavar="FILE", help="A model: scores are then probabilities.")
@click.option(
    "--threshold",
    type=POSITIVE_SHARE,
    help=f"Lowest score. Without: {SIMILARITY} for similarities, {PROBABILITY} for probabilities.",
)
@click.option(
    "--precision",
    type=PRIOR,
    help="In place of a threshold, the lowest probability from which on at least this share are "
    "duplicates, by what the model of --model showed out of fold (film evaluate --precision).",
)
@click.option(
    "-b",
    "--budget",
    type=click.IntRange(1),
    help="The best so many pairs, in place of a threshold.",
)
@click.option(
    "--groups/--pairs",
    "grouped",
    default=False,
    help="Give groups that hold together, or pairs.  [default: pairs]",
)
@click.option(
    "--linkage",
    type=click.Choice(["average", "complete"]),
    help="Score of two parts of a group: the mean of their pairs (the default), or the lowest.",
)
@click.option(
    "--prior",
    type=_ShareOrEstimate(),
    help="Share of duplicates among the candidate pairs, to shift the model's probabilities to, "
    "or estimate. Without, they stay.",
)
@click.option(
    "--index",
    type=click.Choice(["auto", "exact", "approximate"]),
    default="auto",
    show_default=True,
    help="How neighbours are searched; auto is exact up to 200,000 different texts.",
)
@out_option
@format_option
@click.option("--html", metavar="FILE", help="Write a page of the groups; a table only with --out.")
@reading.encoding_option
@quiet_option
def duplicates(
    table: str,
    text: str | None,
    name: str | None,
    model: str | None,
    threshold: float | None,
    precision: float | None,
    budget: int | None,
    grouped: bool,
    linkage: str | None,
    prior: Any,
    index: Any,
    out: str | None,
    form: str | None,
    html: str | None,
    encoding: str | None,
) -> None:
    """Find rows of a TABLE that mean the same, without labels or with a model of film train.

    Pairs are a table of id1, id2, score, kind (copy or similar), text1, text2. Groups are a table
    of group, id, score (of the last merge), weakest (score of its weakest pair) and the columns of
    TABLE.
    """
    _check_options(threshold, precision, budget, grouped, linkage, prior, model, html)
    check_places({"--out": out, "--html": html}, [table, model])
    classifier = None if model is None else reading.open_model(model)
    if precision is not None and prior != "estimate":
        threshold = _threshold_for(precision, classifier, prior)
    rows = reading.open_table(table, encoding)
    column = reading.choose_column(rows, text, reading.TEXT_COLUMNS, "--text", "the texts")
    named = _id_column(rows, name)
    ids = [str(1 + row) for row in range(len(rows))]
    if named is not None:
        ids = reading.unique_ids(rows, named)
    carried = [other for other in rows.columns if other != named]
    if grouped:
        _check_carried(rows, carried)
    texts = rows.column(column)
    reading.note_on_texts(rows, np.array(texts, dtype=object))
    finder = DuplicateFinder(
        classifier,
        prior=prior,
        index=index,
        verbose=verbosity(),
    )
    leaves("nothing was written; the same command starts from the beginning")
    finder.fit(texts, ids)
    if precision is not None and prior == "estimate":
        threshold = _threshold_for(precision, classifier, finder.find(threshold=1.0).prior)
    lowest = threshold or (SIMILARITY if classifier is None else PROBABILITY)
    method = linkage or "average"
    if grouped:
        found = finder.groups(lowest, linkage=method)
        result = _group_table(found, rows, carried)
    else:
        found = finder.find(threshold=None if budget else lowest, budget=budget)
        result = _pair_table(found)
        if budget:
            lowest = max(LEAST, float(found.scores.min(initial=1.0)))
    _note_on(found, f"{len(found)} {'groups' if grouped else 'pairs'}", lowest)
    if out is not None or html is None:
        write_result(out, form, *result, like=rows)
    if html is not None:
        data = page_data(finder, lowest, method)
        write_page(duplicates_page(data, title=f"Duplicates in {rows.source}"), html)
        note_written(html)


def _threshold_for(precision: float, classifier: Any, prior: float | None) -> float:
    threshold = classifier.threshold_for(precision, prior=prior)
    share = classifier.prior_ if prior is None else prior
    note(
        f"precision {precision:g} from probability {threshold:.6g} on, with 95 % confidence, for "
        f"pairs as those that the model was trained on and {share:.2%} duplicates among them"
    )
    return threshold


def _check_options(
    threshold: float | None,
    precision: float | None,
    budget: int | None,
    grouped: bool,
    linkage: str | None,
    prior: Any,
    model: str | None,
    html: str | None,
) -> None:
    limits = {"--threshold": threshold, "--precision": precision, "--budget": budget}
    given = [option for option, value in limits.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} take each other's place; give one")
    if precision is not None and model is None:
        raise click.UsageError("--precision is about the probabilities of a model; give --model")
    if grouped and budget is not None:
        raise click.UsageError("--budget counts pairs; give --threshold with --groups")
    if linkage is not None and not grouped and html is None:
        raise click.UsageError("--linkage is about groups; give --groups or --html too")
    if prior is not None and model is None:
        raise click.UsageError("--prior is about the probabilities of a model; give --model too")


def _id_column(table: Table, given: str | None) -> str | None:
    if given is None and not any(n.strip().lower() in reading.ID_COLUMNS for n in table.columns):
        return None
    return reading.choose_column(table, given, reading.ID_COLUMNS, "--id", "the ids")


def _check_carried(table: Table, carried: list[str]) -> None:
    taken = [column for column in carried if column in ("group", "id", "score", "weakest")]
    if taken:
        raise Failure(
            f"{table.source} has a column {taken[0]!r}, which groups have too; rename it, or give "
            "--pairs"
        )


def _note_on(found: Any, what: str, lowest: float) -> None:
    said = f"{what} by {found.score_name} from {lowest:g}"
    if found.prior is not None:
        said += f", at a share of {found.prior:.2%} duplicates among candidates"
    if found.index != "exact":
        said += f"; neighbours by {found.index}, which found {found.recall:.1%} of them"
    note(said)


def _pair_table(found: Any) -> tuple[list[str], Any]:
    columns = ["id1", "id2", "score", "kind", "text1", "text2"]
    rows = (
        [*ids, score, kind, *texts]
        for ids, score, kind, texts in zip(
            found.ids.tolist(),
            found.scores.tolist(),
            found.kind.tolist(),
            found.texts.tolist(),
            strict=True,
        )
    )
    return columns, rows


def _group_table(groups: Any, table: Table, carried: list[str]) -> tuple[list[str], Any]:
    places = [table.columns.index(column) for column in carried]
    rows = (
        [
            number,
            name,
            float(group.score),
            float(group.weakest_score),
            *(table.rows[row][place] for place in places),
        ]
        for number, group in enumerate(groups, start=1)
        for row, name in zip(group.members.tolist(), group.ids.tolist(), strict=True)
    )
    return ["group", "id", "score", "weakest", *carried], rows

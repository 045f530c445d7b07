"""``film duplicates``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from estimators.cli import reading
from estimators.cli.console import examples, leaves, note, quiet_option, verbosity
from estimators.cli.found.known import (
    Collection,
    blocks_of,
    is_collection,
    known_pairs,
    refuse_contradictions,
)
from estimators.cli.found.page import match_data, page_data
from estimators.cli.found.tables import (
    check_carried,
    group_table,
    kept_tables,
    pair_table,
    sort_values,
)
from estimators.cli.options import POSITIVE_SHARE, PRIOR
from estimators.cli.tables import Table
from estimators.cli.writing import (
    check_places,
    format_option,
    note_written,
    out_option,
    write_result,
)
from estimators.corpus import DuplicateFinder, DuplicatePairs
from estimators.inspection import duplicates_page, write_page

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
        "film duplicates known.csv --save known.film --out pairs.csv",
        "film duplicates new.csv --against known.film --add --out matches.csv",
        "film duplicates tickets.csv --within customer --keep longest --out clean.csv",
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
@click.option(
    "--against",
    metavar="FILE",
    help="Another table, with the same columns of texts and ids, or a collection of --save: give "
    "only pairs of a row of TABLE, first, and one of FILE.",
)
@click.option(
    "--save",
    metavar="FILE",
    help="Keep TABLE, with the search that was done, as a collection for --against.",
)
@click.option(
    "--add",
    is_flag=True,
    help="Let the rows of TABLE join the collection of --against, once the result is written.",
)
@click.option(
    "--within",
    metavar="COLUMN",
    multiple=True,
    help="Compare only rows with the same value there; given several times, with all the same.",
)
@click.option(
    "--not-same",
    metavar="FILE",
    help="Labelled pairs, such as the page of --html gives: those labelled 0 are left out, never "
    "in one group; those labelled 1 always are.",
)
@click.option(
    "--keep",
    metavar="first|longest|COLUMN",
    help="Give TABLE without its duplicates: of each group the first row, the one with the longest "
    "text, or the one with the largest number or date in a COLUMN, where empty is least.",
)
@click.option(
    "--mapping",
    metavar="FILE",
    help="With --keep: write the rows left out as a table of id, kept (the id of the row that "
    "stands for it), group and score.",
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
    text: Any,
    name: str | None,
    against: str | None,
    save: str | None,
    add: bool,
    within: tuple[str, ...],
    not_same: str | None,
    keep: str | None,
    mapping: str | None,
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

    Pairs are a table of id1, id2, score, kind, text1, text2. The kind is copy (equal but for case,
    white space and Unicode form), similar, or indistinct: the texts differ, but the similarity
    cannot see how. Groups are a table of group, id, score (of the last merge), weakest (score of
    its weakest pair) and the columns of TABLE.
    """
    known = _check_tables(against, save, add, keep, mapping, not_same, model, grouped, prior, index)
    _check_options(
        threshold, precision, budget, grouped or bool(keep), linkage, prior, model or known, html
    )
    outputs = {"--out": out, "--html": html, "--save": save, "--mapping": mapping}
    check_places(outputs, [table, model, against, not_same])
    collection = None
    if known:
        check_places({"--against": against}, [table])
        collection = Collection(str(against))
        _check_blocks(collection.finder, within, str(against))
    classifier = None if model is None else reading.open_model(model)
    if collection:
        classifier, prior = collection.finder.classifier, collection.finder.prior
        if precision is not None and classifier is None:
            raise click.UsageError(f"--precision: {against} was saved without a --model")
    if precision is not None and prior != "estimate":
        threshold = _threshold_for(precision, classifier, prior)
    rows = reading.open_table(table, encoding)
    column = reading.choose_column(rows, text, reading.TEXT_COLUMNS, "--text", "the texts")
    named = _id_column(rows, name)
    start = len(collection.finder.ids_) if collection and add else 0
    ids = [str(start + 1 + row) for row in range(len(rows))]
    if named is not None:
        ids = reading.unique_ids(rows, named)
    carried = [other for other in rows.columns if other != named]
    if grouped:
        check_carried(rows, carried)
    values = keep if keep in (None, "first", "longest") else sort_values(rows, str(keep))
    if collection and add:
        collection.check_new(ids)
    texts = rows.column(column)
    reading.note_on_texts(rows, np.array(texts, dtype=object))
    blocks = blocks_of(rows, within)
    must, cannot = [], []
    if not_same is not None:
        must, cannot = known_pairs(not_same, encoding, texts, ids, blocks)
    leaves("nothing was written; the same command starts from the beginning")
    finder = DuplicateFinder(classifier, prior=prior, index=index, verbose=verbosity())
    if collection:
        finder = collection.finder.set_params(verbose=verbosity())
    elif against is not None:
        other = reading.open_table(against, encoding)
        its = _id_column(other, name)
        its_text = reading.choose_column(other, text, reading.TEXT_COLUMNS, "--text", "the texts")
        its_ids = [str(1 + row) for row in range(len(other))]
        finder.fit(
            other.column(its_text),
            its_ids if its is None else reading.unique_ids(other, its),
            blocks_of(other, within),
        )
    else:
        finder.fit(texts, ids, blocks)
        _note_on_texts(finder)
    if precision is not None and prior == "estimate":
        threshold = _threshold_for(precision, classifier, finder.find(threshold=1.0).prior)
    lowest = threshold or (SIMILARITY if classifier is None else PROBABILITY)
    method = linkage or "average"
    constraints = {"must_link": must, "cannot_link": cannot}
    mapped: Any = None
    limits = {"threshold": None if budget else lowest, "budget": budget}
    try:
        if against is not None:
            found = finder.match(texts, ids, blocks=blocks, **limits)
            result = pair_table(found)
        elif keep is not None or grouped:
            found = finder.groups(lowest, linkage=method, **constraints)
            result = group_table(found, rows, carried)
            if keep is not None:
                result, mapped = kept_tables(found, found.keep(values or "first"), ids, rows)
        else:
            finder.known_pairs(**constraints)
            found = finder.find(**limits, cannot_link=cannot)
            result = pair_table(found)
    except ValueError as error:
        if not_same is None:
            raise
        raise refuse_contradictions(error, not_same) from error
    if budget and isinstance(found, DuplicatePairs):
        lowest = max(LEAST, float(found.scores.min(initial=1.0)))
    _note_on(found, lowest, len(rows))
    if out is not None or html is None:
        write_result(out, form, *result, like=rows)
    if mapping is not None:
        write_result(mapping, None, *mapped, like=rows)
    if html is not None:
        title = f"Duplicates in {rows.source}"
        if against is not None:
            data = match_data(found, lowest, len(rows))
            title = f"Rows of {rows.source} in {against}"
        else:
            data = page_data(finder, lowest, method, **constraints)
        write_page(duplicates_page(data, title=title), html)
        note_written(html)
    if save is not None:
        from estimators.persistence import save_model

        save_model(finder, save)
        note_written(save, f"{len(finder.ids_)} rows")
    if collection and add:
        finder.add(texts, ids, blocks)
        collection.save()
        note_written(collection.path, f"{len(finder.ids_)} rows")


def _threshold_for(precision: float, classifier: Any, prior: float | None) -> float:
    threshold = classifier.threshold_for(precision, prior=prior)
    share = classifier.prior_ if prior is None else prior
    note(
        f"precision {precision:g} from probability {threshold:.6g} on, with 95 % confidence, for "
        f"pairs as those that the model was trained on and {share:.2%} duplicates among them"
    )
    return threshold


def _check_tables(
    against: str | None,
    save: str | None,
    add: bool,
    keep: str | None,
    mapping: str | None,
    not_same: str | None,
    model: str | None,
    grouped: bool,
    prior: Any,
    index: str,
) -> bool:
    """Check what needs what, and tell whether --against is a collection."""
    known = against is not None and is_collection(against)
    if against is not None:
        for option, given in (("--groups", grouped), ("--keep", keep), ("--not-same", not_same)):
            if given:
                raise click.UsageError(
                    f"{option} is about the rows of one table; leave out {option} or --against"
                )
        if save is not None:
            raise click.UsageError("--save keeps one table; leave out --against, or give --add")
    if add and not known:
        raise click.UsageError("--add needs a collection; give --against a file of --save")
    if known and model is not None:
        raise click.UsageError("--model is part of a collection; give it with --save instead")
    if known and prior is not None:
        raise click.UsageError("--prior is part of a collection; give it with --save instead")
    if known and index != "auto":
        raise click.UsageError("--index is part of a collection; give it with --save instead")
    if mapping is not None and keep is None:
        raise click.UsageError("--mapping lists what --keep leaves out; give --keep too")
    return known


def _check_blocks(finder: Any, within: tuple[str, ...], path: str) -> None:
    if finder.has_blocks_ != bool(within):
        remedy = "give it here too" if finder.has_blocks_ else "leave it out, or save it with it"
        state = "with" if finder.has_blocks_ else "without"
        raise click.UsageError(f"--within: {path} was saved {state} it; {remedy}")


def _check_options(
    threshold: float | None,
    precision: float | None,
    budget: int | None,
    grouped: bool,
    linkage: str | None,
    prior: Any,
    model: str | bool | None,
    html: str | None,
) -> None:
    limits = {"--threshold": threshold, "--precision": precision, "--budget": budget}
    given = [option for option, value in limits.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} take each other's place; give one")
    if precision is not None and not model:
        raise click.UsageError("--precision is about the probabilities of a model; give --model")
    if grouped and budget is not None:
        raise click.UsageError("--budget counts pairs; give --threshold with --groups")
    if linkage is not None and not grouped and html is None:
        raise click.UsageError("--linkage is about groups; give --groups or --html too")
    if prior is not None and not model:
        raise click.UsageError("--prior is about the probabilities of a model; give --model too")


def _id_column(table: Table, given: str | None) -> str | None:
    if given is None and not any(n.strip().lower() in reading.ID_COLUMNS for n in table.columns):
        return None
    return reading.choose_column(table, given, reading.ID_COLUMNS, "--id", "the ids")


def _note_on_texts(finder: Any) -> None:
    if finder.n_without_vector_:
        note(
            f"{finder.n_without_vector_} different texts hold nothing that the similarity knows; "
            "only their copies are found"
        )


def _note_on(found: Any, lowest: float, n_rows: int) -> None:
    said = f"{len(found)} {'groups' if hasattr(found, 'groups') else 'pairs'}"
    said += f" by {found.score_name} from {lowest:g}"
    if found.prior is not None:
        said += f", at a share of {found.prior:.2%} duplicates among candidates"
    if found.index != "exact":
        said += f"; neighbours by {found.index}, which found {found.recall:.1%} of them"
    if hasattr(found, "groups"):
        n_duplicates = sum(group.size - 1 for group in found)
        said += f"; {n_duplicates} of {n_rows} rows repeat another"
    note(said)
    n_indistinct = int((getattr(found, "kind", np.empty(0)) == "indistinct").sum())
    if n_indistinct:
        note(
            f"{n_indistinct} of these pairs are of kind indistinct: their texts differ, but the "
            "similarity cannot see how"
        )

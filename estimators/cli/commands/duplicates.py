"""``film duplicates``."""

from __future__ import annotations

from pathlib import PurePath
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from estimators.cli import reading
from estimators.cli.console import Failure, examples, leaves, note, quiet_option, verbosity
from estimators.cli.duplicates.expected import expected_lines
from estimators.cli.duplicates.known import (
    Collection,
    alone_at,
    blocks_of,
    is_collection,
    known_pairs,
    labelled_rows,
    refuse_contradictions,
)
from estimators.cli.duplicates.page import match_data, page_data
from estimators.cli.duplicates.rows import compared_columns, rows_of
from estimators.cli.duplicates.tables import (
    SOURCES,
    check_carried,
    golden_table,
    group_table,
    kept_tables,
    pair_table,
    sort_values,
)
from estimators.cli.general import note_kinds
from estimators.cli.options import (
    FILE,
    NO_ENCODER,
    POSITIVE_SHARE,
    PRIOR,
    chosen_encoder,
    compare_option,
    compared_by_option,
    device_option,
    encoding_option,
    html_option,
    id_option,
    model_option,
    prior_option,
    text_option,
)
from estimators.cli.tables import Table
from estimators.cli.writing import (
    check_places,
    format_option,
    note_written,
    out_option,
    write_result,
)
from estimators.corpus import EXACT_LIMIT, USUAL_THRESHOLD, DuplicateFinder, DuplicatePairs
from estimators.inspection import duplicates_page, write_page
from film.judge import ExpectedPrecision

LEAST = 0.01
_OUTPUTS = ("--out", "--html", "--save", "--mapping", "--golden")


class _NumberOr(click.ParamType):
    """A number, or a word in its place."""

    def __init__(self, kind: click.ParamType, what: str, word: str) -> None:
        self.name = f"{what}|{word}"
        self._kind = kind
        self._word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == self._word else self._kind.convert(value, param, ctx)


@click.command(
    epilog=examples(
        "film duplicates tickets.csv --text subject --id ticket --out pairs.csv",
        "film duplicates tickets.csv -t subject --groups --html duplicates.html --out groups.csv",
        "film duplicates tickets.csv --text subject --encoder auto --out pairs.csv",
        "film duplicates questions.csv --model duplicates.film --threshold 0.9 | head",
        "film duplicates known.csv --save known.film --out pairs.csv",
        "film duplicates new.csv --against known.film --add --out matches.csv",
        "film duplicates tickets.csv --within customer --keep longest --out clean.csv",
    ),
)
@click.argument("table", type=FILE, metavar="TABLE")
@text_option
@compare_option(
    "Compare this column by itself, in place of --text. OTHER is its name in the table of "
    "--against. Default: if no column is named text, question or body, all columns except ids.",
    "COLUMN[=OTHER][:KIND]",
)
@id_option("Column of row ids. Default: id if the table has it, else row numbers from 1.")
@click.option(
    "--against",
    type=FILE,
    metavar="FILE",
    help="Compare TABLE with another table that has the same columns, or with a collection of "
    "--save. Reports only pairs of a row of TABLE and a row of FILE.",
)
@click.option(
    "--one-to-one",
    is_flag=True,
    help=(
        "With --against: report at most one pair per row, and choose the pairs with the highest "
        "total score."
    ),
)
@click.option(
    "--save",
    type=FILE,
    metavar="FILE",
    help="Save TABLE, its search index and its groups as a collection for --against.",
)
@click.option(
    "--add",
    is_flag=True,
    help=(
        "Add the rows of TABLE to the collection of --against, after the result is written. With "
        "--groups, the result has the groups of the whole collection, and groups keep their "
        "numbers."
    ),
)
@click.option(
    "--within",
    metavar="COLUMN",
    multiple=True,
    help="Compare only rows with the same value in this column. Repeat it for several columns.",
)
@click.option(
    "--not-same",
    type=FILE,
    metavar="FILE",
    help="Labelled pairs, such as those exported from the page of --html. Pairs labelled 0 are "
    "never reported or grouped; pairs labelled 1 always are.",
)
@click.option(
    "--keep",
    metavar="first|longest|COLUMN",
    help="Write TABLE without its duplicates. Keeps from each group the first row, the row with "
    "the longest text, or the row with the largest number or date in a COLUMN.",
)
@click.option(
    "--merge-differing",
    is_flag=True,
    help=(
        "With --keep or --golden: rows that differ in a name, number, code, unit, negation, "
        "opposite, choice or order are duplicates too."
    ),
)
@click.option(
    "--mapping",
    type=FILE,
    metavar="FILE",
    help="With --keep: write a table of the removed rows: id, kept (id of the row that replaces "
    "it), group and score.",
)
@click.option(
    "--golden",
    type=FILE,
    metavar="FILE",
    help=(
        "Write TABLE with one row per group: the most frequent value of each column; if several "
        f"are equally frequent, the longest. The column {SOURCES} has the ids of the merged "
        "rows. Add --out to write the groups too."
    ),
)
@model_option("A model file. Scores are then probabilities.", required=False)
@click.option(
    "--threshold",
    type=_NumberOr(POSITIVE_SHARE, "SCORE", "auto"),
    default="auto",
    show_default=True,
    help=(
        "Lowest score. auto estimates precision and recall from the scores of this table, and "
        f"uses the threshold with the best F1; with --model, it is {USUAL_THRESHOLD}."
    ),
)
@click.option(
    "--precision",
    type=PRIOR,
    help=(
        "Choose the lowest threshold whose precision is at least this with 95 % confidence. "
        "With a model, precision is measured out of fold; without a model, it is estimated from "
        "the scores."
    ),
)
@click.option(
    "-b",
    "--budget",
    type=click.IntRange(1),
    help="Report this many pairs with the highest scores, instead of a threshold.",
)
@click.option(
    "--groups/--pairs",
    "grouped",
    default=False,
    help="Report groups of duplicates, or pairs.  [default: pairs]",
)
@click.option(
    "--linkage",
    type=click.Choice(["average", "complete"]),
    help=(
        "Merge two groups by the mean score of the pairs between them (average), or by the "
        "lowest (complete). Default: average."
    ),
)
@prior_option(
    "Share of duplicates among the candidate pairs, or the word estimate. Probabilities are "
    "corrected for this share. Default: no correction.",
    type=_NumberOr(PRIOR, "SHARE", "estimate"),
)
@click.option(
    "--index",
    type=click.Choice(["auto", "exact", "approximate"]),
    default="auto",
    show_default=True,
    help=(
        "How to search for neighbours. auto is exact for small tables; with an encoder, up to "
        f"{EXACT_LIMIT:,} different texts."
    ),
)
@compared_by_option
@out_option
@format_option
@html_option("Write a page of the groups. Add --out to write the table too.")
@encoding_option
@device_option
@quiet_option
def duplicates(**given: Any) -> None:
    """Find rows of a TABLE that mean the same, without labels or with a model of film train.

    The table of pairs has the columns id1, id2, score, kind, text1 and text2. Records that are
    compared by column have left_name, right_name and so on in place of the texts. The kind is copy
    (equal except for case, white space and Unicode form), spelling (equal except for spelling and
    format), similar, or "differs in" name (of people or companies), number, code, unit, negation,
    opposite, choice (such as a colour) or order. The table of groups has the columns group, id,
    score (of the last merge), weakest (score of the weakest pair) and the columns of TABLE.
    """
    options = SimpleNamespace(**given)
    collection = _checked_collection(options)
    classifier = None
    if options.model is not None:
        classifier = reading.open_model(options.model, options.device)
    if collection:
        classifier, options.prior = collection.finder.classifier, collection.finder.prior
    if options.threshold == "auto":
        options.threshold = None
    measured = options.precision is not None and classifier is not None
    if measured and options.prior != "estimate":
        options.threshold = _threshold_for(options.precision, classifier, options.prior)
    rows = reading.open_table(options.table, options.encoding)
    other = None
    if options.against is not None and not collection:
        other = reading.open_table(options.against, options.encoding)
    named = reading.choose_id_column(rows, options.name)
    fixed: Any = None
    if collection:
        fixed = collection.finder.columns_ or ()
    elif classifier is not None:
        fixed = getattr(classifier, "columns_", ())
    hidden = (named, *options.within)
    compared = compared_columns(options.compare, options.text, fixed, rows, other, hidden)
    records = rows_of(rows, options.text, compared and compared.ours)
    texts = records.texts
    ids = _ids_of(rows, named, len(collection.finder.ids_) if collection and options.add else 0)
    blocks = blocks_of(rows, options.within)
    if collection and options.add:
        collection.check_new(ids)
    if collection and options.is_growing:
        finder = collection.finder.set_params(verbose=verbosity()).add(records.given, ids, blocks)
        rows, ids = collection.whole(rows), finder.ids_.tolist()
    carried = [other for other in rows.columns if other != named]
    is_written = options.out is not None or (
        options.html is None and (options.golden is None or options.keep is not None)
    )
    if options.grouped and is_written:
        check_carried(rows, carried)
    if options.golden is not None and SOURCES in rows.columns:
        raise Failure(f"{rows.source} has a column {SOURCES!r}, as --golden has; rename it")
    sort_by = options.keep
    if sort_by not in (None, "first", "longest"):
        sort_by = sort_values(rows, sort_by)
    labelled = None
    if options.not_same is not None:
        labelled = labelled_rows(options.not_same, options.encoding)
    leaves("nothing was written; the same command starts from the beginning")
    if collection:
        finder = collection.finder.set_params(verbose=verbosity())
    else:
        first, named_rows = records, (ids, blocks)
        if other is not None:
            first = rows_of(other, options.text, compared and compared.theirs)
            own = reading.choose_id_column(other, options.name)
            named_rows = _ids_of(other, own), blocks_of(other, options.within)
        finder = DuplicateFinder(
            classifier,
            prior=options.prior,
            index=options.index,
            encoder=chosen_encoder(options.encoder, len({*first.texts, *texts})),
            compare=compared and compared.kinds,
            verbose=verbosity(),
        )
        try:
            finder.fit(first.given, *named_rows, beside=None if other is None else records.given)
        except ValueError as error:
            names = " and ".join(table.source for table in (rows, other) if table is not None)
            error.add_note(f"the rows are those of {names}")
            raise
        note_kinds(finder)
        if other is None:
            _note_on_texts(finder)
    must, cannot = [], []
    if labelled is not None:
        must, cannot = known_pairs(*labelled, finder)
    if measured and options.prior == "estimate":
        prior = finder.find(threshold=1.0).prior
        options.threshold = _threshold_for(options.precision, classifier, prior)
    across = None if options.is_growing else options.against
    linkage = options.linkage or "average"
    constraints = {"must_link": must, "cannot_link": cannot}
    matching = {"blocks": blocks, "one_to_one": options.one_to_one}
    if options.precision is not None and not measured:
        every = finder.match(records.given, ids, **matching) if across else finder.find()
        options.threshold = _expected_threshold(options.precision, every.expected)
    limits = {"threshold": options.threshold, "budget": options.budget}
    mapped: Any = None
    golden: Any = None
    try:
        if across:
            found = finder.match(records.given, ids, **matching, **limits)
            result = pair_table(found)
        elif options.grouped or options.keep is not None:
            merged = options.golden or options.keep is not None
            if merged and not options.merge_differing:
                cannot += _differing(finder, options.threshold, must)
                constraints["cannot_link"] = cannot
            found = finder.groups(options.threshold, linkage=linkage, **constraints)
            result = group_table(found, rows, carried)
            if sort_by is not None:
                result, mapped = kept_tables(found, found.keep(sort_by), ids, rows)
            if options.golden is not None:
                golden = golden_table(found, ids, named, rows)
        else:
            finder.known_pairs(**constraints)
            found = finder.find(**limits, cannot_link=cannot)
            result = pair_table(found)
    except ValueError as error:
        if options.not_same is None:
            raise
        raise refuse_contradictions(error, options.not_same) from error
    lowest = found.threshold
    if options.budget and isinstance(found, DuplicatePairs):
        lowest = max(LEAST, float(found.scores.min(initial=1.0)))
    _note_on(found, lowest, len(rows))
    is_by_group = not isinstance(found, DuplicatePairs) or found.is_by_group
    estimates = expected_lines(found.expected, lowest, is_by_group)
    for line in estimates:
        note(line)
    kept_elsewhere: Failure | None = None
    if is_written:
        try:
            write_result(options.out, options.form, *result, like=rows)
        except Failure as error:
            kept_elsewhere = error
    if options.mapping is not None:
        write_result(options.mapping, options.form, *mapped, like=rows)
    if options.golden is not None:
        write_result(options.golden, options.form, *golden, like=rows)
    if options.html is not None:
        if across:
            data = match_data(found, lowest, len(rows))
            title = f"Rows of {PurePath(rows.source).name} in {PurePath(across).name}"
        else:
            data = page_data(finder, lowest, linkage, **constraints)
            title = f"Duplicates in {PurePath(rows.source).name}"
        data["notes"] += estimates
        write_page(duplicates_page(data, title=title), options.html)
        note_written(options.html)
    if not isinstance(found, DuplicatePairs) and (options.save is not None or options.is_growing):
        finder.remember_groups(found)
    if options.save is not None:
        from estimators.persistence import save_model

        with alone_at(options.save):
            save_model(finder, options.save)
        note_written(options.save, f"{len(finder.ids_)} rows")
    if collection and options.add:
        if not options.is_growing:
            finder.add(records.given, ids, blocks)
        collection.save()
        note_written(collection.path, f"{len(finder.ids_)} rows")
    if kept_elsewhere is not None:
        raise kept_elsewhere


def _differing(finder: Any, lowest: float | None, must: list[Any]) -> list[Any]:
    """Return pairs of ids that differ in a name, number or the like, but those of ``must``."""
    found = finder.find(threshold=lowest)
    differs = np.array([kind.startswith("differs") for kind in found.kind.tolist()], dtype=bool)
    differs &= found.scores >= found.threshold
    linked = {frozenset(pair) for pair in must}
    pairs = [(a, b) for a, b in found.ids[differs].tolist() if frozenset((a, b)) not in linked]
    if pairs:
        note(
            f"pairs that differ in a name, number, code or the like: {len(pairs)}; their rows "
            "stay; --merge-differing treats them as duplicates"
        )
    return pairs


def _ids_of(rows: Table, named: str | None, n_before: int = 0) -> list[Any]:
    """Return the ids of a column, or row numbers that continue those of the collection."""
    if named is None:
        return [str(n_before + number) for number in range(1, len(rows) + 1)]
    return reading.unique_ids(rows, named)


def _threshold_for(precision: Any, classifier: Any, prior: float | None) -> float:
    threshold = classifier.threshold_for(precision, prior=prior)
    share = classifier.prior_ if prior is None else prior
    note(
        f"probabilities above {threshold:.6g} have precision {precision:g} with 95 % "
        "confidence, if the "
        f"pairs resemble the training pairs and {share:.2%} of them are duplicates"
    )
    return threshold


def _expected_threshold(precision: float, expected: ExpectedPrecision | None) -> float:
    threshold = None if expected is None else expected.threshold_for(precision)
    if threshold is None:
        raise Failure(
            f"no threshold can be shown to have precision {precision:g} from the scores of this "
            "table alone; give a lower --precision, a --threshold, or a --model trained on labels"
        )
    note(f"from {threshold:g} on, precision {precision:g} is expected with 95 % confidence")
    return threshold


def _checked_collection(options: SimpleNamespace) -> Collection | None:
    """Raise if options contradict each other, and open --against if it is a collection."""
    against, grouped = options.against, options.grouped or options.keep is not None
    known = against is not None and is_collection(against)
    options.is_growing = options.add and options.grouped
    if options.one_to_one and against is None:
        raise click.UsageError("--one-to-one compares two tables; give --against too")
    if options.merge_differing and options.keep is None and options.golden is None:
        raise click.UsageError("--merge-differing applies to --keep and --golden; give one too")
    if against is not None:
        for option, one_table in (
            ("--groups", options.grouped and not options.add),
            ("--keep", options.keep),
            ("--golden", options.golden),
            ("--not-same", options.not_same and not options.is_growing),
        ):
            if one_table:
                raise click.UsageError(
                    f"{option} applies to one table; leave out {option} or --against"
                )
        if options.save is not None:
            raise click.UsageError("--save saves one table; leave out --against, or give --add")
    if options.is_growing and options.one_to_one:
        raise click.UsageError("--one-to-one applies to pairs; leave out --one-to-one or --groups")
    if options.add and not known:
        raise click.UsageError("--add needs a collection; give --against a file written by --save")
    for option, fixed in (
        ("--model", options.model is not None),
        ("--prior", options.prior is not None),
        ("--index", options.index != "auto"),
        ("--encoder", options.encoder != NO_ENCODER),
    ):
        if known and fixed:
            raise click.UsageError(
                f"{option} is fixed when a collection is saved; give it with --save instead"
            )
    if options.mapping is not None and options.keep is None:
        raise click.UsageError("--mapping lists the rows that --keep removes; give --keep too")
    limits = {
        "--threshold": None if options.threshold == "auto" else options.threshold,
        "--precision": options.precision,
        "--budget": options.budget,
    }
    limited = [option for option, value in limits.items() if value is not None]
    if len(limited) > 1:
        raise click.UsageError(f"{' and '.join(limited)} cannot be combined; give one")
    has_model = options.model is not None or known
    grouped = grouped or options.golden is not None
    options.grouped = grouped and options.keep is None
    if grouped and options.budget is not None:
        option = "--golden" if options.golden else "--keep" if options.keep else "--groups"
        raise click.UsageError(f"--budget counts pairs; give --threshold with {option}")
    if options.linkage is not None and not grouped and options.html is None:
        raise click.UsageError("--linkage applies to groups; give --groups or --html too")
    if options.prior is not None and not has_model:
        raise click.UsageError("--prior needs the probabilities of a model; give --model too")
    if options.device is not None and not has_model:
        raise click.UsageError("--device applies to the encoder of a model; give --model too")
    outputs = {option: getattr(options, option[2:]) for option in _OUTPUTS}
    check_places(outputs, [options.table, options.model, against, options.not_same])
    if against is None or not known:
        return None
    check_places({"--against": against}, [options.table])
    collection = Collection(against, options.device, options.add)
    has_blocks = collection.finder.has_blocks_
    if has_blocks != bool(options.within):
        remedy = "give it here too" if has_blocks else "leave it out, or save it with it"
        state = "with" if has_blocks else "without"
        raise click.UsageError(f"--within: {against} was saved {state} it; {remedy}")
    return collection


def _note_on_texts(finder: Any) -> None:
    if finder.n_without_vector_:
        note(
            f"{finder.n_without_vector_} different texts have no word or trigram to compare; "
            "only their exact copies are found"
        )


def _note_on(found: Any, lowest: float, n_rows: int) -> None:
    text = f"{len(found)} {'groups' if hasattr(found, 'groups') else 'pairs'}"
    if getattr(found, "is_by_group", False):
        text += f" within groups whose mean {found.score_name} is {lowest:g} or more"
    else:
        text += f" with a {found.score_name} of {lowest:g} or more"
    if found.prior is not None:
        text += f", at a share of {found.prior:.2%} duplicates among candidates"
    if found.index != "exact":
        text += f"; the {found.index} search found {found.recall:.1%} of the nearest neighbours"
    if hasattr(found, "groups"):
        n_duplicates = sum(group.size - 1 for group in found)
        text += f"; {n_duplicates} of {n_rows} rows are duplicates of an earlier row"
    note(text)
    if merged := getattr(found, "renumbered", None):
        now = (f"{gone + 1} is now in {number + 1}" for gone, number in merged.items())
        note(f"groups that were merged: {', '.join(now)}")
    if found.n_cut:
        note(
            f"{found.n_cut} texts may have more pairs above {lowest:g} than the search returns; "
            "give a "
            "higher --threshold, or a smaller --budget"
        )
    if getattr(found, "n_ties", 0):
        note(
            f"pairs that share a row with another pair of the same score: {found.n_ties}; the "
            "choice between them is arbitrary"
        )

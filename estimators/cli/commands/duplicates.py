"""``film duplicates``."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import click
import numpy as np

from estimators.cli import models, options, reading, writing
from estimators.cli.console import Failure, counted, have, leaves, note, verbosity
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
    expected_lines,
    golden_table,
    group_table,
    kept_tables,
    pair_table,
    sort_values,
)
from estimators.cli.general import note_kinds
from estimators.cli.tables import Table
from estimators.corpus import EXACT_LIMIT, USUAL_THRESHOLD, DuplicateFinder, DuplicatePairs
from estimators.inspection import duplicates_page, write_page
from film.judge import ExpectedPrecision

LEAST = 0.01
LOW = 0.2
"""Lower end of the precision's interval, below which --keep removes only copies by default."""

_OUTPUTS = ("--out", "--html", "--save", "--mapping", "--golden")


class _NumberOr(click.ParamType):
    """A number, or a word in its place."""

    def __init__(self, kind: click.ParamType, what: str, word: str) -> None:
        self.name = f"{what}|{word}"
        self._kind = kind
        self._word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == self._word else self._kind.convert(value, param, ctx)


@options.command(
    "film duplicates tickets.csv --text subject --id ticket --out pairs.csv",
    "film duplicates tickets.csv -t subject --groups --html duplicates.html --out groups.csv",
    "film duplicates tickets.csv --text subject --encoder auto --out pairs.csv",
    "film duplicates questions.csv --model duplicates.film --threshold 0.9 | head",
    "film duplicates known.csv --save known.film --out pairs.csv",
    "film duplicates new.csv --against known.film --add --out matches.csv",
    "film duplicates tickets.csv --within customer --keep longest --out clean.csv",
)
@click.argument("table", type=options.FILE, metavar="TABLE")
@options.texts
@options.compare(
    "Compare this column by itself, in place of --text. OTHER is its name in the table of "
    "--against. Default: if no column is named text, question or body, all columns except ids "
    "and numbers of rows.",
    "COLUMN[=OTHER][:KIND]",
)
@options.ids("Column of row ids. Default: id if the table has it, else row numbers from 1.")
@options.file(
    "--against",
    help="Compare TABLE with another table that has the same columns, or with a collection of "
    "--save. Reports only pairs of a row of TABLE and a row of FILE.",
)
@options.flag(
    "--one-to-one",
    "With --against: report at most one pair per row, and choose the pairs with the highest total "
    "score.",
)
@options.file(
    "--save", help="Save TABLE, its search index and its groups as a collection for --against."
)
@options.flag(
    "--add",
    "Add the rows of TABLE to the collection of --against, after the result is written. With "
    "--groups, the result has the groups of the whole collection, and groups keep their numbers.",
)
@options.column(
    "--within",
    multiple=True,
    help="Compare only rows with the same value in this column. Repeat it for several columns.",
)
@options.file(
    "--not-same",
    help="Labelled pairs, such as those exported from the page of --html. Pairs labelled 0 are "
    "never reported or grouped; pairs labelled 1 always are. --save and --add keep them.",
)
@click.option(
    "--keep",
    metavar="first|longest|COLUMN",
    help="Write TABLE without its duplicates. Keeps from each group the first row, the row with "
    "the longest text, or the row with the largest number or date in a COLUMN.",
)
@options.flag(
    "--merge-differing",
    "With --keep or --golden: rows that differ in a name, number, code, unit, negation, opposite, "
    "choice or order are duplicates too.",
)
@options.file(
    "--mapping",
    help="With --keep: write a table of the removed rows: id, kept (id of the row that replaces "
    "it), group and score.",
)
@options.file(
    "--golden",
    help="Write TABLE with one row per group: the most frequent value of each column; if several "
    f"are equally frequent, the longest. The column {SOURCES} has the ids of the merged rows. Add "
    "--out to write the groups too.",
)
@options.model("A model file. Scores are then probabilities.", required=False)
@click.option(
    "--threshold",
    type=_NumberOr(options.POSITIVE_SHARE, "SCORE", "auto"),
    default="auto",
    help="Lowest score. auto estimates precision and recall from the scores of this table, and "
    f"uses the threshold with the best F1; with --model, it is {USUAL_THRESHOLD}.",
)
@options.precision(
    "Choose the lowest threshold whose precision is at least this with 95 % confidence. With a "
    "model, precision is measured out of fold; without a model, it is estimated from the scores."
)
@click.option(
    "-b",
    "--budget",
    type=click.IntRange(1),
    help="Report this many pairs with the highest scores, instead of a threshold.",
)
@click.option(
    "--groups/--pairs", "grouped", default=False, help="Report groups of duplicates, or pairs."
)
@click.option(
    "--linkage",
    type=click.Choice(["average", "complete"]),
    help="Merge two groups by the mean score of the pairs between them (average), or by the "
    "lowest (complete). Default: average.",
)
@options.prior(
    "Share of duplicates among the candidate pairs, or the word estimate. Probabilities are "
    "corrected for this share. Default: no correction.",
    type=_NumberOr(options.PRIOR, "SHARE", "estimate"),
)
@click.option(
    "--index",
    type=click.Choice(["auto", "exact", "approximate"]),
    default="auto",
    help="How to search for neighbours. auto is exact for small tables; with an encoder, up to "
    f"{EXACT_LIMIT:,} different texts.",
)
@options.compared_by
@writing.out_option
@writing.format_option
@options.file("--html", help="Write a page of the groups. Add --out to write the table too.")
@options.encoding
@options.device
def duplicates(given: Any) -> None:
    """Find rows of a TABLE that mean the same, without labels or with a model of film train.

    The table of pairs has the columns id1, id2, score, kind, text1 and text2. Records that are
    compared by column have left_name, right_name and so on in place of the texts. The kind is copy
    (equal except for case, white space and Unicode form), spelling (equal except for spelling and
    format), similar, or "differs in" name (of people or companies), number, code, unit, negation,
    opposite, choice (such as a colour) or order. The table of groups has the columns group, id,
    score (of the last merge), weakest (score of the weakest pair) and the columns of TABLE.
    """
    known = given.against is not None and is_collection(given.against)
    _check_options(given, known)
    collection = _open_collection(given) if known else None
    prior, classifier = given.prior, None
    if given.model is not None:
        classifier = models.load_classifier(given.model, given.device)
    if collection:
        classifier, prior = collection.finder.classifier, collection.finder.prior
    threshold = None if given.threshold == "auto" else given.threshold
    measured = given.precision is not None and classifier is not None
    if measured and prior != "estimate":
        threshold = _threshold_for(given.precision, classifier, prior)
    rows = reading.open_table(given.table, given.encoding)
    other = None
    if given.against is not None and not collection:
        other = reading.open_table(given.against, given.encoding)
    named = reading.choose_id_column(rows, given.name)
    fixed: Any = None
    if collection:
        fixed = collection.finder.columns_ or ()
    elif classifier is not None:
        fixed = getattr(classifier, "columns_", ())
    compared = compared_columns(given, fixed, rows, other, (named, *given.within))
    records = rows_of(rows, given.text, compared and compared.ours)
    ids = _ids_of(rows, named, len(collection.finder.ids_) if collection and given.add else 0)
    blocks = blocks_of(rows, given.within)
    is_growing = given.add and given.grouped
    if collection and given.add:
        collection.check_new(ids)
    if collection and is_growing:
        finder = collection.finder.set_params(verbose=verbosity()).add(records.given, ids, blocks)
        rows, ids = collection.whole(rows), finder.ids_.tolist()
    carried = [name for name in rows.columns if name != named]
    to_groups = (given.grouped or given.golden is not None) and given.keep is None
    is_written = given.out is not None or (
        given.html is None and (given.golden is None or given.keep is not None)
    )
    if to_groups and is_written:
        check_carried(rows, carried)
    if given.golden is not None and SOURCES in rows.columns:
        raise Failure(f"{rows.source} has a column {SOURCES!r}, as --golden has; rename it")
    sort_by = given.keep
    if sort_by not in (None, "first", "longest"):
        sort_by = sort_values(rows, sort_by)
    labelled = None
    if given.not_same is not None:
        labelled = labelled_rows(given.not_same, given.encoding)
    leaves("nothing was written; the same command starts from the beginning")
    if collection:
        finder = collection.finder.set_params(verbose=verbosity())
    else:
        first, named_rows = records, (ids, blocks)
        if other is not None:
            first = rows_of(other, given.text, compared and compared.theirs)
            own = reading.choose_id_column(other, given.name)
            named_rows = _ids_of(other, own), blocks_of(other, given.within)
        finder = DuplicateFinder(
            classifier,
            prior=prior,
            index=given.index,
            encoder=models.chosen_encoder(given.encoder, len({*first.texts, *records.texts})),
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
    answers = list(must), list(cannot)
    if measured and prior == "estimate":
        estimated = finder.find(threshold=1.0).prior
        threshold = _threshold_for(given.precision, classifier, estimated)
    across = None if is_growing else given.against
    linkage = given.linkage or "average"
    constraints: Any = {"must_link": must, "cannot_link": cannot}
    matched: Any = {"blocks": blocks, "one_to_one": given.one_to_one}
    if given.precision is not None and not measured:
        every = finder.match(records.given, ids, **matched) if across else finder.find()
        threshold = _expected_threshold(given.precision, every.expected)
    limits: Any = {"threshold": threshold, "budget": given.budget}
    mapped: Any = None
    golden: Any = None
    try:
        if across:
            found = finder.match(records.given, ids, **matched, **limits)
            result = pair_table(found)
        elif to_groups or given.keep is not None:
            if given.golden or given.keep:
                constraints["apart"] = _kept_apart(finder, threshold, must, given.merge_differing)
            found = finder.groups(threshold, linkage=linkage, **constraints)
            result = group_table(found, rows, carried)
            if sort_by is not None:
                result, mapped = kept_tables(found, found.keep(sort_by), ids, rows)
            if given.golden is not None:
                golden = golden_table(found, ids, named, rows)
        else:
            finder.known_pairs(**constraints)
            found = finder.find(**limits, cannot_link=cannot)
            result = pair_table(found)
    except ValueError as error:
        if given.not_same is None:
            raise
        raise refuse_contradictions(error, given.not_same) from error
    lowest = found.threshold
    if given.budget and isinstance(found, DuplicatePairs):
        lowest = max(LEAST, float(found.scores.min(initial=1.0)))
    _note_on(found, lowest, len(rows))
    is_by_group = not isinstance(found, DuplicatePairs) or found.is_by_group
    estimates = expected_lines(found.expected, lowest, is_by_group)
    for line in estimates:
        note(line)
    kept_elsewhere: Failure | None = None
    if is_written:
        try:
            writing.write_result(given.out, given.form, *result, like=rows)
        except Failure as error:
            kept_elsewhere = error
    for path, table in ((given.mapping, mapped), (given.golden, golden)):
        if path is not None:
            writing.write_result(path, given.form, *table, like=rows)
    if given.html is not None:
        if across:
            data = match_data(found, lowest, len(rows))
            title = f"Rows of {PurePath(rows.source).name} in {PurePath(across).name}"
        else:
            data = page_data(finder, lowest, linkage, **constraints)
            title = f"Duplicates in {PurePath(rows.source).name}"
        data["notes"] += estimates
        write_page(duplicates_page(data, title=title), given.html)
        writing.note_written(given.html)
    if given.save is not None or is_growing:
        finder.remember_pairs(*answers)
        if not isinstance(found, DuplicatePairs):
            finder.remember_groups(found)
    if given.save is not None:
        from estimators.persistence import save_model

        with alone_at(given.save):
            save_model(finder, given.save)
        writing.note_written(given.save, counted(len(finder.ids_), "row"))
    if collection and given.add:
        if not is_growing:
            finder.add(records.given, ids, blocks)
        collection.save()
        writing.note_written(collection.path, counted(len(finder.ids_), "row"))
    if kept_elsewhere is not None:
        raise kept_elsewhere


def _kept_apart(
    finder: Any, threshold: float | None, must: list[Any], merge_differing: bool
) -> str | None:
    """Say which pairs are not merged, and return the argument for `DuplicateFinder.groups`.

    Pairs of ``must`` are merged. Similar rows stay if no threshold is given and the scores say
    little about precision.
    """
    found = finder.find(threshold=threshold)
    linked = {frozenset(pair) for pair in must}
    listed = found.scores >= found.threshold
    listed &= np.array([frozenset(pair) not in linked for pair in found.ids.tolist()], dtype=bool)
    kinds = found.kind[listed].astype(str)
    n_differing = np.char.startswith(kinds, "differs").sum()
    if n_differing and not merge_differing:
        note(
            f"pairs that differ in a name, number, code or the like: {n_differing}; their rows "
            "stay; --merge-differing treats them as duplicates"
        )
    apart = None if merge_differing else "differing"
    if found.expected is None:
        return apart
    low, high = found.expected.at(found.threshold)["precision_interval"]
    n_similar = (kinds == "similar").sum()
    if low >= LOW or not n_similar:
        return apart
    unknown = (
        f"between {100 * low:.0f} and {100 * high:.0f} % of the pairs are duplicates, and the "
        "scores alone cannot say more"
    )
    if merge_differing:
        note(f"{unknown}: check some before you use the result (--html, film review)")
        return apart
    note(
        f"{unknown}: the rows of {n_similar} similar pairs stay; check some (--html, film "
        f"review); --threshold {found.threshold:.2f} treats them as duplicates"
    )
    return "similar"


def _ids_of(rows: Table, named: str | None, n_before: int = 0) -> list[Any]:
    """Return the ids of a column, or row numbers that continue those of the collection."""
    if named is None:
        return [str(n_before + number) for number in range(1, len(rows) + 1)]
    return reading.unique_ids(rows, named)


def _threshold_for(precision: Any, classifier: Any, prior: float | None) -> float:
    threshold = classifier.threshold_for(precision, prior=prior)
    share = classifier.prior_ if prior is None else prior
    note(
        f"from {threshold:.6g} on, probabilities have a precision of at least {precision:g}, with "
        "95 % confidence, if the "
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


def _check_options(given: Any, known: bool) -> None:
    """Raise if options contradict each other; ``known``: --against is a collection."""
    if given.against is None:
        options.refuse(one_to_one="compares two tables; give --against too")
    else:
        one = "applies to one table; leave out that or --against"
        options.refuse(keep=one, golden=one)
        if not given.add:
            options.refuse(grouped=one)
        if not (given.add and given.grouped):
            options.refuse(not_same=one)
        options.refuse(save="saves one table; leave out --against, or give --add")
    if given.add and given.grouped:
        options.refuse(one_to_one="applies to pairs; leave out --one-to-one or --groups")
    merges = given.keep is not None or given.golden is not None
    if not merges:
        options.refuse(merge_differing="applies to --keep and --golden; give one too")
    if not known:
        options.refuse(add="needs a collection; give --against a file written by --save")
    else:
        fixed = "is fixed when a collection is saved; give it with --save instead"
        options.refuse(model=fixed, prior=fixed, index=fixed, encoder=fixed)
    if given.keep is None:
        options.refuse(mapping="lists the rows that --keep removes; give --keep too")
    limits = {
        "--threshold": None if given.threshold == "auto" else given.threshold,
        "--precision": given.precision,
        "--budget": given.budget,
    }
    limited = [option for option, value in limits.items() if value is not None]
    if len(limited) > 1:
        raise click.UsageError(f"{' and '.join(limited)} cannot be combined; give one")
    if given.grouped or merges:
        option = "--golden" if given.golden else "--keep" if given.keep else "--groups"
        options.refuse(budget=f"counts pairs; give --threshold with {option}")
    elif given.html is None:
        options.refuse(linkage="applies to groups; give --groups or --html too")
    if given.model is None and not known:
        options.refuse(
            prior="needs the probabilities of a model; give --model too",
            device="applies to the encoder of a model; give --model too",
        )
    outputs = {option: getattr(given, option[2:]) for option in _OUTPUTS}
    writing.check_places(outputs, [given.table, given.model, given.against, given.not_same])


def _open_collection(given: Any) -> Collection:
    """Open the collection of --against."""
    writing.check_places({"--against": given.against}, [given.table])
    collection = Collection(given.against, given.device, given.add)
    has_blocks = collection.finder.has_blocks_
    if has_blocks != bool(given.within):
        remedy = "give it here too" if has_blocks else "leave it out, or save it with it"
        state = "with" if has_blocks else "without"
        raise click.UsageError(f"--within: {given.against} was saved {state} it; {remedy}")
    return collection


def _note_on_texts(finder: Any) -> None:
    if n := finder.n_without_vector_:
        note(
            f"{counted(n, 'different text')} {have(n)} no word or trigram to compare; only their "
            "exact copies are found"
        )


def _note_on(found: Any, lowest: float, n_rows: int) -> None:
    text = counted(len(found), "group" if hasattr(found, "groups") else "pair")
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
        are = "is a duplicate" if n_duplicates == 1 else "are duplicates"
        text += f"; {n_duplicates} of {n_rows} rows {are} of an earlier row"
    note(text)
    if merged := getattr(found, "renumbered", None):
        now = (f"{gone + 1} is now in {number + 1}" for gone, number in merged.items())
        note(f"groups that were merged: {', '.join(now)}")
    if found.n_cut:
        note(
            f"{counted(found.n_cut, 'text')} may have more pairs above {lowest:g} than the search "
            "returns; give a higher --threshold, or a smaller --budget"
        )
    if getattr(found, "n_ties", 0):
        note(
            f"pairs that share a row with another pair of the same score: {found.n_ties}; the "
            "choice between them is arbitrary"
        )

"""``film score``."""

from __future__ import annotations

from typing import Any

import click

from estimators.cli import options, reading, writing
from estimators.cli.console import Failure, progress
from estimators.cli.general import (
    finder_of_pairs,
    general_scores,
    model_of,
    note_kinds,
    pairs_to_score,
)


@options.command(
    "film score pairs.csv --model duplicates.film --out scored.csv",
    "film score pairs.jsonl -1 left -2 right -m duplicates.film | head",
    "film score pairs.csv --out compared.csv",
)
@click.argument("pairs", type=options.FILE, metavar="PAIRS")
@options.pairs
@options.records
@options.compare_pairs
@options.any_model
@options.compared_by
@writing.out_option
@writing.format_option
@click.option(
    "--threshold",
    type=options.SHARE,
    default=0.5,
    help="A pair is a duplicate from this score on.",
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    help="Name of the column of scores; the decision is then NAME_duplicate.",
)
@options.device
def score(given: Any) -> None:
    """Add a score to each pair in a table of PAIRS.

    The other columns stay. Without a model, the general score compares the texts or records of all
    pairs as one table, like film duplicates. It adds the columns score, duplicate (the decision, 0
    or 1) and kind (how the texts differ). A model file adds the columns probability (that the pair
    is a duplicate), duplicate (the decision, 0 or 1) and familiarity (how much the texts resemble
    the training texts, from 0 to 1; at 0 the general score decides). If a model of records learned
    from at most 2,000 labels, and there are 1,000 pairs or more, their general scores as one table
    are used too. If over half of the pairs are unlike the training texts, the first column is
    called score, because it is not calibrated.
    """
    writing.check_places({"--out": given.out}, [given.pairs, given.model])
    classifier = model_of(given)
    from estimators.pairs import (
        FEWEST_PAIRS,
        are_unfamiliar,
        duplicate_probabilities,
        warn_of_unfamiliar,
    )

    table = reading.open_table(given.pairs, given.encoding)
    texts, kinds = pairs_to_score(table, given, classifier)
    familiar = None if classifier is None else classifier.familiarity(texts)
    calibrated = familiar is not None and not are_unfamiliar(familiar)
    if familiar is not None and len(texts) < FEWEST_PAIRS:
        warn_of_unfamiliar(familiar, "pairs")
    name = given.name or ("probability" if calibrated else "score")
    added = [name, "duplicate" if given.name is None else f"{name}_duplicate"]
    last_name = "familiarity" if given.model else "kind"
    added.append(last_name if name in ("score", "probability") else f"{name}_{last_name}")
    taken = [column for column in added if column in table.columns]
    if taken:
        raise Failure(
            f"{table.source} already has a column {taken[0]!r}; rename the new one with --as NAME"
        )
    if familiar is None:
        finder = finder_of_pairs(texts, given.encoder, kinds)
        note_kinds(finder)
        scores, last = (each.tolist() for each in finder.score_pairs(texts.tolist()))
    else:
        general = general_scores(classifier, texts)
        with progress(len(texts), "score") as advance:
            scores = duplicate_probabilities(
                classifier, texts, general=general, advance=advance
            ).tolist()
        last = familiar.round(4).tolist()
    columns = scores, [int(p >= given.threshold) for p in scores], last
    rows = ([*row, *cells] for row, *cells in zip(table.rows, *columns, strict=True))
    writing.write_result(given.out, given.form, [*table.columns, *added], rows, like=table)

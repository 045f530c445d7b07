"""``film score``."""

from __future__ import annotations

import click

from estimators.cli import reading
from estimators.cli.console import Failure, examples, progress, quiet_option
from estimators.cli.options import SHARE, model_option, pair_options
from estimators.cli.writing import check_places, format_option, out_option, write_result


@click.command(
    epilog=examples(
        "film score pairs.csv --model duplicates.skops --out scored.csv",
        "film score pairs.jsonl -1 left -2 right -m duplicates.skops | head",
    ),
)
@click.argument("pairs", metavar="PAIRS")
@pair_options
@model_option()
@out_option
@format_option
@click.option(
    "--threshold",
    type=SHARE,
    default=0.5,
    show_default=True,
    help="A pair is a duplicate if its probability is above this.",
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    help="Name of the column of probabilities; the decision is then NAME_duplicate.",
)
@quiet_option
def score(
    pairs: str,
    text1: str | None,
    text2: str | None,
    model: str,
    out: str | None,
    form: str | None,
    threshold: float,
    name: str | None,
    encoding: str | None,
) -> None:
    """Add to a table of PAIRS the probability that each is a duplicate, and the decision 0 or 1.

    The columns of the table are carried through; the two new ones are probability and duplicate.
    """
    check_places({"--out": out}, [pairs, model])
    classifier = reading.open_model(model)
    # Loaded after the model: skops loads faster before scikit-learn.
    from estimators.pairs import duplicate_probabilities

    table = reading.open_table(pairs, encoding)
    added = ["probability", "duplicate"] if name is None else [name, f"{name}_duplicate"]
    taken = [column for column in added if column in table.columns]
    if taken:
        raise Failure(
            f"{table.source} has a column {taken[0]!r} already; name the new one by --as NAME"
        )
    texts = reading.pairs_of(table, text1, text2)
    with progress(len(texts), "score") as advance:
        scores = duplicate_probabilities(classifier, texts, advance=advance).tolist()
    rows = ([*row, p, int(p > threshold)] for row, p in zip(table.rows, scores, strict=True))
    write_result(out, form, [*table.columns, *added], rows, like=table)

"""``film submit``."""

from __future__ import annotations

import click

from estimators.cli import reading
from estimators.cli.console import examples, note, progress, quiet_option
from estimators.cli.options import id_option, model_option, pair_options, prior_option
from estimators.cli.tables import format_of
from estimators.cli.writing import check_places, is_file, note_written, standard_output


@click.command(
    epilog=examples(
        "film submit test.csv --model duplicates.skops --prior 0.1746 --out submission.csv"
    ),
)
@click.argument("test", metavar="TEST")
@pair_options
@id_option(f"Ids of the pairs. Default: {' or '.join(reading.TEST_ID_COLUMNS)}.")
@model_option()
@prior_option(
    "Share of duplicates in TEST, 0.1746 in Kaggle's. Default: as in the training of the model."
)
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    required=True,
    help="Where the submission goes, always CSV; - is standard output.",
)
@quiet_option
def submit(
    test: str,
    text1: str | None,
    text2: str | None,
    name: str | None,
    model: str,
    prior: float | None,
    out: str,
    encoding: str | None,
) -> None:
    """Judge the pairs of Kaggle's Quora question pairs TEST file and write test_id,is_duplicate."""
    if is_file(out) and format_of(out) not in (None, "csv"):
        raise click.UsageError(f"--out {out}: a submission is CSV; end the name in .csv")
    check_places({"--out": out}, [test, model])
    classifier = reading.open_model(model)
    table = reading.open_table(test, encoding)
    column = reading.choose_column(table, name, reading.TEST_ID_COLUMNS, "--id", "the ids")
    ids = reading.unique_ids(table, column)
    texts = reading.pairs_of(table, text1, text2)
    from estimators.pairs import write_predictions

    target = out if is_file(out) else standard_output()
    with progress(len(texts), "submit") as advance:
        p = write_predictions(classifier, texts, ids, target, prior=prior, advance=advance)
    note(f"{len(p)} predictions, mean {p.mean():.4f}")
    if is_file(out):
        note_written(out, f"{len(p)} rows")

"""``film submit``."""

from __future__ import annotations

import click

from estimators.cli import _reading as reading
from estimators.cli._console import examples, note, progress, quiet_option
from estimators.cli._writing import check_places
from estimators.cli.train import PRIOR
from estimators.submission import write_predictions


@click.command(
    epilog=examples(
        "film submit test.csv --model duplicates.skops --prior 0.1746 --out submission.csv"
    ),
    short_help="Write a submission for Kaggle.",
)
@click.argument("test", metavar="TEST")
@reading.pair_options
@click.option(
    "--id",
    "name",
    metavar="COLUMN",
    help=f"Ids of the pairs. Without: {' or '.join(reading.TEST_ID_COLUMNS)}.",
)
@reading.model_option
@click.option(
    "--prior",
    type=PRIOR,
    help="Share of duplicates in TEST, 0.1746 in Kaggle's. Without: that of the model.",
)
@click.option("-o", "--out", metavar="FILE", required=True, help="Where the submission goes.")
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
    check_places({"--out": out}, [test, model])
    classifier = reading.open_model(model)
    table = reading.open_table(test, encoding)
    column = reading.choose_column(table, name, reading.TEST_ID_COLUMNS, "--id", "the ids")
    ids = reading.unique_ids(table, column)
    texts = reading.pairs_of(table, reading.choose_pair_columns(table, text1, text2))
    with progress(len(texts), "submit") as advance:
        said = write_predictions(classifier, texts, ids, out, prior=prior, advance=advance)
    note(f"wrote {len(said)} predictions, mean {said.mean():.4f}, to {out}")

"""``film evaluate``."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from estimators.cli import _reading as reading
from estimators.cli._console import examples, note, progress, quiet_option
from estimators.cli._figures import as_text, figures
from estimators.cli._writing import check_places, out_option, write_text
from estimators.cli.train import PRIOR
from estimators.submission import duplicate_probabilities


@click.command(
    epilog=examples(
        "film evaluate dev.csv --model duplicates.skops",
        "film evaluate dev.csv -m duplicates.skops --prior 0.1746 --format json",
    ),
    short_help="Measure a model on labelled pairs.",
)
@click.argument("pairs", metavar="PAIRS")
@reading.pair_options
@reading.label_option
@reading.model_option
@click.option("--prior", type=PRIOR, help="Also give the log loss at this share of duplicates.")
@out_option
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the result.",
)
@quiet_option
def evaluate(
    pairs: str,
    text1: str | None,
    text2: str | None,
    label: str | None,
    model: str,
    prior: float | None,
    out: str | None,
    form: str,
    encoding: str | None,
) -> None:
    """Measure a model on a table of labelled PAIRS that it was not trained on.

    Gives accuracy, log loss, ROC AUC, and the calibration error with a bootstrap interval: how
    far probabilities lie from the observed rates.
    """
    check_places({"--out": out}, [pairs, model])
    classifier = reading.open_model(model)
    table = reading.open_table(pairs, encoding)
    columns = reading.choose_pair_columns(table, text1, text2)
    named = reading.choose_column(table, label, reading.LABEL_COLUMNS, "--label", "the labels")
    rows, y = reading.labels_of(table, named)
    texts = reading.pairs_of(table, columns)[rows]
    _note_on_known(classifier, texts)
    with progress(len(texts), "evaluate") as advance:
        p = duplicate_probabilities(classifier, texts, advance=advance)
    found = figures(y, p, prior_from=classifier.prior_, prior=prior)
    write_text(out, json.dumps(found, indent=1) + "\n" if form == "json" else as_text(found))


def _note_on_known(classifier: Any, pairs: np.ndarray) -> None:
    """Warn where questions of the training are judged: such figures flatter."""
    seen = int(classifier.trained_on(pairs).sum())
    if seen:
        note(
            f"warning: {seen} of {len(pairs)} pairs hold a question that the model was trained "
            "on, so these figures flatter it; evaluate on pairs with other questions"
        )

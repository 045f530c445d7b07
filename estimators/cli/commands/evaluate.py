"""``film evaluate``."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import click
import numpy as np

from estimators.cli import reading
from estimators.cli.console import examples, note, progress, quiet_option
from estimators.cli.figures import Thresholds, as_text, figures, thresholds_of
from estimators.cli.options import (
    FILE,
    PRIOR,
    device_option,
    html_option,
    label_option,
    model_option,
    pair_options,
    prior_option,
    record_options,
    report_format_option,
)
from estimators.cli.writing import check_places, note_written, out_option, write_report
from estimators.inputs import question_groups
from estimators.inspection import (
    ReliabilityDisplay,
    ThresholdDisplay,
    evaluation_page,
    import_pyplot,
    write_page,
)
from estimators.pairs import duplicate_probabilities
from film.datasets import atomic_writer

IMAGES = (".png", ".svg", ".pdf")


@click.command(
    epilog=examples(
        "film evaluate dev.csv --model duplicates.film",
        "film evaluate dev.csv -m duplicates.film --prior 0.1746 --format json",
        "film evaluate dev.csv -m duplicates.film --precision 0.95 --html figures.html",
    ),
)
@click.argument("pairs", type=FILE, metavar="PAIRS")
@pair_options
@record_options
@label_option
@model_option()
@prior_option(
    "Share of duplicates that you expect in new data. Reports log loss and thresholds for this "
    "share. Default: thresholds are for the share in PAIRS."
)
@click.option(
    "--precision",
    type=PRIOR,
    help=(
        "Suggest the lowest threshold whose precision is at least this, at the lower end of its "
        "95 % interval."
    ),
)
@html_option(
    "Draw precision and recall by threshold, and calibration: a page, or an image if FILE "
    "ends in .png, .svg or .pdf."
)
@out_option
@report_format_option("table", "json", default="table")
@device_option
@quiet_option
def evaluate(
    pairs: str,
    text1: str | None,
    text2: str | None,
    left: str | None,
    right: str | None,
    label: str | None,
    model: str,
    prior: float | None,
    precision: float | None,
    html: str | None,
    out: str | None,
    form: str,
    device: str | None,
    encoding: str | None,
) -> None:
    """Measure a model on a table of labelled PAIRS that it was not trained on.

    Reports accuracy, log loss, ROC AUC, and the calibration error (how far probabilities are from
    observed rates) with a bootstrap interval. Then reports precision, recall and F1 with intervals
    for each threshold, to help you choose one.
    """
    if html == "-":
        raise click.UsageError("--html - : a page or image cannot be written to standard output")
    check_places({"--out": out, "--html": html}, [pairs, model])
    if html is not None:
        import_pyplot()
    classifier = reading.open_model(model, device)
    sides = left, right
    labelled = reading.read_labelled_pairs(pairs, text1, text2, label, encoding, sides, classifier)
    texts, y = labelled.pairs, labelled.y
    if precision is not None or html is not None:
        labelled.check_labels("--html" if precision is None else "--precision")
    _note_on_known(classifier, texts)
    with progress(len(texts), "evaluate") as advance:
        p = duplicate_probabilities(classifier, texts, advance=advance)
    held = classifier.prior_
    record: dict[str, Any] = figures(y, p, prior_from=held, prior=prior)
    text, by_threshold = as_text(record), None
    if y.min() < y.max():
        by_threshold = thresholds_of(
            y, p, question_groups(texts), prior_from=held, prior=prior, precision=precision
        )
        record["thresholds"] = by_threshold.as_record()
        text += "\n" + by_threshold.as_text()
    write_report(out, form, record, text)
    if html is not None and by_threshold is not None:
        title = f"{PurePath(model).name} on {PurePath(labelled.table.source).name}"
        _draw(html, title, text, by_threshold, y, p)
        note_written(html)


def _draw(
    path: str,
    title: str,
    text: str,
    by_threshold: Thresholds,
    y: np.ndarray,
    p: np.ndarray,
) -> None:
    """Write an image of the thresholds, or a page with the thresholds, calibration and figures."""
    display = ThresholdDisplay(by_threshold.curve, by_threshold.wanted, "probability").plot()
    form = PurePath(path).suffix.lower()
    if form in IMAGES:
        with atomic_writer(path, "wb") as handle:
            display.figure_.savefig(handle, format=form[1:], dpi=150)
        return
    drawings = [
        ("Precision, recall and F1 by threshold.", display.figure_),
        (
            "Observed share of duplicates by probability.",
            ReliabilityDisplay.from_predictions(y, p).figure_,
        ),
    ]
    write_page(evaluation_page(title, drawings, [text]), path)


def _note_on_known(classifier: Any, pairs: np.ndarray) -> None:
    """Warn about pairs with training questions: they inflate the figures."""
    seen = int(classifier.trained_on(pairs).sum())
    if seen:
        note(
            f"warning: {seen} of {len(pairs)} pairs contain a text of the training data, which "
            "makes these figures too good; evaluate on other texts"
        )

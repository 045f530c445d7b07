"""``film evaluate``."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import click
import numpy as np

from estimators.cli import models, options, reading, writing
from estimators.cli.console import note, progress
from estimators.cli.figures import Thresholds, as_text, figures, thresholds_of
from estimators.cli.general import general_scores
from estimators.inputs import question_groups
from estimators.inspection import (
    evaluation_page,
    import_pyplot,
    plot_reliability,
    plot_thresholds,
    write_page,
)
from estimators.pairs import duplicate_probabilities
from film.datasets import atomic_writer

IMAGES = (".png", ".svg", ".pdf")


@options.command(
    "film evaluate dev.csv --model duplicates.film",
    "film evaluate dev.csv -m duplicates.film --prior 0.1746 --format json",
    "film evaluate dev.csv -m duplicates.film --precision 0.95 --html figures.html",
)
@click.argument("pairs", type=options.FILE, metavar="PAIRS")
@options.pairs
@options.records
@options.label
@options.model()
@options.prior(
    "Share of duplicates that you expect in new data. Reports log loss and thresholds for this "
    "share. Default: thresholds are for the share in PAIRS."
)
@options.precision(
    "Suggest the lowest threshold whose precision is at least this, at the lower end of its 95 % "
    "interval."
)
@options.file(
    "--html",
    help="Draw precision and recall by threshold, and calibration: a page, or an image if FILE "
    "ends in .png, .svg or .pdf.",
)
@writing.out_option
@options.form("table", "json", default="table")
@options.device
def evaluate(given: Any) -> None:
    """Measure a model on a table of labelled PAIRS that it was not trained on.

    Reports accuracy, log loss, ROC AUC, and the calibration error (how far probabilities are from
    observed rates) with a bootstrap interval. Then reports precision, recall and F1 with intervals
    for each threshold, to help you choose one.
    """
    html, precision = given.html, given.precision
    writing.check_places({"--out": given.out, "--html": html}, [given.pairs, given.model])
    if html is not None:
        import_pyplot()
    classifier = models.load_classifier(given.model, given.device)
    labelled = reading.read_labelled_pairs(given, classifier)
    texts, y = labelled.pairs, labelled.y
    if precision is not None or html is not None:
        labelled.check_labels("--html" if precision is None else "--precision")
    _note_on_known(classifier, texts)
    general = general_scores(classifier, texts)
    with progress(len(texts), "evaluate") as advance:
        p = duplicate_probabilities(classifier, texts, general=general, advance=advance)
    priors = {"prior_from": classifier.prior_, "prior": given.prior}
    record: dict[str, Any] = figures(y, p, **priors)
    text, by_threshold = as_text(record), None
    if y.min() < y.max():
        by_threshold = thresholds_of(y, p, question_groups(texts), precision=precision, **priors)
        record["thresholds"] = by_threshold.as_record()
        text += "\n" + by_threshold.as_text()
    writing.write_report(given.out, given.form, record, text)
    if html is not None and by_threshold is not None:
        title = f"{PurePath(given.model).name} on {PurePath(labelled.table.source).name}"
        _draw(html, title, text, by_threshold, y, p)
        writing.note_written(html)


def _draw(
    path: str, title: str, text: str, by_threshold: Thresholds, y: np.ndarray, p: np.ndarray
) -> None:
    """Write an image of the thresholds, or a page with the thresholds, calibration and figures."""
    given = by_threshold.curve, by_threshold.wanted
    figure = plot_thresholds(*given, score_name="probability").figure
    form = PurePath(path).suffix.lower()
    if form in IMAGES:
        with atomic_writer(path, "wb") as handle:
            figure.savefig(handle, format=form[1:], dpi=150)
        return
    drawings = [
        ("Precision, recall and F1 by threshold.", figure),
        ("Observed share of duplicates by probability.", plot_reliability(y, p).figure),
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

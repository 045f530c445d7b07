"""``film submit``."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from typing import Any

import click

from estimators.cli import models, options, reading, writing
from estimators.cli.console import counted, leaves, note, progress
from estimators.cli.tables import format_of


@options.command("film submit test.csv --model duplicates.film --prior 0.1746 --out submission.csv")
@click.argument("test", type=options.FILE, metavar="TEST")
@options.pairs
@options.ids(f"Ids of the pairs. Default: {' or '.join(reading.TEST_ID_COLUMNS)}.")
@options.model()
@options.prior("Share of duplicates in TEST (0.1746 in Kaggle's). Default: as in training.")
@options.file(
    "-o",
    "--out",
    required=True,
    help="Where the submission goes, always CSV; - is standard output.",
)
@options.device
def submit(given: Any) -> None:
    """Score the pairs of Kaggle's Quora question pairs TEST file and write test_id,is_duplicate.

    A large CSV file is read row by row. Finished scores are kept in the folder FILE.parts until
    the submission is complete; if interrupted, the same command continues.
    """
    out = given.out
    to_file = writing.is_file(out)
    if to_file and format_of(out) not in (None, "csv"):
        raise click.UsageError(f"--out {out}: a submission is CSV; end the name in .csv")
    writing.check_places({"--out": out}, [given.test, given.model])
    classifier = models.load_classifier(given.model, given.device)
    rows = reading.named_pairs(given)
    from estimators.pairs import write_submission

    keep = f"{out}.parts" if to_file else None
    scores = None if keep is None else os.path.join(keep, "scores")
    with tempfile.TemporaryFile("w+", encoding="utf-8") as checked:
        n_pairs = 0
        for row in rows:
            checked.write(json.dumps(row) + "\n")
            n_pairs += 1
        checked.seek(0)
        if keep is not None:
            leaves(f"finished scores are kept in {keep}; run the same command to continue")
        with progress(n_pairs, "submit") as advance:
            mean = write_submission(
                classifier,
                map(json.loads, checked),
                out if to_file else writing.standard_output(),
                prior=given.prior,
                memory=scores,
                model_digest=writing.digest_of(given.model),
                advance=advance,
            )
    note(f"{n_pairs} predictions, mean {mean:.4f}")
    if keep is not None and scores is not None:
        shutil.rmtree(scores, ignore_errors=True)
        with suppress(OSError):
            os.rmdir(keep)
        writing.note_written(out, counted(n_pairs, "row"))

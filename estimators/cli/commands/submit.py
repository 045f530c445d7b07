"""``film submit``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from estimators.cli import models, options, reading, writing
from estimators.cli.console import Failure, leaves, note, progress
from estimators.cli.tables import format_of

_PAIRS, _JUDGED = "pairs", "judged"


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
    from estimators.pairs import keep_pairs, write_kept_predictions

    with _kept(out) as keep:
        pairs = keep_pairs(rows, keep / _PAIRS)
        target = out if to_file else writing.standard_output()
        with progress(pairs.shape[0], "submit") as advance:
            mean = write_kept_predictions(
                classifier,
                pairs,
                target,
                keep / _JUDGED,
                model_digest=writing.digest_of(given.model),
                prior=given.prior,
                advance=advance,
            )
    note(f"{pairs.shape[0]} predictions, mean {mean:.4f}")
    if to_file:
        writing.note_written(out, f"{pairs.shape[0]} rows")


@contextmanager
def _kept(out: str) -> Iterator[Path]:
    """Yield the folder of finished scores; it stays if the command is interrupted."""
    if not writing.is_file(out):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    keep = Path(f"{out}.parts")
    leaves(f"finished scores are kept in {keep}; run the same command to continue")
    try:
        yield keep
    except (Failure, ValueError):
        # A table that is wrong leaves nothing that is of use.
        if not (keep / _JUDGED).exists():
            _remove(keep)
        raise
    _remove(keep)


def _remove(keep: Path) -> None:
    for name in (_PAIRS, _JUDGED):
        shutil.rmtree(keep / name, ignore_errors=True)
    with suppress(OSError):
        keep.rmdir()

"""``film submit``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from estimators.cli import reading
from estimators.cli.console import Failure, examples, leaves, note, progress, quiet_option
from estimators.cli.options import (
    FILE,
    device_option,
    id_option,
    model_option,
    pair_options,
    prior_option,
)
from estimators.cli.tables import format_of
from estimators.cli.writing import check_places, digest_of, is_file, note_written, standard_output

_PAIRS, _JUDGED = "pairs", "judged"


@click.command(
    epilog=examples(
        "film submit test.csv --model duplicates.film --prior 0.1746 --out submission.csv"
    ),
)
@click.argument("test", type=FILE, metavar="TEST")
@pair_options
@id_option(f"Ids of the pairs. Default: {' or '.join(reading.TEST_ID_COLUMNS)}.")
@model_option()
@prior_option("Share of duplicates in TEST (0.1746 in Kaggle's). Default: as in training.")
@click.option(
    "-o",
    "--out",
    type=FILE,
    metavar="FILE",
    required=True,
    help="Where the submission goes, always CSV; - is standard output.",
)
@device_option
@quiet_option
def submit(
    test: str,
    text1: str | None,
    text2: str | None,
    name: str | None,
    model: str,
    prior: float | None,
    out: str,
    device: str | None,
    encoding: str | None,
) -> None:
    """Score the pairs of Kaggle's Quora question pairs TEST file and write test_id,is_duplicate.

    A large CSV file is read row by row. Finished scores are kept in the folder FILE.parts until
    the submission is complete; if interrupted, the same command continues.
    """
    if is_file(out) and format_of(out) not in (None, "csv"):
        raise click.UsageError(f"--out {out}: a submission is CSV; end the name in .csv")
    check_places({"--out": out}, [test, model])
    classifier = reading.open_model(model, device)
    rows = reading.named_pairs(test, text1, text2, name, encoding)
    from estimators.pairs import keep_pairs, write_kept_predictions

    with _kept(out) as keep:
        pairs = keep_pairs(rows, keep / _PAIRS)
        target = out if is_file(out) else standard_output()
        with progress(pairs.shape[0], "submit") as advance:
            mean = write_kept_predictions(
                classifier,
                pairs,
                target,
                keep / _JUDGED,
                model_digest=digest_of(model),
                prior=prior,
                advance=advance,
            )
    note(f"{pairs.shape[0]} predictions, mean {mean:.4f}")
    if is_file(out):
        note_written(out, f"{pairs.shape[0]} rows")


@contextmanager
def _kept(out: str) -> Iterator[Path]:
    """Yield the folder of finished scores; it stays if the command is interrupted."""
    if not is_file(out):
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

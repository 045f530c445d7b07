"""The group of all commands."""

from __future__ import annotations

import click

from estimators.cli._console import Application
from estimators.cli.duplicates import duplicates
from estimators.cli.evaluate import evaluate
from estimators.cli.explain import explain
from estimators.cli.label import label
from estimators.cli.score import score
from estimators.cli.submit import submit
from estimators.cli.train import train

EPILOG = """\b
Start without labels:
  film duplicates tickets.csv --text subject --id ticket --out pairs.csv
\b
Or with pairs that are labelled 0 and 1:
  film train pairs.csv --model duplicates.skops
  film score more.csv --model duplicates.skops > scored.csv
\b
Columns that go by other names are named: --text1, --text2, --label, --text, --id.
A file may be CSV, TSV or JSON Lines, gzipped or not, or - for standard input.
Results go to standard output or --out, everything else to standard error.
Exit status: 0 done, 2 wrong options or data, 130 interrupted, 1 a bug.
"""


@click.group(
    cls=Application,
    commands=[train, score, duplicates, label, explain, evaluate, submit],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
def main() -> None:
    """Find texts that mean the same, with probabilities and reasons, on a laptop."""

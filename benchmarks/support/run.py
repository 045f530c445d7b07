"""What benchmarks share: options, runs in processes of their own, and results as they come."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences

UNITS = {
    **dict.fromkeys(("seconds", "fit", "predict", "training_seconds", "processor"), "s"),
    **dict.fromkeys(("seconds of the exact index", "processor of the exact index"), "s"),
    "seconds after a kill": "s",
    "peak": "MB",
}


def parser_of(bench: str, doc: str | None, data: str) -> argparse.ArgumentParser:
    """Make the parser of a benchmark's options, with those that all have."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{bench}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="DIR", help=data)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="a part, recorded only with --out")
    return parser


@contextmanager
def reading(bench: str) -> Iterator[None]:
    """End the run, with 2 as its exit status, where the data cannot be read."""
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        print(f"benchmarks.{bench}: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def in_process(bench: str, options: argparse.Namespace, *own: str) -> Any:
    """Run a case in a process of its own, so that its memory is its own, and read its JSON."""
    command = [sys.executable, "-m", f"benchmarks.{bench}", *own]
    command += ["--data", options.data] if options.data else []
    command += ["--quick"] if options.quick else []
    command += ["--out", options.out] if options.out else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


class Results:
    """Prints results, and records them unless the run is a trial."""

    def __init__(self, bench: str, options: argparse.Namespace) -> None:
        self.bench, self.folder = bench, options.out
        self.records = bool(options.out) or not options.quick

    def tell(
        self,
        case: str,
        row: dict[str, float],
        *,
        rival: str | None = None,
        beside: dict[str, float] | None = None,
        seed: int | None = 0,
        bench: str | None = None,
    ) -> None:
        """Tell the figures of a case, next to those of a rival."""
        print(
            f"{case}:", " ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True
        )
        for metric, value in row.items() if self.records else ():
            record(
                bench or self.bench,
                case,
                metric,
                value if isinstance(value, int) else round(float(value), 6),
                UNITS.get(metric, ""),
                rival=rival if beside is None or metric in beside else None,
                rival_value=None if beside is None else beside.get(metric),
                seed=seed,
                folder=self.folder,
            )

    def keep(self, case: str, pairs: Any, labels: Any, values: Any, **told: Any) -> None:
        """Keep what a case says of each pair, for `benchmarks.compare`."""
        if self.records:
            record_pairs(self.bench, case, pairs, labels, values, folder=self.folder, **told)

    def compare(self) -> None:
        """Record by how much each row is ahead of its reference row."""
        if self.records:
            record_differences(self.bench, self.folder)

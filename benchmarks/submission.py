"""A submission of Kaggle's size by ``film submit``: seconds, peak memory, and a kill half-way.

``python -m benchmarks.submission --data DIR`` fits `fast_duplicates` on the labelled pairs of
``DIR`` (on generated ones without), writes a table of 2,345,796 pairs of the bench corpus, and
judges it twice, each time by the command in a process of its own: once to the end, and once killed
by SIGKILL after half of that time, or earlier where it had ended by then, and run again. Both must
write the same bytes.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.support.bench_corpus import bench_corpus
from benchmarks.support.quora_data import splits_of
from benchmarks.support.run import Results, parser_of
from estimators import fast_duplicates, save_model
from estimators.cli import write_table

PAIRS, TEXTS = 2_345_796, 1_000_000


def main(arguments: list[str] | None = None) -> int:
    """Measure; status 1 where the two submissions differ."""
    parser = parser_of("submission", __doc__, "folder with Quora's files")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--texts", type=int, default=TEXTS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.pairs, options.texts = 3_000, 1_500
    with tempfile.TemporaryDirectory() as work:
        row = measure(Path(work), options)
    case = f"{options.pairs} pairs of {options.texts} texts"
    if not row.pop("same"):
        print("benchmarks.submission: the killed run wrote another submission", file=sys.stderr)
        return 1
    Results("submission", options).tell(case, row)
    return 0


def measure(work: Path, options: argparse.Namespace) -> dict[str, float]:
    """Fit, write the table, and judge it in one run and in two."""
    model, table = work / "model.film", work / "test.csv"
    data = splits_of(options, 600, 600, limit=600)
    small = {"d": 10, "rank": 30, "cv": 2} if options.quick else {}
    save_model(fast_duplicates(**small).fit(data.train, data.y_train, data.similar), model)
    corpus = bench_corpus(options.texts, options.pairs)
    rows = (
        (number, corpus.texts[first], corpus.texts[second])
        for number, (first, second) in enumerate(corpus.pairs.tolist())
    )
    write_table(table, ["test_id", "question1", "question2"], rows)
    print(f"fitted, and {len(corpus.pairs)} pairs written", flush=True)

    whole, seconds = work / "whole.csv", [0.0, 0.0, 0.0]
    seconds[0] = _timed(_submit(model, table, whole), None)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"whole: {seconds[0]:.1f} s, {peak:.0f} MB", flush=True)
    killed = work / "killed.csv"
    kill_after = seconds[0] / 2
    seconds[1] = _timed(_submit(model, table, killed), kill_after)
    while seconds[1] < kill_after:
        # It had ended by then, for the first run found nothing in the file cache.
        killed.unlink()
        kill_after = seconds[1] / 2
        seconds[1] = _timed(_submit(model, table, killed), kill_after)
    kept = not killed.exists()
    seconds[2] = _timed(_submit(model, table, killed), None)
    return {
        "seconds": round(seconds[0], 1),
        "peak": round(peak),
        "seconds after a kill": round(seconds[2], 1),
        "share done again": round((seconds[1] + seconds[2]) / seconds[0] - 1, 3),
        "same": kept and whole.read_bytes() == killed.read_bytes(),
    }


def _submit(model: Path, table: Path, target: Path) -> list[str]:
    command = [sys.executable, "-m", "estimators.cli", "submit", str(table)]
    return [*command, "--model", str(model), "--out", str(target), "--prior", "0.1746"]


def _timed(command: list[str], kill_after: float | None) -> float:
    """Run a command, to its end or to a kill, and give the seconds."""
    started = time.perf_counter()
    process = subprocess.Popen(command)
    try:
        status = process.wait(kill_after)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        status = 0
    if status:
        raise subprocess.CalledProcessError(status, command)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())

"""How often something goes wrong that should not, over damaged files, odd texts and killed jobs.

``python -m benchmarks.trust`` reads damaged copies of every kind of file, and inputs of a fuzzer
that is guided by the code they reach (atheris, where it is installed), asks every estimator about
odd texts, reads models of strangers, which have one change each by what is in them,
and kills jobs, or fills their disk, at random moments. A damaged file may be read
or refused with a clear message, and an odd text too; anything else is a failure, as are a hang,
2 GiB more memory, and values that are not finite. A job that was broken has to leave no wrong
outcome, and to end, when run again, with that of an undisturbed run. ``--parts`` names what runs;
``--keep FOLDER`` keeps the first input of each kind of failure. The exit status is 1 where one
failed. ``--quick`` takes a hundredth and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faulty.estimators_on_odd_texts import (
    ALONE,
    BATCH,
    estimators,
    neural_estimators,
    tried,
)
from benchmarks.faulty.faults import broken, jobs
from benchmarks.faulty.guided import guided, is_installed
from benchmarks.faulty.readers import Tally, fuzzed, readers
from benchmarks.faulty.strangers import quiet_threads, strangers
from benchmarks.faulty.strangers import tried as tried_strangers
from benchmarks.support.records import record

PARTS = ("readers", "guided", "estimators", "faults", "strangers")


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit status is 1 where an input or a job failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas between")
    parser.add_argument("--inputs", type=int, default=2500, help="of each reader and estimator")
    parser.add_argument("--hours", type=float, help="of the part strangers, instead of --inputs")
    parser.add_argument("--faults", type=int, default=26, help="of each job")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="FOLDER", help="where inputs that failed are kept")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--parts {sorted(unknown)}: give some of {', '.join(PARTS)}")
    if options.quick:
        options.inputs, options.faults = min(options.inputs, 25), min(options.faults, 1)
    n_failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case, tally, more in _tallies(options, Path(scratch)):
            row = {"inputs": tally.inputs, "read": tally.read, "refused": tally.refused}
            row |= {"failed": tally.failed} | more
            print(case, row, dict(tally.kinds), flush=True)
            n_failed += tally.failed
            _keep(options.keep, case, tally)
            for metric, value in row.items():
                if options.out or not options.quick:
                    record("trust", case, metric, value, seed=options.seed, folder=options.out)
    print(f"{n_failed} failed")
    return 1 if n_failed else 0


def _tallies(
    options: argparse.Namespace, scratch: Path
) -> Iterator[tuple[str, Tally, dict[str, int]]]:
    parts = options.parts.split(",")
    if "readers" in parts:
        folder = scratch / "files"
        folder.mkdir()
        for name, (path, reader) in readers(folder).items():
            if options.only in name:
                yield f"readers: {name}", fuzzed(path, reader, options.inputs, options.seed), {}
    if "guided" in parts and not is_installed():
        print("guided: left out, for atheris is not installed; it is in the extra fuzz")
    elif "guided" in parts:
        folder = scratch / "names"
        folder.mkdir()
        for name in readers(folder):
            if options.only in name:
                try:
                    tally, whole, edges = guided(name, options.inputs, options.seed)
                except RuntimeError as error:  # the fuzzer's own end, which says nothing of ours
                    print(str(error)[:200], flush=True)
                    continue
                yield f"guided: {name}", tally, {"edges_whole": whole, "edges": edges}
    if "strangers" in parts:  # for the same reason as faults
        with quiet_threads():
            folder = scratch / "strangers"
            folder.mkdir()
            kinds = strangers(folder)
            chosen = {name: each for name, each in kinds.items() if options.only in name}
            n = options.inputs if options.hours is None else sys.maxsize
            seconds = 3600 * (options.hours or 0) / max(len(chosen), 1)
            for name, each in chosen.items():
                tally = tried_strangers(each, folder, options.seed, n, seconds)
                yield f"strangers: {name}", tally, {}
    if "faults" in parts:  # before torch has threads of its own, which no fork survives
        prepared = scratch / "prepared"
        prepared.mkdir()
        for name, job in jobs(prepared).items():
            if options.only in name:
                place = scratch / "faults"
                place.mkdir()
                tally = broken(job, prepared, place, options.faults, options.seed)
                yield f"faults: {name}", tally, {}
                place.rmdir()
    if "estimators" in parts:
        checks = estimators(scratch, options.seed) | neural_estimators(scratch)
        for name, check in checks.items():
            if options.only in name:
                batch = 1 if name in ALONE else BATCH
                yield f"estimators: {name}", tried(check, options.inputs, options.seed, batch), {}


def _keep(folder: str | None, case: str, tally: Tally) -> None:
    if folder is None:
        return
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for number, (kind, content) in enumerate(tally.examples):
        name = "".join(sign if sign.isalnum() else "_" for sign in f"{case} {number} {kind}")
        (place / name[:120]).write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())

"""Which lines and branches of `film` and `estimators` the whole test suite runs.

``python -m benchmarks.covered`` runs every test in ``--jobs`` processes, counts what these and
those that they start run, prints what is left of each file, and records the shares of lines and
branches of every room. Its exit status is 1 where a share is below its bar. ``--tests`` runs
some tests alone; ``--quick`` those of two rooms, and neither records unless ``--out`` says where.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.support.records import record

ROOT = Path(__file__).parent.parent
BARS = {"film": 95, "estimators": 90}
"""Least shares, of lines and of branches, in per cent."""
QUICK = ("tests/film/pairs/test_log_loss.py", "tests/film/tokens/test_best_matches.py")
SETTINGS = """
[run]
branch = true
source = film, estimators
parallel = true
patch = subprocess, fork, _exit
sigterm = true
data_file = {folder}/data

[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
"""


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit status is 1 where a test fails or a share is below its bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.covered", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--tests", default="", help="files and folders, with commas between")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    tests = list(QUICK) if options.quick else [each for each in options.tests.split(",") if each]
    with tempfile.TemporaryDirectory() as folder:
        failed = _ran(Path(folder), tests, options.jobs)
        files = _files(Path(folder))
    for path, counts in files.items():
        if counts["missing"]:
            print(f"{path}: {counts['missing']}")
    low = False
    for name, counts in rooms(files).items():
        row = {"lines_run": _share(counts, "lines"), "branches_run": _share(counts, "branches")}
        print(name, row, flush=True)
        low |= min(row.values()) < BARS.get(name, 0)
        for metric, value in row.items():
            if options.out or not tests:
                record("covered", name, metric, value, "%", folder=options.out)
    return int(failed or (low and not tests))


def rooms(files: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Add up counts of files for both packages, and for each of their rooms."""
    total: dict[str, dict[str, int]] = {name: defaultdict(int) for name in BARS}
    for path, counts in sorted(files.items()):
        package, *inside = Path(path).parts
        room = f"{package}.{inside[0].removesuffix('.py')}"
        for name in (package, room) if room != f"{package}.__init__" else (package,):
            for key, value in counts.items():
                if key != "missing":
                    total.setdefault(name, defaultdict(int))[key] += value
    return total


def _ran(folder: Path, tests: list[str], jobs: int) -> bool:
    """Run tests under coverage, and say whether one failed."""
    settings = folder / "settings"
    settings.write_text(SETTINGS.format(folder=folder), encoding="utf-8")
    run = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q"]
    spread = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    command = [*run, "-p", "no:cacheprovider", *spread, *tests]
    failed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0
    coverage = [sys.executable, "-m", "coverage"]
    # Processes that the tests kill leave files that cannot be read, and are counted as nothing.
    combine = [*coverage, "combine", "-q", f"--rcfile={settings}"]
    subprocess.run(combine, cwd=ROOT, env=environment, check=False)
    counts = [*coverage, "json", "-q", f"--rcfile={settings}", "-o", str(folder / "counts.json")]
    subprocess.run(counts, cwd=ROOT, env=environment, check=True)
    return failed


def _files(folder: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((folder / "counts.json").read_text(encoding="utf-8"))["files"]
    return {
        path: {
            "lines": row["summary"]["covered_lines"],
            "all_lines": row["summary"]["num_statements"],
            "branches": row["summary"]["covered_branches"],
            "all_branches": row["summary"]["num_branches"],
            "missing": [*row["missing_lines"], *map(tuple, row["missing_branches"])],
        }
        for path, row in found.items()
    }


def _share(counts: dict[str, int], kind: str) -> float:
    total = counts[f"all_{kind}"]
    return round(100 * counts[kind] / total, 2) if total else 100.0


if __name__ == "__main__":
    sys.exit(main())

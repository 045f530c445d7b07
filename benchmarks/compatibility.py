"""The tests with the lowest and with the newest versions that `pyproject.toml` allows.

``make compatibility`` makes two environments in ``--folder``, one with the lower bound of every
dependency and extra that the tests use, one with what the package index offers, and runs in each
the tests of both packages without those of benchmarks, pages and browsers. Warnings of deprecation
are errors there too, but for those that a library raises at its own lines. ``--pin torch==2.13.0``
keeps one of the newest, for instance to a build without CUDA. ``--quick`` makes no environment, and
runs one file with the Python at hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.rivals.environment import rival_python

ROOT = Path(__file__).parent.parent
EXTRAS = ("contexts", "files", "minilm", "plot", "transport")
TOOLS = ("pytest", "pytest-xdist")
TESTS = ("film", "estimators", "tests/film", "tests/estimators", "tests/regressions")
LEFT_OUT = ("*_in_browser.py", "test_cluster.py")
QUICK = ("tests/estimators/inputs/test_pairs.py",)
WARNINGS = """\
error::DeprecationWarning
error::FutureWarning
ignore::DeprecationWarning:matplotlib"""
"""An old matplotlib with a new pyparsing warns about itself."""
RECORD = """\
import json, sys
from benchmarks.support.records import record
case, counts, folder = json.loads(sys.argv[1])
for metric, value in counts.items():
    record("compatibility", case, metric, value, folder=folder)
"""


class Requirement(NamedTuple):
    """A distribution, and its lowest version where there is one."""

    name: str
    lowest: str | None


def main(arguments: list[str] | None = None) -> int:
    """Run them, and exit with 1 where a test fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compatibility", description=__doc__)
    parser.add_argument("--sides", default="lowest,newest")
    parser.add_argument("--pin", action="append", default=[], help="of the newest: name==version")
    parser.add_argument("--folder", default="out/compatibility", help="where environments lie")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if options.quick:
        options.sides, options.jobs = "here", 0
        options.tests = QUICK if options.tests == list(TESTS) else options.tests
    sets = {"lowest": lowest(), "newest": newest(options.pin), "here": ()}
    if unknown := set(options.sides.split(",")) - set(sets):
        parser.error(f"--sides {sorted(unknown)}: give lowest, newest, or both")
    bad = 0
    for side in options.sides.split(","):
        python = Path(sys.executable)
        if side != "here":
            digest = hashlib.sha256("\n".join(sets[side]).encode()).hexdigest()[:8]
            python = rival_python(Path(options.folder, f"{side}-{digest}"), sets[side])
        counts = counted(python, options.tests, options.jobs)
        print(side, counts, flush=True)
        bad += counts["failed"] + (counts["passed"] == 0)
        if options.out or not options.quick:
            # By that interpreter, whose versions are recorded.
            row = json.dumps([side, counts, options.out])
            where = os.environ | {"PYTHONPATH": str(ROOT)}
            subprocess.run([str(python), "-c", RECORD, row], check=True, env=where)
    return int(bad > 0)


def lowest() -> tuple[str, ...]:
    """List every dependency, and the extras and tools that the tests use, at its lower bound."""
    return tuple(
        f"{each.name}=={each.lowest}" if each.lowest else each.name for each in requirements()
    )


def newest(pins: Sequence[str] = ()) -> tuple[str, ...]:
    """List the same distributions without bounds, but for `pins`."""
    pinned = {pin.partition("==")[0]: pin for pin in pins}
    names = [each.name for each in requirements()]
    if unknown := sorted(set(pinned) - set(names)):
        raise SystemExit(f"--pin {unknown}: give some of {', '.join(names)}")
    return tuple(pinned.get(name, name) for name in names)


def requirements() -> list[Requirement]:
    """Read them from `pyproject.toml`, each distribution once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in EXTRAS for line in _of(extras, name))]
    lines += [line for line in extras["dev"] if re.split(r"[<>=]", line)[0] in TOOLS]
    found: dict[str, Requirement] = {}
    for line in lines:
        parts = re.fullmatch(r"([\w.-]+)(?:>=([\w.]+))?(?:,<[\w.]+)?", line)
        if parts is None:
            raise ValueError(f"pyproject.toml: {line!r} is not read; write name>=lowest,<next")
        name, bound = parts.groups()
        found.setdefault(name, Requirement(name, bound))
    return list(found.values())


def _of(extras: dict[str, list[str]], name: str) -> Iterator[str]:
    for line in extras[name]:
        inner = re.fullmatch(r"film-metric\[([\w,]+)\]", line)
        if inner is None:
            yield line
        else:
            for each in inner[1].split(","):
                yield from _of(extras, each)


def counted(python: Path, tests: Sequence[str], jobs: int) -> dict[str, int]:
    """Run tests with an interpreter, and count how they end; pytest prints to standard error."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-o", f"filterwarnings={WARNINGS}", f"--junitxml={report}", "--tb=short"]
        command += [f"--ignore-glob={pattern}" for pattern in LEFT_OUT]
        command += ["-n", str(jobs), "--dist", "worksteal"] if jobs else []
        where = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
        where |= {"OMP_NUM_THREADS": where.get("OMP_NUM_THREADS", "1")}
        done = subprocess.run([*command, *tests], cwd=ROOT, env=where, stdout=sys.stderr)
        if not report.exists():
            return {"passed": 0, "failed": 1, "skipped": 0}
        (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    failed = max(failed, done.returncode not in (0, 1))  # such as a file that is not there
    skipped = int(suite.attrib["skipped"])
    passed = int(suite.attrib["tests"]) - failed - skipped
    return {"passed": passed, "failed": failed, "skipped": skipped}


if __name__ == "__main__":
    sys.exit(main())

"""Whether a release can be installed and used: builds, contents, size, and a smoke test without us.

``make release-check`` builds wheel and source distribution, looks into both, installs each into an
empty environment, measures the core install, and runs `benchmarks/installed/smoke.py` there: the
estimators, the command, and completion in bash. ``--quick`` builds, looks, and does the short steps
with the Python at hand.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.rivals.environment import rival_python
from benchmarks.support.records import record

ROOT = Path(__file__).parent.parent
SMOKE = Path(__file__).parent / "installed" / "smoke.py"
MOST_MEGABYTES = 250
"""Of the core install, as pip unpacks it: without torch, and without pip itself and bytecode."""
QUICK = ("versions", "no_torch", "finder", "completion")
SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((a|b|rc)\d+)?")
"""https://semver.org in the spelling of Python's packages."""
SIZES = """\
from importlib.metadata import distributions
for each in distributions():
    if each.name not in ("pip", "setuptools", "wheel"):
        files = [place for place in map(each.locate_file, each.files or []) if place.is_file()]
        sums = [0, 0]
        for place in files:
            sums[place.suffix == ".pyc"] += place.stat().st_size
        print(each.name, *sums)
"""


def main(arguments: list[str] | None = None) -> int:
    """Check it; the first thing that does not hold ends it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.release", description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        wheel, source = built(Path(scratch, "dist"))
        check_wheel(wheel)
        check_source(source)
        print(f"{wheel.name}, {source.name}: whole", flush=True)
        measured = {"wheel": _megabytes(wheel), "source": _megabytes(source)}
        if options.quick:
            smoke([sys.executable], Path(scratch), QUICK)
        else:
            for name, given in (("from wheel", wheel), ("from source", source)):
                python = rival_python(Path(scratch, name), (str(given),))
                smoke([str(python), "-I", "-W", "error::DeprecationWarning"], Path(scratch))
                if given is wheel:
                    measured |= installed_size(python)
                    if measured["core"] >= MOST_MEGABYTES:
                        raise SystemExit(f"core install: {measured['core']:.0f} MB")
    for metric, megabytes in measured.items():
        print(f"{metric}: {megabytes:.1f} MB")
        if options.out or not options.quick:
            record("release", "size", metric, megabytes, "MB", folder=options.out)
    return 0


def built(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the source distribution of this repository."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def check_wheel(wheel: Path) -> None:
    """Raise ValueError where a wheel lacks a file of the packages, or holds one beside them.

    Types (`py.typed` and the stubs that faces are), templates of pages, licence, the command, and a
    semantic version are asked for by name.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = next(name for name in names if name.endswith("dist-info/METADATA"))
        metadata = archive.read(about).decode("utf-8")
        entries = archive.read(about.replace("METADATA", "entry_points.txt")).decode("utf-8")
    wanted = {
        path.relative_to(ROOT).as_posix()
        for package in ("film", "estimators")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    folder = about.removesuffix("METADATA")
    typed = {"film/py.typed", "estimators/py.typed", f"{folder}licenses/LICENSE"}
    if missing := sorted((wanted | typed) - names):
        raise ValueError(f"{wheel.name} lacks {', '.join(missing[:5])}")
    if beside := sorted(name for name in names - wanted if not name.startswith(folder)):
        raise ValueError(f"{wheel.name} holds {', '.join(beside[:5])}")
    version = re.search(r"^Version: (.*)$", metadata, re.M)
    if version is None or not SEMANTIC.fullmatch(version[1]):
        raise ValueError(f"{wheel.name}: the version is not semantic")
    if "film = estimators.cli.__main__:run" not in entries:
        raise ValueError(f"{wheel.name} has no command film")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if f"Requires-Python: {project['requires-python']}" not in metadata:
        raise ValueError(f"{wheel.name} does not require Python {project['requires-python']}")


def check_source(source: Path) -> None:
    """Raise ValueError where a source distribution lacks what is needed to test it."""
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "constraints.txt",
    }
    tracked |= {
        path.relative_to(ROOT).as_posix()
        for folder in ("film", "estimators", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    }
    if missing := sorted(tracked - names):
        raise ValueError(f"{source.name} lacks {', '.join(missing[:5])}")
    if odd := sorted(name for name in names if name.startswith((".venv", "out/", ".git/"))):
        raise ValueError(f"{source.name} holds {', '.join(odd[:5])}")


def smoke(python: Sequence[str], scratch: Path, steps: Sequence[str] = ()) -> None:
    """Run the smoke test from a folder that knows nothing of this repository."""
    folder = scratch / "smoke"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    script = shutil.copy(SMOKE, scratch)
    subprocess.run([*python, str(script), str(folder), *steps], cwd=folder, check=True)


def installed_size(python: Path) -> dict[str, float]:
    """Megabytes (10⁶ bytes) of all packages, without and with bytecode; prints them by package."""
    done = subprocess.run(
        [str(python), "-I", "-c", SIZES], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    sizes = {name: (int(files) / 1e6, int(code) / 1e6) for name, files, code in rows}
    if "torch" in sizes:
        raise ValueError("the core install holds torch")
    for name, (files, code) in sorted(sizes.items(), key=lambda item: -item[1][0]):
        print(f"{name}: {files:.1f} MB, {code:.1f} MB of bytecode")
    core = sum(files for files, _ in sizes.values())
    return {"core": core, "core_compiled": core + sum(code for _, code in sizes.values())}


def _megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


if __name__ == "__main__":
    sys.exit(main())

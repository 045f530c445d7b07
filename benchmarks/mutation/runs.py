"""Run the tests of one module again and again, each time with another change of it.

One process imports the tests of a module and collects them; for each mutant a copy of that process
exchanges the code of one function and runs the tests, those that noticed others first, until one
fails. So a mutant costs no more than the tests that it takes to notice it. A change outside
functions, such as of a constant, is written to the file, and takes a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECONDS = 600


def copied(root: Path, folder: Path) -> Path:
    """Copy a repository, so that one may work on while the mutants run."""
    ignored = shutil.ignore_patterns(".git", ".venv", "out", "results", "__pycache__")
    return Path(shutil.copytree(root, folder / "repository", ignore=ignored))


class Tests:
    """The tests of one module, collected; to be used in a ``with``.

    Parameters
    ----------
    clone : Path
        A copy of the repository.
    name : str
        The module, such as ``"metric/solver"``.
    tests : list of str
        Files below tests/film.

    Attributes
    ----------
    passed : bool
        Whether they pass without any change.
    """

    def __init__(self, clone: Path, name: str, tests: list[str]) -> None:
        self.clone, self.name, self.tests = clone, name, tests
        self.path = clone / "film" / f"{name}.py"

    def __enter__(self) -> Self:
        self._process = self._started()
        self.passed = self._answer(self._process)["passed"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _end(self._process)

    def killed(self, source: str, function: str) -> bool:
        """Whether a test fails, or does not end, with another source of one of its functions."""
        line = json.dumps({"source": source, "function": function})
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        killed = self._answer(self._process)["killed"]
        return self._killed_from_file(source) if killed is None else killed

    def _killed_from_file(self, source: str) -> bool:
        before = self.path.read_text(encoding="utf-8")
        self.path.write_text(source, encoding="utf-8")
        try:
            process = self._started()
            try:
                return not self._answer(process)["passed"]
            finally:
                _end(process)
        finally:
            self.path.write_text(before, encoding="utf-8")

    def _started(self) -> subprocess.Popen[str]:
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        settings = {"PYTHONPATH": str(self.clone), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        # Python takes bytecode for that of any source of the same second and size.
        settings |= {"PYTHONDONTWRITEBYTECODE": "1", **dict.fromkeys(threads, "1")}
        module = "benchmarks.mutation.collected"
        return subprocess.Popen(
            [sys.executable, "-m", module, self.name, *self.tests],
            cwd=self.clone,
            env=os.environ | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @staticmethod
    def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        # A module that cannot even be imported gives no answer.
        return json.loads(process.stdout.readline() or '{"passed": false, "killed": true}')


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait(SECONDS)
    assert process.stdout is not None
    process.stdout.close()

"""The tests of a module in one process, which copies itself for each mutant.

``python -m benchmarks.mutation.runs MODULE TEST...`` collects the tests once, reads the source of a
mutant a line, exchanges the code of the loaded module in a copy of the process, and runs the tests
there until one fails. So a mutant costs no more than the tests that it takes to notice it.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

SLOWER, SPARE, MEMORY = 5, 10, 12 << 30
"""A mutant may take that many times the seconds of all tests, and these, and so much memory."""


def copied(root: Path, folder: Path) -> Path:
    """Copy a repository, so that one may work on while the mutants run."""
    ignored = shutil.ignore_patterns(".git", ".venv", "out", "results", "__pycache__")
    return Path(shutil.copytree(root, folder / "repository", ignore=ignored))


class Tests:
    """The tests of a module of a copied repository; killed(source) runs them on other code."""

    def __init__(self, clone: Path, name: str, tests: list[str]) -> None:
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        settings = {"PYTHONPATH": str(clone), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.mutation.runs", name, *tests],
            cwd=clone,
            env=os.environ | settings | dict.fromkeys(threads, "1"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.passed = self._answer()
        """Whether they pass without any change."""

    def killed(self, source: str) -> bool:
        """Whether a test fails, or does not end, with another source of the module."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        return not self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> bool:
        assert self._process.stdout is not None
        return self._process.stdout.readline() == "passed\n"


class Collected:
    """A plugin of pytest that runs the tests which it collected once a mutant."""

    def __init__(self, module: str, answers: int) -> None:
        self.module, self.answers, self.seconds = module, answers, 1200.0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests unchanged, then on each source of standard input."""
        items, started = list(session.items), time.monotonic()
        passed = self._passed(session, items, None)
        self.seconds = SLOWER * (time.monotonic() - started) + SPARE
        os.write(self.answers, b"passed\n" if passed else b"failed\n")
        for line in sys.stdin:
            passed = self._passed(session, items, json.loads(line))
            os.write(self.answers, b"passed\n" if passed else b"failed\n")
        return True

    def _passed(self, session: pytest.Session, items: list[Any], source: str | None) -> bool:
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            signal.alarm(int(self.seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            try:
                if source is not None:
                    exchange(self.module, source)
                for number, item in enumerate(items):
                    following = items[number + 1] if number + 1 < len(items) else None
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if session.testsfailed:
                        os.write(theirs, str(number).encode())
                        os._exit(1)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(theirs)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.killpg(child, signal.SIGKILL)  # those that it started
        except ProcessLookupError:
            pass
        if status == 1 and (failed := os.read(ours, 16)):
            items.insert(0, items.pop(int(failed)))
        os.close(ours)
        return status == 0


def exchange(module: str, source: str) -> None:
    """Put the code and the constants of a source in the place of those of a loaded module.

    Functions stay the same objects, since others hold them.
    """
    loaded = importlib.import_module(module)
    fresh: dict[str, Any] = {"__name__": module, "__file__": loaded.__file__}
    exec(compile(source, str(loaded.__file__), "exec"), fresh)
    _exchange(vars(loaded), fresh, module, lambda name, new: _set(loaded, name, new))


def _exchange(old: Any, fresh: Any, module: str, put: Any) -> None:
    for name, new in list(fresh.items()):
        known = old.get(name)
        if isinstance(new, type) and new.__module__ == module and isinstance(known, type):
            _exchange(vars(known), vars(new), module, lambda n, v, k=known: setattr(k, n, v))
        elif (function := _function(new)) and (held := _function(known)):
            if function.__code__.co_filename == held.__code__.co_filename:
                held.__code__ = function.__code__
                held.__defaults__, held.__kwdefaults__ = (
                    function.__defaults__,
                    function.__kwdefaults__,
                )
        elif new is not known and not name.startswith("__") and _same_kind(new, known):
            if isinstance(new, dict | set):  # others hold it
                known.clear()
                known.update(new)
            else:
                put(name, new)


def _same_kind(new: Any, known: Any) -> bool:
    """Whether both are numbers, or both data of one type."""
    if isinstance(new, dict):
        return type(known) is dict and not any(map(callable, new.values()))
    if isinstance(new, int | float):
        return isinstance(known, int | float)
    data = isinstance(new, str | tuple | set | frozenset | re.Pattern | np.ndarray)
    return data and type(new) is type(known)


def _function(value: Any) -> FunctionType | None:
    """Find the function inside a method, a property or a wrapper."""
    while not isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        inner = [getattr(value, name, None) for name in ("__wrapped__", "__func__", "fget", "func")]
        if not any(inner):
            return None
        value = next(each for each in inner if each)
    return value


def _set(module: Any, name: str, value: Any) -> None:
    """Set a constant where it is, and where others have imported it."""
    old = vars(module)[name]
    setattr(module, name, value)
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("film") and vars(other).get(name) is old:
            setattr(other, name, value)


def main() -> None:
    """Answer on what was standard output; the tests write nowhere."""
    name, *tests = sys.argv[1:]
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    paths = [f"film/{name}.py", *(f"tests/film/{test}" for test in tests)]
    plugin = Collected(f"film.{name}".replace("/", "."), answers)
    pytest.main(["-q", "-s", "--tb=no", "-p", "no:cacheprovider", *paths], plugins=[plugin])


if __name__ == "__main__":
    main()

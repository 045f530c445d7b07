"""The tests of a module, collected in one process that copies itself for each mutant.

``python -m benchmarks.mutation.collected MODULE TEST...`` reads a mutant a line and answers each.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import select
import signal
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

import pytest

SLOWER = 5
SPARE_SECONDS = 10
"""A mutant may take that many times the processor's seconds of all tests, and these."""
WALL_SECONDS = 240
SLOW_SECONDS = 1
SLOW_SHARE = 0.1
"""A test that takes more of both, by the clock, is left to functions that no other test calls."""
MEMORY = 12 << 30


class Collected:
    """A plugin of pytest that runs the tests which it collected once a mutant."""

    def __init__(self, name: str, answers: int) -> None:
        self.module = f"film.{name}".replace("/", ".")
        self.answers = answers
        self.cpu_seconds = float(WALL_SECONDS)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests unchanged, then each mutant of standard input."""
        items = list(session.items)
        failed, took = self._forked(session, items, None)
        taken = {number: seconds for number, seconds, _, _ in took}
        least = max(SLOW_SECONDS, SLOW_SHARE * sum(clock for _, _, clock, _ in took))
        slow = {number for number, _, clock, _ in took if clock > least}
        calls = {number: set(called) for number, _, _, called in took}
        self.cpu_seconds = SLOWER * sum(taken.values()) + SPARE_SECONDS
        self._say({"passed": failed is None})
        # What is quick first, and of these what killed last.
        order = sorted(range(len(items)), key=lambda number: taken.get(number, 0.0))
        for line in sys.stdin:
            mutant = json.loads(line)
            change = exchange(self.module, mutant["source"], mutant["function"])
            if change is None:
                self._say({"killed": None})
                continue
            # A test that never calls a function cannot notice it.
            some = [n for n in order if mutant["function"] in calls[n]] or order
            some = [n for n in some if n not in slow] or some
            failed, _ = self._forked(session, [items[n] for n in some], change)
            if failed is not None and failed >= 0:
                order.remove(some[failed])
                order.insert(0, some[failed])
            self._say({"killed": failed is not None})
        return True

    def _forked(
        self, session: pytest.Session, items: list[pytest.Item], change: Any
    ) -> tuple[int | None, list[tuple[int, float, float, list[str]]]]:
        """Run tests in a copy of this process: which failed, -1 for a crash, None for none.

        Of each that ran also its seconds of the processor and by the clock, and, without a
        change, the functions that it calls.
        """
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            os.setsid()
            limit = int(self.cpu_seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            try:
                self._run(session, items, change, theirs)
            finally:
                os._exit(1)
        os.close(theirs)
        text = _read(ours)
        os.close(ours)
        try:
            os.killpg(child, signal.SIGKILL)  # with those that it started
        except ProcessLookupError:
            pass
        os.waitpid(child, 0)
        rows = [json.loads(line) for line in text.splitlines()]
        took = [(number, seconds, clock, called) for number, _, seconds, clock, called in rows]
        if len(rows) == len(items) and not rows[-1][1]:
            return None, took
        return (rows[-1][0] if rows and rows[-1][1] else -1), took

    def _run(
        self, session: pytest.Session, items: list[pytest.Item], change: Any, answers: int
    ) -> None:
        called: set[str] = set()
        file = sys.modules[self.module].__file__

        def notice(frame: FrameType, event: str, argument: Any) -> None:
            if frame.f_code.co_filename == file:
                called.add(frame.f_code.co_qualname.partition(".<locals>")[0])

        if change is not None:
            change()
        else:
            sys.settrace(notice)
            threading.settrace(notice)
        for number, item in enumerate(items):
            called.clear()
            start, since = sum(os.times()[:4]), time.monotonic()
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds, failed = sum(os.times()[:4]) - start, bool(session.testsfailed)
            row = [number, failed, seconds, time.monotonic() - since, sorted(called)]
            os.write(answers, (json.dumps(row) + "\n").encode())
            if failed:
                return

    def _say(self, answer: dict[str, Any]) -> None:
        os.write(self.answers, (json.dumps(answer) + "\n").encode())


def exchange(module: str, source: str, function: str) -> Any:
    """Prepare to put the code of a function in a source in the place of that which is loaded.

    Returns None where it is no function that can be found, and else what does it.
    """
    if not function:
        return _constant(module, source)
    found: Any = sys.modules[module]
    for name in function.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
        while isinstance(found, staticmethod | classmethod | property):
            found = found.fget if isinstance(found, property) else found.__func__
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    code = getattr(found, "__code__", None)
    if code is None or code.co_qualname != function:
        return None
    tree = ast.parse(source)
    new = _code(compile(tree, code.co_filename, "exec"), function)
    definition: Any = tree
    for name in function.split("."):
        definition = next(n for n in definition.body if getattr(n, "name", None) == name)
    arguments = definition.args

    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "default", "eval"), found.__globals__)

    def put() -> None:
        found.__code__ = new
        found.__defaults__ = tuple(value(node) for node in arguments.defaults) or None
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        found.__kwdefaults__ = {each.arg: value(node) for each, node in named if node is not None}

    return put


def _constant(module: str, source: str) -> Any:
    """Prepare to put another number in the place of one that a module assigns to a name."""
    here = vars(sys.modules[module])
    changed = {}
    for line in ast.parse(source).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            if isinstance(here.get(name), int | float):
                value = eval(compile(ast.Expression(line.value), "constant", "eval"), dict(here))
                if value != here[name]:
                    changed[name] = value
    return (lambda: here.update(changed)) if len(changed) == 1 else None


def _code(code: CodeType, function: str) -> CodeType:
    """Find the code of a function inside that of its module."""
    if code.co_qualname == function:
        return code
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return next(
        _code(each, function)
        for each in inner
        if function == each.co_qualname or function.startswith(each.co_qualname + ".")
    )


def _read(source: int) -> str:
    """Read until all writers are gone, or for as long as a mutant may take."""
    end, text = time.monotonic() + WALL_SECONDS, b""
    while (left := end - time.monotonic()) > 0 and select.select([source], [], [], left)[0]:
        if not (more := os.read(source, 65536)):
            break
        text += more
    return text.rpartition(b"\n")[0].decode()


def main() -> None:
    """Answer on what was standard output; the tests write nowhere."""
    name, *tests = sys.argv[1:]
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    paths = [f"film/{name}.py", *(f"tests/film/{test}" for test in tests)]
    options = ["-q", "-s", "--tb=no", "-p", "no:cacheprovider"]
    pytest.main([*options, *paths], plugins=[Collected(name, answers)])


if __name__ == "__main__":
    main()

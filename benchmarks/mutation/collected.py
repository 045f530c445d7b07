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
import time
from types import CodeType
from typing import Any

import pytest

SLOWER = 5
SPARE_SECONDS = 10
"""A mutant may take that many times the processor's seconds of all tests, and these."""
WALL_SECONDS = 240
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
        first = time.process_time()
        taken: dict[int, float] = {}
        failed, took = self._forked(session, items, None)
        for number, seconds in took:
            taken[number] = seconds
        self.cpu_seconds = (
            SLOWER * sum(taken.values()) + SPARE_SECONDS + time.process_time() - first
        )
        self._say({"passed": failed is None and len(taken) == len(items)})
        # What is quick first, and of these what killed last.
        order = sorted(range(len(items)), key=lambda number: taken.get(number, 0.0))
        for line in sys.stdin:
            mutant = json.loads(line)
            change = exchange(self.module, mutant["source"], mutant["function"])
            if change is None:
                self._say({"killed": None})
                continue
            failed, _ = self._forked(session, [items[n] for n in order], change)
            if failed is not None and 0 <= failed < len(order):
                order.insert(0, order.pop(failed))
            self._say({"killed": failed is not None})
        return True

    def _forked(
        self, session: pytest.Session, items: list[pytest.Item], change: Any
    ) -> tuple[int | None, list[tuple[int, float]]]:
        """Run tests in a copy of this process: which failed, -1 for a crash, None for none."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            os.setsid()
            limit = int(self.cpu_seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            try:
                _run(session, items, change, theirs)
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
        took = [(number, seconds) for number, _, seconds in rows]
        if len(rows) == len(items) and not any(failed for _, failed, _ in rows):
            return None, took
        return (rows[-1][0] if rows and rows[-1][1] else -1), took

    def _say(self, answer: dict[str, Any]) -> None:
        os.write(self.answers, (json.dumps(answer) + "\n").encode())


def exchange(module: str, source: str, function: str) -> Any:
    """Prepare to put the code of a function in a source in the place of that which is loaded.

    Returns None where it is no function that can be found, and else what does it.
    """
    found: Any = sys.modules.get(module)
    for name in function.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
        while isinstance(found, staticmethod | classmethod | property):
            found = found.fget if isinstance(found, property) else found.__func__
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    code = getattr(found, "__code__", None)
    if not function or code is None or code.co_qualname != function:
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


def _run(session: pytest.Session, items: list[pytest.Item], change: Any, answers: int) -> None:
    if change is not None:
        change()
    for number, item in enumerate(items):
        start = sum(os.times()[:4])
        following = items[number + 1] if number + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        row = [number, bool(session.testsfailed), sum(os.times()[:4]) - start]
        os.write(answers, (json.dumps(row) + "\n").encode())
        if session.testsfailed:
            return


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

"""Two ways to run the command: inside this process, and as a user does."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from estimators.cli import main

ROOT = Path(__file__).parents[3]


class Ran:
    """What a command said, and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self):
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def records(self):
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments, stdin=None):
    """Run the command in this process, with the warnings of a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = CliRunner().invoke(main, list(map(str, arguments)), input=stdin, prog_name="film")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def refused(*arguments, **keywords):
    """Run a command that must end with status 2 and a message; gives the message."""
    ran = run(*arguments, **keywords)
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""
    return " ".join(ran.err.replace("│", " ").split())


def start(
    *arguments, program=("-m", "estimators.cli"), stdout: Any = subprocess.PIPE, closed=()
) -> Any:
    """Start the command as a user does, in a process of its own; some streams may be closed."""
    command = [sys.executable, *program, *map(str, arguments)]
    if closed:
        # What a shell does at `>&-`; Popen itself cannot.
        closing = " ".join(f"{number}>&-" for number in closed)
        command = ["sh", "-c", f'exec "$@" {closing}', "sh", *command]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        # A shell that starts the tests in the background makes its children ignore Ctrl-C.
        preexec_fn=None if os.name == "nt" else _heed_interruption,
    )


def _heed_interruption():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finished(process, stdin=None):
    out, err = process.communicate(stdin, timeout=120)
    return process.returncode, (out or b"").decode(), err.decode()


def wait_for(process, text):
    """Read standard error until a text comes; gives all that was read."""
    said = b""
    while text not in said and (more := process.stderr.read1()):
        said += more
    assert text in said
    return said.decode()


def write_csv(path, columns, rows):
    with open(path, "w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([columns, *rows])
    return path

"""Readers on inputs that a fuzzer makes, guided by the code that earlier ones reached (atheris).

Instrumented is what is ours, `film` and `estimators`: each edge between two places of its code is
counted once.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.faulty.readers import Tally

_COVERED = re.compile(r"^#\d+\s+(INITED|DONE)\s+cov: (\d+)", re.MULTILINE)


class Guided(NamedTuple):
    """What became of the inputs, and the edges that they reached.

    Parameters
    ----------
    tally : Tally
        Counts of inputs.
    edges_whole : int
        Edges that a whole file reaches.
    edges : int
        Edges that all inputs reached.
    """

    tally: Tally
    edges_whole: int
    edges: int


def is_installed() -> bool:
    """Whether there is a fuzzer."""
    return find_spec("atheris") is not None


def guided(name: str, n: int, seed: int) -> Guided:
    """Give a reader so many inputs of the fuzzer, which begins with a whole file.

    Parameters
    ----------
    name : str
        A reader of `benchmarks.faulty.readers.readers`.
    n : int
        Inputs.
    seed : int
        Of the fuzzer.

    Returns
    -------
    found : Guided
        Examples hold the first input of each kind of failure.

    Raises
    ------
    RuntimeError
        Where the process ends otherwise than by the number of inputs.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "tally.json")
        command = [sys.executable, "-m", "benchmarks.faulty.fuzz_reader", name, str(n), str(seed)]
        done = subprocess.run([*command, str(out)], capture_output=True, text=True)
        edges = {state: int(number) for state, number in _COVERED.findall(done.stderr)}
        if not out.exists() or "DONE" not in edges:
            raise RuntimeError(f"{name}: the fuzzer ended early: {done.stderr[-2000:]}")
        found = json.loads(out.read_text(encoding="utf-8"))
    tally = Tally(found["read"], found["refused"], found["failed"])
    tally.kinds.update(found["kinds"])
    tally.examples += [(kind, bytes.fromhex(content)) for kind, content in found["examples"]]
    return Guided(tally, edges["INITED"], edges["DONE"])

"""Fenced blocks of a page, and how they run."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from tests.estimators.cli.commands import run
from tests.quick_fits import QUICK, fits_of

FENCE = re.compile(
    r"(?:^<!-- not run: ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
N_LINES = 5
"""Lines of a command's output that README shows."""


class Block(NamedTuple):
    """A fenced block, the line before its code, and why it is not run, if it is not."""

    document: Path
    line: int
    language: str
    code: str
    not_run: str | None


def blocks_of(document):
    text = document.read_text("utf-8")
    return [
        Block(document, text.count("\n", 0, match.start(3)), match[2], match[3], match[1])
        for match in FENCE.finditer(text)
    ]


def play(blocks):
    """Run the blocks of one document in order, in the present folder, and return their outputs.

    Blocks of Python share their names. There is one output for each block of ``text``: the first
    lines that the last command before it wrote.
    """
    names: dict[str, object] = {}
    written, outputs = "", []
    for block in blocks:
        if block.language == "text":
            outputs.append("".join(written.splitlines(keepends=True)[:N_LINES]))
        elif block.not_run:
            continue
        elif block.language == "python":
            # Leading lines let a traceback name the line of the document. No output of it is shown.
            with fits_of(*QUICK):
                exec(compile("\n" * block.line + block.code, str(block.document), "exec"), names)
        else:
            for command in filter(None, block.code.replace("\\\n", "").splitlines()):
                program, *arguments = shlex.split(command, comments=True)
                assert program == "film", f"{block.document.name}: {command!r} is not run"
                ran = run(*arguments)
                assert ran.code == 0, f"{block.document.name}: {command}\n{ran.err}"
                written = ran.out
    return outputs

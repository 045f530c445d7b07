"""Similarity from contexts: the paper's tables on these books.

``python -m benchmarks.contexts [--case NAME ...] [--data DIR] [--work DIR] [--quick]``. Rows are
compared on one sample, 400 pairs of STS-B test, seed 0, with |C_s| = 100, and intervals are of
paired bootstrap draws. The model goes into ``--work`` and is fitted once. Cases:

origin         Origin from scratch on the sample: raw and centred, and TF-IDF of characters
sizes          Table 7: size of C

``--quick`` runs all cases on made documents in under a minute, and records only where ``--out``
says so.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable

from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.quora import pair_cosines
from benchmarks.support.bootstrap import spearman
from benchmarks.support.context_bench import SAMPLE, SEED, Bench
from benchmarks.support.run import parser_of, reading

ORIGIN = "Origin from scratch"
SIZES = (20, 50, 100, 200, 500, 1000)
CENTRINGS = {"": "whitened", ", centred": "contexts", ", raw": "raw"}


def measure_origin(bench: Bench) -> None:
    """Measure the sample: raw and centred, and next to TF-IDF of characters."""
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), max_features=200_000)
    corpus = bench.corpus
    letters.fit(corpus.sentences)
    rival = f"{SAMPLE}TF-IDF of characters"
    bench.tell_row(rival, pair_cosines(letters, bench.sample.pairs))
    found = spearman(pair_cosines(letters, bench.test.pairs), bench.test.scores)
    bench.tell(rival, "STS-B", found)
    for kind, centre in CENTRINGS.items():
        started = time.perf_counter()
        found, seconds = bench.similarity(bench.size, centre), time.perf_counter() - started
        bench.tell_row(f"{SAMPLE}{ORIGIN}{kind}", found, seconds=seconds)
    fixed = f"{SAMPLE}{ORIGIN}, scores in the fixed set"
    bench.tell_row(fixed, pair_cosines(bench.origin(), bench.sample.pairs))
    bench.tell_lead(f"{SAMPLE}{ORIGIN}", rival)


def measure_sizes(bench: Bench) -> None:
    """Measure Table 7: the first so many contexts of each sentence."""
    for size in SIZES[:1] if bench.quick else SIZES:
        found = spearman(bench.similarity(size, "whitened"), bench.sample.scores)
        bench.tell(f"7: {size} contexts", "sample", found, seed=SEED)


CASES: dict[str, Callable[[Bench], None]] = {
    "origin": measure_origin,
    "sizes": measure_sizes,
}


def main(arguments: list[str] | None = None) -> int:
    """Run some cases; the exit status is 2 where something that they need is missing."""
    parser = parser_of("contexts", __doc__, "holds sts and books")
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated")
    parser.add_argument("--work", metavar="DIR", default="out/contexts", help="for the model")
    parser.add_argument("--model", metavar="DIR", help="a saved ContextModel, in place of training")
    parser.add_argument("--settings", metavar="JSON", default="{}", help="of ContextModel")
    parser.add_argument("--contexts", type=int, metavar="N", help="|C_s| instead of 100")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, reading("contexts"):
        if options.quick:  # a trial resumes nothing
            options.work = folder
        bench = Bench(options)
        for case in options.case or CASES:
            CASES[case](bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())

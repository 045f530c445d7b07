"""Similarity from contexts: the paper's tables on these books.

``python -m benchmarks.contexts [--case NAME ...] [--data DIR] [--work DIR] [--quick]``. Rows are
compared on one sample, 400 pairs of STS-B test, seed 0, with |C_s| = 100, and intervals are of
paired bootstrap draws. Models and terms of Eq. 3 go into ``--work`` and are made once. Cases:

origin         Origin from scratch on the sample: raw and centred, and TF-IDF of characters
sizes          Table 7: size of C
terms          Table 9: terms of Eq. 3 left out
whole          the final row: all of STS-B test with |C_s| = 500 (overnight; never by default)

``--quick`` runs all cases on made documents in under a minute, and records only where ``--out``
says so. Without ``--case``, those run that need no more models or nights.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.quora import pair_cosines
from benchmarks.support.bootstrap import spearman
from benchmarks.support.context_bench import SAMPLE, SEED, Bench
from benchmarks.support.context_terms import ONES, SampleTerms
from benchmarks.support.run import parser_of, reading

ORIGIN = "Origin from scratch"
SIZES = (20, 50, 100, 200, 500, 1000)
WITHOUT = {
    "discriminative": (0.0, 1.0, 1.0, 1.0),
    "sentence": (1.0, 0.0, 1.0, 1.0),
    "left context": (1.0, 1.0, 0.0, 1.0),
    "right context": (1.0, 1.0, 1.0, 0.0),
    "both contexts": (1.0, 1.0, 0.0, 0.0),
}
ALONE = {
    "discriminative": (1.0, 0.0, 0.0, 0.0),
    "sentence": (0.0, 1.0, 0.0, 0.0),
    "both contexts": (0.0, 0.0, 1.0, 1.0),
}
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
    model, terms = bench.origin(), _sample_terms(bench)
    ways = {"": model.weights}
    if model.generators_:
        ways |= {", λ = 1": ONES} | {f", {which} alone": each for which, each in ALONE.items()}
    for (which, weights), (kind, centre) in itertools.product(ways.items(), CENTRINGS.items()):
        row = f"{SAMPLE}{ORIGIN}{which}{kind}"
        bench.tell_row(row, terms.similarity(weights, centre=centre))
    fixed = f"{SAMPLE}{ORIGIN}, scores in the fixed set"
    bench.tell_row(fixed, pair_cosines(model, bench.sample.pairs))
    _tell_cost(bench, f"{SAMPLE}{ORIGIN}", terms)
    bench.tell_lead(f"{SAMPLE}{ORIGIN}", rival)


def measure_sizes(bench: Bench) -> None:
    """Measure Table 7: the first so many contexts of each sentence."""
    model, weights = bench.origin(), bench.origin().weights
    terms = bench.terms(model, "origin", bench.sample, bench.size, weights=weights)
    for size in [size for size in (*SIZES, terms.size) if size <= terms.size]:
        found = terms.similarity(weights, size=size)
        bench.tell(f"7: {size} contexts", "sample", spearman(found, bench.sample.scores), seed=SEED)
        if size == terms.size:
            return


def measure_terms(bench: Bench) -> None:
    """Measure Table 9: terms of Eq. 3 left out, in the same contexts, and terms alone."""
    terms = _sample_terms(bench)
    bench.tell_row(f"9: {ORIGIN}", terms.similarity())
    for name, weights in WITHOUT.items():
        bench.tell_row(f"9: without {name}", terms.similarity(weights), rival=f"9: {ORIGIN}")
    for name, weights in ALONE.items():
        bench.tell_row(f"9: {name} alone", terms.similarity(weights), rival=f"9: {ORIGIN}")


def measure_whole(bench: Bench) -> None:
    """Measure the whole test file: λ = 1, raw too, and λ of the rows to choose by."""
    size = bench.options.contexts or (12 if bench.quick else 500)
    model = bench.origin()
    terms = bench.terms(model, "origin", bench.test, size, weights=model.weights)
    case = f"whole: {ORIGIN}, {terms.size} contexts"
    for kind, found in {
        "": terms.similarity(model.weights),
        ", centred": terms.similarity(model.weights, centre="contexts"),
        ", raw": terms.similarity(model.weights, centre="raw"),
    }.items():
        bench.tell(f"{case}{kind}", "STS-B", spearman(found, bench.test.scores))
    _tell_cost(bench, case, terms)


def _tell_cost(bench: Bench, case: str, terms: SampleTerms) -> None:
    n = int((~np.isnan(terms.terms[..., 0])).sum())
    bench.tell(case, "scorings", n)
    bench.tell(case, "seconds", terms.seconds, "s")


def _sample_terms(bench: Bench) -> SampleTerms:
    return bench.terms(bench.origin(), "origin", bench.sample, bench.size)


CASES: dict[str, Callable[[Bench], None]] = {
    "origin": measure_origin,
    "sizes": measure_sizes,
    "terms": measure_terms,
    "whole": measure_whole,
}
NAMED = ("whole",)
"""Cases that run only when they are named: they need more time."""


def main(arguments: list[str] | None = None) -> int:
    """Run some cases; the exit status is 2 where something that they need is missing."""
    parser = parser_of("contexts", __doc__, "holds sts and books")
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated")
    parser.add_argument("--work", metavar="DIR", default="out/contexts", help="models and terms")
    parser.add_argument("--model", metavar="DIR", help="a saved ContextModel, in place of training")
    parser.add_argument("--settings", metavar="JSON", default="{}", help="of ContextModel")
    parser.add_argument("--contexts", type=int, metavar="N", help="|C_s| instead of 100")
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

